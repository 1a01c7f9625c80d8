//! Starting members, hearing that they joined, and taking note of their end.

use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Instant;

use banyan_link::{Event as LinkEvent, Frame, Interest, OtherProtocol, SecretBytes};
use banyan_ranks::RankSet;
use rustix::process::Signal;
use tracing::debug;

use super::member::{Common, LocalMember};
use super::shared::{Next, SHARED_FRAMES};
use super::start_queue::StartFailure;
use super::token::Token;
use super::{Node, STARTS_AT_ONCE, STARTS_TIME};
use crate::assignment::{Image, Terms, Variable};
use crate::extension::EXTENSION_VARIABLE;
use crate::member::JOIN_VARIABLE;
use crate::message;
use crate::problem::{Problem, ProblemKind};
use crate::process::{Command, ExitState, SpawnError, signal_group};
use crate::staging::place::{self, CACHE_VARIABLE};

impl Node {
    /// Starts the next few members.
    pub(super) fn start_members(&mut self) {
        if self.to_start.held {
            return;
        }
        let begun = Instant::now();
        for _ in 0..STARTS_AT_ONCE {
            if begun.elapsed() > STARTS_TIME {
                break;
            }
            let Some(index) = self.to_start.members.pop_front() else { break };
            if self.attaches(index) {
                // Somebody else starts it: as far as this node is concerned, that is done.
                self.progress.started += 1;
                continue;
            }
            if let Err(error) = self.start_member(index) {
                self.not_started(index, &error);
            }
        }
        if self.to_start.members.is_empty() {
            self.report_not_started();
        }
    }

    fn start_member(&mut self, index: usize) -> Result<(), SpawnError> {
        let member = &mut self.members[index];
        let image = &self.assignment.images[member.image as usize];
        let extends = self.extension.is_some();
        let command = match &mut self.to_start.commands[member.image as usize] {
            Some(command) => command,
            empty => empty.insert(command_of(image, &self.assignment.terms, &self.host, extends)?),
        };
        command.set_variable(RANK_VARIABLE, member.rank.to_string())?;
        command.set_variable(SIZE_VARIABLE, self.assignment.size.to_string())?;
        let place = (&self.poller, Token::Member(index as u32));
        let common = Common { null: self.null.as_fd(), extends };
        let socket = member.start(&mut self.spawner, image, command, common, &self.member_options, place)?;
        debug!(
            rank = member.rank,
            pid = member.process.as_ref().map(|process| process.pid.as_raw_pid()),
            "started a member"
        );
        self.progress.started += 1;
        self.running += 1;
        self.note_process(index);
        self.extend_to(index, socket);
        self.welcome(index);
        self.watch_member(index);
        Ok(())
    }

    /// Remembers to tell of a member's process.
    fn note_process(&mut self, index: usize) {
        let LocalMember { rank, process, .. } = &self.members[index];
        let process = process.as_ref().map(|process| process.pid.as_raw_nonzero().get().cast_unsigned());
        self.unreported.processes.extend(process.map(|process| (*rank, process)));
    }

    /// Tells a member who it is.
    pub(super) fn welcome(&mut self, index: usize) {
        let note = self.note_for_member(index);
        let payload = SecretBytes::from([&self.assignment.session[..], note.expose()].concat());
        let frame = Frame::new(message::WELCOME, self.members[index].rank, self.assignment.size, payload);
        if let Some(wire) = &mut self.members[index].wire {
            wire.link.send(frame);
            self.flow.touch(Token::Member(index as u32));
        }
    }

    fn watch_member(&mut self, index: usize) {
        let number = index as u32;
        let member = &mut self.members[index];
        let mut results = Vec::with_capacity(3);
        let pipes = [(&member.output, Token::Output(number)), (&member.errors, Token::Errors(number))];
        for (pipe, token) in pipes {
            if let Some(pipe) = pipe {
                results.push(self.poller.register(pipe.stream.as_fd(), token.number(), Interest::READ));
            }
        }
        if let Some(process) = &member.process {
            results.push(self.poller.register(&process.pidfd, Token::Exit(number).number(), Interest::READ));
        }
        if let Some(error) = results.into_iter().find_map(Result::err) {
            self.give_up(&format!("descriptors cannot be watched: {error}"));
        }
    }

