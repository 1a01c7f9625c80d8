//! Schemas of formats.
mod layout;
pub use layout::natural_layout;
