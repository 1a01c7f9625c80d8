//! Where this process stands among a shell's jobs, as `/proc` tells it.
//!
//! Not asked of the kernel's calls: whoever leads our session or group may live outside of our process namespace (in a
//! container, say). The number they give is 0 then, which the safe wrappers around them do not allow.

use std::fs;

/// One line of `/proc`, so that all its numbers are of one namespace.
#[derive(Debug, PartialEq)]
pub(super) struct Job {
    id: i32,
    group: i32,
    session: i32,
    /// The group in the foreground of the terminal; 0 if it lives outside, -1 without a terminal.
    foreground: i32,
}

impl Job {
    /// Of this process; nothing if `/proc` does not tell.
    pub(super) fn of_this_process() -> Option<Self> {
        Self::read(&fs::read_to_string("/proc/self/stat").ok()?)
    }

    fn read(stat: &str) -> Option<Self> {
        let (id, rest) = stat.split_once(' ')?;
        // A name may hold anything, but it is the last that ends so.
        let (_name, rest) = rest.rsplit_once(") ")?;
        let mut fields = rest.split(' ').skip(2).map(|field| field.parse().ok());
        let (group, session, _terminal, foreground) =
            (fields.next()??, fields.next()??, fields.next()??, fields.next()??);
        Some(Self { id: id.parse().ok()?, group, session, foreground })
    }

    /// Whether it began its session, so that no shell stands above it.
    pub(super) fn leads_its_session(&self) -> bool {
        self.session == self.id
    }

    /// Whether another job has the terminal.
    pub(super) fn is_in_background(&self) -> bool {
        self.foreground > 0 && self.foreground != self.group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(stat: &str) -> Job {
        Job::read(stat).expect("a line of /proc")
    }

    #[test]
    fn a_leader_and_its_jobs_are_told_apart() {
        let shell = job("70 (a) b (c) S 60 70 70 34816 71 4194304 1 2");
        assert_eq!(shell, Job { id: 70, group: 70, session: 70, foreground: 71 });
        assert!(shell.leads_its_session() && shell.is_in_background());
        let job = job("71 (banyan) S 70 71 70 34816 71 4194304 1 2");
        assert!(!job.leads_its_session() && !job.is_in_background());
    }

    #[test]
    fn whoever_leads_may_live_outside_of_our_namespace() {
        let job = job("5 (banyan) S 1 0 0 34816 0 4194304 1 2");
        assert!(!job.leads_its_session() && !job.is_in_background());
    }

    #[test]
    fn what_is_no_such_line_tells_nothing() {
        assert_eq!(
            ["", "5 (banyan", "5 (banyan) S 1 0", "5 (banyan) S 1 a b c d"].map(Job::read),
            [None, None, None, None]
        );
        assert!(Job::of_this_process().is_some());
    }
}
