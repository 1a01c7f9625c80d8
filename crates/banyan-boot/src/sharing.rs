//! A member's side of the memory that it shares with its agent: what goes there, and how to wait for it and for the link
//! at once.

use std::time::{Duration, Instant};

use banyan_link::shared::{SharedError, Spoke};
use banyan_link::{Event, Frame, Interest, Link, Poller, Ready};

use crate::collective::{belongs_to_collectives, stands_alone};
use crate::message;

/// What the poller says when the link has something.
const LINK: u64 = 0;

/// What it says when the agent rang.
const BELL: u64 = 1;

/// When a member that finds its ring full looks for room again, at first; each time twice as late, …
pub(crate) const FIRST_ROOM_PAUSE: Duration = Duration::from_millis(1);
/// … up to this.
pub(crate) const LONGEST_ROOM_PAUSE: Duration = Duration::from_millis(64);

/// See the module.
#[derive(Debug)]
pub(crate) struct Sharing {
    spoke: Spoke,
    poller: Poller,
    ready: Vec<Ready>,
    watches_writing: bool,
    /// Something was put there that others wait for.
    is_urgent: bool,
}

/// What a member waits for.
#[derive(Debug)]
pub(crate) enum MemberEvent {
    /// It came through shared memory, and costs no credit.
    Shared(Frame),
    /// It came over the link.
    Link(Event),
}

impl Sharing {
    /// From the descriptors that the agent has handed over, and the member's number there; none if that does not work, so that
    /// all goes over the link.
    pub(crate) fn open(number: u32, link: &mut Link) -> Option<Sharing> {
        let [signals, place, bell, board] = link.take_descriptors()?;
        let spoke = Spoke::new([signals, place, bell], Some(board), number).ok()?;
        let poller = Poller::new().ok()?;
        poller.register(&*link, LINK, Interest::READ).ok()?;
        poller.register_bell(spoke.bell(), BELL).ok()?;
        link.send(Frame::new(message::SHARED, 0, 0, bytes::Bytes::new()));
        Some(Sharing { spoke, poller, ready: Vec::new(), watches_writing: false, is_urgent: false })
    }

    /// Whether a frame goes this way. The parts of a scatter are too many: the link takes them all at once.
    pub(crate) fn takes(&self, frame: &Frame) -> bool {
        let is_part = frame.kind == message::SCATTER;
        belongs_to_collectives(frame.kind) && !is_part && stands_alone(frame) && self.spoke.takes(frame)
    }

    /// Puts a frame there; false when there is no room.
    pub(crate) fn send(&mut self, frame: &Frame) -> bool {
        let sent = self.spoke.send(frame);
        // The master's bytes are what others wait for; all others are waited for together.
        self.is_urgent |= sent && frame.kind == message::BROADCAST;
        sent
    }

    /// What was put there since the last announcement is not what the agent counts on: it should look at once.
    pub(crate) fn hurry(&mut self) {
        self.is_urgent = true;
    }

    /// Tells the agent of what was put there; wakes it if it sleeps and wants to be.
    pub(crate) fn announce(&mut self, link: &mut Link) {
        if self.spoke.announce(std::mem::take(&mut self.is_urgent)) {
            link.send(Frame::new(message::BELL, 0, 0, bytes::Bytes::new()));
        }
    }

    /// As [`Link::wait`], for what comes either way.
    pub(crate) fn wait(
        &mut self,
        link: &mut Link,
        deadline: Option<Instant>,
    ) -> Result<Option<MemberEvent>, SharedError> {
        // What is there already costs no look at the link: all of that is cold in a process that was just woken.
        if let Some(frame) = self.spoke.receive()? {
            return Ok(Some(MemberEvent::Shared(frame)));
        }
        let had_credit = link.credit_left() > 0;
        loop {
            if let Some(event) = link.poll() {
                return Ok(Some(MemberEvent::Link(event)));
            }
            self.announce(link);
            if link.wants_write() {
                link.flush(Instant::now());
            }
            let timeout = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if timeout == Some(Duration::ZERO) || (!had_credit && link.credit_left() > 0) {
                return Ok(None);
            }
            self.watch(link);
            // What the system refuses to wait for shows as the end of the link.
            let waited = self.poller.sleep(timeout, &mut self.ready);
            if waited.is_err() || self.ready.iter().any(|ready| ready.token == LINK) {
                link.fill(Instant::now());
            } else if self.ready.is_empty() {
                // A signal came, or the time is over.
                return Ok(None);
            }
            if let Some(frame) = self.spoke.receive()? {
                return Ok(Some(MemberEvent::Shared(frame)));
            }
        }
    }

    /// Waits for room to write while the link wants it.
    fn watch(&mut self, link: &Link) {
        let wants = link.wants_write();
        if wants != self.watches_writing {
            self.watches_writing = wants;
            let interest = if wants { Interest::BOTH } else { Interest::READ };
            // The descriptor is registered; changing what to wait for does not fail.
            let _ = self.poller.modify(link, LINK, interest);
        }
    }
}
