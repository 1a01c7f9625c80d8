//! The agent: the process on each host that starts members and passes frames on.
//!
//! It is two processes: the keeper, which does nothing but wait and afterwards ends whatever is left, and the worker,
//! which is a [node](crate::node) of the tree.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use banyan_hosts::cause;
use banyan_link::{Event, Heartbeat, Link, LinkOptions, PROTOCOL_VERSION};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags};

use crate::arrival::Arrival;
use crate::assignment::Assignment;
use crate::extension::{AgentExtension, GuardInfo};
use crate::inherited::inherited_socket;
use crate::launcher::program::{self, AgentProgram};
use crate::member::JOIN_DESCRIPTOR;
use crate::message;
use crate::node::child::COMPLAINT;
use crate::node::greeting::READY;
use crate::node::together::Together;
use crate::node::{Node, Setting, agent_link_options};
use crate::options::Leftovers;
use crate::process::{
    KeeperSocket, Role, STATUS_SPARED, Spawner, end_descendants, keep, keep_guarded, keep_memory_private, set_title,
};
use crate::shape;

/// How long an agent waits for its work after it was started.
const WORK_DEADLINE: Duration = Duration::from_secs(30);

/// Descriptors of an agent's own begin here; those below are for the processes it starts.
const FIRST_OWN: i32 = 11;

/// How an agent reaches its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentChannel {
    /// Descriptor 3 is a socket that the parent made.
    Inherited {
        /// How often to say that one lives.
        heartbeat: Duration,
    },
    /// Standard input and output lead to the parent.
    Pipes {
        /// How often to say that one lives.
        heartbeat: Duration,
    },
    /// A roster names all agents; `-` is standard input.
    Roster(OsString),
}

/// Becomes an agent and never returns, if this process was started as one; otherwise does nothing.
///
/// Call it first in `main`, before any thread is started: then your own program is the agent, and hosts need nothing
/// else.
pub fn become_agent_if_asked() {
    if let Some(channel) = asked() {
        std::process::exit(run_agent(&channel));
    }
}

/// As [`become_agent_if_asked`], with an extension: `make` makes it in the agent, if the session asks for one.
///
/// When the agent dies, however it does, `guard` is called on its host, in a process of its own. What the agent had started lives on
/// until it returns: it is to return when the extension's network is over or
/// [nobody is left](GuardInfo::look).
pub fn become_agent_if_asked_with(make: impl FnOnce() -> Box<dyn AgentExtension>, guard: fn(&GuardInfo)) {
    if let Some(channel) = asked() {
        std::process::exit(run_agent_with(&channel, make, guard));
    }
}

/// How this process reaches its parent, if it was started as an agent.
fn asked() -> Option<AgentChannel> {
    program::this_program_can();
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let (_, rest) = arguments.split_first().filter(|(first, _)| *first == "agent")?;
    let channel = channel(rest)?;
    // Before it has anything to hide, and any other process.
    keep_memory_private();
    Some(channel)
}

/// The channel named by an agent's arguments; `None` if they are not an agent's.
fn channel(arguments: &[OsString]) -> Option<AgentChannel> {
    let arguments: Vec<&str> = arguments.iter().map(|argument| argument.to_str()).collect::<Option<_>>()?;
    match arguments[..] {
        [INHERITED, beat] => Some(AgentChannel::Inherited { heartbeat: heartbeat(beat)? }),
        [PIPES, beat] => Some(AgentChannel::Pipes { heartbeat: heartbeat(beat)? }),
        [CHECK, hash] => check(hash),
        [roster] => roster.strip_prefix("--roster=").map(|path| AgentChannel::Roster(path.into())),
        _ => None,
    }
}

/// The argument for a socket that the parent made, …
pub(crate) const INHERITED: &str = "--inherited";
/// … and for standard input and output.
pub(crate) const PIPES: &str = "--pipes";
/// The argument that asks a program whether it is as its sender had it.
pub(crate) const CHECK: &str = "--check";
const HEARTBEAT: &str = "--heartbeat=";

/// The argument that says how often an agent says that it lives. It is told before there is a link, since it announces
/// that itself when the link opens.
pub(crate) fn heartbeat_argument(every: Duration) -> String {
    format!("{HEARTBEAT}{}", every.as_millis())
}

