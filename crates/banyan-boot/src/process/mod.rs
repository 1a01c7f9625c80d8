//! Starting, watching and ending processes on one host: what an agent does for its members. Linux only.
//!
//! A [`Command`] says what to run; [`Command::prepare`] looks it up once, and a [`Spawner`] starts it any number of
//! times. What became of a member is an [`ExitState`].
//!
//! Nothing here knows of hosts, ranks or links: the agent above decides what runs and with which descriptors.

mod clone;
mod command;
mod exit;
mod limits;
mod spawn;
mod spawn_error;
mod stdio;
mod temporary;
pub(crate) use temporary::*;

pub use command::{Command, Executable, Prepared};
pub use exit::ExitState;
pub use limits::{BadLimit, Limits, Resource};
pub use spawn::{Child, ChildDescriptors, Spawner};
pub use spawn_error::{SpawnError, Step};
pub use stdio::{Line, LineEnd, LineSplitter, MAX_LINE, Stream, StreamState, input_pipe, output_pipe};
