//! The floor: how fast this machine starts processes that connect and say hello, without any protocol.
//!
//! A few spawner processes start them. They hold almost no descriptors, which every start would have to copy, and are
//! small; the member program is its own spawner.
//!
//! It is also the baseline of collectives: point-to-point messages from one process, with the meaning that the
//! collectives have. Broadcast and barrier: the bytes to each, a word from each that it is there, and a word to each
//! that all are, since nobody leaves a barrier before everyone has come. Scatter and gather: a part to each, a part from
//! each; nobody has to hear of the others.

use std::io::{self, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::order::{BROADCAST, END, MESSAGE, PAYLOAD, SCATTER, THROUGH};
use super::program::Program;
use super::{DEADLINE, LaunchBenchError};

/// Spawner processes; more do not help on few cores.
const SPAWNERS: u32 = 3;

/// Connections that may wait to be accepted: as many as Linux allows by default.
const WAITING: i32 = 4096;

/// Members that are started, connected and have said hello.
pub(super) struct LaunchFloor {
    members: u32,
    streams: Vec<UnixStream>,
    pub(super) took: Duration,
}

/// A socket that only the members of this run know.
pub(super) struct Meeting {
    pub(super) name: String,
    listener: UnixListener,
}

impl Meeting {
    pub(super) fn new() -> io::Result<Meeting> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("banyan-bench-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        // The standard library lets few wait; members that come at once must not queue for that.
        rustix::net::listen(&listener, WAITING)?;
        Ok(Meeting { name, listener })
    }

    pub(super) fn accept(&self) -> io::Result<UnixStream> {
        let patience = Timespec { tv_sec: DEADLINE.as_secs() as i64, tv_nsec: 0 };
        if poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&patience))? == 0 {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "a member did not come"));
        }
        let (stream, _) = self.listener.accept()?;
        stream.set_read_timeout(Some(DEADLINE))?;
        Ok(stream)
    }
}

impl LaunchFloor {
    /// Starts so many; they have said hello, and were told nothing yet but that all are there.
    pub(super) fn start(program: &Program, members: u32) -> Result<LaunchFloor, LaunchBenchError> {
        LaunchFloor::try_start(program, members).map_err(|source| LaunchBenchError::Floor { members, source })
    }

    fn try_start(program: &Program, members: u32) -> io::Result<LaunchFloor> {
        let begin = Instant::now();
        let meeting = Meeting::new()?;
        let mut running = spawners(program, "floor", members, &meeting)?;
        let streams = (0..members).map(|_| meeting.accept()).collect::<io::Result<Vec<_>>>()?;
        let mut floor = LaunchFloor { members, streams, took: Duration::ZERO };
        floor.hear(&mut [0])?;
        floor.round(BROADCAST)?;
        floor.took = begin.elapsed();
        running.iter_mut().try_for_each(|spawner| spawner.wait().map(drop))?;
        Ok(floor)
    }

    /// The time of so many rounds of messages to and from every member.
    pub(super) fn rounds(&mut self, order: u8, rounds: u8) -> Result<Duration, LaunchBenchError> {
        let begin = Instant::now();
        let members = self.members;
        let done = (0..rounds).try_for_each(|_| self.round(order));
        done.map(|()| begin.elapsed()).map_err(|source| LaunchBenchError::Floor { members, source })
    }

    fn round(&mut self, order: u8) -> io::Result<()> {
        let mut message = [1; MESSAGE];
        message[0] = order;
        self.streams.iter_mut().try_for_each(|stream| stream.write_all(&message))?;
        if order == SCATTER {
            return self.hear(&mut [0; PAYLOAD]);
        }
        self.hear(&mut [0])?;
        self.streams.iter_mut().try_for_each(|stream| stream.write_all(&[THROUGH]))
    }

    /// Reads an answer of the same length from each member.
    fn hear(&mut self, answer: &mut [u8]) -> io::Result<()> {
        self.streams.iter_mut().try_for_each(|stream| stream.read_exact(answer))
    }
}

impl Drop for LaunchFloor {
    fn drop(&mut self) {
        for stream in &mut self.streams {
            // A member that is gone already need not be told.
            let _ = stream.write_all(&[END]);
        }
        for stream in &mut self.streams {
            // The end of the stream is the end of the member: the next run finds the machine as this one did.
            let _ = stream.read(&mut [0]);
        }
    }
}

/// Starts the processes that start so many members of one sort, which come to the meeting.
pub(super) fn spawners(program: &Program, sort: &str, members: u32, meeting: &Meeting) -> io::Result<Vec<Child>> {
    let spawners = SPAWNERS.min(members);
    let spawn = |spawner: u32| {
        let count = members / spawners + u32::from(spawner < members % spawners);
        let mut command = program.command();
        quiet(command.args(["spawn", sort, &count.to_string(), &meeting.name])).spawn()
    };
    (0..spawners).map(spawn).collect()
}

/// One after another from this process, each told its message before the next is started, as tools without a launcher do.
pub(super) fn sequential(program: &Program, members: u32) -> Result<Duration, LaunchBenchError> {
    let run = || -> io::Result<Duration> {
        let begin = Instant::now();
        let meeting = Meeting::new()?;
        let mut floor = LaunchFloor { members, streams: Vec::new(), took: Duration::ZERO };
        let mut running = Vec::new();
        for _ in 0..members {
            let mut command = program.command();
            running.push(quiet(command.args(["floor", &meeting.name])).spawn()?);
            let mut stream = meeting.accept()?;
            stream.read_exact(&mut [0])?;
            floor.streams.push(stream);
        }
        floor.round(BROADCAST)?;
        let took = begin.elapsed();
        drop(floor);
        running.iter_mut().try_for_each(|member| member.wait().map(drop))?;
        Ok(took)
    };
    run().map_err(|source| LaunchBenchError::Floor { members, source })
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())
}
