//! The hub's side: one writer of the board, and the reader of every ring that comes up.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use super::board::Board;
use super::layout::{
    ARRIVALS, ASLEEP, BOARD_READ, DOWN_READ, IS_OPEN, LOOKS, PLACE, SIGNALS, UP_READ, URGENT, WAKE_AT, down, up,
};
use super::memory::{Memory, Writers};
use super::ring::{RingReader, RingWriter, SharedError, has_come, is_small};
use crate::arena::Arena;
use crate::bell::Bell;
use crate::frame::Frame;

/// A spoke's number that no spoke has.
const NOBODY: u32 = u32::MAX;

/// The process that has the board. See the [module](super).
#[derive(Debug)]
pub struct Hub {
    signals: Memory,
    signals_descriptor: Arc<OwnedFd>,
    bell: Bell,
    bell_descriptor: Arc<OwnedFd>,
    /// Where frames for all are written, if there are any.
    board: Option<Board>,
    /// By number; those that have no place are none.
    spokes: Vec<Option<Side>>,
    /// Arrivals that were there when the rings were last looked at.
    seen: u32,
    /// How often they were looked at.
    looks: u32,
    /// Spokes that have been opened and not closed.
    open: u32,
    arena: Arena,
}

/// What the hub knows of one spoke.
#[derive(Debug)]
struct Side {
    place: Memory,
    state: SpokeState,
    up: RingReader,
    down: RingWriter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpokeState {
    /// It has not said that it reads.
    Absent,
    Open,
    /// It reads, and has written what cannot be.
    Damaged,
}

/// What a spoke needs to share memory with its hub, in the order that [`Spoke::new`](super::Spoke::new) takes it: the
/// signals, its place, and the bell.
pub type Shares = [Arc<OwnedFd>; 3];

impl Hub {
    /// Without spokes, for frames that are each for one of them.
    ///
    /// # Errors
    /// When the system refuses: no such memory, no descriptors, no memory at all.
    pub fn new() -> io::Result<Hub> {
        let (signals, descriptor) = Memory::create(c"banyan-signals", SIGNALS, Writers::All)?;
        let bell = Bell::new()?;
        Ok(Hub {
            signals,
            signals_descriptor: Arc::new(descriptor),
            bell_descriptor: Arc::new(bell.as_fd().try_clone_to_owned()?),
            bell,
            board: None,
            spokes: Vec::new(),
            seen: 0,
            looks: 0,
            open: 0,
            arena: Arena::new(Arena::MANY),
        })
    }

    /// Without spokes, with a board for frames that are for all of them.
    ///
    /// # Errors
    /// As [`new`](Self::new); and on Linux before 5.1, which has no memory that others can only read.
    pub fn with_board() -> io::Result<Hub> {
        Ok(Hub { board: Some(Board::new()?), ..Hub::new()? })
    }

    /// Makes a place for a spoke with this number, instead of the one that it had, if any. The hub needs no descriptor of it.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn place(&mut self, spoke: u32) -> io::Result<Shares> {
        self.close(spoke);
        let (place, descriptor) = Memory::create(c"banyan-place", PLACE, Writers::All)?;
        let side =
            Side { place, state: SpokeState::Absent, up: RingReader::new(up(), 0), down: RingWriter::new(down()) };
        let number = spoke as usize;
        if self.spokes.len() <= number {
            self.spokes.resize_with(number + 1, || None);
        }
        self.spokes[number] = Some(side);
        Ok([Arc::clone(&self.signals_descriptor), Arc::new(descriptor), Arc::clone(&self.bell_descriptor)])
    }

    /// What spokes read the board by.
    pub fn board(&self) -> Option<&Arc<OwnedFd>> {
        self.board.as_ref().map(|board| &board.descriptor)
    }

    /// A spoke has said, by its socket, that it reads here: from now on frames may go this way.
    pub fn open(&mut self, spoke: u32) {
        let Some(Some(side)) = self.spokes.get_mut(spoke as usize) else { return };
        if side.state == SpokeState::Absent {
            side.state = SpokeState::Open;
            self.open += 1;
            let words = side.place.words();
            words[BOARD_READ].store(self.board.as_ref().map_or(0, Board::written), Ordering::Relaxed);
            words[IS_OPEN].store(1, Ordering::Release);
        }
    }

    /// A spoke is gone: nothing goes to it or comes from it any more.
    pub fn close(&mut self, spoke: u32) {
        if let Some(side) = self.spokes.get_mut(spoke as usize).and_then(Option::take)
            && side.state != SpokeState::Absent
        {
            self.open -= 1;
        }
    }

    /// Whether a spoke has this number: it was given a place and is not gone.
    pub fn has(&self, spoke: u32) -> bool {
        self.spokes.get(spoke as usize).is_some_and(Option::is_some)
    }

    /// Whether frames go to this spoke here.
    pub fn is_open(&self, spoke: u32) -> bool {
        let side = self.spokes.get(spoke as usize).and_then(Option::as_ref);
        side.is_some_and(|side| side.state != SpokeState::Absent)
    }