    /// Notes that a member could not be started; with it all others of the same image, if they cannot either.
    fn not_started(&mut self, index: usize, error: &SpawnError) {
        let image = self.members[index].image;
        let mut failed = vec![index];
        // It may have been started, and what it needs besides not be there.
        self.signal_member(index, Signal::KILL);
        if self.to_start.commands[image as usize].is_none() {
            let others = self.to_start.members.iter().filter(|other| self.members[**other].image == image);
            failed.extend(others);
            self.to_start.members.retain(|other| self.members[*other].image != image);
        }
        let (cause, remedy) = (error.cause(), error.remedy());
        let mut ranks = RankSet::new();
        for index in failed {
            let member = &mut self.members[index];
            ranks.insert(member.rank);
            member.state = Some(ExitState::NeverStarted(cause.clone()));
            self.progress.failed += 1;
        }
        self.to_start.fail(ranks, cause, remedy);
    }

    /// Tells which members could not be started, those with the same cause together: first why, then that they have ended.
    fn report_not_started(&mut self) {
        for StartFailure { cause, remedy, ranks } in self.to_start.take_failures() {
            self.problem(Problem {
                host: self.host.to_string(),
                kind: ProblemKind::NotStarted,
                cause: cause.clone(),
                remedy: remedy.to_owned(),
                members: ranks.to_string(),
            });
            self.unreported.exits.extend(ranks.iter().map(|rank| (rank, ExitState::NeverStarted(cause.clone()))));
        }
    }

    /// A member said hello.
    pub(super) fn member_joined(&mut self, index: usize) {
        let member = &mut self.members[index];
        if !std::mem::replace(&mut member.joined, true) {
            debug!(rank = member.rank, "a member has joined");
            self.progress.joined += 1;
            self.offer_memory(index);
        }
    }

    /// A member's process ended: what it wrote is read to the end, then its end is reported.
    pub(super) fn member_exited(&mut self, index: usize) {
        if self.members[index].stranger.is_some() {
            return self.stranger_ended(index);
        }
        let Some(process) = &self.members[index].process else { return };
        if self.members[index].state.is_some() {
            return;
        }
        let state = match ExitState::take(process.pidfd.as_fd()) {
            // However it took being asked to end.
            Ok(Some(_)) if self.members[index].asked => ExitState::OutOfTime,
            Ok(Some(state)) => state,
            Ok(None) => return,
            Err(error) => ExitState::Lost(format!("its end could not be learnt: {error}")),
        };
        let _ = self.poller.remove(&process.pidfd);
        self.take_last_words(index);
        self.close_streams(index);
        let member = &mut self.members[index];
        member.state = Some(state.clone());
        member.process = None;
        member.deadline = None;
        let rank = member.rank;
        debug!(rank, %state, "a member has ended");
        let why = format!("member {rank} on host {} {state}", self.host);
        self.collectives.member_gone(rank, why, &mut self.outgoing);
        self.deliver();
        self.unreported.exits.push((rank, state));
        self.running -= 1;
        self.tell_leftovers();
        self.tell_extension_of_end(rank);
    }

    /// Takes everything a member sent before it ended, whether there is room for it or not: it is no more than its
    /// credit.
    fn take_last_words(&mut self, index: usize) {
        let token = Token::Member(index as u32);
        self.take_all_shared(index);
        loop {
            let Some(wire) = self.wire(token) else { return };
            let before = wire.link.counters().bytes_received;
            wire.link.fill(Instant::now());
            // A process that the member left behind may hold its end open: what is there now is all that counts.
            let nothing_more = wire.link.counters().bytes_received == before;
            while let Some(event) = self.wire(token).and_then(|wire| wire.next(|_| true)) {
                match event {
                    LinkEvent::Opened(_) => self.opened(token),
                    LinkEvent::Frame(frame) => self.take(token, frame),
                    LinkEvent::Closed | LinkEvent::Lost(_) => return self.close_member_link(index),
                }
            }
            if nothing_more {
                return self.close_member_link(index);
            }
        }
    }

