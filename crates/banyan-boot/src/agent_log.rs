//! The log of agents: what agents, their keepers and guards write about their work, for the front-end that has asked for it.
//!
//! Who turns `tracing` events into lines is the agent program's choice ([`register_agent_log`]). Lines travel on standard
//! error, from each agent to whoever has started it, and at the front-end to [`AgentLog::take`]. That way is there before any
//! link and after the worker's death. A line is written whole or not at all, and nobody waits for room: what does not fit
//! into the pipe is dropped.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;

use banyan_link::Capabilities;
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::process::own_role;

/// Capability of links between nodes: the child writes a log when it is asked to.
pub(crate) const AGENT_LOG: Capabilities = Capabilities::of_user(1);

/// How lines of logs begin on standard error.
const MARK: &str = "banyan log: ";

/// Bytes of a line at most. A pipe takes so many whole, between the lines of others.
const LINE_BYTES: usize = 4096;

/// What agents are to log, and who takes their lines.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AgentLog {
    /// What is logged: the agent program's function gets this text ([`register_agent_log`]). The agents of the `banyan` command
    /// take what `banyan run --log-level` takes.
    pub filter: String,
    /// Takes a line: the host, the role and the process id of its writer, and what it wrote. It is called by a thread of the
    /// session's. A line may hold any characters.
    pub take: fn(&str),
}

impl AgentLog {
    /// Agents log what this filter lets pass, and this function takes their lines.
    pub fn new(filter: impl Into<String>, take: fn(&str)) -> AgentLog {
        AgentLog { filter: filter.into(), take }
    }
}

/// Where an agent, a keeper or a guard writes the lines of its log.
#[derive(Debug, Clone)]
pub struct LogLines {
    host: String,
}

impl LogLines {
    /// Writes a line, of which line breaks and what is too long are cut off. It is dropped where there is no room.
    pub fn write(&self, line: &str) {
        // A guard has this from the keeper that it was.
        let (host, role) = (&self.host, own_role());
        write_whole(&format!("{MARK}{host} {role} {}: {line}", std::process::id()));
    }
}

/// Writes a line to standard error, if there is room for it at once.
fn write_whole(line: &str) {
    let (mut stderr, at_once) = (io::stderr().lock(), Timespec { tv_sec: 0, tv_nsec: 0 });
    let has_room = rustix::event::poll(&mut [PollFd::from_borrowed_fd(stderr.as_fd(), PollFlags::OUT)], Some(&at_once));
    if has_room.is_ok_and(|ready| ready > 0) {
        let line = line.lines().next().unwrap_or_default();
        let mut bytes = line.as_bytes()[..line.floor_char_boundary(LINE_BYTES - 1)].to_vec();
        bytes.push(b'\n');
        // Whoever read it is gone, for example: then nobody misses it.
        let _ = stderr.write_all(&bytes);
    }
}

static START: OnceLock<fn(&str, LogLines)> = OnceLock::new();

/// Brings what makes agents of this program log. `start` is called in the agent, its keeper and its guard when the front-end
/// asks for a log, with its [filter](AgentLog::filter). Call it before [`become_agent_if_asked`](crate::become_agent_if_asked).
pub fn register_agent_log(start: fn(&str, LogLines)) {
    // The first one counts.
    let _ = START.set(start);
}

/// Begins the log of this process.
pub(crate) fn begin(filter: &str, host: &str) {
    if let Some(start) = START.get() {
        start(filter, LogLines { host: host.to_owned() });
    }
}

/// Passes a line on, from an agent to the one above it.
pub(crate) fn pass_on(line: &str) {
    write_whole(&format!("{MARK}{line}"));
}

/// Standard error of an agent as its parent reads it: lines of logs among other words.
#[derive(Debug, Default)]
pub(crate) struct LogReader {
    /// The beginning of a line that may be one of a log.
    begun: Vec<u8>,
    /// A line is going on that is none.
    is_inside_other: bool,
}

impl LogReader {
    /// Takes what has come: gives lines of logs to `log`, without the mark, and everything else back.
    pub(crate) fn take(&mut self, bytes: &[u8], mut log: impl FnMut(&str)) -> Vec<u8> {
        let mut others = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_end = piece.ends_with(b"\n");
            if self.is_inside_other {
                others.extend_from_slice(piece);
                self.is_inside_other = !is_end;
                continue;
            }
            self.begun.extend_from_slice(piece);
            let line = self.begun.strip_prefix(MARK.as_bytes());
            let may_be_log = line.is_some() || MARK.as_bytes().starts_with(&self.begun);
            match line {
                Some(line) if is_end => log(String::from_utf8_lossy(line).trim_end()),
                _ if may_be_log && !is_end && self.begun.len() < LINE_BYTES => continue,
                _ => {
                    others.extend_from_slice(&self.begun);
                    self.is_inside_other = !is_end;
                }
            }
            self.begun.clear();
        }
        others
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> (Vec<String>, String) {
        let (mut reader, mut lines, mut others) = (LogReader::default(), Vec::new(), Vec::new());
        for piece in pieces {
            others.extend(reader.take(piece, |line| lines.push(line.to_owned())));
        }
        (lines, String::from_utf8(others).unwrap())
    }

    #[test]
    fn lines_of_logs_are_told_from_other_words() {
        let text = "ssh: warning\nbanyan log: n1 agent 7: debug: a\nbanyan agent: no\n  banyan log: x\nbanyan log: b\n";
        let (lines, others) = read(&[text.as_bytes()]);
        assert_eq!(lines, ["n1 agent 7: debug: a", "b"]);
        assert_eq!(others, "ssh: warning\nbanyan agent: no\n  banyan log: x\n");
    }

    #[test]
    fn a_line_without_end_takes_no_more_memory_than_a_line() {
        let mut reader = LogReader::default();
        let long = [MARK.as_bytes(), &[b'x'; 3 * LINE_BYTES]].concat();
        let others: usize = long.chunks(100).map(|piece| reader.take(piece, |_| panic!("no line")).len()).sum();
        assert!(others > 2 * LINE_BYTES && reader.begun.capacity() <= 2 * LINE_BYTES);
    }

    proptest! {
        #[test]
        fn however_it_is_cut_the_same_comes(
            lines in prop::collection::vec("(banyan log: )?[a-c :]{0,20}", 0..6),
            cuts in prop::collection::vec(1usize..9, 1..20),
        ) {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let (mut rest, mut pieces, mut cuts) = (text.as_bytes(), Vec::new(), cuts.iter().cycle());
            while !rest.is_empty() {
                let (piece, after) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            prop_assert_eq!(read(&pieces), read(&[text.as_bytes()]));
        }
    }
}
