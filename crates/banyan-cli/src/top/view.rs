//! What is looked at, and how: a pure function from what the hosts tell to the rows of a table.

use std::cmp::Ordering;

use super::ask::{Grouping, SortKey, has_text};
use super::column::{Column, Holds, LEAST_NAME, LEAST_PROCESS, NAME_WIDTH, RATE};
use super::metric::{METRICS, bytes};
use super::tick::Tick;
use super::usage::Rest;
use super::watch::{AllUsed, FrontCost, Used, Wanted, Within};
use crate::screen::harmless;

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum By {
    /// A host
    Host,
    /// A job of Slurm, a unit of systemd, or a session, over all hosts
    Job,
    /// A user, over all hosts
    User,
    /// A process
    Process,
}

/// What there is to look at.
#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    /// The name of each host, by rank.
    pub(super) hosts: Vec<String>,
    /// Hosts that tell nothing.
    pub(super) silent: Vec<String>,
    pub(super) tick: Tick,
    /// Who uses the hosts, if that was asked.
    pub(super) used: AllUsed,
    pub(super) cost: FrontCost,
    pub(super) interval: f64,
}

/// How it is looked at.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct View {
    pub(super) by: By,
    /// The key of a column.
    pub(super) sort: String,
    pub(super) reversed: bool,
    /// Only rows with this in a name.
    pub(super) filter: String,
    /// The filter is being typed.
    pub(super) typing: bool,
    /// The row that the cursor is on.
    pub(super) selected: usize,
    /// Whose processes are shown.
    pub(super) within: Option<Within>,
    pub(super) paused: bool,
}

/// The rows that are looked at.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
    /// What is not told row by row; the last line.
    pub(super) others: Option<Row>,
}

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// Whose processes can be looked at from here.
    pub(super) into: Option<Within>,
    pub(super) cells: Vec<Cell>,
    /// The command line of a process.
    pub(super) command: Option<String>,
}

/// A cell: the number that is sorted by, and what is shown.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    pub(super) number: Option<f64>,
    pub(super) text: String,
    /// From 0 to 1, where that is known.
    pub(super) heat: Option<f64>,
}

impl View {
    pub(super) fn new(by: By) -> View {
        View {
            by,
            sort: "cpu".into(),
            reversed: false,
            filter: String::new(),
            typing: false,
            selected: 0,
            within: None,
            paused: false,
        }
    }

    /// What has to be asked of hosts beside samples: of all, or of one.
    pub(super) fn wanted(&self) -> Option<Wanted> {
        let kind = match (&self.within, self.by) {
            (None, By::Host) => return None,
            (None, By::Job) => Grouping::Job,
            (None, By::User) => Grouping::User,
            (Some(_), _) | (None, By::Process) => Grouping::Process,
        };
        let order = match self.sort.as_str() {
            "memory" => SortKey::Memory,
            "processes" => SortKey::Processes,
            "disk_read" => SortKey::DiskRead,
            "disk_write" => SortKey::DiskWrite,
            _ => SortKey::Cpu,
        };
        // What is being typed is looked for in what is there; hosts are asked when it is kept.
        let text = if self.typing { String::new() } else { self.filter.clone() };
        Some(Wanted { kind, order, within: self.within.clone(), text })
    }

    /// The columns there are.
    pub(super) fn columns(&self) -> Vec<Column> {
        let (text, number) = (Column::name, Column::number);
        let host = |useful| text("host", "host", (LEAST_NAME, NAME_WIDTH), useful);
        match self.wanted() {
            None => {
                let numbers = METRICS.iter().map(|metric| number(metric.name, metric.title, RATE, metric.useful));
                std::iter::once(host(0)).chain(numbers).collect()
            }
            Some(Wanted { kind: Grouping::Process, .. }) => vec![
                text("name", "process", (LEAST_PROCESS, NAME_WIDTH), 0),
                text("user", "user", (LEAST_NAME, NAME_WIDTH), 5),
                host(4),
                number("pid", "id", 7, 3),
                number("rank", "rank", 6, 6),
                Column::letter("state", "state", 7),
                number("cpu", "CPU", 8, 1),
                number("memory", "memory", RATE, 2),
                number("disk_read", "disk rd", RATE, 9),
                number("disk_write", "disk wr", RATE, 8),
            ],
            Some(Wanted { kind, .. }) => vec![
                text("name", if kind == Grouping::User { "user" } else { "job" }, (LEAST_PROCESS, 2 * NAME_WIDTH), 0),
                number("processes", "processes", 7, 4),
                number("hosts", "hosts", 6, 3),
                number("cpu", "CPU", 9, 1),
                number("memory", "memory", RATE, 2),
            ],
        }
    }

