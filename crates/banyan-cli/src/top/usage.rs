//! Who uses a host: its processes, or all processes of a user or job together, the greediest first.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use banyan_boot::RankSet;
use banyan_ndr::Record;

use super::ask::{Ask, Grouping, Question, SortKey};
use super::detail::Detail;
use super::job::{Jobs, is_job};
use super::known::Known;
use super::names::UserNames;
use super::process::ProcessStat;
use super::sight::{LastReading, Sight};

/// The longest name that is sent: control groups may have longer ones.
const MAX_NAME: usize = 64;

/// What a process uses, or all of a user or job.
#[derive(Debug, Clone, Default, PartialEq, Record)]
pub(super) struct Usage {
    pub(super) name: String,
    /// Of a process; 0 of several.
    pub(super) id: u32,
    /// Of a process; empty of several.
    pub(super) user: String,
    #[record(unit = "%", gauge, description = "share of a core")]
    pub(super) cpu: f64,
    #[record(unit = "B", gauge, description = "in memory; what processes share counts for each")]
    pub(super) memory: f64,
    #[record(unit = "B/s", gauge, description = "of a process: what it has read from disks")]
    pub(super) disk_read: Option<f64>,
    #[record(unit = "B/s", gauge, description = "of a process: what it has written to disks")]
    pub(super) disk_write: Option<f64>,
    pub(super) processes: u64,
    /// The hosts, by rank, as text; empty where the host itself tells it.
    pub(super) on: String,
    /// Of a process, as the kernel writes it; empty of several.
    pub(super) state: String,
    /// Which rank of a parallel job a process is, if it is known to be one.
    pub(super) rank: Option<u32>,
    /// The beginning of a process's command line; empty of several.
    pub(super) command: String,
}

/// All that is not told one by one, so that nothing is lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Record)]
pub(super) struct Rest {
    /// How many usages are together here. One name may have been left out in several places.
    pub(super) rows: u64,
    pub(super) processes: u64,
    pub(super) cpu: f64,
    pub(super) memory: f64,
}

/// What a host answers, or what several answer together.
#[derive(Debug, Clone, Default, Record)]
pub(super) struct Listing {
    pub(super) usages: Vec<Usage>,
    pub(super) others: Rest,
}

impl Listing {
    /// What several tell together: those of one name as one, and no more than were asked for.
    pub(super) fn of(listings: Vec<Listing>, ask: Ask) -> Listing {
        let mut others = Rest::default();
        listings.iter().for_each(|listing| others.add(listing.others));
        let usages = listings.into_iter().flat_map(|listing| listing.usages).collect();
        let mut usages = together(usages, ask.kind());
        usages.sort_unstable_by(|a, b| by_greed(ask.order(), a, b));
        for left_out in usages.drain(usages.len().min(ask.most as usize)..) {
            let Usage { processes, cpu, memory, .. } = left_out;
            others.add(Rest { rows: 1, processes, cpu, memory });
        }
        Listing { usages, others }
    }
}

impl Rest {
    fn add(&mut self, other: Rest) {
        self.rows = self.rows.saturating_add(other.rows);
        self.processes = self.processes.saturating_add(other.processes);
        self.cpu += other.cpu;
        self.memory += other.memory;
    }
}

/// The greediest first; of those who are alike in every number by name, so that each node chooses the same.
fn by_greed(order: SortKey, a: &Usage, b: &Usage) -> Ordering {
    let cpu = || b.cpu.total_cmp(&a.cpu);
    let memory = || b.memory.total_cmp(&a.memory);
    let disk = |a: Option<f64>, b: Option<f64>| b.unwrap_or(0.0).total_cmp(&a.unwrap_or(0.0));
    let first = match order {
        SortKey::Cpu => cpu(),
        SortKey::Memory => memory(),
        SortKey::Processes => b.processes.cmp(&a.processes),
        SortKey::DiskRead => disk(a.disk_read, b.disk_read),
        SortKey::DiskWrite => disk(a.disk_write, b.disk_write),
    };
    first.then_with(cpu).then_with(memory).then_with(|| (&a.name, a.id, &a.on).cmp(&(&b.name, b.id, &b.on)))
}

/// Looks at all processes again and again.
pub(super) struct Processes {
    sight: Sight,
    names: UserNames,
    /// By number.
    users: Known<Option<u32>>,
    jobs: Jobs,
    /// Of those that were told.
    details: Known<Detail>,
}

