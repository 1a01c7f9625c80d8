//! The records of benches in which networks add arrays up.

use banyan_ndr::Record;

/// What each member contributes.
#[derive(Record)]
pub(crate) struct Array {
    pub(crate) values: Vec<f64>,
}

/// What comes of everyone's array.
#[derive(Record)]
pub(crate) struct ArraySum {
    #[record(rename = "sum(values)")]
    pub(crate) values: Vec<f64>,
}
