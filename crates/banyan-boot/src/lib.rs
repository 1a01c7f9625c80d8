//! Starts processes on many hosts and gives each what it needs to find the others.

mod agent;
mod assignment;
mod collective;
mod described;
mod distribution;
mod error;
mod event;
pub mod hostset;
mod inherited;
mod launcher;
mod layout;
mod member;
mod message;
mod node;
mod options;
mod problem;
pub mod process;
mod rankset;
mod session;

pub use agent::{AgentChannel, become_agent_if_asked, run_agent};
pub use collective::{BadReduction, CollectiveError, Element, What};
pub use described::DescribedError;
pub use distribution::{HostDistribution, Input, Output, ProcessDistribution, Stdio};
pub use error::{LaunchError, SessionError};
pub use event::{Event, Lines};
pub use hostset::{HostSet, HostSetError};
pub use launcher::{Launcher, SshOptions};
pub use member::{JoinError, Member, MemberError};
pub use options::SessionOptions;
pub use problem::{Problem, ProblemKind};
pub use process::ExitState;
pub use rankset::{RankSet, RankSetError};
pub use session::{Outcome, Session};
