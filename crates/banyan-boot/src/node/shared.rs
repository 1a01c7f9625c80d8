//! Shared memory with the members of this host: short frames of collectives go through it, everything else by their
//! links.
//!
//! Members wake this node when it sleeps and enough of them have something for it: all that it waits for, so that a
//! collective costs one wake however many take part; anyone, when nothing has come for a while; at once, when somebody
//! waits for what a member has. In between a nap ends by itself, so that a mistake, such as two members in different
//! collectives, is noticed before the last one comes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use banyan_link::Frame;
use banyan_link::shared::Hub;
use bytes::Bytes;

use super::token::Token;
use super::wake::PendingWake;
use super::{Below, Node};
use crate::collective::{belongs_to_collectives, stands_alone};
use crate::message;

/// How long this node sleeps at first when it waits for many members: every look touches the rings of all.
const FIRST_NAP: Duration = Duration::from_millis(40);

/// After naps up to this one nothing is going on: the next member that has something wakes this node.
const LONGEST_NAP: Duration = Duration::from_millis(160);

/// Even then it looks now and then: a member that was stopped just when it should have rung must not silence all others.
const IDLE_NAP: Duration = Duration::from_secs(2);

/// Frames of one member that are taken before others have their turn: more than its ring holds, unless it writes while
/// they are read.
pub(super) const SHARED_FRAMES: u32 = 128;

/// Shared memory and when to look at it.
#[derive(Debug)]
pub(super) struct SharedMembers {
    pub(super) hub: Hub,
    /// Members that are awaited; for one of them it is looked at again.
    awaited: u32,
    /// The length of the nap, and its end; none before the first look.
    nap: Option<(Duration, Instant)>,
    /// Members whose next frame is data that could not be taken.
    blocked: BTreeSet<u32>,
    /// A member rang.
    rung: bool,
    wake: PendingWake,
}

/// What is in a member's ring.
pub(super) enum Next {
    /// A frame was taken.
    Taken,
    /// Data that may not be taken now.
    Blocked,
    Nothing,
}

impl SharedMembers {
    /// For members, if there are any; none if the system refuses.
    pub(super) fn new(members: usize) -> Option<SharedMembers> {
        let hub = (members > 0).then(Hub::with_board)?.ok()?;
        Some(SharedMembers {
            hub,
            awaited: 1,
            nap: None,
            blocked: BTreeSet::new(),
            rung: false,
            wake: PendingWake::default(),
        })
    }

    /// Whether a member's next frame is data that could not be taken.
    pub(super) fn is_blocked(&self, index: u32) -> bool {
        self.blocked.contains(&index)
    }

    /// A member rang.
    pub(super) fn ring(&mut self) {
        self.rung = true;
    }

    /// Whether it is time to look.
    fn is_due(&self, now: Instant) -> bool {
        self.rung || self.nap.is_some_and(|(_, end)| end <= now) || self.hub.is_due(self.awaited)
    }

    /// When there is something to do although nobody rang.
    pub(super) fn timeout(&self) -> Option<Instant> {
        self.nap.map(|(_, end)| end).into_iter().chain(self.wake.timeout()).min()
    }

    /// Wakes members for what was written for them, if it is time. The master, if it is one of them, gets no part of a
    /// scatter.
    pub(super) fn ring_members(&mut self, has_master: bool, now: Instant) {
        let others = self.hub.open_spokes().saturating_sub(has_master.into());
        if self.wake.is_due(others, now) {
            self.hub.ring();
            self.wake.rang();
        }
    }

    /// Chooses the next nap, after something was found or not.
    fn lie_down(&mut self, found: bool, awaited: u32, now: Instant) {
        let length = match self.nap {
            _ if found => FIRST_NAP,
            Some((length, _)) if length < LONGEST_NAP => 2 * length,
            _ => IDLE_NAP,
        };
        self.nap = Some((length, now + length));
        self.awaited = if length < IDLE_NAP { awaited.max(1) } else { 1 };
    }

    /// Says that this node goes to sleep; false if there is something to look at.
    pub(super) fn doze(&mut self) -> bool {
        !self.rung && self.hub.doze(self.awaited)
    }
}

impl Node {
    /// Offers memory to a member that this node has started, and that has joined: what it needs for that goes along. Where that
    /// cannot be, there is its link.
    pub(super) fn offer_memory(&mut self, index: usize) {
        if self.attaches(index) {
            return;
        }
        if let (Some(shared), Some(wire)) = (&mut self.shared, &mut self.members[index].wire)
            && wire.link.capabilities().contains(message::SHARED_MEMORY)
            && wire.link.can_hand_over()
            && let Ok([signals, place, bell]) = shared.hub.place(index as u32)
            && let Some(board) = shared.hub.board()
        {
            wire.link.hand_over([signals, place, bell, Arc::clone(board)]);
            wire.link.send(Frame::new(message::SHARED, index as u32, 0, Bytes::new()));
            self.flow.touch(Token::Member(index as u32));
        }
    }

