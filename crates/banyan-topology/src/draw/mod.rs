//! Pictures of topologies, with what repeats itself folded: as text, as DOT, as SVG.

mod dot;
mod svg;
mod text;
mod view;

pub use view::{Branch, Folding, View};