    /// Writes a frame for all open spokes but one; false when it has to go by their sockets. It is read when the bell
    /// [rings](Self::ring).
    pub fn publish(&mut self, frame: &Frame, but: Option<u32>) -> bool {
        let Some(board) = self.board.as_mut().filter(|_| is_small(frame)) else { return false };
        let mut liars = Vec::new();
        let sides = (0..).zip(&self.spokes).filter_map(|(spoke, side)| Some((spoke, side.as_ref()?)));
        let open = sides.filter(|(_, side)| side.state == SpokeState::Open);
        let readers = open.map(|(spoke, side)| (spoke, side.place.words()[BOARD_READ].load(Ordering::Acquire)));
        let written = board.write(but.unwrap_or(NOBODY), frame, readers, |spoke| liars.push(spoke));
        for liar in liars {
            self.spokes[liar as usize].iter_mut().for_each(|side| side.state = SpokeState::Damaged);
        }
        written
    }

    /// Writes a frame for one spoke; false when it has to go by its socket. It is read when the bell rings, which wakes
    /// all: for frames of which most spokes get one.
    pub fn send(&mut self, spoke: u32, frame: &Frame) -> bool {
        self.send_in_order(spoke, frame, 0)
    }

    /// As [`send`](Self::send), for a link that keeps one order over both ways: so many frames have gone by the socket
    /// before this one.
    pub fn send_in_order(&mut self, spoke: u32, frame: &Frame, by_socket: u32) -> bool {
        let Some(Some(side)) = self.spokes.get_mut(spoke as usize) else { return false };
        if side.state != SpokeState::Open {
            return false;
        }
        let words = side.place.words();
        let read = words[DOWN_READ].load(Ordering::Acquire);
        if !side.down.is_behind(read) {
            side.state = SpokeState::Damaged;
            return false;
        }
        is_small(frame) && side.down.write(words, by_socket, frame, read)
    }

    /// How many spokes are open.
    pub fn open_spokes(&self) -> u32 {
        self.open
    }

    /// Rings the bell: every spoke that sleeps wakes and reads what was written for it.
    pub fn ring(&self) {
        self.bell.ring();
    }

    /// The next frame of a spoke, if it has one and `wanted` takes it.
    ///
    /// # Errors
    /// When it cannot have been written by a correct spoke.
    pub fn receive(&mut self, spoke: u32, wanted: impl FnOnce(&Frame) -> bool) -> Result<Option<Frame>, SharedError> {
        self.receive_if(spoke, |_, frame| wanted(frame))
    }

    /// The next frame of a spoke that sends [in order](super::Spoke::send_in_order), if its turn has come: so many were
    /// taken from the socket.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub fn receive_in_order(&mut self, spoke: u32, from_socket: u32) -> Result<Option<Frame>, SharedError> {
        self.receive_if(spoke, |by_socket, _| has_come(by_socket, from_socket))
    }

    fn receive_if(
        &mut self,
        spoke: u32,
        wanted: impl FnOnce(u32, &Frame) -> bool,
    ) -> Result<Option<Frame>, SharedError> {
        let Some(Some(side)) = self.spokes.get_mut(spoke as usize) else { return Ok(None) };
        if side.state == SpokeState::Damaged {
            return Err(SharedError { what: "the position of a reader" });
        }
        let words = side.place.words();
        let next = side.up.next(words, &mut self.arena, wanted);
        if let Ok(Some(_)) = next {
            words[UP_READ].store(side.up.read(), Ordering::Release);
        }
        next.map(|next| next.map(|(_, frame)| frame))
    }

    /// The rings are about to be looked at: what has arrived until now will be found.
    pub fn look(&mut self) {
        let words = self.signals.words();
        words[ASLEEP].store(0, Ordering::Relaxed);
        words[URGENT].swap(0, Ordering::AcqRel);
        // Before the look begins: who announces something for this look counts for the next sleep, even if what it
        // announced is found already. Otherwise what it writes afterwards, and announces no more, would not be noticed.
        self.seen = words[ARRIVALS].load(Ordering::Acquire);
        self.looks = self.looks.wrapping_add(1);
        words[LOOKS].store(self.looks, Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// Whether so many spokes have announced something since the rings were last looked at, or something is urgent.
    pub fn is_due(&self, arrivals: u32) -> bool {
        is_due(self.signals.words(), self.seen, arrivals)
    }

    /// Asks to be woken, by a spoke's socket, when so many spokes have announced something, or something urgent; false
    /// when they have already. To be called before going to sleep.
    pub fn doze(&mut self, arrivals: u32) -> bool {
        let words = self.signals.words();
        words[WAKE_AT].store(self.seen.wrapping_add(arrivals), Ordering::Relaxed);
        words[ASLEEP].store(1, Ordering::Relaxed);
        // Either a spoke sees that the hub sleeps, or the hub sees what the spoke announced.
        fence(Ordering::SeqCst);
        let due = is_due(words, self.seen, arrivals);
        if due {
            words[ASLEEP].store(0, Ordering::Relaxed);
        }
        !due
    }
}

fn is_due(words: &[AtomicU32], seen: u32, arrivals: u32) -> bool {
    let arrived = words[ARRIVALS].load(Ordering::Acquire).wrapping_sub(seen);
    arrived >= arrivals || words[URGENT].load(Ordering::Relaxed) != 0
}
