//! Records without compiled types: what is written is read back, forged bodies are refused, paths lead where they say.

mod hostile;
mod paths;
mod printing;
mod recursive;
mod round_trip;

use banyan_ndr::DynRecord;
use proptest::strategy::Strategy;

use crate::support::records::{Recipe, records_of};

/// Any records in any layout.
fn records() -> impl Strategy<Value = DynRecord> {
    records_of(Recipe { gaps: true, table: true })
}
