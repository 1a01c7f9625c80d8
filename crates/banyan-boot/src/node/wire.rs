//! A link of a node: the link, what the poller watches for it, and data that cannot be passed on yet.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;

use banyan_link::{Event, Frame, Interest, Kind, Link, Poller};

/// See the module.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) link: Link,
    /// The poller tells when it can be written.
    watches_writing: bool,
    /// Data that waits until those it goes to have room. The peer's credit bounds it: it is released when it is taken.
    data: VecDeque<Frame>,
    /// What came behind that data and ends the link.
    end: Option<Event>,
}

impl Wire {
    /// Puts a link under the poller's eyes.
    pub(crate) fn new(link: Link, poller: &Poller, token: u64) -> io::Result<Wire> {
        let (read, _) = link.fds();
        poller.register(read, token, Interest::READ)?;
        Ok(Wire { link, watches_writing: false, data: VecDeque::new(), end: None })
    }

    /// The next thing to deal with: control at once, data only when it may be taken, the end after all data.
    pub(crate) fn next(&mut self, may_take: impl Fn(Kind) -> bool) -> Option<Event> {
        while let Some(event) = self.link.poll() {
            match event {
                Event::Frame(frame) if frame.kind.is_data() => self.data.push_back(frame),
                Event::Closed | Event::Lost(_) => self.end = Some(event),
                Event::Opened(_) | Event::Frame(_) => return Some(event),
            }
        }
        if let Some(frame) = self.data.pop_front_if(|frame| may_take(frame.kind)) {
            return Some(Event::Frame(frame));
        }
        if self.data.is_empty() { self.end.take() } else { None }
    }

    /// The kind of the first data that waits.
    pub(crate) fn first_data(&self) -> Option<Kind> {
        self.data.front().map(|frame| frame.kind)
    }

    /// Asks the poller to tell when the link can be written, if it has something to write and could not.
    pub(crate) fn watch(&mut self, poller: &Poller, token: u64) -> io::Result<()> {
        let wants = self.link.wants_write();
        if wants == self.watches_writing {
            return Ok(());
        }
        self.watches_writing = wants;
        let (read, write) = self.link.fds();
        if read.as_raw_fd() == write.as_raw_fd() {
            let interest = if wants { Interest::BOTH } else { Interest::READ };
            poller.modify(read, token, interest)
        } else if wants {
            poller.register(write, token, Interest::WRITE)
        } else {
            poller.remove(write)
        }
    }

    /// Takes the link from under the poller's eyes.
    pub(crate) fn unwatch(&mut self, poller: &Poller) {
        let (read, write) = self.link.fds();
        // What the poller has forgotten by itself is as good.
        let _ = poller.remove(read);
        if self.watches_writing && read.as_raw_fd() != write.as_raw_fd() {
            let _ = poller.remove(write);
        }
        self.watches_writing = false;
    }
}
