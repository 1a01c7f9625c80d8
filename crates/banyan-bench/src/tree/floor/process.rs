//! What the inner and leaf processes of the floor do. They are this program, started again with a word that no user
//! writes; their standard input is a socket to whoever started them.
//!
//! All of them sleep until there is something to read. They end when their parent does: the socket ends then, and
//! whoever waits for something else is killed by the kernel.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::exit;

use rustix::process::{Signal, set_parent_process_death_signal, setsid};

use super::children::Children;
use super::order::{FloorOrder, FloorWork, INTEGER};
use super::sums::{Numbers, PIECE};
use super::{ARRAY_BYTES, ARRAY_NUMBERS, array};

/// The first argument of a process of the floor; the widths of the levels below it follow.
pub(super) const ROLE: &str = "bench-tree-floor-process";

/// Whether these are the arguments of a process with children.
pub(in crate::tree) fn is_inner(arguments: &[String]) -> bool {
    matches!(arguments, [role, _, ..] if role == ROLE)
}

/// Never returns in a process that [`TreeFloor`](super::Floor) or one of its processes has started. Call it first of all in
/// `main`: these processes are started by the hundred, and need nothing of what follows.
pub(in crate::tree) fn become_floor_process_if_asked() {
    let mut arguments = std::env::args();
    if arguments.nth(1).as_deref() != Some(ROLE) {
        return;
    }
    let widths: Option<Vec<u32>> = arguments.map(|width| width.parse().ok()).collect();
    let Err(error) = take_part(widths.as_deref()) else { exit(0) };
    let ended = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset, io::ErrorKind::UnexpectedEof];
    if !ended.contains(&error.kind()) {
        let _ = writeln!(io::stderr(), "a process of `banyan bench tree`, which is what starts such: {error}");
    }
    exit(1)
}

fn take_part(widths: Option<&[u32]>) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // As members of a session are: on a busy machine the scheduler shares processors between such groups, and the floor
    // would otherwise get one share for all its processes.
    let _ = setsid();
    let parent = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    match widths {
        None => Err(io::ErrorKind::InvalidInput.into()),
        Some([]) => Leaf { parent }.serve(),
        Some(widths) => Inner { parent, children: Children::start(widths)? }.serve(),
    }
}

/// Bytes that are read or sent at once.
fn piece(work: FloorWork) -> usize {
    if work == FloorWork::WavesOneByOne { INTEGER } else { PIECE }
}

/// A process with children.
struct Inner {
    parent: UnixStream,
    children: Children,
}

impl Inner {
    fn serve(mut self) -> io::Result<()> {
        self.answer()?;
        while let Some(order) = FloorOrder::read(&mut self.parent)? {
            self.children.tell(&order.to_bytes())?;
            match order.work {
                FloorWork::RoundTrips => (0..order.count).try_for_each(|_| self.round_trip())?,
                FloorWork::Waves | FloorWork::WavesOneByOne => {
                    self.sums(Numbers::Integers, order.count, piece(order.work))?
                }
                FloorWork::ArraySums => {
                    self.sums(Numbers::Doubles, order.count.saturating_mul(ARRAY_NUMBERS), PIECE)?
                }
                FloorWork::Broadcasts => self.pass_on(order.count.saturating_mul(ARRAY_BYTES))?,
            }
        }
        Ok(())
    }

    /// What all below say, as one.
    fn answer(&mut self) -> io::Result<()> {
        let sum = self.children.answers()?;
        self.parent.write_all(&sum.to_ne_bytes())
    }

    fn round_trip(&mut self) -> io::Result<()> {
        let mut integer = [0; INTEGER];
        self.parent.read_exact(&mut integer)?;
        self.children.tell(&integer)?;
        self.answer()
    }

    fn sums(&mut self, numbers: Numbers, count: u64, piece: usize) -> io::Result<()> {
        let Inner { parent, children } = self;
        children.sums(numbers, count, piece, |sums| parent.write_all(sums))
    }

    fn pass_on(&mut self, bytes: u64) -> io::Result<()> {
        read_pieces(&mut self.parent, bytes, |piece| self.children.tell(piece))?;
        self.answer()
    }
}

/// A process without children: a member.
struct Leaf {
    parent: UnixStream,
}

impl Leaf {
    fn serve(mut self) -> io::Result<()> {
        self.answer()?;
        while let Some(order) = FloorOrder::read(&mut self.parent)? {
            match order.work {
                FloorWork::RoundTrips => (0..order.count).try_for_each(|_| self.round_trip())?,
                FloorWork::Waves | FloorWork::WavesOneByOne => {
                    self.send_waves(order.count, piece(order.work) / INTEGER)?
                }
                FloorWork::ArraySums => {
                    let array = array();
                    (0..order.count).try_for_each(|_| self.parent.write_all(&array))?;
                }
                FloorWork::Broadcasts => {
                    read_pieces(&mut self.parent, order.count.saturating_mul(ARRAY_BYTES), |_| Ok(()))?;
                    self.answer()?;
                }
            }
        }
        Ok(())
    }

    /// One more is here.
    fn answer(&mut self) -> io::Result<()> {
        self.parent.write_all(&1_u64.to_ne_bytes())
    }

    fn round_trip(&mut self) -> io::Result<()> {
        let mut integer = [0; INTEGER];
        self.parent.read_exact(&mut integer)?;
        self.parent.write_all(&integer)
    }

    /// The number of the wave in each, so many waves at once.
    fn send_waves(&mut self, count: u64, at_once: usize) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(at_once * INTEGER);
        let mut next = 0;
        while next < count {
            let end = count.min(next + at_once as u64);
            bytes.clear();
            bytes.extend((next..end).flat_map(u64::to_ne_bytes));
            self.parent.write_all(&bytes)?;
            next = end;
        }
        Ok(())
    }
}

/// So many bytes, piece by piece as they come.
fn read_pieces(stream: &mut impl Read, bytes: u64, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    let mut left = usize::try_from(bytes).unwrap_or(usize::MAX);
    while left > 0 {
        let length = left.min(PIECE);
        match stream.read(&mut piece[..length])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                take(&piece[..read])?;
                left -= read;
            }
        }
    }
    Ok(())
}
