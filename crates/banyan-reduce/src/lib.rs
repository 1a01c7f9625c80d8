//! Reductions: what a node makes of the parts of one wave.
//!
//! A [`Specification`] says which functions of which fields (`max(temp), avg(load) by host`). A [`Reduction`] is made
//! of it at every node of a stream. It takes members' records of any format, byte order and layout, and partial
//! results of the nodes below; what goes to the parent is a partial result, what the root hands out a result. Both are
//! self-describing records.
//!
//! **What it promises.** The result depends on the members' records only, not on the shape of the tree or on who came
//! first; but for sums and averages of floats, which are added in member order: the same tree gives the same bits
//! (`exact_sum` gives the same bits on any tree). Bytes from outside are checked; what is wrong with them is an error
//! that names the members. Every list has a bound ([`ReductionLimits`]), and says so when it was cut.
//!
//! The way to read it: `specification`, then `input` (where values lie in a record), `cell` (what a function
//! keeps of them), `layout` (how that travels), `compiled`, `fast` and `whole` (what is done with records of one
//! format), `groups`, and `reduction`, which drives them. `filter` is what custom filters
//! implement too, `registry` how they get a name, `caught` what becomes of their panics, `shared_object` how they come from C.
//! `docs/reductions.md` in the repository is the guide.

mod alignment;
mod bodies;
mod body;
mod caught;
mod cell;
mod collect;
mod column;
mod compiled;
mod error;
mod fast;
mod filter;
mod groups;
mod input;
mod interval;
mod layout;
mod limits;
mod part;
mod partial;
mod reduction;
mod registry;
#[cfg(unix)]
#[expect(unsafe_code, reason = "calls functions of shared objects")]
mod shared_object;
mod specification;
mod strip;
mod value;
mod whole;

pub use alignment::{Aligned, Alignment, AlignmentError};
pub use bodies::{BadBodies, Bodies, shared};
pub use collect::{COLLECT, Collected};
pub use error::{Fault, ReduceError};
pub use filter::{Filter, FilterError, FilterRole, Output, PartRun, Recovery};
pub use interval::Interval;
pub use limits::ReductionLimits;
pub use part::Part;
pub use partial::PARTIAL;
pub use reduction::Reduction;
pub use registry::{Filters, REDUCE};
#[cfg(unix)]
pub use shared_object::LoadError;
pub use specification::{Aggregate, Builder, Function, Path, Specification, SpecificationError};

/// The guide, whose example must compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/reductions.md")]
pub struct Guide;
