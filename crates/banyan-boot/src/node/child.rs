//! A child agent as its parent sees it: how it is started, its greeting, its link.

use std::collections::VecDeque;
use std::io::Read as _;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use banyan_link::{Link, LinkOptions, Poller};
use banyan_ranks::RankSet;
use bytes::Bytes;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};

use super::greeting::Greeting;
use super::root_channel::Progress;
use super::token::Token;
use super::wire::Wire;
use crate::agent_log::{AgentLog, LogReader};
use crate::assignment::Assignment;
use crate::launcher::content::Content;
use crate::launcher::packed::Packer;
use crate::launcher::program::AgentProgram;
use crate::launcher::slurm;
use crate::launcher::{Channel, Starter};
use crate::layout::ranks_of;
use crate::problem::{Problem, ProblemKind};
use crate::process::{Child, ChildDescriptors, Command, ExitState, SpawnError, SpawnStage, Spawner};
use crate::tunnel::Tunnels;

/// The end of what a starter wrote to standard error, kept for messages.
const COMPLAINT_BYTES: usize = 600;

/// How an agent's own words begin.
pub(crate) const COMPLAINT: &str = "banyan agent:";

/// Lines of that which a message shows: a command often says the cause first and then what it could not do.
const LAST_LINES: usize = 2;

/// A piece of the agent program on its way through a starter.
const UPLOAD_BYTES: usize = 256 * 1024;

/// One child agent.
#[derive(Debug)]
pub(crate) struct ChildAgent {
    /// Its subtree among the agents of the assignment.
    pub(crate) subtree: Range<usize>,
    /// Parts of the subtree that are started elsewhere.
    pub(crate) parted: Vec<Range<usize>>,
    pub(crate) host: String,
    /// The ranks of its subtree, without those parts.
    pub(crate) ranks: RankSet,
    pub(crate) stage: ChildStage,
    /// It has had a link.
    pub(crate) was_linked: bool,
    /// It has said why it ends.
    pub(crate) has_said_why: bool,
    pub(crate) wire: Option<Wire>,
    pub(crate) starter: Option<StarterProcess>,
    /// When its link must be open.
    pub(crate) deadline: Option<Instant>,
    /// How far its subtree has come.
    pub(crate) progress: Progress,
    /// Those of its extension.
    pub(crate) tunnels: Tunnels,
}

/// How far a child agent has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChildStage {
    /// Not started yet.
    Waiting,
    /// Started; there is no link yet.
    Starting,
    /// It has a link.
    Linked,
    /// It could not be started, or was lost.
    Gone,
    /// It ended in good order.
    Ended,
}

/// The process that starts an agent, or is one.
#[derive(Debug)]
pub(crate) struct StarterProcess {
    pub(crate) process: Child,
    pub(crate) exited: Option<ExitState>,
    /// Standard output of the command, until the agent's own line has come.
    pub(crate) output: Option<OwnedFd>,
    pub(crate) greeting: Greeting,
    /// Standard input of the command.
    pub(crate) input: Option<OwnedFd>,
    pub(crate) upload: Option<Upload>,
    /// It waits until the agent program is packed.
    pub(crate) awaits_packing: Option<Packer>,
    pub(crate) errors: Option<OwnedFd>,
    complaint: VecDeque<u8>,
    /// Lines of its agents' logs among that.
    log: LogReader,
    /// It has complained of a host that lacks the agent program.
    pub(crate) is_needed: bool,
    /// What a person types to see the cause of a failure.
    pub(crate) check: String,
}

impl ChildAgent {
    /// The first of these agents of an assignment, with the others below it.
    pub(crate) fn new(subtree: Range<usize>, assignment: &Assignment) -> ChildAgent {
        ChildAgent {
            host: assignment.agents[subtree.start].host.clone(),
            ranks: ranks_of(&assignment.agents[subtree.clone()]),
            subtree,
            parted: Vec::new(),
            stage: ChildStage::Waiting,
            was_linked: false,
            has_said_why: false,
            wire: None,
            starter: None,
            deadline: None,
            progress: Progress::default(),
            tunnels: Tunnels::default(),
        }
    }

