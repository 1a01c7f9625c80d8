//! Exports and imports of records: what goes out comes back.

#[cfg(feature = "arrow")]
mod arrow;
mod csv;
mod json_lines;
mod samples;

use banyan_ndr::DynRecord;
use proptest::strategy::Strategy;

use crate::support::records::{Recipe, records_of};

/// Any records in any layout.
fn records() -> impl Strategy<Value = DynRecord> {
    records_of(Recipe { gaps: true, table: true })
}
