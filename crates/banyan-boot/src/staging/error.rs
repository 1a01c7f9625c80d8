//! Why something could not be staged.

use std::io;
use std::path::PathBuf;

use super::reading::Skip;
use crate::problem::Problem;
use banyan_hosts::cause;

impl StageError {
    /// Whether the system does not permit to read it.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, StageError::Read { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
    }

    /// Why a copy of a directory goes on without it, if it does.
    pub(super) fn skip(&self) -> Option<Skip> {
        match self {
            StageError::Leaves { .. } => Some(Skip::Outside),
            StageError::Nowhere(_) => Some(Skip::Nowhere),
            StageError::Kind(_) => Some(Skip::Special),
            _ => None,
        }
    }
}

/// Why something could not be staged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StageError {
    /// It cannot be read here.
    #[error("{} cannot be read: {}", .path.display(), cause(.source))]
    Read {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is neither a file, nor a directory, nor a symbolic link.
    #[error("{} cannot be staged: only files, directories and symbolic links can", .0.display())]
    Kind(PathBuf),
    /// A symbolic link leads out of the directory that is staged.
    #[error(
        "{} cannot be staged: it is a symbolic link to {}, outside of the directory; replace it by what it points to",
        .path.display(), .target.display()
    )]
    Leaves {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// A symbolic link that is to be followed leads nowhere, or back to a directory it is in.
    #[error("{} cannot be staged: it is a symbolic link that leads nowhere, or to a directory that it is in", .0.display())]
    Nowhere(PathBuf),
    /// The system does not tell how long a file is, and it has no end within 16 MiB.
    #[error("{} cannot be staged: the system says that it is empty, and it has more than 16 MiB", .0.display())]
    Endless(PathBuf),
    /// A path that is too long.
    #[error("{} cannot be staged: its path is longer than 4096 bytes", .0.display())]
    TooLong(PathBuf),
    /// It became shorter while it was read.
    #[error("{} changed while it was read; stage it again when nobody writes to it", .0.display())]
    Changed(PathBuf),
    /// No place on a host.
    #[error("{} is not a place to stage to: name a file or directory, without `..`", .0.display())]
    Destination(PathBuf),
    /// Some hosts have not got it.
    #[error(
        "{} could not be staged to {failed} of {agents} agents{}", .path.display(),
        .problems.iter().map(|problem| format!("\n  {problem}")).collect::<String>()
    )]
    Hosts {
        /// What.
        path: PathBuf,
        /// Agents that have not got it.
        failed: u32,
        /// All of them.
        agents: u32,
        /// Host by host.
        problems: Vec<Problem>,
    },
    /// The deadline has passed; no agent keeps half of it.
    #[error("{} was not staged in time", .0.display())]
    TimedOut(PathBuf),
    /// The session is over.
    #[error("the session is over")]
    Over,
}
