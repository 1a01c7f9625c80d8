//! Banyan: a session over local agents with the bench's members.

use std::time::{Duration, Instant};

use banyan_boot::{Launcher, ProcessDistribution, Session, SessionError, SessionOptions};

use super::order::END;
use super::program::Program;
use super::{DEADLINE, LaunchBenchError};

/// Members that have joined and passed a barrier.
pub(super) struct Tree {
    session: Session,
    took: Duration,
}

impl Tree {
    /// Launches so many; returns when the master says that all have passed the barrier.
    pub(super) fn start(program: &Program, members: u32) -> Result<Tree, LaunchBenchError> {
        let distribution = ProcessDistribution::new(&program.path, [] as [&str; 0]).on("localhost", members);
        let deadline = Some(DEADLINE);
        let options = SessionOptions { launcher: Launcher::Local, deadline, ..SessionOptions::default() };
        let begin = Instant::now();
        let session = Session::launch(&[distribution], &options)
            .map_err(|source| LaunchBenchError::Launch { members, source })?;
        let mut tree = Tree { session, took: Duration::ZERO };
        tree.hear()?;
        tree.took = begin.elapsed();
        Ok(tree)
    }

    /// The time of so many rounds of a collective.
    pub(super) fn rounds(&self, order: u8, rounds: u8) -> Result<Duration, LaunchBenchError> {
        let begin = Instant::now();
        self.session.send_user_data(&[order, rounds]);
        self.hear()?;
        Ok(begin.elapsed())
    }

    /// Lets all members end; the time the launch took.
    pub(super) fn ended(self) -> Result<Duration, LaunchBenchError> {
        self.session.send_user_data(&[END]);
        let ended = self.session.wait(Some(Instant::now() + DEADLINE)).and_then(|_| self.session.kill());
        match ended {
            Ok(()) => Ok(self.took),
            Err(source) => Err(LaunchBenchError::Session { members: 0, source }),
        }
    }

    fn hear(&self) -> Result<(), LaunchBenchError> {
        let heard: Result<_, SessionError> = self.session.recv_user_data(Some(Instant::now() + DEADLINE));
        let members = self.session.size();
        heard.map(drop).map_err(|source| LaunchBenchError::Session { members, source })
    }
}
