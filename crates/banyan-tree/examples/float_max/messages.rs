//! What front-end and back-ends of the example say to each other.
#![expect(dead_code, reason = "each program uses a part")]

use banyan_ndr::Record;

/// Tag: begin.
pub const INIT: u32 = 1;
/// Tag: end.
pub const EXIT: u32 = 2;

/// How many waves to send.
#[derive(Record)]
pub struct Start {
    pub waves: u32,
}

/// A back-end's number.
#[derive(Record)]
pub struct Value {
    pub value: f32,
}

/// The largest of all, and whose it is.
#[derive(Record)]
pub struct Largest {
    #[record(rename = "max(value)")]
    pub value: f32,
    #[record(rename = "max(value).who")]
    pub who: u32,
}
