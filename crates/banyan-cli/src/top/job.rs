//! The job that a process belongs to: one of Slurm, a unit of systemd, or else its session.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;

use super::process::{self, Stat};

/// The longest environment that is read; what a kernel passes on is longer only for those who want to try it.
const MAX_ENVIRONMENT: u64 = 1 << 20;

/// Knows the jobs of all processes that were looked at.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    /// Names of processes, for the sessions that they lead.
    leaders: HashMap<u32, String>,
    begun: HashMap<u32, Begun>,
}

/// What a process was begun with. It is read once: a process keeps its environment until it becomes another program.
#[derive(Debug)]
struct Begun {
    started: u64,
    program: String,
    /// The Slurm job, where Slurm puts processes into no control group of their own.
    job: Option<String>,
    /// Whether that stays. A process that was just becoming a program has no environment yet, and is asked once more.
    is_certain: bool,
}

impl Begun {
    fn read(id: u32, stat: &Stat, again: bool) -> Begun {
        let environment = environment(id);
        let job = process::job_of_environment(&environment);
        let is_certain = again || !environment.is_empty();
        Begun { started: stat.started, program: stat.name.clone(), job, is_certain }
    }
}

impl Jobs {
    /// Looks at all processes.
    pub(super) fn look(&mut self, stats: &[(u32, Stat)]) {
        self.leaders = stats.iter().map(|(id, stat)| (*id, stat.name.clone())).collect();
        let mut before = std::mem::take(&mut self.begun);
        let begun = |(id, stat): &(u32, Stat)| {
            let begun = match before.remove(id).filter(|it| it.started == stat.started && it.program == stat.name) {
                Some(same) if same.is_certain => same,
                other => Begun::read(*id, stat, other.is_some()),
            };
            (*id, begun)
        };
        self.begun = stats.iter().map(begun).collect();
    }

    /// The job of a process.
    pub(super) fn name(&self, id: u32, stat: &Stat) -> String {
        let cgroup = fs::read_to_string(format!("/proc/{id}/cgroup")).unwrap_or_default();
        let begun = || self.begun.get(&id)?.job.clone();
        let session = || match self.leaders.get(&stat.session) {
            Some(name) => format!("session {} ({name})", stat.session),
            None => format!("session {}", stat.session),
        };
        process::slurm_job(&cgroup).or_else(begun).or_else(|| process::unit(&cgroup)).unwrap_or_else(session)
    }
}

/// Nothing of processes that may not be read.
fn environment(id: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = |file: File| file.take(MAX_ENVIRONMENT).read_to_end(&mut bytes);
    let _ = File::open(format!("/proc/{id}/environ")).and_then(read);
    bytes
}

/// Whether two names are of the same job. A session is called by the process that leads it, too, which may come to be another
/// program, or end.
pub(super) fn is_job(name: &str, other: &str) -> bool {
    let number =
        |name: &str| name.strip_prefix("session ").and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
    name == other || number(name).is_some_and(|session| number(other) == Some(session))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_session_is_the_same_whoever_leads_it() {
        assert!(is_job("session 7 (sh)", "session 7 (sleep)") && is_job("session 7", "session 7 (sh)"));
        assert!(!is_job("session 7 (sh)", "session 71 (sh)") && !is_job("session x", "session y"));
        assert!(is_job("slurm 42", "slurm 42") && !is_job("slurm 42", "slurm 421"));
    }

    #[test]
    fn where_slurm_makes_no_groups_the_environment_says_which_job_it_is() {
        let mut child = Command::new("sleep").arg("1000").env("SLURM_JOB_ID", "4711").spawn().expect("sleep");
        // It has been started, but may not have got its environment yet.
        while environment(child.id()).is_empty() {
            std::thread::yield_now();
        }
        let text = fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("it is there");
        let stats = [(child.id(), Stat::read(&text).expect("it is as the kernel writes it"))];
        let mut jobs = Jobs::default();
        jobs.look(&stats);
        let names = [jobs.name(child.id(), &stats[0].1), jobs.name(std::process::id(), &stats[0].1)];
        child.kill().and_then(|()| child.wait()).expect("it is ours");
        // Once it is known, it is not asked for again.
        jobs.look(&stats);
        let remembered = jobs.name(child.id(), &stats[0].1);
        assert_eq!((names[0].as_str(), remembered.as_str()), ("slurm 4711", "slurm 4711"));
        assert_ne!(names[1], "slurm 4711");
    }
}
