//! What the front-end tells the back-ends of the example.

use banyan_ndr::Record;

/// Tag: begin.
pub(crate) const INIT: u32 = 1;
/// Tag: end.
pub(crate) const EXIT: u32 = 2;

/// How many waves to send.
#[derive(Record)]
pub(crate) struct Start {
    pub(crate) waves: u32,
}
