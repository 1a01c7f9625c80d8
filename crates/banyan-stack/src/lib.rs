//! Takes the stacks of running processes and merges them into one tree.
//!
//! A parallel program hangs. Of its thousand processes all but one wait in the same place; the tree of their stacks has
//! two branches, and the thin one is where to look. This crate takes stacks of processes of this machine, whatever they
//! were written in, and merges trees, whoever made them:
//!
//! ```no_run
//! use banyan_stack::{SamplerOptions, Target, TextOptions, take, text};
//!
//! let targets: Vec<Target> = [4711, 4712].into_iter().zip(0..)
//!     .map(|(pid, rank)| Target { pid, rank, command: String::new() })
//!     .collect();
//! let report = take(&targets, &SamplerOptions::default())?;
//! println!("{}", text(&report, TextOptions::default()));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! **What happens to a process.** Each thread is stopped for as long as it takes to copy its registers and the part of
//! its stack that is in use, and goes on: unwinding is done from the copy. Processes that are stopped stay stopped;
//! those that cannot be interrupted are given up after a tenth of a second. When this process ends, in whatever way, the
//! kernel lets go of what it was looking at.
//!
//! | | |
//! | --- | --- |
//! | [`Choice`], [`MpiJob`], [`Found`], [`number`], [`machine`] | which processes, and their ranks |
//! | [`take`], [`Target`], [`SamplerOptions`] | taking stacks |
//! | [`Report`], [`Process`], [`Unread`], [`Unreadable`], [`Refusal`] | what came of it |
//! | [`ReportRecord`] | the same, as hosts send it to each other |
//! | [`StackTree`], [`StackNode`], [`Frame`], [`Class`], [`Threads`] | the tree, and who does the same |
//! | [`text()`], [`folded`], [`dot`], [`svg`], [`Report::to_json`] | showing it |
//!
//! Stacks can be taken on Linux, on x86-64 and 64-bit ARM; elsewhere every process is unread.

mod allowance;
mod find;
mod frame;
mod library;
mod maps;
mod mpi;
mod process;
mod processes;
mod python;
mod report;
mod sampler;
mod show;
mod trace;
mod tree;
mod unwind;

pub use banyan_ranks::RankSet;
pub use find::{Choice, FindError, Found, number, pattern};
pub use frame::Frame;
pub use mpi::MpiJob;
pub use process::{Facts, State};
pub use processes::{ancestors, machine};
pub use report::{
    HostPid, Kind, Malformed, NodeRecord, Process, ProcessRecord, RankRange, Report, ReportRecord, ThreadRecord, Unread,
};
pub use sampler::{SamplerOptions, Target, take, take_while};
pub use show::{TextOptions, dot, folded, svg, text};
pub use trace::{Refusal, Unreadable};
pub use tree::{Class, StackNode, StackTree, Threads};
