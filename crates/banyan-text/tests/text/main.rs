//! Records as text and tables, and schemas of their formats, from outside.

mod bombs;
mod examples;
mod export;
mod json;
mod json_schema;
mod support;
mod validator;
mod wide;
mod xml;
mod xml_schema;

use banyan_ndr::DynRecord;
use proptest::strategy::Strategy;

use crate::support::records::{Recipe, records_of};

/// Any records, in natural layout: schemas without annotations can say no other.
fn records() -> impl Strategy<Value = DynRecord> {
    records_of(Recipe { gaps: false, table: true })
}