    /// The place of the column that rows are sorted by: where there is none of that name, by the use of cores.
    pub(super) fn sorted_by(&self) -> usize {
        let columns = self.columns();
        let place = |key: &str| columns.iter().position(|column| column.key == key);
        place(&self.sort).or_else(|| place("cpu")).unwrap_or(0)
    }

    /// The rows, filtered and sorted.
    pub(super) fn table(&self, model: &Model) -> Table {
        let mut columns = self.columns();
        // A host is known by its whole name.
        columns.iter_mut().filter(|column| column.key == "host").for_each(|column| column.least = model.host_width());
        let mut rows: Vec<Row> = match self.wanted() {
            None => model.tick.hosts.iter().map(|host| host_row(model, host.rank, &host.values)).collect(),
            Some(Wanted { kind, .. }) => model.used.used.iter().map(|used| used_row(model, used, kind)).collect(),
        };
        let others = self.wanted().and_then(|Wanted { kind, .. }| others_row(model.used.others, kind));
        let named = |row: &Row| {
            let mut texts = columns.iter().zip(&row.cells).filter(|(column, _)| column.holds == Holds::Name);
            texts.any(|(_, cell)| has_text(&cell.text, &self.filter))
        };
        rows.retain(|row| self.filter.is_empty() || named(row));
        let at = self.sorted_by();
        let is_text = columns.get(at).is_some_and(|column| column.holds != Holds::Number);
        rows.sort_by(|a, b| {
            let order = compare(&a.cells[at], &b.cells[at], is_text);
            if self.reversed { order.reverse() } else { order }
        });
        Table { columns, rows, others }
    }
}