fn heartbeat(argument: &str) -> Option<Duration> {
    argument.strip_prefix(HEARTBEAT)?.parse().ok().map(Duration::from_millis)
}

/// Ends the process; successfully if its program is what its sender had.
fn check(hash: &str) -> ! {
    let mut hasher = blake3::Hasher::new();
    let read = std::env::current_exe().and_then(File::open).and_then(|program| hasher.update_reader(program).map(drop));
    match read {
        Ok(()) if hasher.finalize().to_hex().as_str() == hash => std::process::exit(0),
        Ok(()) => fail("the agent program was damaged on its way; try again"),
        Err(error) => fail(&format!("the agent program cannot be checked: {}", cause(&error))),
    }
}

/// Says why on standard error, which the parent shows, and ends.
fn fail(why: &str) -> ! {
    let _ = writeln!(io::stderr(), "{COMPLAINT} {why}");
    std::process::exit(1)
}

/// Runs an agent to its end; the exit status.
pub fn run_agent(channel: &AgentChannel) -> i32 {
    finish(keep().map(|keeper| work(channel, keeper, || None)))
}

/// Runs an agent with an extension to its end; the exit status. See [`become_agent_if_asked_with`].
pub fn run_agent_with(
    channel: &AgentChannel,
    make: impl FnOnce() -> Box<dyn AgentExtension>,
    guard: fn(&GuardInfo),
) -> i32 {
    let kept = keep_guarded(Box::new(move |word, left| {
        if let Some(info) = GuardInfo::new(word, left) {
            guard(&info);
        }
    }));
    finish(kept.map(|keeper| work(channel, keeper, || Some(make()))))
}

/// The exit status of a worker that has done its work, or could not be made.
fn finish(worked: io::Result<Result<Leftovers, String>>) -> i32 {
    let worked = match worked {
        Ok(Ok(Leftovers::Spare)) => return STATUS_SPARED.into(),
        // The keeper would do the same, if it is still there. What a worker leaves that has failed is the keeper's business.
        Ok(worked) => worked.and_then(|_| end_descendants(&[]).map(drop).map_err(|error| error.to_string())),
        Err(error) => Err(format!("cannot be split into keeper and worker: {}", cause(&error))),
    };
    match worked {
        Ok(()) => 0,
        Err(why) => fail(&why),
    }
}

fn work(
    channel: &AgentChannel,
    keeper: KeeperSocket,
    extension: impl FnOnce() -> Option<Box<dyn AgentExtension>>,
) -> Result<Leftovers, String> {
    let mut spawner = Spawner::new().map_err(|error| format!("cannot start processes: {}", cause(&error)))?;
    // Nothing else runs in an agent.
    spawner.remember_signals();
    let (mut listener, mut together, mut _roster) = (None, None, None);
    let mut link = match channel {
        AgentChannel::Inherited { heartbeat } => {
            Link::inherited(inherited_socket(JOIN_DESCRIPTOR)?, &parent_link_options(*heartbeat))
        }
        AgentChannel::Pipes { heartbeat } => {
            let (input, output) = standard_streams().map_err(|error| format!("standard streams: {}", cause(&error)))?;
            Link::over_pipes(input, output, &parent_link_options(*heartbeat))
                .map_err(|error| format!("standard streams: {}", cause(&error)))?
        }
        AgentChannel::Roster(path) => {
            let arrival = Arrival::by_roster(path)?;
            listener = arrival.listener;
            _roster = arrival.roster;
            together = Some(Together::below(arrival.secret));
            arrival.link
        }
    };
    let assignment = receive_work(&mut link)?;
    link.set_silence(Duration::from_millis(assignment.terms.silence));
    let host = assignment.agents.first().map(|agent| agent.host.clone()).ok_or("work without agents")?;
    name_processes(&assignment, &host, &keeper);
    let mut agent_program = AgentProgram::running(assignment.agent_hash.clone(), assignment.agent_length)
        .map_err(|error| format!("its own program cannot be found: {}", cause(&error)))?;
    agent_program.installed.clone_from(&assignment.installed_agent);
    agent_program.directory.clone_from(&assignment.agent_directory);
    let (held, leftovers) = (assignment.held, assignment.terms.leftovers);
    let extension = assignment.note.as_ref().and_then(|_| extension());
    let (keeper, listener, hosts, extension_port, log) = (Some(keeper), listener, Vec::new(), None, None);
    let setting = Setting {
        host,
        agent_program,
        keeper,
        spawner,
        listener,
        together,
        hosts,
        held,
        extension,
        extension_port,
        log,
    };
    let mut node = Node::agent(link, assignment, setting).map_err(|error| error.to_string())?;
    let _dies = DiesOfPanic;
    node.run().map(|()| leftovers).map_err(|error| format!("stopped working: {}", cause(&error)))
}

