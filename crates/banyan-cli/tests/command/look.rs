//! Pages and screens of `top`, compared as a whole: what differs from moment to moment stands still.

use crate::pseudo_terminal::PseudoTerminal;
use crate::shown::assert_shown;

/// What stands above the table on every page, but for the line that says what is looked at.
fn head(strip: &str) -> String {
    format!("cost: # % of a core and # a host at most; here # % and #/s\nCPU       {strip}\n\n{}\n", summary(10, 20))
}

/// The summary of all hosts, with so many letters for each number, and for the host that has the most.
pub(crate) fn summary(number: usize, host: usize) -> String {
    const METRICS: [&str; 10] =
        ["CPU", "memory", "runnable", "wait:cpu", "wait:mem", "wait:io", "net in", "net out", "disk rd", "disk wr"];
    let line =
        |name: &str, cells: [&str; 4]| format!("{name:<10}{}", cells.map(|cell| format!("{cell:>number$}")).concat());
    let heading = format!("{}  {:<host$}stand out\n", line("", ["min", "median", "p99", "max"]), "on");
    let rows = METRICS.map(|metric| format!("{}  HOST\n", line(metric, ["#"; 4])));
    heading + &rows.concat()
}

/// The heading of a table of hosts.
pub(crate) const HOSTS: &str = "host▼                      CPU    memory  runnable  wait:cpu  wait:mem   wait:io    net in   net out   disk rd   disk wr";

/// The row of a host.
pub(crate) fn host(name: &str) -> String {
    format!(
        "{name:<20}         #         #         #         #         #         #         #         #         #         #\n"
    )
}

/// The columns of processes, sorted by host.
pub(crate) const PROCESSES: &str = "process             user                host▼                       id      rank     state       CPU    memory   disk rd   disk wr";

/// The row of a process that sleeps.
pub(crate) fn process(name: &str, user: &str, host: &str) -> String {
    format!("{name:<20}{user:<20}{host:<20}         #         #         S         #         #         #         #\n")
}

/// Asserts that a page has this first line and this table, in which `#` stands for a figure, and one cell in the strip for
/// each of so many hosts.
pub(crate) fn assert_page(page: &str, first: &str, hosts: usize, table: &str) {
    let head = head(&"▒".repeat(hosts));
    assert_shown(&settled(page), &format!("{first}\n{head}{table}"));
}

/// The last line of a screen.
const KEYS: &str = "q quit  ↑↓ choose  enter look into  esc back  ←→ sort  r reverse  / filter  b by  p pause";

/// Lines of the screen on which this is tried, without the last; and those above the table.
const LINES: usize = 29;
const ABOVE: usize = 16;

/// Waits until the table on a screen of 30 lines has so many rows that begin with a text, and compares the whole screen; above
/// the keys stands this command line, if it is one of processes.
pub(crate) fn assert_screen(
    terminal: &mut PseudoTerminal,
    first: &str,
    hosts: usize,
    (text, rows): (&str, usize),
    (table, command): (&str, Option<&str>),
) {
    let screen = terminal.wait(first, |screen| {
        // The cost is known from the second tick on.
        screen[0] == first
            && !screen[1].contains("here 0.00 % and 0 B/s")
            && screen[ABOVE..].iter().filter(|line| line.starts_with(text)).count() == rows
    });
    let page = screen.join("\n") + "\n";
    let command = command.map(|command| format!("runs: {command}\n")).unwrap_or_default();
    let missing = LINES - ABOVE - table.lines().count() - command.lines().count();
    assert_page(&page, first, hosts, &format!("{table}{}{command}{KEYS}\n", "\n".repeat(missing)));
}

/// The page with hot cells like cold ones, with some host as the one that has the most of something and none that stands out,
/// and with zeros for what a kernel does not count.
pub(crate) fn settled(page: &str) -> String {
    // Columns of the summary before the host that has the most.
    let (mut within_summary, mut numbers) = (false, 0);
    let line = |line: &str| {
        let line: String = line.chars().map(|letter| if "▁▂▃▄▅▆▇█·".contains(letter) { '▒' } else { letter }).collect();
        let line = format!("{line}\n").replace(" - ", " 0 ").replace(" - ", " 0 ").replace(" -\n", " 0\n");
        let was_within = within_summary;
        within_summary = line.contains("stand out") || within_summary && line != "\n";
        if within_summary && !was_within {
            numbers = line.find("  on ").expect("a column of hosts");
        }
        let is_summary = was_within && within_summary;
        if is_summary { line.trim_end().chars().take(numbers).chain("  HOST\n".chars()).collect() } else { line }
    };
    page.lines().map(line).collect()
}
