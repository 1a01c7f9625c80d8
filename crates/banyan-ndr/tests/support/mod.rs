//! Random formats and values, and the plainest possible reader, writer and converter of bodies to compare with.
//!
//! Everything random is made from [`Choices`]. Two generators: [`model`] and [`random`] make pairs of formats that can
//! be converted into each other, and [`records`] any format with any values.

pub(crate) mod body;
pub(crate) mod bombs;
pub(crate) mod choices;
pub(crate) mod coerce;
pub(crate) mod effort;
pub(crate) mod model;
pub(crate) mod random;
pub(crate) mod records;
pub(crate) mod wide;

pub(crate) use choices::Choices;
