//! Sets of host names, written the way people of clusters write them: `node[1-128,200],gpu[01-16]`.
//!
//! ```
//! use banyan_hosts::HostSet;
//!
//! let hosts = HostSet::parse("r[0-1]c[0-3]n[01-64], login !r1c3n64")?;
//! assert_eq!(hosts.len(), 512);
//! assert_eq!(hosts.iter().next(), Some("r0c0n01"));
//! assert_eq!(HostSet::parse("n3 n1 n2 gpu01")?.to_string(), "gpu01,n[1-3]");
//! # Ok::<(), banyan_hosts::HostSetError>(())
//! ```
//!
//! # Syntax
//!
//! | written | means |
//! | --- | --- |
//! | `n[1-4,7]` | n1, n2, n3, n4 and n7 |
//! | `n[08-12]`, `n[8-12]` | n08 to n12; n8, n9, n10 to n12: zeros in front are part of the name |
//! | `n[01-100]` | n01 to n99, then n100 |
//! | `n[0-100/5]` | every fifth |
//! | `r[0-7]c[0-3]` | all combinations, the last number changing fastest |
//! | `a,b` or `a b`, or on two lines | both |
//! | `a[1-9]!a3` | without a3 |
//! | `a[1-9]&a[3-20]` | what both have |
//! | `user@host`, `fe80::1%eth0` | names as they are |
//! | `@gpu`, `@slurm:debug` | the hosts of a group, where someone knows groups ([`HostSet::parse_with`]) |
//! | `[::1]`, `user@[::1]` | an IPv6 address; its name is `::1`, without the brackets |
//!
//! Operators work from left to right, none before the other. Commas and spaces too many mean nothing. The node lists
//! of Slurm are such sets. Host files hold the same, with comments from `#` to the end of the line.
//!
//! # Promises
//!
//! - A set keeps the order in which its names first appeared, each once. Ranks follow this order.
//! - A set's text (`Display`) depends on its names only, not on their order, and parses to the same names, here
//!   and in ClusterShell.
//! - Every name keeps the rules of a host name: nothing a shell or an option parser would misread. What a text asks
//!   for is bounded ([`MAX_HOSTS`] and its neighbours) before memory is taken.
//!
//! Names are not looked up, and two names of one host are two hosts.

#![forbid(unsafe_code)]

mod cause;
mod error;
mod file;
mod fold;
mod limits;
mod name;
mod names;
mod number;
mod parse;
mod set;
mod slurm;
mod template;

pub use cause::cause;
pub use error::{HostSetError, Position, Problem, Side};
pub use limits::{MAX_DIGITS, MAX_EXPANDED, MAX_HOSTS, MAX_NAME_BYTES, MAX_TEXT_BYTES};
pub use set::HostSet;
pub use slurm::{TasksPerNodeError, tasks_per_node};