    /// Takes what a member has left in shared memory. A process that it left behind could write there, too, but not for ever.
    fn take_all_shared(&mut self, index: usize) {
        for _ in 0..SHARED_FRAMES {
            let Next::Taken = self.next_shared(index, true) else { return };
        }
    }

    /// Closes the link of a member: it is gone, or has to go.
    pub(super) fn close_member_link(&mut self, index: usize) {
        self.take_all_shared(index);
        self.stop_sharing(index);
        if let Some(mut wire) = self.members[index].wire.take() {
            wire.unwatch(&self.poller);
            let token = Token::Member(index as u32);
            self.flow.set_full(token, false);
        }
    }

    fn stop_sharing(&mut self, index: usize) {
        if let Some(shared) = &mut self.shared {
            shared.hub.close(index as u32);
        }
    }

    /// A member cannot be understood: its program was built with another release. It is ended, since others would wait for it.
    pub(super) fn member_of_other_protocol(&mut self, index: usize, other: OtherProtocol) {
        let rank = self.members[index].rank;
        self.problem(Problem {
            host: self.host.to_string(),
            kind: ProblemKind::Broken,
            cause: other.cause(&format!("the program of member {rank}"), "its agent"),
            remedy: other.remedy("the program of the member", "the program of the session"),
            members: rank.to_string(),
        });
        self.cut_member(index);
    }

    /// A member that broke the protocol is ended: what it would do without its link is anybody's guess.
    pub(super) fn cut_member(&mut self, index: usize) {
        self.stop_sharing(index);
        self.close_member_link(index);
        if self.attaches(index) {
            self.attached_gone(index, ExitState::Lost("was cut off".into()));
        }
        self.signal_member(index, Signal::KILL);
    }

    /// Sends a signal to a member and the processes of its group.
    pub(super) fn signal_member(&mut self, index: usize, signal: Signal) {
        if let Some(process) = &self.members[index].process {
            // It may be ending at this very moment; its end is reported as always.
            let _ = signal_group(process, signal);
        }
    }
}

/// The environment variable that tells members what their host is called in the session.
const HOST_VARIABLE: &str = "BANYAN_HOST";

/// The environment variable that tells a member its rank, …
const RANK_VARIABLE: &str = "BANYAN_RANK";

/// … and the one that tells it how many members there are.
const SIZE_VARIABLE: &str = "BANYAN_SIZE";

/// The command of an image, as this host sees it; its processes may get a socket to the agent's extension besides their link.
fn command_of(image: &Image, terms: &Terms, host: &str, extends: bool) -> Result<Command, SpawnError> {
    let mut environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    for Variable { name, value } in &image.env {
        let name = OsStr::from_bytes(name);
        environment.retain(|(other, _)| other != name);
        environment.extend(value.as_ref().map(|value| (name.to_owned(), OsStr::from_bytes(value).to_owned())));
    }
    environment.retain(|(name, _)| name != JOIN_VARIABLE && name != EXTENSION_VARIABLE && name != HOST_VARIABLE);
    environment.push((HOST_VARIABLE.into(), host.into()));
    let cache = place::cache(terms.cache.as_deref(), host).ok();
    if terms.cache.is_some() {
        environment.retain(|(name, _)| name != CACHE_VARIABLE);
        environment.extend(cache.iter().map(|cache| (CACHE_VARIABLE.into(), cache.into())));
    }
    let program = place::executable(OsStr::from_bytes(&image.exe), cache.as_deref());
    let arguments = image.args.iter().map(|argument| OsStr::from_bytes(&argument.bytes));
    let directory = image.cwd.as_deref().map(|cwd| Path::new(OsStr::from_bytes(cwd)));
    let mut command = Command::new(program, arguments, environment, directory)?;
    command.limits = image.limits.parse().unwrap_or_default();
    // Those that are to live on when the agent is killed: its keeper ends them in time.
    command.outlives_parent = extends;
    Ok(command)
}
