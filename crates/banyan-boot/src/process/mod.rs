//! Starting, watching and ending processes on one host: what an agent does for its members. Linux only.
//!
//! A [`Command`] says what to run, and a [`Spawner`] starts it any number of times. What a member writes comes as
//! [`Line`]s from a [`Stream`]; what became of it is an [`ExitState`].
//! [`end_members`] ends members with their groups, [`end_descendants`] whatever else they left, and a keeper
//! ([`keep`]) does so when the agent itself cannot.
//!
//! Nothing here knows of hosts, ranks or links: the agent above decides what runs and with which descriptors.

mod clone;
mod command;
mod descendants;
mod end;
mod exit;
mod guard;
mod keeper;
mod keeper_socket;
mod limits;
mod private;
mod signals;
mod spawn;
mod spawn_error;
mod stdio;
mod stranger;
mod title;

pub use command::Command;
pub(crate) use descendants::orphans;
pub use descendants::{LeftOver, end_descendants, reap_orphans};
pub use end::{end_members, signal_group};
pub use exit::ExitState;
pub(crate) use guard::Left;
pub use keeper::{STATUS_LEFT_OVER, keep};
pub(crate) use keeper::{STATUS_SPARED, keep_guarded};
pub(crate) use keeper_socket::Heard;
pub use keeper_socket::KeeperSocket;
pub use limits::{BadLimit, Limits, Resource};
pub use private::keep_memory_private;
pub use spawn::{Child, ChildDescriptors, Spawner};
pub use spawn_error::{SpawnError, SpawnStage};
pub use stdio::{Line, LineEnd, LineSplitter, MAX_LINE, Stream, StreamState, input_pipe, output_pipe};
pub(crate) use stranger::Stranger;
pub(crate) use title::{Role, own_role, set_title};