/// Names from a to z, numbers from large to small, what is missing last.
fn compare(a: &Cell, b: &Cell, is_text: bool) -> Ordering {
    match (a.number, b.number) {
        _ if is_text => a.text.cmp(&b.text),
        (Some(a), Some(b)) => b.total_cmp(&a),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

fn host_row(model: &Model, rank: u32, values: &[Option<f64>]) -> Row {
    let cell = |(metric, value): (&super::metric::Metric, &Option<f64>)| Cell {
        number: *value,
        text: value.map_or_else(|| "-".into(), |value| metric.show(value)),
        heat: value.and_then(|value| metric.heat(value)),
    };
    let cells = std::iter::once(text(model.name(rank))).chain(METRICS.iter().zip(values).map(cell));
    Row { into: Some(Within::Host(rank)), cells: cells.collect(), command: None }
}

fn used_row(model: &Model, used: &Used, kind: Grouping) -> Row {
    let Used { usage, on } = used;
    let number = |number: f64, text: String| Cell { number: Some(number), text, heat: None };
    let whole = |number: u64| Cell { number: Some(number as f64), text: number.to_string(), heat: None };
    let cpu = number(usage.cpu, format!("{:.1}%", usage.cpu));
    let memory = number(usage.memory, bytes(usage.memory));
    let name = text(&usage.name);
    let cells = match kind {
        Grouping::Process => {
            let host = on.first().map_or("", |rank| model.name(*rank));
            let rank = usage.rank.map_or_else(|| missing("-"), |rank| whole(rank.into()));
            let disk = |rate: Option<f64>| rate.map_or_else(|| missing("-"), |rate| number(rate, bytes(rate)));
            let (id, user, state) = (whole(usage.id.into()), text(&usage.user), text(&usage.state));
            vec![name, user, text(host), id, rank, state, cpu, memory, disk(usage.disk_read), disk(usage.disk_write)]
        }
        Grouping::User | Grouping::Job => vec![name, whole(usage.processes), whole(on.len() as u64), cpu, memory],
    };
    // A process that has just ended may have been of nobody.
    let whose = Some(usage.name.clone()).filter(|name| !name.is_empty());
    let into = match kind {
        Grouping::Process => None,
        Grouping::User => whose.map(Within::User),
        Grouping::Job => whose.map(Within::Job),
    };
    let command = (kind == Grouping::Process).then(|| harmless(usage.command.as_bytes()));
    Row { into, cells, command }
}

/// A number that is not there.
fn missing(text: &str) -> Cell {
    Cell { number: None, text: text.into(), heat: None }
}

/// The last line of a table that has not everyone in it.
fn others_row(others: Rest, kind: Grouping) -> Option<Row> {
    let (cpu, memory) = (missing(&format!("{:.1}%", others.cpu)), missing(&bytes(others.memory)));
    let nothing = || missing("");
    let name = text(&format!("{} others", others.rows));
    let cells = match kind {
        Grouping::Process => {
            let [user, host, id, rank, state, read, written] = std::array::from_fn(|_| nothing());
            vec![name, user, host, id, rank, state, cpu, memory, read, written]
        }
        Grouping::User | Grouping::Job => vec![name, missing(&others.processes.to_string()), nothing(), cpu, memory],
    };
    (others.rows > 0).then_some(Row { into: None, cells, command: None })
}

/// Names come from strangers.
fn text(name: &str) -> Cell {
    Cell { number: None, text: harmless(name.as_bytes()), heat: None }
}

impl Model {
    /// The name of a host.
    pub(super) fn name(&self, rank: u32) -> &str {
        self.hosts.get(rank as usize).map_or("?", String::as_str)
    }

    /// Letters of a column of hosts at least: all of their names, if they are not too long.
    pub(super) fn host_width(&self) -> usize {
        let longest = self.hosts.iter().map(|host| host.chars().count()).max().unwrap_or_default();
        (longest + 1).clamp(LEAST_NAME, NAME_WIDTH)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::tick::{Host, NumberSummary, Of};
    use super::super::usage::Usage;
    use super::*;

    /// Four hosts of which one is hot and one is silent.
    pub(in super::super) fn model() -> Model {
        let values = |cpu: f64, written: f64| {
            let mut values = [Some(1.0); METRICS.len()];
            (values[0], values[9], values[5]) = (Some(cpu), Some(written), None);
            values
        };
        let hosts = vec![
            Host { rank: 0, values: values(12.5, 4e6) },
            Host { rank: 1, values: values(97.0, 2e3) },
            Host { rank: 3, values: values(3.0, 0.0) },
        ];
        let of = |value, rank| Of { value, rank };
        let cpu = NumberSummary {
            min: Some(of(3.0, 3)),
            median: Some(12.4),
            p99: Some(96.0),
            max: Some(of(97.0, 1)),
            top: vec![of(97.0, 1), of(12.5, 0), of(3.0, 3)],
        };
        let mut summaries = vec![NumberSummary::default(); METRICS.len()];
        summaries[0] = cpu;
        let tick = Tick { summaries, hosts, own_cpu: Some(0.25), own_memory: Some(6.3e6) };
        let usage = |name: &str, id, cpu| Used {
            usage: Usage {
                name: name.into(),
                id,
                user: "ana".into(),
                cpu,
                memory: 2.5e6,
                disk_read: None,
                disk_write: Some(3e3),
                processes: 1,
                on: "1".into(),
                state: "R".into(),
                rank: (id == 17).then_some(3),
                command: format!("./{name} --grid 8"),
            },
            on: vec![1],
        };
        Model {
            hosts: ["n1", "n2", "n3", "n4"].map(String::from).to_vec(),
            silent: vec!["n3".into()],
            tick,
            used: AllUsed {
                used: vec![usage("solver", 17, 99.0), usage("\x1b[2J", 18, 0.0)],
                others: Rest { rows: 12, processes: 40, cpu: 2.5, memory: 1e6 },
            },
            cost: FrontCost { cpu: 0.5, bytes: 3400.0 },
            interval: 1.0,
        }
    }

    fn names(view: &View) -> Vec<String> {
        view.table(&model()).rows.into_iter().map(|row| row.cells[0].text.clone()).collect()
    }

    #[test]
    fn rows_are_sorted_by_any_column_and_missing_numbers_are_last() {
        let by = |sort: &str, reversed| names(&View { sort: sort.into(), reversed, ..View::new(By::Host) });
        assert_eq!(by("cpu", false), ["n2", "n1", "n4"]);
        assert_eq!(by("cpu", true), ["n4", "n1", "n2"]);
        assert_eq!(by("host", false), ["n1", "n2", "n4"]);
        assert_eq!(by("disk_write", false), ["n1", "n2", "n4"]);
        // There is no such column here, and nobody has this number.
        assert_eq!((by("pid", false), by("pressure_io", false)), (by("cpu", false), by("host", false)));
    }

    #[test]
    fn the_filter_keeps_rows_that_have_it_in_a_name() {
        let with = |filter: &str| names(&View { filter: filter.into(), ..View::new(By::Host) });
        assert_eq!(with("N2"), ["n2"]);
        assert_eq!(with("97"), [""; 0], "numbers are no names");
        let view = View { filter: "r".into(), ..View::new(By::Process) };
        assert_eq!(names(&view), ["solver"], "states are none either");
    }

    #[test]
    fn a_host_is_looked_into_by_its_processes_and_their_names_do_no_harm() {
        let view = View { within: Some(Within::Host(1)), ..View::new(By::Host) };
        let wanted =
            Wanted { kind: Grouping::Process, order: SortKey::Cpu, within: Some(Within::Host(1)), text: String::new() };
        assert_eq!(view.wanted(), Some(wanted));
        let table = view.table(&model());
        let texts: Vec<&str> = table.rows[0].cells.iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(texts, ["solver", "ana", "n2", "17", "3", "R", "99.0%", "2.5 MB", "-", "3.0 kB"]);
        assert_eq!(table.rows[0].command.as_deref(), Some("./solver --grid 8"));
        assert_eq!(table.rows[1].cells[0].text, "\\u{1b}[2J");
        assert_eq!(table.rows[1].command.as_deref(), Some("./\\u{1b}[2J --grid 8"));
    }

    #[test]
    fn jobs_and_users_are_looked_into_by_their_own_names() {
        let into = |by| View::new(by).table(&model()).rows.into_iter().map(|row| row.into).collect::<Vec<_>>();
        let names = ["solver", "\x1b[2J"].map(String::from);
        assert_eq!(into(By::Job), names.clone().map(|name| Some(Within::Job(name))));
        assert_eq!(into(By::User), names.map(|name| Some(Within::User(name))));
        assert_eq!(into(By::Process), [None, None], "there is nothing within a process");
        let mut nobody = model();
        nobody.used.used[0].usage.name.clear();
        assert!(View::new(By::User).table(&nobody).rows.iter().any(|row| row.into.is_none()));
    }

    #[test]
    fn hosts_are_asked_for_the_filter_once_it_is_typed() {
        let mut view = View { filter: "solv".into(), typing: true, ..View::new(By::Process) };
        assert_eq!(view.wanted().map(|wanted| wanted.text), Some(String::new()));
        assert_eq!(names(&view), ["solver"]);
        view.typing = false;
        assert_eq!(view.wanted().map(|wanted| wanted.text), Some("solv".into()));
    }

    #[test]
    fn who_is_not_told_row_by_row_is_in_the_last_line() {
        let view = View { sort: "memory".into(), ..View::new(By::User) };
        assert_eq!(view.wanted().map(|wanted| wanted.order), Some(SortKey::Memory));
        let others = view.table(&model()).others.expect("a line");
        let texts: Vec<&str> = others.cells.iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(texts, ["12 others", "40", "", "2.5%", "1.0 MB"]);
        let mut all = model();
        all.used.others = Rest::default();
        assert_eq!(view.table(&all).others, None);
    }

    #[test]
    fn every_row_has_a_cell_for_every_column() {
        for by in [By::Host, By::Job, By::User, By::Process] {
            let table = View::new(by).table(&model());
            let mut rows = table.rows.iter().chain(&table.others);
            assert!(rows.all(|row| row.cells.len() == table.columns.len()), "{by:?}");
        }
    }
}