    /// The places of the agents in its subtree.
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> {
        self.subtree.clone().filter(|place| !self.parted.iter().any(|part| part.contains(place)))
    }

    /// Whether a problem says why this agent ends, and nobody else.
    pub(crate) fn is_said_to_end(&self, problem: &Problem) -> bool {
        let is_own = problem.host == self.host && problem.members == self.ranks.to_string();
        is_own && problem.kind == ProblemKind::AgentLost
    }

    /// Whether its subtree is large enough to have come this far.
    pub(crate) fn can_have_come(&self, progress: Progress) -> bool {
        let members = [progress.started, progress.failed, progress.joined];
        progress.agents as usize <= self.places().count()
            && members.into_iter().all(|count| u64::from(count) <= self.ranks.len())
    }

    /// Runs the starter. With an inherited socket there is a link at once.
    pub(crate) fn start(
        &mut self,
        spawner: &mut Spawner,
        starter: Starter,
        null: &OwnedFd,
        options: &LinkOptions,
        place: (&Poller, Token),
    ) -> Result<(), String> {
        self.stage = ChildStage::Starting;
        let (process, ours) = StarterProcess::run(spawner, starter, null).map_err(|error| error.to_string())?;
        self.starter = Some(process);
        if let Some(ours) = ours {
            let wire = Wire::new(Link::inherited(ours, options), place.0, place.1.number());
            self.wire = Some(wire.map_err(|error| error.to_string())?);
        }
        Ok(())
    }
}

impl StarterProcess {
    /// Starts the command; with [`Channel::Inherited`] also gives our end of the agent's socket.
    pub(crate) fn run(
        spawner: &mut Spawner,
        starter: Starter,
        null: &OwnedFd,
    ) -> Result<(StarterProcess, Option<OwnedFd>), SpawnError> {
        let mut words = starter.command.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default(), words, std::env::vars_os(), None)?;
        // See `launch_keeper`: its agent says when it ends.
        command.outlives_parent = true;
        let failed = |source: rustix::io::Errno| SpawnError::new(SpawnStage::Stage, source, &command);
        let socket = (starter.channel == Channel::Inherited)
            .then(|| socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None))
            .transpose()
            .map_err(failed)?;
        let pipe = |wanted: bool| wanted.then(|| pipe_with(PipeFlags::CLOEXEC)).transpose().map_err(failed);
        let input = pipe(starter.channel != Channel::Inherited)?;
        let output = pipe(starter.channel == Channel::Pipes)?;
        let errors = pipe(true)?;
        let process = spawner.spawn(
            &command,
            ChildDescriptors {
                stdin: input.as_ref().map_or(null.as_fd(), |(read, _)| read.as_fd()),
                stdout: output.as_ref().map_or(null.as_fd(), |(_, write)| write.as_fd()),
                stderr: errors.as_ref().map_or(null.as_fd(), |(_, write)| write.as_fd()),
                control: socket.as_ref().map(|(_, theirs)| theirs.as_fd()),
                extension: None,
            },
        )?;
        let ours = [
            input.map(|(_, write)| write),
            output.map(|(read, _)| read),
            errors.map(|(read, _)| read),
            socket.map(|(ours, _)| ours),
        ];
        for descriptor in ours.iter().flatten() {
            rustix::io::ioctl_fionbio(descriptor, true).map_err(failed)?;
        }
        let [input, output, errors, socket] = ours;
        let process = StarterProcess {
            process,
            exited: None,
            output,
            greeting: Greeting::default(),
            input,
            upload: None,
            awaits_packing: None,
            errors,
            complaint: VecDeque::new(),
            log: LogReader::default(),
            is_needed: false,
            check: starter.check,
        };
        Ok((process, socket))
    }

    /// Takes what the command wrote to standard error, with lines of logs if these are wanted; false at its end.
    pub(crate) fn take_complaint(&mut self, log: Option<&AgentLog>) -> bool {
        let Some(errors) = &self.errors else { return false };
        let mut buffer = [0; 4096];
        loop {
            match rustix::io::retry_on_intr(|| rustix::io::read(errors, &mut buffer[..])) {
                Ok(count) if count > 0 => {
                    match log {
                        Some(log) => self.complaint.extend(self.log.take(&buffer[..count], log.take)),
                        None => self.complaint.extend(&buffer[..count]),
                    }
                    self.is_needed |= slurm::is_agent_needed(&self.complaint());
                    let surplus = self.complaint.len().saturating_sub(COMPLAINT_BYTES);
                    self.complaint.drain(..surplus);
                }
                Err(rustix::io::Errno::AGAIN) => return true,
                Ok(_) | Err(_) => return false,
            }
        }
    }

    /// The end of what it complained about.
    pub(crate) fn complaint(&self) -> String {
        let complaint: Vec<u8> = self.complaint.iter().copied().collect();
        String::from_utf8_lossy(&complaint).into_owned()
    }

    /// What an agent of this host said of itself; otherwise [`last_words`](Self::last_words).
    pub(crate) fn last_words_on(&self, host: &str) -> Option<String> {
        let complaint = self.complaint();
        let own = format!("{COMPLAINT} host {host}:");
        let said = complaint.lines().rev().find(|line| line.contains(&own));
        said.map(|line| line.trim().to_owned()).or_else(|| self.last_words())
    }

    /// The last lines of what it complained about, or of the noise before its greeting.
    pub(crate) fn last_words(&self) -> Option<String> {
        let complaint = self.complaint();
        let lines: Vec<&str> = complaint.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(LAST_LINES)..].join(" / ");
        [last, self.greeting.noise()].into_iter().find(|words| !words.is_empty())
    }
}

