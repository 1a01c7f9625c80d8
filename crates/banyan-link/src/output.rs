//! Frames that wait to be sent, and the bytes made of them.
//!
//! Three places, in the order in which they are emptied: bytes that are *staged* go to the system next and are not
//! overtaken any more; *control* frames wait for room there; *data* frames wait for that and for credit. Short frames
//! are copied into one buffer, the payloads of long ones are handed over by reference, all with one system call. Those that
//! the peer takes from the [pool](crate::pool) are not sent at all: their places are.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::Bytes;

use crate::credit::SendCredit;
use crate::frame::{FRAME_ALIGN, Frame, Header, Kind};
use crate::link_frame::Encoded;
use crate::pool::{Held, LONG, PoolSpan};
use crate::slab::{SLAB_BYTES, Slabs};

/// Payloads up to this length are copied: cheaper than one more piece for the system to follow.
const COPIED: usize = 2048;

/// Bytes staged at most before the system must take some: what it takes in one call, about. More would only make
/// control frames wait.
const STAGED: usize = 2 * SLAB_BYTES;

/// Pieces handed to the system in one call.
pub(crate) const PIECES: usize = 64;

/// Entries of an empty queue that keeps its memory: what a queue begins with. To ask for it anew with every frame costs more
/// than it takes.
pub(crate) const KEPT_ENTRIES: usize = 4;

/// Whether such a payload is to lie in the pool. Control frames are not: nothing bounds how many of them a peer leaves there.
pub(crate) fn is_for_pool(kind: Kind, payload: &[u8]) -> bool {
    payload.len() >= LONG && kind.is_data()
}

