//! What a receiver may ask of a conversion.

use std::collections::BTreeMap;

use crate::kernel::program::Loss;
use crate::{Limits, Value};

/// How a [`Plan`](super::Plan) treats what does not fit as it is.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ConvertOptions {
    /// What happens to numbers that the target cannot hold.
    pub loss: Loss,
    /// Whether arrays that are longer than the target's fixed ones are cut. Otherwise they are an error.
    pub cut_arrays: bool,
    /// New names of source fields and cases, by the name of the source definition, then by the old name.
    pub renames: BTreeMap<String, BTreeMap<String, String>>,
    /// Values of target fields that the sender lacks, by the name of the target definition, then of the field. They
    /// precede the [`default`](crate::Field::default) of the field itself.
    pub defaults: BTreeMap<String, BTreeMap<String, Value>>,
    /// Bounds; [`Limits::body_bytes`] and [`Limits::growth`] are those of the converted body.
    pub limits: Limits,
}

crate::setters!(ConvertOptions {
    loss: Loss,
    cut_arrays: bool,
    renames: BTreeMap<String, BTreeMap<String, String>>,
    defaults: BTreeMap<String, BTreeMap<String, Value>>,
    limits: Limits,
});
