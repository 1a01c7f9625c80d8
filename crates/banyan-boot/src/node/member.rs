//! A member as its agent sees it: the process, its link, and its standard streams.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use banyan_link::{Frame, Link, LinkOptions, Poller};
use bytes::Bytes;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::token::Token;
use super::wire::Wire;
use crate::assignment::Image;
use crate::extension::{EXTENSION_DESCRIPTOR, EXTENSION_VARIABLE};
use crate::inherited::socket_name;
use crate::member::{JOIN_DESCRIPTOR, JOIN_VARIABLE};
use crate::process::{
    Child, ChildDescriptors, Command, ExitState, Line, LineEnd, MAX_LINE, SpawnError, SpawnStage, Spawner, Stranger,
    Stream, StreamState, input_pipe, output_pipe,
};

/// Bytes of standard input that wait for one member at most; when a member has more, the front-end waits.
const INPUT_BOUND: usize = 256 * 1024;

/// One member.
#[derive(Debug)]
pub(crate) struct LocalMember {
    pub(crate) rank: u32,
    pub(crate) image: u32,
    pub(crate) process: Option<Child>,
    /// Its process, if somebody else has started it on this host.
    pub(crate) stranger: Option<Stranger>,
    pub(crate) wire: Option<Wire>,
    pub(crate) output: Option<Pipe>,
    pub(crate) errors: Option<Pipe>,
    pub(crate) input: Option<InputPipe>,
    pub(crate) joined: bool,
    /// What came for it before it attached.
    pub(crate) early: Vec<Frame>,
    pub(crate) state: Option<ExitState>,
    /// When it must have ended.
    pub(crate) deadline: Option<Instant>,
    /// It has been asked to end since its time is over.
    pub(crate) asked: bool,
}

/// A pipe that a member writes to.
#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) stream: Stream,
    /// Not read at present, since what comes from it could not be passed on.
    pub(crate) paused: bool,
}

/// A pipe that a member reads from.
#[derive(Debug)]
pub(crate) struct InputPipe {
    pub(crate) descriptor: OwnedFd,
    queue: VecDeque<Bytes>,
    queued: usize,
    last: bool,
    /// Whether the poller tells when it can be written.
    pub(crate) watched: bool,
}

impl LocalMember {
    pub(crate) fn new(rank: u32, image: u32) -> LocalMember {
        LocalMember {
            rank,
            image,
            process: None,
            stranger: None,
            wire: None,
            output: None,
            errors: None,
            input: None,
            joined: false,
            early: Vec::new(),
            state: None,
            deadline: None,
            asked: false,
        }
    }

    /// Starts it: its end of a socket pair becomes its descriptor 3, its end of the extension's socket pair its descriptor 4, and
    /// its standard streams are pipes or nothing. A plain one has no descriptor 3 without an extension. Returns our end for that.
    pub(crate) fn start(
        &mut self,
        spawner: &mut Spawner,
        image: &Image,
        command: &mut Command,
        common: Common<'_>,
        options: &LinkOptions,
        place: (&Poller, Token),
    ) -> Result<Option<OwnedFd>, SpawnError> {
        let joins = !image.plain || common.extends;
        let link = joins.then(|| named_pair(command, JOIN_VARIABLE, JOIN_DESCRIPTOR)).transpose()?;
        let extends = || named_pair(command, EXTENSION_VARIABLE, EXTENSION_DESCRIPTOR);
        let extension = common.extends.then(extends).transpose()?;
        let unpiped = |source: std::io::Error| SpawnError::new(SpawnStage::Stage, source, command);
        let output = image.forward.then(output_pipe).transpose().map_err(unpiped)?;
        let errors = image.forward.then(output_pipe).transpose().map_err(unpiped)?;
        let input = image.wants_input(self.rank).then(input_pipe).transpose().map_err(unpiped)?;
        let child = spawner.spawn(
            command,
            ChildDescriptors {
                stdin: input.as_ref().map_or(common.null, |(_, members)| members.as_fd()),
                stdout: output.as_ref().map_or(common.null, |(_, write)| write.as_fd()),
                stderr: errors.as_ref().map_or(common.null, |(_, write)| write.as_fd()),
                control: link.as_ref().map(|(_, theirs)| theirs.as_fd()),
                extension: extension.as_ref().map(|(_, theirs)| theirs.as_fd()),
            },
        )?;
        self.process = Some(child);
        let wire = link.map(|(ours, _)| Wire::new(Link::inherited(ours, options), place.0, place.1.number()));
        self.wire = wire.transpose().map_err(unpiped)?;
        self.output = output.map(|(read, _)| Pipe::new(read));
        self.errors = errors.map(|(read, _)| Pipe::new(read));
        self.input = input.map(|(ours, _)| InputPipe::new(ours));
        self.deadline = command.limits.time.map(|time| Instant::now() + time);
        Ok(extension.map(|(ours, _)| ours))
    }
}