/// A run of bytes of one or more frames.
#[derive(Debug)]
enum Piece {
    Copied(Vec<u8>),
    Shared(Bytes),
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match self {
            Piece::Copied(bytes) => bytes,
            Piece::Shared(bytes) => bytes,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Output {
    slabs: Slabs,
    control: VecDeque<Frame>,
    control_bytes: usize,
    data: VecDeque<Frame>,
    data_bytes: usize,
    staged: VecDeque<Piece>,
    staged_bytes: usize,
    /// Bytes in the pool that staged frames tell of.
    apart_bytes: usize,
    /// Bytes of the first piece that are gone.
    offset: usize,
    /// Whether data has found the credit used up since it last went.
    pub(crate) stalls: u64,
    /// Bytes in the pool that the peer may leave untaken: none before it has mapped it.
    pub(crate) pool_window: usize,
    pub(crate) held: Held,
    /// Bytes of payloads that went by the pool.
    pub(crate) pool_bytes: u64,
}

impl Output {
    pub(crate) fn new(slabs: Slabs) -> Output {
        Output {
            slabs,
            control: VecDeque::new(),
            control_bytes: 0,
            data: VecDeque::new(),
            data_bytes: 0,
            staged: VecDeque::new(),
            staged_bytes: 0,
            apart_bytes: 0,
            offset: 0,
            stalls: 0,
            pool_window: 0,
            held: Held::default(),
            pool_bytes: 0,
        }
    }

    /// Bytes of data that wait.
    pub(crate) fn data_bytes(&self) -> usize {
        self.data_bytes
    }

    /// Bytes of control frames that wait.
    pub(crate) fn control_bytes(&self) -> usize {
        self.control_bytes
    }

    /// Whether nothing waits and nothing is staged.
    pub(crate) fn is_empty(&self) -> bool {
        self.staged.is_empty() && self.control.is_empty() && self.data.is_empty()
    }

    /// Whether frames wait.
    pub(crate) fn has_queued(&self) -> bool {
        !self.control.is_empty() || !self.data.is_empty()
    }

    /// Whether as much is staged as one call to the system is worth.
    pub(crate) fn has_batch(&self) -> bool {
        self.weight() >= SLAB_BYTES
    }

    /// Bytes that the peer has to do with when it gets what is staged.
    fn weight(&self) -> usize {
        self.staged_bytes + self.apart_bytes
    }

    /// Whether there is something that does not wait for credit.
    pub(crate) fn can_go(&self, credit: &SendCredit) -> bool {
        let data = || self.data.front().is_some_and(|frame| frame.cost() as u64 <= credit.left());
        !self.staged.is_empty() || !self.control.is_empty() || data()
    }

    /// Queues a frame behind those of its class.
    pub(crate) fn push(&mut self, frame: Frame, credit: &mut SendCredit) {
        if !frame.kind.is_data() {
            self.control_bytes += frame.cost();
            self.control.push_back(frame);
            return;
        }
        let first = self.data.is_empty() && self.control.is_empty() && self.weight() < SLAB_BYTES;
        if first && credit.take(frame.cost()) {
            self.put(&frame.header(), &frame.payload);
            return;
        }
        self.data_bytes += frame.cost();
        self.data.push_back(frame);
    }

    /// Stages one of the link's own frames, which are short, before all that waits.
    pub(crate) fn push_link_frame(&mut self, frame: &Encoded) {
        self.copy(&frame.header.encode());
        self.copy_padded(frame.payload());
    }

    /// Stages what may go.
    pub(crate) fn stage(&mut self, credit: &mut SendCredit) {
        while self.weight() < STAGED {
            if let Some(frame) = self.control.pop_front() {
                self.control_bytes -= frame.cost();
                self.put(&frame.header(), &frame.payload);
                continue;
            }
            let Some(frame) = self.data.front() else { break };
            let cost = frame.cost();
            if !credit.take(cost) {
                self.stalls += 1;
                break;
            }
            let frame = self.data.pop_front().expect("there is one");
            self.data_bytes -= cost;
            self.put(&frame.header(), &frame.payload);
        }
    }

    /// The bytes that go next, in pieces; returns how many pieces.
    pub(crate) fn pieces<'a>(&'a self, pieces: &mut [IoSlice<'a>]) -> usize {
        let mut count = 0;
        for (room, piece) in pieces.iter_mut().zip(&self.staged) {
            let gone = if count == 0 { self.offset } else { 0 };
            *room = IoSlice::new(&piece.bytes()[gone..]);
            count += 1;
        }
        count
    }

    /// The bytes that go next, as far as they lie in one run of at most `most`.
    pub(crate) fn run(&self, most: usize) -> &[u8] {
        let bytes = self.staged.front().map_or(&[][..], |piece| &piece.bytes()[self.offset..]);
        &bytes[..bytes.len().min(most)]
    }

    /// So many bytes are gone.
    pub(crate) fn sent(&mut self, mut count: usize) {
        self.staged_bytes -= count;
        self.apart_bytes = 0;
        while let Some(piece) = self.staged.front() {
            let left = piece.bytes().len() - self.offset;
            if count < left {
                self.offset += count;
                return;
            }
            count -= left;
            self.offset = 0;
            if let Some(Piece::Copied(buffer)) = self.staged.pop_front() {
                self.slabs.give_back_sent(buffer);
            }
        }
        assert_eq!(count, 0, "more was sent than there was");
    }

    /// Nothing can be sent any more, or all is: gives memory back.
    pub(crate) fn settle(&mut self) {
        for queue in [&mut self.control, &mut self.data] {
            if queue.is_empty() && queue.capacity() > KEPT_ENTRIES {
                *queue = VecDeque::new();
            }
        }
        if self.staged.is_empty() && self.staged.capacity() > KEPT_ENTRIES {
            self.staged = VecDeque::new();
        }
        self.held.settle();
    }

    /// Forgets everything that was not sent.
    pub(crate) fn clear(&mut self) {
        let (held, slabs) = (std::mem::take(&mut self.held), self.slabs.clone());
        let Output { stalls, pool_bytes, .. } = *self;
        *self = Output { stalls, held, pool_bytes, ..Output::new(slabs) };
    }

    /// Whether the peer is still to take something that this side keeps for it.
    pub(crate) fn is_owed(&self) -> bool {
        self.held.bytes() > 0
    }

    fn put(&mut self, header: &Header, payload: &Bytes) {
        if is_for_pool(header.kind, payload)
            && self.held.bytes() + payload.len() <= self.pool_window
            && let Some((payload, place)) = self.slabs.in_pool(payload)
        {
            return self.put_apart(*header, payload, place);
        }
        self.copy(&header.encode());
        if payload.len() <= COPIED {
            self.copy_padded(payload);
            return;
        }
        self.staged_bytes += payload.len();
        self.staged.push_back(Piece::Shared(payload.clone()));
        let padding = payload.len().next_multiple_of(FRAME_ALIGN) - payload.len();
        self.copy(&[0; FRAME_ALIGN][..padding]);
    }

    /// Stages a frame whose payload the peer takes from the pool.
    fn put_apart(&mut self, header: Header, payload: Bytes, place: PoolSpan) {
        self.copy(&Header { is_apart: true, ..header }.encode());
        self.copy(&place.encode());
        self.apart_bytes += payload.len();
        self.pool_bytes += payload.len() as u64;
        self.held.push(payload);
    }

    fn copy_padded(&mut self, payload: &[u8]) {
        self.copy(payload);
        let padding = payload.len().next_multiple_of(FRAME_ALIGN) - payload.len();
        self.copy(&[0; FRAME_ALIGN][..padding]);
    }

    fn copy(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.staged_bytes += bytes.len();
        match self.staged.back_mut() {
            Some(Piece::Copied(buffer)) if buffer.len() + bytes.len() <= SLAB_BYTES => buffer.extend_from_slice(bytes),
            _ => {
                let mut buffer = self.slabs.take_for_sending();
                buffer.extend_from_slice(bytes);
                self.staged.push_back(Piece::Copied(buffer));
            }
        }
    }
}
