//! What is told of single processes beside what they use: which rank of a parallel job each is, and its command line.
//!
//! It is read of those only that are told, when they are new: to read it of all would cost more than all the rest.

use banyan_stack::Choice;

/// The longest command line that is sent.
const MAX_COMMAND: usize = 200;

/// What is told of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Detail {
    /// As its environment says, where that may be read.
    pub(super) rank: Option<u32>,
    pub(super) command: String,
}

impl Detail {
    /// Nothing of a process that has ended.
    pub(super) fn read(id: u32) -> Detail {
        let found = Choice::Pids(vec![id]).find().unwrap_or_default().pop();
        let detail = |found: banyan_stack::Found| Detail {
            rank: found.rank,
            command: found.command.chars().take(MAX_COMMAND).collect(),
        };
        found.map(detail).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_rank_and_a_command_line_are_those_that_the_process_was_started_with() {
        let mut child = Command::new("sleep").arg("1000").env("OMPI_COMM_WORLD_RANK", "37").spawn().expect("sleep");
        // It has been started, but may not be that program yet.
        let end = Instant::now() + Duration::from_secs(60);
        while !Detail::read(child.id()).command.starts_with("sleep") {
            assert!(Instant::now() < end, "it was never that program");
            std::thread::yield_now();
        }
        let detail = Detail::read(child.id());
        child.kill().and_then(|()| child.wait()).expect("it is ours");
        assert_eq!(detail, Detail { rank: Some(37), command: "sleep 1000".into() });
        assert_eq!(Detail::read(u32::MAX), Detail::default());
    }
}
