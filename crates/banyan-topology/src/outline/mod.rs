//! Banyan's own notation: a line for each kind of node, indented below its parent.
//!
//! ```text
//! front-end                  # the root, always first
//!   agents on node[1-8]      # one agent on each of eight hosts, each with
//!     members 16             #   sixteen members on its own host
//! ```
//!
//! A line is a role, a count (1 if there is none), and `on` with hosts. With hosts, there are as many nodes as the count
//! says on each of them, in their order; without, they are where their parent is. Everything indented below a line is
//! below each of its nodes. Cycles and second parents cannot be written.

mod parse;
mod write;

pub(super) use parse::parse;
pub use write::Outline;