    /// A member reads shared memory from now on.
    pub(super) fn share_with(&mut self, index: usize) {
        if let Some(shared) = &mut self.shared {
            shared.hub.open(index as u32);
        }
    }

    /// Takes what members have put into shared memory, if it is time.
    pub(super) fn look_at_shared(&mut self) {
        let now = Instant::now();
        let Some(shared) = self.shared.as_mut().filter(|shared| shared.is_due(now)) else { return };
        shared.rung = false;
        shared.hub.look();
        let mut found = false;
        for index in 0..self.members.len() {
            found |= self.take_shared(index);
        }
        let awaited = self.awaited_members();
        if let Some(shared) = &mut self.shared {
            shared.lie_down(found, awaited, now);
        }
    }

    /// The same, time or not.
    pub(super) fn look_at_shared_now(&mut self) {
        if let Some(shared) = &mut self.shared {
            shared.ring();
        }
        self.look_at_shared();
    }

    /// Takes what a member has there; whether it had something.
    fn take_shared(&mut self, index: usize) -> bool {
        let token = Token::Member(index as u32);
        let mut found = false;
        for _ in 0..SHARED_FRAMES {
            let may_take_data = self.acceptable(token).everywhere;
            match self.next_shared(index, may_take_data) {
                Next::Taken => found = true,
                Next::Nothing => return found,
                Next::Blocked => {
                    self.block(token);
                    return found;
                }
            }
        }
        // There may be more: it is looked at again when the others had their turn.
        if let Some(shared) = &mut self.shared {
            shared.ring();
        }
        found
    }

    /// Takes the next frame of a member: control always, data if it may be.
    pub(super) fn next_shared(&mut self, index: usize, may_take_data: bool) -> Next {
        let Some(shared) = &mut self.shared else { return Next::Nothing };
        if !shared.hub.is_open(index as u32) {
            return Next::Nothing;
        }
        let mut is_blocked = false;
        let next = shared.hub.receive(index as u32, |frame| {
            is_blocked = frame.kind.is_data() && !may_take_data;
            !is_blocked
        });
        if is_blocked {
            shared.blocked.insert(index as u32);
        } else {
            shared.blocked.remove(&(index as u32));
        }
        match next {
            Ok(Some(frame)) if belongs_to_collectives(frame.kind) && stands_alone(&frame) => {
                self.from_member(index, frame);
                Next::Taken
            }
            Ok(Some(frame)) => {
                let what = format!("a frame of kind {} in shared memory", frame.kind.number());
                self.broken(Token::Member(index as u32), &what);
                Next::Nothing
            }
            Ok(None) if is_blocked => Next::Blocked,
            Ok(None) => Next::Nothing,
            Err(error) => {
                self.broken(Token::Member(index as u32), &error.to_string());
                Next::Nothing
            }
        }
    }

    /// Members that have not entered the next collective, but for the master: whoever waits for its data is told at once.
    fn awaited_members(&self) -> u32 {
        let Some(shared) = &self.shared else { return 1 };
        let is_awaited = |(index, member): &(usize, &super::member::LocalMember)| {
            let position = self.order.position(Below::Member(*index));
            member.rank != 0 && shared.hub.is_open(*index as u32) && self.collectives.awaits(position)
        };
        self.members.iter().enumerate().filter(is_awaited).count() as u32
    }

    /// Writes a frame for all members but one to the board; whether those that share memory have it now. The master gets
    /// it by its link, before the bell wakes all others: what it does next is what they will wait for.
    pub(super) fn publish(&mut self, but: Option<usize>, frame: &Frame) -> bool {
        let but = match but.map(|child| self.order.at(child)) {
            Some(Below::Member(index)) => Some(index as u32),
            _ => self.has_master().then_some(0),
        };
        let is_for_master = self.collectives.is_for_master(frame);
        let Some(shared) = &mut self.shared else { return false };
        let published = stands_alone(frame) && shared.hub.publish(frame, but);
        if published && !is_for_master {
            shared.wake.for_all();
        }
        published
    }

    /// Whether a child has got what was published.
    pub(super) fn has_published(&self, child: Below) -> bool {
        match (child, &self.shared) {
            (Below::Member(0), _) if self.has_master() => false,
            (Below::Member(index), Some(shared)) => shared.hub.is_open(index as u32),
            _ => false,
        }
    }

    /// Whether the master is a member of this host: ranks ascend, so it is the first.
    pub(super) fn has_master(&self) -> bool {
        self.members.first().is_some_and(|member| member.rank == 0)
    }

    /// Writes a frame for one member to shared memory, if it is of a kind of which all get one: the bell wakes them all.
    pub(super) fn put(&mut self, index: usize, frame: &Frame) -> bool {
        let Some(shared) = self.shared.as_mut().filter(|_| frame.kind == message::SCATTER) else { return false };
        let is_written = stands_alone(frame) && shared.hub.send(index as u32, frame);
        if frame.flags & message::MORE == 0 {
            shared.wake.part(is_written, Instant::now());
        }
        is_written
    }
}
