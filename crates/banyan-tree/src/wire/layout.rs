//! What the header of each kind of frame holds: the table of the module, as far as headers go.

use banyan_link::{Frame, Kind};

use super::error::WireError;
use super::{
    ACKNOWLEDGE, ADDRESSES, AGAIN, ANCESTRY, APART, ATTACH, BEGIN, BODIES, CERTAIN, CHOSEN, CLOCK_ASKED, CLOCK_COUNTED,
    CLOCK_TOLD, CLOSE, CONFIRM, COUNT, COUNT_CLOCKS, COUNTED, ENDED, EXAMINE, FAILED, FIELD_MISSING, FRESH, GAP, GONE,
    JOINS_HEARD, LISTED, MEMBERS, MORE, NEW, OPEN, OVER, OVERDUE, PARTIAL, PARTICIPATE, PLACED, RECEIVED, RECORD,
    REFUSE, RESEND, RUN, SCATTER, SIZES, SKIPPED, SUCCEEDED, TAGGED, TAKEN, UNCOMBINED, URGENT, VIOLATED,
    WANT_ACKNOWLEDGEMENT, WANT_RECEIPT, WELCOME, WITHDRAW, YIELDS,
};

/// The header of one kind.
pub(super) struct Layout {
    /// What messages of that kind are called in errors.
    pub(super) name: &'static str,
    stream: bool,
    sequence: bool,
    format: bool,
    /// Whether it may also be without a format.
    lacks_format: bool,
    flags: u8,
}

impl Layout {
    pub(super) fn of(kind: Kind) -> Result<Layout, WireError> {
        Ok(match kind {
            MEMBERS => Layout { sequence: true, ..Layout::new("a set of members") },
            ADDRESSES => Layout::new("a list of addresses"),
            BODIES => Layout::new("bodies"),
            ATTACH => Layout { flags: URGENT | NEW, ..Layout::new("a question for a parent") },
            WELCOME => Layout::new("a welcome"),
            REFUSE => Layout::new("a refusal"),
            ANCESTRY => Layout::new("an ancestry"),
            SUCCEEDED => Layout::numbered("a succession"),
            PLACED => Layout { flags: NEW, ..Layout::new("a report of places") },
            GONE => Layout { stream: true, sequence: true, flags: CERTAIN, ..Layout::new("a report of a loss") },
            ENDED => Layout::numbered("a report of ends"),
            RUN => Layout {
                format: true,
                lacks_format: true,
                flags: FRESH | PARTIAL | SIZES | YIELDS | TAGGED | APART,
                ..Layout::numbered("a run")
            },
            PARTICIPATE => Layout::numbered("an entry into a stream"),
            WITHDRAW => Layout::about_stream("a withdrawal from a stream"),
            AGAIN => Layout::about_stream("a request to send again"),
            WANT_ACKNOWLEDGEMENT => Layout::about_stream("a request for acknowledgements"),
            WANT_RECEIPT => Layout::about_stream("a request for a receipt"),
            ACKNOWLEDGE => Layout::numbered("an acknowledgement"),
            BEGIN => Layout::numbered("a beginning"),
            RECORD => Layout { format: true, flags: PARTIAL | CHOSEN | APART, ..Layout::numbered("a record") },
            SCATTER => Layout { format: true, flags: PARTIAL | SIZES | APART, ..Layout::numbered("records for each") },
            FAILED => Layout { flags: CHOSEN, ..Layout::numbered("a failed record") },
            OPEN => Layout::numbered("the opening of a stream"),
            LISTED => Layout::numbered("a stream of a list"),
            CLOSE => Layout::numbered("the end of a stream"),
            OVER => Layout::numbered("the end of the network"),
            COUNT => Layout { sequence: true, ..Layout::new("a question for figures") },
            COUNTED => Layout::numbered("the figures of a node"),
            CLOCK_ASKED => Layout { sequence: true, ..Layout::new("a question for the time") },
            CLOCK_TOLD => Layout { sequence: true, ..Layout::new("the time") },
            COUNT_CLOCKS => Layout { sequence: true, ..Layout::new("a question for clocks") },
            CLOCK_COUNTED => Layout::numbered("the clocks of a node"),
            UNCOMBINED => Layout::numbered("a report of a filter that failed"),
            VIOLATED => Layout::numbered("a report of a broken rule"),
            FIELD_MISSING => Layout::numbered("a report of a missing field"),
            OVERDUE => Layout::numbered("an end of patience"),
            EXAMINE => Layout::numbered("a question for stopped members"),
            RECEIVED => Layout::numbered("a receipt"),
            RESEND => Layout::numbered("a request for packets"),
            SKIPPED => Layout::numbered("a notice of lost packets"),
            GAP => Layout::about_stream("a notice of packets for others"),
            JOINS_HEARD => Layout { sequence: true, ..Layout::new("a notice of places heard of") },
            CONFIRM => Layout::about_stream("a confirmation of records"),
            TAKEN => Layout::numbered("a notice of records taken"),
            _ => return Err(WireError::Kind(kind.number())),
        })
    }

    const fn new(name: &'static str) -> Layout {
        Layout { name, stream: false, sequence: false, format: false, lacks_format: false, flags: 0 }
    }

    const fn about_stream(name: &'static str) -> Layout {
        Layout { stream: true, ..Layout::new(name) }
    }

    const fn numbered(name: &'static str) -> Layout {
        Layout { sequence: true, ..Layout::about_stream(name) }
    }

    /// Checks that a frame has what frames of its kind have, and nothing else.
    pub(super) fn check(&self, frame: &Frame) -> Result<(), WireError> {
        let wrong = |part| Err(WireError::Header { message: self.name, part });
        if frame.flags & !(self.flags | MORE) != 0 {
            return wrong("flags");
        }
        if frame.stream != 0 && !self.stream {
            return wrong("stream");
        }
        if frame.sequence != 0 && !self.sequence {
            return wrong("sequence");
        }
        if frame.format.is_some() != self.format && !(frame.format.is_none() && self.lacks_format) {
            return wrong("format");
        }
        Ok(())
    }
}
