//! A running tree of one system or the other, with the same questions to both.

use std::io;
use std::time::Duration;

use banyan_tree::TreeError;

use super::Shape;
use super::banyan::Banyan;
use super::floor::{self, TreeFloor};
use crate::processes::{KIB_IN_MB, arguments, descendants, is_agent, memory};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum System {
    Floor,
    Banyan,
}

impl System {
    pub(super) fn name(self) -> &'static str {
        match self {
            System::Floor => "floor",
            System::Banyan => "banyan",
        }
    }
}

/// Why a tree did not do what it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunningError {
    /// A process of the floor could not be started or did not answer.
    #[error("the floor: {0}; look at `ulimit -n` and `ulimit -u`")]
    Floor(#[from] io::Error),
    /// Banyan's network could not be started or did not answer.
    #[error("banyan: {0}")]
    Banyan(#[from] TreeError),
}

/// See the module.
pub(super) enum Running {
    Floor(TreeFloor),
    Banyan(Box<Banyan>),
}

impl Running {
    /// Starts a tree, with the time until everyone was there.
    pub(super) fn start(system: System, shape: &Shape) -> Result<(Running, Duration), RunningError> {
        Ok(match system {
            System::Floor => TreeFloor::start(shape).map(|(floor, took)| (Running::Floor(floor), took))?,
            System::Banyan => Banyan::start(shape).map(|(banyan, took)| (Running::Banyan(Box::new(banyan)), took))?,
        })
    }

    /// Megabytes that the largest of its inner processes holds, with the program's text, which it shares with others.
    pub(super) fn inner_memory(&self) -> f64 {
        let is_inner = |id: &u32| match self {
            Running::Floor(_) => floor::is_inner(&arguments(*id)),
            Running::Banyan(_) => is_agent(*id),
        };
        let each = descendants(false).into_iter().filter(is_inner).map(|id| memory(id, "Rss:"));
        each.fold(0.0, f64::max) / KIB_IN_MB
    }

    /// Round trips of one integer, each with its time.
    pub(super) fn round_trips(&mut self, count: u64) -> Result<Vec<Duration>, RunningError> {
        Ok(match self {
            Running::Floor(floor) => floor.round_trips(count)?,
            Running::Banyan(banyan) => banyan.round_trips(count)?,
        })
    }

    /// The time of so many waves of one integer, as many in a message as there are.
    pub(super) fn waves(&mut self, count: u64) -> Result<Duration, RunningError> {
        Ok(match self {
            Running::Floor(floor) => floor.waves(count, true)?,
            Running::Banyan(banyan) => banyan.waves(count)?,
        })
    }

    /// The time of so many sums of arrays.
    pub(super) fn array_sums(&mut self, count: u64) -> Result<Duration, RunningError> {
        Ok(match self {
            Running::Floor(floor) => floor.array_sums(count)?,
            Running::Banyan(banyan) => banyan.array_sums(count)?,
        })
    }

    /// The time until all have got so many arrays.
    pub(super) fn broadcasts(&mut self, count: u64) -> Result<Duration, RunningError> {
        Ok(match self {
            Running::Floor(floor) => floor.broadcasts(count)?,
            Running::Banyan(banyan) => banyan.broadcasts(count)?,
        })
    }
}