/// A worker that panics dies at once, before it drops what its members depend on: they live on if they are guarded.
struct DiesOfPanic;

impl Drop for DiesOfPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

/// Calls this process, and its keeper, by what they are; from then on the keeper asks before it ends this process.
fn name_processes(assignment: &Assignment, host: &str, keeper: &KeeperSocket) {
    let [a, b, c, d, ..] = assignment.session;
    let session = u32::from_be_bytes([a, b, c, d]);
    set_title(Role::Agent, &format!("{} of session {session:08x} on {host}", assignment.node));
    // A keeper that is gone is noticed by the node.
    let _ = keeper.name_host(host);
}

/// The link to the parent, before its work says how long the parent may be silent.
fn parent_link_options(every: Duration) -> LinkOptions {
    agent_link_options().heartbeat(Heartbeat::default().every(every))
}

/// Standard input and output as descriptors of their own, for a link; nothing else may read or write them.
fn standard_streams() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut output = io::stdout();
    writeln!(output, "{READY} {PROTOCOL_VERSION}")?;
    output.flush()?;
    let input = rustix::io::fcntl_dupfd_cloexec(io::stdin(), FIRST_OWN)?;
    let output = rustix::io::fcntl_dupfd_cloexec(io::stdout(), FIRST_OWN)?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    // The parent speaks first, so that it can tell our line from what login shells print.
    rustix::event::poll(&mut [PollFd::new(&input, PollFlags::IN)], None)?;
    Ok((input, output))
}

/// Work whose agents are a tree with this one as its root.
fn check_shape(work: Assignment) -> Result<Assignment, String> {
    let agents = &work.agents;
    let is_root = agents.first().is_some_and(|root| root.below as usize == agents.len() - 1);
    if is_root && shape::misfit(agents.len(), |agent| agents[agent].below).is_none() {
        return Ok(work);
    }
    Err("the agents in its work are not the tree below it".into())
}

/// The first thing a parent says.
fn receive_work(link: &mut Link) -> Result<Assignment, String> {
    let deadline = Instant::now() + WORK_DEADLINE;
    loop {
        match link.wait(Some(deadline)) {
            Some(Event::Frame(frame)) if frame.kind == message::ASSIGN => {
                let work = link.decode(&frame).map_err(|error| format!("its work cannot be read: {error}"))?;
                return check_shape(work);
            }
            Some(Event::Opened(_)) => {}
            Some(Event::Frame(_)) => return Err("the parent sent something else than work".into()),
            Some(Event::Closed) => return Err("the parent went away".into()),
            Some(Event::Lost(error)) => return Err(format!("the link to the parent: {error}")),
            None if Instant::now() < deadline => {}
            None => return Err(format!("the parent gave no work for {} s", WORK_DEADLINE.as_secs())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_understands_the_words_it_is_started_with() {
        let heartbeat = Duration::from_millis(250);
        let read = |words: &[&str]| channel(&words.iter().map(OsString::from).collect::<Vec<_>>());
        let beat = &*heartbeat_argument(heartbeat);
        assert_eq!(read(&[INHERITED, beat]), Some(AgentChannel::Inherited { heartbeat }));
        assert_eq!(read(&[PIPES, beat]), Some(AgentChannel::Pipes { heartbeat }));
        assert_eq!(read(&["--roster=-"]), Some(AgentChannel::Roster("-".into())));
        assert_eq!(read(&[PIPES, "--heartbeat=soon"]), None);
        assert_eq!(read(&["--help"]), None);
    }
}