/// A pair of sockets whose other end a member inherits as this descriptor, and finds in this variable.
fn named_pair(command: &mut Command, variable: &str, number: i32) -> Result<(OwnedFd, OwnedFd), SpawnError> {
    let failed = |source: rustix::io::Errno| SpawnError::new(SpawnStage::Stage, source, command);
    let (ours, theirs) = socket_pair().map_err(failed)?;
    let name = socket_name(number, theirs.as_fd()).map_err(failed)?;
    command.set_variable(variable, name)?;
    Ok((ours, theirs))
}

/// Our end, which does not block, and the member's.
fn socket_pair() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((ours, theirs))
}

/// Descriptors that all members of a node get.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Common<'a> {
    /// For standard streams that lead nowhere.
    pub(crate) null: BorrowedFd<'a>,
    /// Whether each gets a socket to the agent's extension.
    pub(crate) extends: bool,
}

impl Pipe {
    fn new(descriptor: OwnedFd) -> Pipe {
        Pipe { stream: Stream::new(descriptor, MAX_LINE), paused: false }
    }

    /// Reads once; gives whole lines, each with its end, and pieces of those that are too long.
    pub(crate) fn read(&mut self, buffer: &mut Vec<u8>) -> (Bytes, StreamState) {
        let mut lines = Vec::new();
        // A pipe that cannot be read has ended.
        let state = self.stream.read(buffer, |line| append(&mut lines, line)).unwrap_or(StreamState::Ended);
        (lines.into(), state)
    }

    /// Reads all that is left.
    pub(crate) fn drain(self, buffer: &mut Vec<u8>) -> Bytes {
        let mut lines = Vec::new();
        // What could be read before the failure is delivered.
        let _ = self.stream.drain(buffer, |line| append(&mut lines, line));
        lines.into()
    }
}

fn append(lines: &mut Vec<u8>, line: Line<'_>) {
    lines.extend_from_slice(line.bytes);
    // What was cut goes on in the next piece: bytes arrive as they were written.
    if line.end == LineEnd::Newline {
        lines.push(b'\n');
    }
}

impl InputPipe {
    fn new(descriptor: OwnedFd) -> InputPipe {
        InputPipe { descriptor, queue: VecDeque::new(), queued: 0, last: false, watched: false }
    }

    /// Puts bytes behind those that wait; `last` closes the pipe after them.
    pub(crate) fn push(&mut self, bytes: Bytes, last: bool) {
        self.queued += bytes.len();
        self.queue.push_back(bytes);
        self.last |= last;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.queued >= INPUT_BOUND
    }

    pub(crate) fn waits(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Writes what the pipe takes. False when the pipe is done with: all is written, or nobody reads.
    pub(crate) fn write(&mut self) -> bool {
        while let Some(front) = self.queue.front_mut() {
            match rustix::io::retry_on_intr(|| rustix::io::write(&self.descriptor, front)) {
                Ok(count) => {
                    self.queued -= count;
                    bytes::Buf::advance(front, count);
                    if front.is_empty() {
                        self.queue.pop_front();
                    }
                }
                Err(rustix::io::Errno::AGAIN) => return true,
                Err(_) => return false,
            }
        }
        !self.last
    }
}
