//! The job that a process belongs to: one of Slurm, a unit of systemd, or else its session.

use std::fs::{self, File};
use std::io::Read;

use super::known::Known;
use super::process::{self, ProcessStat};

/// The longest environment that is read; what a kernel passes on is longer only for those who want to try it.
const MAX_ENVIRONMENT: u64 = 1 << 20;

/// Knows the jobs of all processes that were looked at, but for those that are of their session.
#[derive(Debug, Default)]
pub(super) struct Jobs(Known<Option<String>>);

impl Jobs {
    /// Looks at all processes.
    pub(super) fn look<'s>(&mut self, stats: impl Iterator<Item = (u32, &'s ProcessStat)>) {
        self.0.look(stats, job);
    }

    /// The job of a process.
    pub(super) fn name(&self, id: u32, stat: &ProcessStat) -> String {
        let session = || match self.0.program(stat.session) {
            Some(leader) => format!("session {} ({leader})", stat.session),
            None => format!("session {}", stat.session),
        };
        self.0.fact(id).cloned().flatten().unwrap_or_else(session)
    }
}

/// By its control group; where Slurm makes none of its own, by its environment.
fn job(id: u32) -> Option<String> {
    let cgroup = fs::read_to_string(format!("/proc/{id}/cgroup")).unwrap_or_default();
    let begun = || process::job_of_environment(&environment(id));
    process::slurm_job(&cgroup).or_else(begun).or_else(|| process::unit(&cgroup))
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
        let stat = ProcessStat::read(&text).expect("it is as the kernel writes it");
        let mut jobs = Jobs::default();
        jobs.look([(child.id(), &stat)].into_iter());
        let names = [jobs.name(child.id(), &stat), jobs.name(std::process::id(), &stat)];
        child.kill().and_then(|()| child.wait()).expect("it is ours");
        assert_eq!(names[0], "slurm 4711");
        assert_ne!(names[1], "slurm 4711");
    }
}
