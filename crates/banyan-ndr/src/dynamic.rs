//! Stand-in until the module of this name is merged.
use crate::{Format, Value};
/// A record held as values.
#[derive(Debug, Clone, PartialEq)]
pub struct DynRecord {
    /// What the values are written as.
    pub format: Format,
    /// The record itself, or its entry in the table.
    pub root: Value,
    /// The table of shared values.
    pub shared: Vec<Value>,
}
