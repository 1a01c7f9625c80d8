//! The clock of this process, and the links over which a node compares it: [`Clocks`] decides, this does.

use std::time::{Duration, Instant};

use banyan_clock::Estimate;
use rustix::time::{ClockId as SystemClock, Timespec, clock_gettime};
use tracing::warn;

use super::{Credentials, Driver};
use crate::clocks::{ClockId, Clocks, NodeClock};
use crate::ids::{LinkId, NodeId, Time};
use crate::message::Message;
use crate::node::Node;
use crate::wire::CLOCKS;

/// Behind so many frames that wait for credit an answer would tell nothing. The child asks again.
const MOST_QUEUED: usize = 64;

/// The time of `CLOCK_MONOTONIC` in this process's namespace, in nanoseconds.
pub(crate) fn monotonic() -> i64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(SystemClock::Monotonic);
    tv_sec.saturating_mul(1_000_000_000).saturating_add(tv_nsec)
}

/// Which clock that is. Where the system does not say, it is nobody else's.
fn own_clock() -> ClockId {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().and_then(|text| boot_of(&text));
    // Kernels without namespaces of times have one clock.
    let namespace = rustix::fs::stat("/proc/self/ns/time").map_or(0, |stat| stat.st_ino);
    ClockId { boot: boot.unwrap_or_default(), namespace }
}

/// The number in a text of 32 hexadecimal digits with hyphens.
fn boot_of(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.trim().chars().filter(|character| *character != '-').collect();
    (digits.len() == 32).then(|| u128::from_str_radix(&digits, 16).ok()).flatten().map(u128::to_be_bytes)
}

/// The clocks of a node.
pub(super) fn of(node: &Node, credentials: &Credentials) -> Clocks {
    match node.id() {
        NodeId::ROOT => Clocks::front_end(own_clock()),
        // Whoever may prove others may have children.
        _ => Clocks::below(own_clock(), credentials.all.is_some()),
    }
}

impl Driver {
    /// The front-end's clock as seen from here, as it was when the parent last said.
    pub(crate) fn front_end_clock(&mut self) -> Option<Estimate> {
        self.clocks.want()
    }

    /// Follows the node to another parent, asks that if it is time, and tells children what is new.
    pub(super) fn keep_clocks(&mut self, now: Instant) {
        let (parent, time) = (self.node.parent_link(), self.time(now));
        if self.clocks.parent() != parent {
            let knows_clocks = parent.is_some_and(|parent| self.knows_clocks(parent));
            self.clocks.follow(parent, knows_clocks, time);
        }
        if self.clocks.is_due(time)
            && let Some((link, question)) = self.clocks.ask(time, monotonic())
        {
            let clock = self.clocks.own();
            self.send_on(link, &Message::ClockAsked { question, clock });
        }
        self.clock_at = self.clocks.deadline().map(|at| self.begin + Duration::from_nanos(at.0));
    }

    /// A child asks, or the parent says something of clocks.
    #[cold]
    pub(super) fn clock_message(&mut self, id: LinkId, message: Message, time: Time) {
        let came = monotonic();
        match message {
            Message::ClockAsked { question, .. } if self.node.is_child(id) => {
                if self.links.get(&id).is_some_and(|link| link.protocol().queued() <= MOST_QUEUED) {
                    let answer = self.clocks.answer(question, came, monotonic());
                    self.send_on(id, &Message::ClockTold(Box::new(answer)));
                }
            }
            Message::ClockTold(answer) if self.clocks.parent() == Some(id) => {
                if let Some(by) = self.clocks.told(&answer, came, time) {
                    let (node, milliseconds) = (self.node.id().0, by as f64 / 1e6);
                    warn!(node, milliseconds, "the clock of the node above or of this host was set, or stood still");
                }
                self.tell_clock();
            }
            // Nobody in that place says it.
            message => self.node.message(id, message, time),
        }
    }

    fn tell_clock(&mut self) {
        let Some(news) = self.clocks.news() else { return };
        let children: Vec<LinkId> = self.links.keys().copied().filter(|link| self.node.is_child(*link)).collect();
        let message = Message::ClockTold(Box::new(news));
        for child in children.into_iter().filter(|child| self.knows_clocks(*child)).collect::<Vec<_>>() {
            self.send_on(child, &message);
        }
    }

    /// Tells the node what is known of clocks here.
    pub(super) fn answer_clocks(&mut self, question: u32) {
        // Whoever looks wants to know how it is now: the next look does.
        self.clocks.want();
        if let Some(parent) = self.node.parent() {
            let clock: NodeClock = self.clocks.known(parent, monotonic());
            self.node.answer_clocks(question, clock);
        }
    }

    fn knows_clocks(&self, link: LinkId) -> bool {
        self.links.get(&link).is_some_and(|link| link.link().capabilities().contains(CLOCKS))
    }

    fn send_on(&mut self, id: LinkId, message: &Message) {
        if let Some(link) = self.links.get_mut(&id) {
            link.send(message, &self.book);
            self.touch(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_run_of_the_kernel_is_read_or_there_is_none() {
        let read = boot_of("0a000000-0000-0000-0000-0000000000ff\n").expect("it is one");
        assert_eq!((read[0], read[15]), (10, 255));
        assert_eq!(["", "0a", "not a number of a run at all, no!"].map(boot_of), [None; 3]);
    }

    #[test]
    fn all_processes_of_this_host_read_one_clock_which_goes_on() {
        assert!(own_clock().is_same(&own_clock()));
        let (before, after) = (monotonic(), monotonic());
        assert!(before > 0 && before <= after);
    }
}
