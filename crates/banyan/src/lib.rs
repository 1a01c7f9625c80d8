//! Banyan grows a tree of processes over many machines and lets one program talk to all of them as if they were one.
//!
//! It starts the processes, connects them, carries typed records down the tree, and reduces the answers on their way up.
//! This crate is all of that for programs that want to depend on one crate; it has no code of its own. Each part is
//! also a crate, useful without the ones above it.
//!
//! | you want to | begin with | all of it | guide in the repository |
//! | --- | --- | --- | --- |
//! | talk to many processes as if they were one | [`Network`], [`BackEnd`] | [`tree`] | `docs/networks.md` |
//! | only start processes on many hosts and connect them | [`Session`], [`Member`] | [`boot`] | `docs/sessions.md` |
//! | send records in memory layouts of any machine | [`Record`](trait@Record), [`Decoder`] | [`ndr`] | `docs/records.md` |
//! | pass frames between two processes | [`link::Link`] | [`link`] | `docs/links.md` |
//! | hold sets of millions of ranks in a few bytes | [`RankSet`] | [`ranks`] | |
//!
//! # A tool
//!
//! One program is all there is to a tool: its front-end, its agents between, and its members, which send what they have.
//! The agents know none of these types: reductions are compiled from their text and the formats that come.
//!
//! ```no_run
//! use banyan::{BackEnd, Network, NetworkOptions, ProcessDistribution, Record, TreeError};
//!
//! #[derive(Record)]
//! struct Order {
//!     samples: u32,
//! }
//!
//! #[derive(Record)]
//! struct Reading {
//!     room: u32,
//!     celsius: f64,
//! }
//!
//! #[derive(Record)]
//! struct Summary {
//!     hottest: f64,
//!     average: f64,
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     banyan::become_agent_if_asked(); // first of all: on other hosts this program runs as agent
//!     if std::env::args().nth(1).as_deref() == Some("member") {
//!         return member();
//!     }
//!     let members = ProcessDistribution::new(std::env::current_exe()?, ["member"]);
//!     let options = NetworkOptions::default().topology("4x16".parse()?);
//!     let network = Network::launch(&members, &options)?;
//!     let stream = network.open(&network.everyone(), "max(celsius) as hottest, avg(celsius) as average")?;
//!     stream.send(0, &Order { samples: 10 })?;
//!     for _ in 0..10 {
//!         let wave = stream.recv()?;
//!         let Summary { hottest, average } = wave.read()?;
//!         println!("{hottest} °C at most, {average} °C on average, of members {}", wave.members());
//!     }
//!     Ok(())
//! }
//!
//! fn member() -> Result<(), Box<dyn std::error::Error>> {
//!     let mut back_end = BackEnd::join()?;
//!     loop {
//!         let order = match back_end.recv() {
//!             Err(TreeError::Ended) => return Ok(()),
//!             order => order?,
//!         };
//!         for sample in 0..order.read::<Order>()?.samples {
//!             let reading = Reading { room: back_end.rank() / 4, celsius: 21.0 + f64::from(sample) / 8.0 };
//!             back_end.send(order.stream, &reading)?;
//!         }
//!     }
//! }
//! ```
//!
//! Kill any of the agents while it runs, also all of them: every wave still comes, once, in order, and says whose records
//! are in it.
//!
//! # Records
//!
//! Derive [`Record`](macro@Record) by the name it has here: the one in [`ndr`] is for programs that depend on `banyan-ndr`
//! itself.
//!
//! # Features
//!
//! - `jit` (default): conversions of records become machine code when they have run often enough.
//! - `files`: record files, as module [`files`](https://docs.rs/banyan-files).
//! - `text`: records as JSON, XML and CSV, as module [`text`](https://docs.rs/banyan-text).
//! - `arrow`: `text`, and export to Arrow IPC.
//! - `tokio`: [`Network`] and [`BackEnd`] whose waiting calls are futures, as module [`tokio`](https://docs.rs/banyan).

#![forbid(unsafe_code)]

pub use banyan_boot as boot;
#[cfg(feature = "files")]
pub use banyan_files as files;
pub use banyan_link as link;
pub use banyan_ndr as ndr;
pub use banyan_ranks as ranks;
#[cfg(feature = "text")]
pub use banyan_text as text;
#[cfg(feature = "tokio")]
pub mod tokio;
pub use banyan_tree as tree;

pub use banyan_boot::{
    Element, Event, ExitState, HostDistribution, HostSet, LaunchError, Launcher, Member, MemberError, Outcome,
    ProcessDistribution, ReduceOp, Session, SessionError, SessionId, SessionOptions, Ticket,
};
pub use banyan_link::Deadline;
pub use banyan_ndr::typed::Record;
pub use banyan_ndr::{
    DecodeError, Decoder, DynRecord, EncodeError, Format, FormatId, RecordView, Scratch, Value, encode,
};
pub use banyan_ranks::RankSet;
pub use banyan_tree::{
    BackEnd, Communicator, Incoming, Network, NetworkOptions, Stream, StreamOptions, Synchronisation, TreeError, Wave,
    become_agent_if_asked, register_filters,
};

/// The guide to records, whose examples must compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/records.md")]
pub struct GuideToRecords;

/// Makes a struct or an enum a record: implements [`Record`](trait@Record) and what belongs to it.
///
/// Attributes of fields and types are those of `banyan-ndr-derive`.
pub use banyan_ndr_derive::FacadeRecord as Record;
