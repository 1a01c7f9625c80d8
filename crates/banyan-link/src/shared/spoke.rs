//! A spoke's side: reads the board and the ring down to it, and writes the one up.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{Ordering, fence};

use super::layout::{
    ARRIVALS, ASLEEP, BOARD, BOARD_READ, DOWN_READ, IS_OPEN, LOOKS, PLACE, SIGNALS, UP_READ, URGENT, WAKE_AT, board,
    down, up,
};
use super::memory::Memory;
use super::ring::{RingReader, RingWriter, SharedError, has_come, is_small};
use crate::arena::Arena;
use crate::frame::Frame;

/// A process that shares the memory of a hub. See the [module](super).
#[derive(Debug)]
pub struct Spoke {
    signals: Memory,
    place: Memory,
    bell: OwnedFd,
    number: u32,
    /// Where frames for all come, if there are any.
    board: Option<Memory>,
    /// Once the hub has opened this place.
    board_reader: Option<RingReader>,
    down: RingReader,
    up: RingWriter,
    /// Something was written that was not announced.
    is_unannounced: bool,
    /// The look of the hub for which this spoke has announced something.
    announced_for: Option<u32>,
    arena: Arena,
}

impl Spoke {
    /// From what the hub [gave](super::Hub::place), its [board](super::Hub::board) if it has one, and the number of this spoke.
    /// Tell the hub, by the socket, that this spoke reads here.
    ///
    /// # Errors
    /// When they are not a hub's, or the memory cannot be mapped.
    pub fn new([signals, place, bell]: [OwnedFd; 3], board: Option<OwnedFd>, number: u32) -> io::Result<Spoke> {
        Ok(Spoke {
            signals: Memory::open(&signals, SIGNALS)?,
            place: Memory::open(&place, PLACE)?,
            bell,
            number,
            board: board.map(|board| Memory::open_to_read(&board, BOARD)).transpose()?,
            board_reader: None,
            down: RingReader::new(down(), 0),
            up: RingWriter::new(up()),
            is_unannounced: false,
            announced_for: None,
            arena: Arena::new(Arena::FEW),
        })
    }

    /// Readable, once for each time that the hub rang. To be waited for with [`Poller::register_bell`], and never read:
    /// it wakes all spokes.
    ///
    /// [`Poller::register_bell`]: crate::Poller::register_bell
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// The next frame from the hub.
    ///
    /// # Errors
    /// When it cannot have been written by a correct hub.
    pub fn receive(&mut self) -> Result<Option<Frame>, SharedError> {
        if let Some(frame) = self.receive_published()? {
            return Ok(Some(frame));
        }
        self.receive_own(|_, _| true)
    }

    /// The next frame on the board, if this place is open.
    fn receive_published(&mut self) -> Result<Option<Frame>, SharedError> {
        let (place, Some(memory)) = (self.place.words(), &self.board) else { return Ok(None) };
        let reader = match &mut self.board_reader {
            Some(reader) => reader,
            None if place[IS_OPEN].load(Ordering::Acquire) == 0 => return Ok(None),
            none => none.insert(RingReader::new(board(), place[BOARD_READ].load(Ordering::Relaxed))),
        };
        while let Some((but, frame)) = reader.next(memory.words(), &mut self.arena, |_, _| true)? {
            place[BOARD_READ].store(reader.read(), Ordering::Release);
            if but != self.number {
                return Ok(Some(frame));
            }
        }
        Ok(None)
    }

    /// The next frame of a hub that sends [in order](super::Hub::send_in_order) and publishes nothing, if its turn has
    /// come: so many were taken from the socket.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub fn receive_in_order(&mut self, from_socket: u32) -> Result<Option<Frame>, SharedError> {
        self.receive_own(|by_socket, _| has_come(by_socket, from_socket))
    }

    fn receive_own(&mut self, wanted: impl FnOnce(u32, &Frame) -> bool) -> Result<Option<Frame>, SharedError> {
        let words = self.place.words();
        let next = self.down.next(words, &mut self.arena, wanted)?;
        if next.is_some() {
            words[DOWN_READ].store(self.down.read(), Ordering::Release);
        }
        Ok(next.map(|(_, frame)| frame))
    }

    /// Whether a frame can go this way at all.
    pub fn takes(&self, frame: &Frame) -> bool {
        is_small(frame)
    }

    /// Writes a frame for the hub, which will find it after it is [announced](Self::announce). False when there is no
    /// room until the hub has read.
    pub fn send(&mut self, frame: &Frame) -> bool {
        self.send_in_order(frame, 0)
    }

    /// As [`send`](Self::send), for a link that keeps one order over both ways: so many frames have gone by the socket
    /// before this one.
    pub fn send_in_order(&mut self, frame: &Frame, by_socket: u32) -> bool {
        let words = self.place.words();
        let read = words[UP_READ].load(Ordering::Acquire);
        let written = is_small(frame) && self.up.is_behind(read) && self.up.write(words, by_socket, frame, read);
        self.is_unannounced |= written;
        written
    }

    /// Tells the hub of what was written, if anything was. True when the hub sleeps and wants to be woken, by the
    /// socket: the hub may wait for others besides this spoke, but not if it is urgent.
    ///
    /// A spoke arrives once for each look of the hub: that will find all that was written before it began.
    pub fn announce(&mut self, urgent: bool) -> bool {
        if !std::mem::take(&mut self.is_unannounced) && !urgent {
            return false;
        }
        let words = self.signals.words();
        // Either this spoke sees that a new look has begun, or that look sees what this spoke has written.
        fence(Ordering::SeqCst);
        let look = Some(words[LOOKS].load(Ordering::Acquire));
        if self.announced_for == look && !urgent {
            return false;
        }
        self.announced_for = look;
        if urgent {
            // A swap, so that whoever reads this sees what others who were urgent before had written.
            words[URGENT].swap(1, Ordering::AcqRel);
        }
        let arrivals = words[ARRIVALS].fetch_add(1, Ordering::AcqRel).wrapping_add(1);
        fence(Ordering::SeqCst);
        if words[ASLEEP].load(Ordering::Relaxed) == 0 {
            return false;
        }
        let enough = arrivals.wrapping_sub(words[WAKE_AT].load(Ordering::Relaxed)).cast_signed() >= 0;
        (urgent || enough) && words[ASLEEP].swap(0, Ordering::AcqRel) == 1
    }
}