/// The agent program on its way to a host that has not got it.
#[derive(Debug)]
pub(crate) struct Upload {
    /// What is still to be read, and how much of it.
    content: Option<Content>,
    left: u64,
    piece: Bytes,
    at: usize,
}

impl Upload {
    /// As it is.
    pub(crate) fn new(agent: &AgentProgram) -> std::io::Result<Upload> {
        Ok(Upload { content: Some(Content::of(&agent.path)?), left: agent.length, piece: Bytes::new(), at: 0 })
    }

    /// As it is, behind a line that says so.
    pub(crate) fn announced(agent: &AgentProgram) -> std::io::Result<Upload> {
        Ok(Upload { piece: format!("cat {}\n", agent.length).into(), ..Upload::new(agent)? })
    }

    /// [Packed](crate::launcher::packed).
    pub(crate) fn packed(piece: Bytes) -> Upload {
        Upload { content: None, left: 0, piece, at: 0 }
    }

    /// Writes what the pipe takes; true when all is written.
    pub(crate) fn write(&mut self, to: &OwnedFd) -> std::io::Result<bool> {
        loop {
            if self.at == self.piece.len() {
                if self.left == 0 {
                    return Ok(true);
                }
                self.read()?;
            }
            match rustix::io::retry_on_intr(|| rustix::io::write(to, &self.piece[self.at..])) {
                Ok(count) => self.at += count,
                Err(rustix::io::Errno::AGAIN) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn read(&mut self) -> std::io::Result<()> {
        let length = self.left.min(UPLOAD_BYTES as u64) as usize;
        let mut piece = vec![0; length];
        self.content.as_mut().map_or(Ok(()), |content| content.read_exact(&mut piece))?;
        self.piece = piece.into();
        self.left -= length as u64;
        self.at = 0;
        Ok(())
    }
}
