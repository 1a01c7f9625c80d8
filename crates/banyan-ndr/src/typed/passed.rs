//! What of a body is not copied: large plain slices, which lie where the sender has them.

/// Bytes the writer was given by reference, and how many of its own bytes come before them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment<'r> {
    pub(super) owned_before: usize,
    pub(super) bytes: &'r [u8],
}

/// All that a body has by reference: one segment at least. The first is apart, because most that have any have one.
#[derive(Debug, Clone)]
pub(super) struct Passed<'r> {
    first: Segment<'r>,
    more: Vec<Segment<'r>>,
    /// Bytes in all of them.
    pub(super) len: usize,
}

impl<'r> Passed<'r> {
    /// Those before and one more. By value, because a writer that is given a reference to does not lie in registers.
    #[inline(never)]
    pub(super) fn with(before: Option<Box<Passed<'r>>>, segment: Segment<'r>) -> Box<Passed<'r>> {
        match before {
            Some(mut passed) => {
                passed.more.push(segment);
                passed.len += segment.bytes.len();
                passed
            }
            None => Box::new(Passed { first: segment, more: Vec::new(), len: segment.bytes.len() }),
        }
    }

    /// All, in order.
    pub(super) fn segments(&self) -> impl Iterator<Item = Segment<'r>> + Clone {
        std::iter::once(self.first).chain(self.more.iter().copied())
    }
}