impl Processes {
    /// The usages since the last look that are asked for; at the first look nobody has used a core.
    pub(super) fn list(&mut self, question: &Question) -> Listing {
        self.sight.look(question.ask.kind() == Grouping::Process);
        if question.is_about_jobs() {
            self.jobs.look(self.sight.stats());
        }
        if question.is_about_users() {
            self.users.look(self.sight.stats(), user);
            self.names.look(self.users.facts().copied().flatten(), &question.user);
        }
        let is_of_job = |id: u32, stat: &ProcessStat| is_job(&self.job(id, stat), &short(&question.job));
        let seen = self.sight.processes();
        let seen = seen.filter(|(id, seen)| question.job.is_empty() || is_of_job(*id, &seen.stat));
        let usages = seen.map(|(id, seen)| self.usage(id, seen, question.ask.kind()));
        let usages: Vec<Usage> = usages.filter(|usage| question.is_about(usage)).collect();
        let mut listing = Listing::of(vec![Listing { usages, ..Listing::default() }], question.ask);
        if question.ask.kind() == Grouping::Process {
            self.add_details(&mut listing.usages);
        }
        listing
    }

    fn add_details(&mut self, usages: &mut [Usage]) {
        let told = usages.iter().filter_map(|usage| Some((usage.id, self.sight.stat(usage.id)?)));
        self.details.look(told, Detail::read);
        for usage in usages {
            let Detail { rank, command } = self.details.fact(usage.id).cloned().unwrap_or_default();
            (usage.rank, usage.command) = (rank, command);
        }
    }

    fn usage(&self, id: u32, seen: &LastReading, kind: Grouping) -> Usage {
        let LastReading { stat, cpu, disk, .. } = seen;
        let memory = stat.pages as f64 * rustix::param::page_size() as f64;
        let usage = Usage { cpu: *cpu, memory, processes: 1, ..Usage::default() };
        match kind {
            Grouping::Process => {
                let (name, user, state) = (short(&stat.name), self.user(id), stat.state.to_string());
                let [disk_read, disk_write] = disk.map_or([None; 2], |rates| rates.map(Some));
                Usage { name, id, user, state, disk_read, disk_write, ..usage }
            }
            Grouping::User => Usage { name: self.user(id), ..usage },
            Grouping::Job => Usage { name: self.job(id, stat), ..usage },
        }
    }

    fn job(&self, id: u32, stat: &ProcessStat) -> String {
        short(&self.jobs.name(id, stat))
    }

    fn user(&self, id: u32) -> String {
        let user = self.users.fact(id).copied().flatten();
        user.map(|user| short(&self.names.name(user))).unwrap_or_default()
    }

    /// With the names of users.
    pub(super) fn new() -> Processes {
        let (sight, users, jobs, details) = Default::default();
        Processes { sight, names: UserNames::here(), users, jobs, details }
    }
}

/// The user of a process; nothing if it has ended.
fn user(id: u32) -> Option<u32> {
    let owner = fs::metadata(format!("/proc/{id}")).ok()?.uid();
    if owner != 0 {
        return Some(owner);
    }
    // Files of a process that keeps its memory private are root's, whoever's the process is.
    effective_user(&fs::read_to_string(format!("/proc/{id}/status")).ok()?)
}

/// The effective user in a `/proc/PID/status`: the second number of its line.
fn effective_user(status: &str) -> Option<u32> {
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().nth(1)?.parse().ok()
}

fn short(name: &str) -> String {
    name.chars().take(MAX_NAME).collect()
}

