//! What this machine allows: processes that are woken once, do next to nothing, and sleep again.
//!
//! No system in which each member is a process that sleeps while it waits can be faster, so this is the ceiling of
//! collectives. One process shares memory with all members. It writes 128 bytes, once for all or to each, and wakes
//! everyone by a bell, as many at once as one agent has; each member copies them, writes an answer, which is empty or
//! its own 128 bytes, and sleeps; the last one wakes the starter, which takes the answers. There is no tree, no protocol,
//! no check of who is where, and nobody else is awake.

use std::io::{self, IoSlice, PipeReader, PipeWriter, Read};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use banyan_link::shared::Hub;
use banyan_link::{Frame, Kind};
use bytes::Bytes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::floor::Meeting;
use super::order::{BROADCAST, END, PAYLOAD, SCATTER};
use super::program::Program;
use super::{DEADLINE, LaunchBenchError, floor};

/// Members that one bell wakes, as in a session: one bell for thousands takes longer.
const MEMBERS_PER_HUB: usize = 350;

/// The kind of everything that is said; what is meant stands where links have their streams.
pub(super) const WORD: Kind = Kind::data(16);

/// Processes that sleep, and who wakes them.
pub(super) struct Wake {
    members: u32,
    hubs: Vec<(Hub, u32)>,
    /// The last member that a hub waits for writes a byte here.
    done: PipeReader,
    streams: Vec<UnixStream>,
}

impl Wake {
    /// Starts so many; they sleep.
    pub(super) fn start(program: &Program, members: u32) -> Result<Wake, LaunchBenchError> {
        Wake::try_start(program, members).map_err(|source| LaunchBenchError::Floor { members, source })
    }

    fn try_start(program: &Program, members: u32) -> io::Result<Wake> {
        let meeting = Meeting::new()?;
        let mut spawners = floor::spawners(program, "wake", members, &meeting)?;
        let (done, wakes) = io::pipe()?;
        let mut wake = Wake { members, hubs: Vec::new(), done, streams: Vec::new() };
        let streams = (0..members).map(|_| meeting.accept()).collect::<io::Result<Vec<_>>>()?;
        for streams in streams.chunks(MEMBERS_PER_HUB) {
            wake.add_hub(streams, &wakes)?;
        }
        wake.streams = streams;
        spawners.iter_mut().try_for_each(|spawner| spawner.wait().map(drop))?;
        Ok(wake)
    }

    fn add_hub(&mut self, mut streams: &[UnixStream], wakes: &PipeWriter) -> io::Result<()> {
        let spokes = streams.len() as u32;
        let mut hub = Hub::with_board()?;
        for (spoke, stream) in (0..).zip(streams) {
            let [signals, place, bell] = hub.place(spoke)?;
            let board = hub.board().ok_or_else(|| io::Error::other("there is no board"))?;
            let descriptors = [signals.as_fd(), place.as_fd(), bell.as_fd(), board.as_fd(), wakes.as_fd()];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(5))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            control.push(SendAncillaryMessage::ScmRights(&descriptors));
            let number = u32::to_le_bytes(spoke);
            sendmsg(stream, &[IoSlice::new(&number)], &mut control, SendFlags::empty())?;
        }
        for spoke in 0..spokes {
            let Some(mut stream) = streams.split_off_first() else { break };
            stream.read_exact(&mut [0])?;
            hub.open(spoke);
        }
        self.hubs.push((hub, spokes));
        Ok(())
    }

    /// The time of so many rounds, in each of which every member is woken once.
    pub(super) fn rounds(&mut self, order: u8, rounds: u8) -> Result<Duration, LaunchBenchError> {
        let begin = Instant::now();
        let members = self.members;
        let done = (0..rounds).try_for_each(|_| self.round(order));
        done.map(|()| begin.elapsed()).map_err(|source| LaunchBenchError::Floor { members, source })
    }

    fn round(&mut self, order: u8) -> io::Result<()> {
        let word = Frame::new(WORD, order.into(), 0, Bytes::from_static(&[3; PAYLOAD]));
        for (hub, spokes) in &mut self.hubs {
            let is_written = match order {
                SCATTER => (0..*spokes).all(|spoke| hub.send(spoke, &word)),
                _ => hub.publish(&word, None),
            };
            if !is_written {
                return Err(io::Error::other("there is no room in shared memory"));
            }
            hub.look();
            if order != END && !hub.doze(*spokes) {
                return Err(io::Error::other("members were awake before they were woken"));
            }
            hub.ring();
        }
        if order == END {
            return Ok(());
        }
        self.wait()?;
        let answer = if order == BROADCAST { 0 } else { PAYLOAD };
        for (hub, spokes) in &mut self.hubs {
            for spoke in 0..*spokes {
                let came = hub.receive(spoke, |_| true).map_err(io::Error::other)?;
                if came.is_none_or(|frame| frame.payload.len() != answer) {
                    return Err(io::Error::other("a member did not answer"));
                }
            }
        }
        Ok(())
    }

    /// Sleeps until the last member of each hub has answered.
    fn wait(&mut self) -> io::Result<()> {
        let patience = Timespec { tv_sec: DEADLINE.as_secs() as i64, tv_nsec: 0 };
        let mut missing = self.hubs.len();
        while missing > 0 {
            if poll(&mut [PollFd::new(&self.done, PollFlags::IN)], Some(&patience))? == 0 {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "a member did not answer"));
            }
            match self.done.read(&mut vec![0; missing])? {
                0 => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "all members have ended")),
                came => missing -= came,
            }
        }
        Ok(())
    }
}

impl Drop for Wake {
    fn drop(&mut self) {
        // Those who do not hear it see the end of their streams.
        let _ = self.round(END);
        for stream in &mut self.streams {
            let _ = stream.shutdown(std::net::Shutdown::Write);
        }
        for stream in &mut self.streams {
            // The end of the stream is the end of the member: the next run finds the machine as this one did.
            let _ = stream.read(&mut [0]);
        }
    }
}
