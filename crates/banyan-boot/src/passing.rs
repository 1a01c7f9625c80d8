//! What members write, passed through to the front-end's standard error: `3 node2: line`.
//!
//! A thread of its own writes, so that neither the root of the tree nor the caller waits for whoever reads standard error.
//! While that is slow, members that write wait, as for any slow reader; if nobody can read it any more, the rest is thrown
//! away. On a terminal, control characters are escaped, so that no member can move the cursor or forge another's label.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use crate::event::Lines;
use crate::node::root_channel::RootChannel;

/// Begins to pass on what the root lays down for that, until the session is over.
pub(crate) fn begin(channel: &Arc<RootChannel>) -> io::Result<()> {
    let channel = Arc::clone(channel);
    let run = move || {
        pass(&channel, &mut io::stderr(), io::stderr().is_terminal());
        channel.lay(|root_state| root_state.is_all_passed = true);
    };
    std::thread::Builder::new().name("banyan-output".into()).spawn(run).map(drop)
}

fn pass(channel: &RootChannel, out: &mut impl Write, escapes: bool) {
    let mut is_read = true;
    while let Some(lines) = next(channel) {
        if is_read {
            is_read = out.write_all(&labelled(&lines, escapes)).and_then(|()| out.flush()).is_ok();
        }
        // There is room again.
        channel.ring();
    }
}

fn next(channel: &RootChannel) -> Option<Lines> {
    let next = channel.wait(None, |root_state| match root_state.take_passed() {
        None if root_state.over => Some(None),
        lines => lines.map(Some),
    });
    next.flatten()
}

/// Each line behind its label, with an end.
fn labelled(lines: &Lines, escapes: bool) -> Vec<u8> {
    let label = format!("{} {}: ", lines.rank, lines.host);
    let mut text = Vec::with_capacity(lines.bytes.len() + label.len());
    for line in lines.lines() {
        text.extend_from_slice(label.as_bytes());
        match escapes {
            false => text.extend_from_slice(line),
            true => text.extend_from_slice(escaped(line).as_bytes()),
        }
        text.push(b'\n');
    }
    text
}

fn escaped(line: &[u8]) -> String {
    let mut text = String::new();
    for character in String::from_utf8_lossy(line).chars() {
        match character {
            '\t' => text.push('\t'),
            other if other.is_control() => text.extend(other.escape_default()),
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn lines(bytes: &'static [u8]) -> Lines {
        Lines { rank: 3, host: "n1".into(), errors: false, bytes: Bytes::from_static(bytes) }
    }

    #[test]
    fn every_line_has_a_label_and_an_end_and_talks_to_no_terminal() {
        assert_eq!(labelled(&lines(b"a\nb"), false), b"3 n1: a\n3 n1: b\n");
        assert_eq!(labelled(&lines(b"\tx\x1b[2J\xff\n"), true), "3 n1: \tx\\u{1b}[2J\u{fffd}\n".as_bytes());
    }

    #[test]
    fn what_nobody_can_read_is_thrown_away() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let channel = RootChannel::new(1, [3].into_iter().collect(), None).unwrap();
        channel.lay(|root_state| {
            (0..3).for_each(|_| root_state.pass(lines(b"a\n")));
            root_state.over = true;
        });
        pass(&channel, &mut Closed, false);
        assert!(channel.has_room() && channel.root_state().take_passed().is_none());
    }
}
