//! Starts processes on many hosts and gives each what it needs to find the others.
//!
//! A program, the *front-end*, opens a [`Session`]: it says which program shall run how often on which hosts
//! ([`ProcessDistribution`]), and how hosts are reached ([`Launcher`]: this machine, `ssh`, Slurm, or any command that
//! runs one process per host). An *agent* on each host starts the processes, its *members*. Agents start each other, so
//! the tree is built in parallel, and when the front-end goes away, however it goes, nothing of the session remains on
//! any host.
//!
//! **The front-end.** Its own program serves as agent, and is brought to hosts that lack it:
//!
//! ```no_run
//! use banyan_boot::{ProcessDistribution, Session, SessionOptions, become_agent_if_asked};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     become_agent_if_asked(); // first of all: on other hosts this program runs as agent
//!     let solver = ProcessDistribution::new("./solver", ["--grid", "512"]).on("node1", 4).on("node2", 4);
//!     let session = Session::launch(&[solver], &SessionOptions::default())?;
//!     session.send_user_data(b"go");
//!     println!("{}", String::from_utf8(session.recv_user_data()?)?);
//!     let outcome = session.wait()?;
//!     std::process::exit(outcome.exit_status().into())
//! }
//! ```
//!
//! **A member.** Any program that was started by an agent can join; it needs to know nothing:
//!
//! ```no_run
//! use banyan_boot::{Member, ReduceOp};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut member = Member::join()?;
//! let go = if member.is_master() { Some(member.recv_user_data()?) } else { None };
//! member.broadcast(go)?;
//! let sum = member.all_reduce(ReduceOp::Sum, &[f64::from(member.rank())])?; // the same bits at every member, every time
//! member.barrier()?;
//! if member.is_master() {
//!     member.send_user_data(format!("the sum is {}", sum[0]))?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Programs that know nothing of Banyan are started just as well ([`ProcessDistribution::plain`]): their exit states are
//! collected ([`Session::wait`]), and signals reach them. What members write goes to the front-end's standard error, each line
//! behind its rank and host, or comes as events ([`Output::Forward`], [`Session::recv_event`]).
//!
//! # Where things are
//!
//! | | |
//! | --- | --- |
//! | [`Session`], [`SessionOptions`], [`ProcessDistribution`], [`Event`], [`Outcome`] | the front-end's side |
//! | [`Member`], [`ReduceOp`], [`Element`] | the member's side |
//! | [`become_agent_if_asked`], [`run_agent`] | the agent |
//! | [`AgentExtension`], [`extension_socket`] | what a program's agents do besides, for layers above this one |
//! | [`Launcher`] | how agents are started |
//! | [`HostSet`], [`RankSet`] | sets of hosts (`node[1-128,200]`) and of members |
//! | module [`process`] | starting, watching and ending processes on one host |
//! | [`LaunchError`], [`Problem`], [`MemberError`] | what can go wrong: the thing, the cause, the remedy |
//!
//! `docs/sessions.md` in the repository is the guide.

mod agent;
mod agent_layout;
mod agent_log;
mod arrival;
mod assignment;
mod attaching;
mod collective;
mod described;
mod distribution;
mod error;
mod event;
mod extension;
mod fallback;
mod inherited;
mod launcher;
mod layout;
mod listening;
mod machine;
mod member;
mod message;
mod node;
mod options;
mod passing;
mod problem;
mod problem_summary;
pub mod process;
mod process_limit;
mod process_table;
mod roster;
mod search;
mod session;
mod shape;
mod sharing;
mod staging;
mod ticket;
mod tunnel;

pub use agent::{AgentChannel, become_agent_if_asked, become_agent_if_asked_with, run_agent, run_agent_with};
pub use agent_layout::{AgentLayout, LayoutError};
pub use agent_log::{AgentLog, LogLines, register_agent_log};
pub use banyan_hosts::{HostSet, HostSetError, cause};
pub use banyan_link::{Deadline, Refused, SecretBytes, SessionId};
pub use banyan_ranks::{RankSet, RankSetError};
pub use collective::{Absent, BadReduction, CollectiveError, Element, ReduceOp};
pub use described::DescribedError;
pub use distribution::{HostDistribution, Input, Output, ProcessDistribution, Stdio};
pub use error::{LaunchError, SessionError};
pub use event::{Event, Lines};
pub use extension::{AgentExtension, AgentInfo, ExtensionControl, GuardInfo, extension_socket};
pub use fallback::Fallback;
pub use launcher::{Launcher, SshOptions};
pub use listening::listen_at;
pub use machine::local_addresses;
pub use member::{JoinError, Member, MemberError};
pub use options::{Leftovers, SessionOptions};
pub use problem::{Problem, ProblemKind};
pub use problem_summary::{ProblemSummary, likeness};
pub use process::ExitState;
pub use process_limit::ProcessLimit;
pub use process_table::{MemberProcess, ProcessTable};
pub use session::{Launch, Outcome, Session};
pub use staging::{
    Assembly, Delivery, Links, MadeDirectories, Parcel, ParcelError, ParcelStore, ParcelTarget, Parcels, Part, Parts,
    Reading, Skip, Skipped, Stage, StageError, StageReport, Wanted, remove_leftovers, remove_leftovers_of, staged_path,
};
pub use ticket::{Ticket, TicketError};
