//! Exports and imports of records: what goes out comes back.

#[cfg(feature = "arrow")]
mod arrow;
#[path = "../support/choices.rs"]
mod choices;
mod csv;
mod json_lines;
mod samples;
#[path = "../support/records.rs"]
mod support;

use banyan_ndr::DynRecord;
use proptest::strategy::Strategy;
use support::{Recipe, records_of};

/// Any records in any layout.
fn records() -> impl Strategy<Value = DynRecord> {
    records_of(Recipe { gaps: true, table: true })
}
