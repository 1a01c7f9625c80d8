//! Records as text, and schemas of their formats.

#[path = "../support/choices.rs"]
mod choices;
#[path = "../support/effort.rs"]
mod effort;
mod examples;
mod json;
mod json_schema;
#[path = "../support/records.rs"]
mod support;
mod validator;
mod xml;
mod xml_schema;

use banyan_ndr::DynRecord;
use proptest::strategy::Strategy;
use support::{Recipe, records_of};

/// Any records, in natural layout: schemas without annotations can say no other.
fn records() -> impl Strategy<Value = DynRecord> {
    records_of(Recipe { gaps: false, table: true })
}
