//! Banyan: a session with the bench's members.

use std::time::{Duration, Instant};

use banyan_boot::{Launcher, ProcessDistribution, Session, SessionError, SessionOptions};

use super::order::END;
use super::program::Program;
use super::{DEADLINE, LaunchBenchError};

/// Members that have joined and passed a barrier.
pub(super) struct LaunchedTree {
    session: Session,
    took: Duration,
}

impl LaunchedTree {
    /// Launches so many on this machine; returns when the master says that all have passed the barrier.
    pub(super) fn start(program: &Program, members: u32) -> Result<LaunchedTree, LaunchBenchError> {
        LaunchedTree::over(program, [("localhost", members)], Launcher::Local)
    }

    /// Launches members on these hosts, so many on each.
    pub(super) fn over<'a>(
        program: &Program,
        hosts: impl IntoIterator<Item = (&'a str, u32)>,
        launcher: Launcher,
    ) -> Result<LaunchedTree, LaunchBenchError> {
        let distribution = ProcessDistribution::new(&program.path, program.role);
        let distribution = hosts.into_iter().fold(distribution, |all, (host, members)| all.on(host, members));
        let members = distribution.hosts.iter().map(|host| host.processes).sum();
        let options = SessionOptions::default().launcher(launcher).deadline(DEADLINE);
        let begin = Instant::now();
        let session = Session::launch(&[distribution], &options)
            .map_err(|source| LaunchBenchError::Launch { members, source })?;
        let mut tree = LaunchedTree { session, took: Duration::ZERO };
        tree.hear()?;
        tree.took = begin.elapsed();
        Ok(tree)
    }

    /// The time of so many rounds of a collective, from the master's first call to the end of its last.
    pub(super) fn rounds(&self, order: u8, rounds: u8) -> Result<Duration, LaunchBenchError> {
        self.session.send_user_data(&[order, rounds]);
        let nanoseconds = self.hear()?;
        // Only an answer of another length is no time, and no member of the bench gives one.
        Ok(Duration::from_nanos(nanoseconds.try_into().map_or(u64::MAX, u64::from_le_bytes)))
    }

    /// Lets all members end; the time the launch took.
    pub(super) fn ended(self) -> Result<Duration, LaunchBenchError> {
        self.session.send_user_data(&[END]);
        let members = self.session.size();
        let ended = self.session.wait_timeout(Instant::now() + DEADLINE).and_then(|_| self.session.kill());
        ended.map(|()| self.took).map_err(|source| LaunchBenchError::Session { members, source })
    }

    fn hear(&self) -> Result<Vec<u8>, LaunchBenchError> {
        let heard: Result<_, SessionError> = self.session.recv_user_data_timeout(Instant::now() + DEADLINE);
        let members = self.session.size();
        heard.map_err(|source| LaunchBenchError::Session { members, source })
    }
}
