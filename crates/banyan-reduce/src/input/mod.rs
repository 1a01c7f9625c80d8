//! Records as they come from members: where the values of a path lie in records of one format, and what they are.
//!
//! [`Resolved::new`] follows a path through a format once. Most paths lead to a fixed place ([`Access::Place`]) or to
//! items side by side ([`Access::Run`]), which are read straight from the sender's bytes in the sender's byte order:
//! nothing is converted that is not needed. Pointers, optionals, variants and lists within lists are walked.

mod access;
mod datum;
mod resolve;
mod walk;

pub(super) use access::{Access, RunAccess};
pub(super) use datum::datum;
pub(super) use resolve::{Resolved, Unresolved};
