//! What others say of streams before this node has heard that they are open.
//!
//! Streams are opened by packets of the control stream. What concerns one of them may overtake these packets, because it
//! comes by another link, or from a parent that tells a newcomer of streams last.

use std::collections::BTreeSet;

use crate::ids::{LinkId, StreamId, WaveNumber};
use crate::message::Resume;
use crate::sorted::SortedMap;

/// Streams that the parent may speak of before they are open here: it does so of all there are to a member that has just
/// come. Each takes some ten words.
const STREAMS: usize = 1 << 16;

/// Streams that a child may speak of before they are open here: those that were opened since this node lost its parent.
const STREAMS_OF_CHILD: usize = 1024;

/// What was said of streams that are not open here yet.
#[derive(Debug)]
pub(super) struct Unopened {
    /// The last stream that was opened here. Streams are opened in the order of their numbers.
    last_opened: StreamId,
    /// By the parent, and what became of children's records.
    streams: SortedMap<StreamId, Foretold>,
    /// Children that spoke of a stream.
    children: BTreeSet<(LinkId, StreamId)>,
    /// How far those below children are.
    resumes: SortedMap<(LinkId, StreamId), Resume>,
}

/// What was said of one stream, and of all below this node alike.
#[derive(Debug, Default)]
pub(super) struct Foretold {
    /// The first packet that came.
    packet: Option<u64>,
    /// There are no packets before this one.
    pub(super) skipped: u64,
    /// The first wave that the front-end had not taken, if that was said, and the first that was not whole.
    pub(super) acknowledged: Option<WaveNumber>,
    pub(super) whole: WaveNumber,
    /// Records that children sent, and that were dropped.
    pub(super) records: u64,
}

impl Foretold {
    /// The first packet that is to be had.
    pub(super) fn first_packet(&self) -> Option<u64> {
        self.packet.map(|first| first.max(self.skipped))
    }
}

impl Unopened {
    pub(super) fn new() -> Unopened {
        Unopened {
            last_opened: StreamId::CONTROL,
            streams: SortedMap::new(),
            children: BTreeSet::new(),
            resumes: SortedMap::new(),
        }
    }

    /// Whether a stream may still be opened; one that is not open and may not was closed.
    pub(super) fn may_open(&self, id: StreamId) -> bool {
        id > self.last_opened
    }

    /// What is known of a stream that may still be opened, if there is room for it.
    fn get_mut(&mut self, id: StreamId) -> Option<&mut Foretold> {
        let has_room = self.streams.contains_key(&id) || self.streams.len() < STREAMS;
        (self.may_open(id) && has_room).then(|| self.streams.get_or_insert_with(id, Foretold::default))
    }

    /// Remembers the first packet that is to be had: it will be asked for again.
    pub(super) fn note_packet(&mut self, id: StreamId, first: u64) {
        if let Some(foretold) = self.get_mut(id) {
            foretold.packet.get_or_insert(first);
        }
    }

    /// Remembers where a stream begins for this node and all below that have not said otherwise.
    pub(super) fn note_skip(&mut self, id: StreamId, until: u64) {
        if let Some(foretold) = self.get_mut(id) {
            foretold.skipped = foretold.skipped.max(until);
        }
    }

    /// Remembers which waves the front-end has taken: whoever has just come must not contribute to them.
    pub(super) fn note_acknowledged(&mut self, id: StreamId, until: WaveNumber) {
        if let Some(foretold) = self.get_mut(id) {
            foretold.acknowledged = foretold.acknowledged.max(Some(until));
        }
    }

    /// Remembers which waves are whole.
    pub(super) fn note_whole(&mut self, id: StreamId, next: WaveNumber) {
        if let Some(foretold) = self.get_mut(id) {
            foretold.whole = foretold.whole.max(next);
        }
    }

    /// Counts records of children: nobody could say where they should go.
    pub(super) fn note_dropped(&mut self, id: StreamId, records: u64) {
        if let Some(foretold) = self.get_mut(id) {
            foretold.records += records;
        }
    }

    /// Remembers a child that speaks of a stream: it will be asked again.
    pub(super) fn note_child(&mut self, link: LinkId, id: StreamId) {
        if self.may_open(id) && self.children.range(all_of(link)).count() < STREAMS_OF_CHILD {
            self.children.insert((link, id));
        }
    }

    /// Remembers how far those below a child are.
    pub(super) fn note_resumes(&mut self, link: LinkId, resumes: &[Resume]) {
        for resume in resumes.iter().filter(|resume| resume.stream > self.last_opened) {
            let is_known = self.resumes.contains_key(&(link, resume.stream));
            if is_known || self.resumes.range(all_of(link)).count() < STREAMS_OF_CHILD {
                let known = self.resumes.get_or_insert_with((link, resume.stream), || *resume);
                known.next = known.next.min(resume.next);
                known.received = known.received.min(resume.received);
            }
        }
    }

    /// A stream is opened: what was said of it.
    pub(super) fn take(&mut self, id: StreamId) -> Foretold {
        self.streams.remove(&id).unwrap_or_default()
    }

    /// A stream is opened: whether a child has spoken of it, and how far those below the child are.
    pub(super) fn take_of_child(&mut self, link: LinkId, id: StreamId) -> (bool, Option<Resume>) {
        (self.children.remove(&(link, id)), self.resumes.remove(&(link, id)))
    }

    /// A stream is open: those before it that are not were closed again.
    pub(super) fn opened(&mut self, id: StreamId) {
        self.last_opened = self.last_opened.max(id);
        let last = self.last_opened;
        self.streams.retain(|stream, _| *stream > last);
        self.children.retain(|(_, stream)| *stream > last);
        self.resumes.retain(|(_, stream), _| *stream > last);
    }

    pub(super) fn forget_child(&mut self, link: LinkId) {
        self.children.retain(|(child, _)| *child != link);
        self.resumes.retain(|(child, _), _| *child != link);
    }
}

fn all_of(link: LinkId) -> std::ops::RangeInclusive<(LinkId, StreamId)> {
    (link, StreamId::CONTROL)..=(link, StreamId(u32::MAX))
}