/// One usage for all of a name, unless they are of single processes.
fn together(usages: Vec<Usage>, kind: Grouping) -> Vec<Usage> {
    if kind == Grouping::Process {
        return usages;
    }
    let mut by_name: HashMap<String, (Usage, RankSet)> = HashMap::new();
    for usage in usages {
        // What is no set of hosts is of none.
        let on: RankSet = usage.on.parse().unwrap_or_default();
        match by_name.entry(usage.name.clone()) {
            Entry::Vacant(entry) => {
                entry.insert((usage, on));
            }
            Entry::Occupied(mut entry) => {
                let (sum, places) = entry.get_mut();
                sum.cpu += usage.cpu;
                sum.memory += usage.memory;
                sum.processes = sum.processes.saturating_add(usage.processes);
                *places = places.union(&on);
            }
        }
    }
    by_name.into_values().map(|(usage, on)| Usage { on: on.to_string(), ..usage }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_of_a_process_is_the_effective_one_of_its_status() {
        let status = "Name:\tbanyan-agent\nUid:\t1000\t1001\t1001\t1001\nGid:\t7\t7\t7\t7\n";
        assert_eq!((effective_user(status), effective_user("Name:\tx\n")), (Some(1001), None));
        assert_eq!(user(std::process::id()), Some(rustix::process::geteuid().as_raw()));
    }

    fn usage(name: &str, cpu: f64, memory: f64) -> Usage {
        Usage { name: name.into(), cpu, memory, processes: 1, ..Usage::default() }
    }

    #[test]
    fn usages_of_one_name_are_one() {
        let usages = vec![usage("ana", 10.0, 5.0), usage("ben", 1.0, 1.0), usage("ana", 20.0, 6.0)];
        assert_eq!(together(usages.clone(), Grouping::Process).len(), 3);
        let told = Listing { usages, ..Listing::default() };
        let sums = Listing::of(vec![told], Ask::new(Grouping::User, SortKey::Cpu, 10)).usages;
        assert_eq!(sums, [Usage { processes: 2, ..usage("ana", 30.0, 11.0) }, usage("ben", 1.0, 1.0)]);
    }

    #[test]
    fn the_greediest_are_told_and_the_others_together() {
        let usages = vec![usage("a", 0.0, 1.0), usage("b", 5.0, 0.0), usage("c", 0.0, 9.0)];
        let told = |order| {
            let all = Listing { usages: usages.clone(), ..Listing::default() };
            Listing::of(vec![all], Ask::new(Grouping::Process, order, 2))
        };
        let names = |listing: &Listing| listing.usages.iter().map(|usage| usage.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&told(SortKey::Cpu)), ["b", "c"]);
        assert_eq!(told(SortKey::Cpu).others, Rest { rows: 1, processes: 1, cpu: 0.0, memory: 1.0 });
        assert_eq!(names(&told(SortKey::Memory)), ["c", "a"]);
        assert_eq!(told(SortKey::Memory).others, Rest { rows: 1, processes: 1, cpu: 5.0, memory: 0.0 });
    }

    #[test]
    fn what_this_process_writes_to_a_disk_is_told_where_the_kernel_counts_it() {
        let Ok(counted) = fs::read_to_string("/proc/self/io") else { return };
        assert!(super::super::counters::disk_of_process(&counted).is_some(), "{counted}");
        let ask = Ask::new(Grouping::Process, SortKey::DiskWrite, u32::MAX);
        let mut processes = Processes::new();
        let mut own = || {
            let listing = processes.list(&Question::new(ask));
            listing.usages.into_iter().find(|usage| usage.id == std::process::id()).expect("it is there")
        };
        assert_eq!((own().disk_read, own().disk_write.is_some()), (None, true));
    }

    #[test]
    fn those_who_write_most_are_told_if_rows_are_sorted_by_that() {
        let writes = |name: &str, rate| Usage { disk_write: rate, ..usage(name, 0.0, 1.0) };
        let usages = vec![usage("works", 99.0, 9.0), writes("writes", Some(1e6)), writes("writes little", Some(1.0))];
        let told = Listing::of(
            vec![Listing { usages, ..Listing::default() }],
            Ask::new(Grouping::Process, SortKey::DiskWrite, 2),
        );
        assert_eq!(told.usages.iter().map(|usage| &*usage.name).collect::<Vec<_>>(), ["writes", "writes little"]);
    }

    fn list(kind: Grouping, most: u32) -> Listing {
        Processes::new().list(&Question::new(Ask::new(kind, SortKey::Cpu, most)))
    }

    #[test]
    fn this_process_is_among_those_of_this_machine() {
        let listing = list(Grouping::Process, u32::MAX);
        let own = listing.usages.iter().find(|usage| usage.id == std::process::id()).expect("it is there");
        assert!(own.memory > 0.0 && own.cpu == 0.0 && !own.user.is_empty(), "{own:?}");
        assert!(!own.command.is_empty() && own.state.len() == 1, "{own:?}");
        let users = list(Grouping::User, u32::MAX);
        assert!(users.usages.iter().any(|usage| usage.name == own.user && usage.processes > 0));
        assert_eq!(list(Grouping::Job, 1).usages.len(), 1);
    }

    #[test]
    fn only_processes_of_the_job_that_is_asked_for_are_told() {
        let own = std::process::id();
        let mut processes = Processes::new();
        processes.sight.look(false);
        processes.jobs.look(processes.sight.stats());
        let (_, stat) = processes.sight.stats().find(|(id, _)| *id == own).expect("it is there");
        let name = processes.job(own, stat);
        let of = |job: &str| {
            let ask = Ask::new(Grouping::Process, SortKey::Cpu, u32::MAX);
            Processes::new().list(&Question { job: job.into(), ..Question::new(ask) }).usages
        };
        assert!(of(&name).iter().any(|usage| usage.id == own), "{name}");
        assert_eq!(of("no such job"), []);
    }
}
