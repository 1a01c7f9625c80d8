//! The packets of a stream on their way down: kept until everyone below has taken them, so that a child that comes from
//! elsewhere goes on where it was.
//!
//! A node sends each child the packets in order from where that child is. What a newcomer needs and this node has not got
//! any more it asks its own parent for; the front-end keeps a packet until every member that may come back has taken it.

use std::cmp::Ordering;
use std::collections::{BTreeSet, VecDeque};

use banyan_boot::RankSet;

use super::scatter::Places;
use crate::ids::LinkId;
use crate::message::{Packet, Resume};
use crate::sorted::SortedMap;

#[derive(Debug, Default)]
pub(super) struct Log {
    /// The number of the first packet that is kept.
    start: u64,
    packets: VecDeque<Packet>,
    bytes: usize,
    children: SortedMap<LinkId, Cursor>,
    /// What the parent was asked for.
    question: Option<Question>,
    /// Packets among those that are kept that hold a part for each member.
    scattered: usize,
    /// The first packet that some child needs more of than there is.
    incomplete: Option<u64>,
    /// Packets that have come again, with all that the parent has for those below this node.
    repeated: BTreeSet<u64>,
    /// Children that have begun with the packet to come next, and were not told which that is.
    begun: Vec<LinkId>,
    /// Whether it is known where this log begins: where the first packet comes from, unless someone says otherwise.
    is_started: bool,
}

/// Packets from here on were asked for, and have not come.
#[derive(Debug, Clone, Copy)]
struct Question {
    from: u64,
    /// Whether those before have come since: the answer is on its way.
    has_begun: bool,
    /// How often the same was needed since.
    again: u32,
}

impl Question {
    fn new(from: u64) -> Question {
        Question { from, has_begun: false, again: 0 }
    }
}

/// What becomes of a child's question for packets.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// It is answered now.
    Now,
    /// It is answered when the last answer has gone.
    Later,
    /// It asks too often.
    TooOften,
}

/// What a child has asked for.
#[derive(Debug, Clone, Copy)]
enum Answering {
    /// The answer, which has not gone yet.
    Sending,
    /// Packets from here on when that has gone, and how often it has asked in vain.
    Next { from: u64, again: u32 },
}

/// How often a child may ask for what it was promised: words may cross each other.
const AGAIN: u32 = 64;

/// Where a child is.
#[derive(Debug, Clone, Copy)]
struct Cursor {
    /// The packet to send next.
    sent: u64,
    /// Behind the last packet that was ever sent: it may have those from `sent` on, which are sent again.
    reached: u64,
    /// The first packet that someone below has not taken.
    received: u64,
    /// Whether it has asked for packets again.
    answering: Option<Answering>,
}

impl Cursor {
    /// It begins with this packet.
    fn at(next: u64) -> Cursor {
        Cursor { sent: next, reached: next, received: next, answering: None }
    }

    /// The packet to send next was sent.
    fn step(&mut self) {
        self.sent += 1;
        self.reached = self.reached.max(self.sent);
    }
}

impl Log {
    /// A log that begins with the first packet there is.
    pub(super) fn from_the_first() -> Log {
        Log { is_started: true, ..Log::default() }
    }

    /// The number of the packet to come next.
    pub(super) fn next(&self) -> u64 {
        self.start + self.packets.len() as u64
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(super) fn children(&self) -> impl Iterator<Item = LinkId> {
        self.children.keys().copied()
    }

    pub(super) fn has_child(&self, link: LinkId) -> bool {
        self.children.contains_key(&link)
    }

    /// Children that were sent something which someone there has not taken.
    pub(super) fn owing(&self) -> impl Iterator<Item = LinkId> {
        self.children.iter().filter(|(_, cursor)| cursor.received < cursor.reached).map(|(link, _)| *link)
    }

    /// A child takes part, from this packet on.
    pub(super) fn add_child(&mut self, link: LinkId, next: u64, received: u64) {
        self.children.insert(link, Cursor { received, ..Cursor::at(next) });
        if self.is_started {
            self.begin_newcomers();
        }
    }

    /// Children that begin with the next packet do so.
    fn begin_newcomers(&mut self) {
        let next = self.next();
        for (link, cursor) in self.children.iter_mut().filter(|(_, cursor)| cursor.sent == Resume::NOW) {
            *cursor = Cursor::at(next);
            self.begun.push(*link);
        }
    }

    /// Children that have begun since the last time, with the packet that each begins with: if this node dies before it
    /// has sent them any, they can tell another where to go on.
    pub(super) fn take_begun(&mut self) -> Vec<(LinkId, u64)> {
        let begun = std::mem::take(&mut self.begun);
        begun.into_iter().filter_map(|link| Some((link, self.children.get(&link)?.sent))).collect()
    }

    pub(super) fn remove_child(&mut self, link: LinkId) {
        self.children.remove(&link);
    }

    /// Where a child said to be, at least.
    pub(super) fn received_by(&self, link: LinkId) -> Option<u64> {
        self.children.get(&link).map(|cursor| cursor.received)
    }

    /// A member takes what was sent to it, and nothing else.
    pub(super) fn check_received(&self, link: LinkId, until: u64) -> Result<(), String> {
        match self.children.get(&link).map(|cursor| cursor.reached).filter(|reached| *reached < until) {
            Some(reached) => Err(format!("took packets before {until}, and was sent those before {reached}")),
            None => Ok(()),
        }
    }

    /// A child and all below it are as far as this.
    pub(super) fn set_received(&mut self, link: LinkId, until: u64) {
        if let Some(cursor) = self.children.get_mut(&link) {
            cursor.received = until.min(cursor.reached);
        }
    }

    /// Someone has come below a child who is only as far as this.
    pub(super) fn lower_received(&mut self, link: LinkId, until: u64) {
        if let Some(cursor) = self.children.get_mut(&link) {
            cursor.received = cursor.received.min(until);
        }
    }

    /// A child needs packets from here on.
    pub(super) fn rewind(&mut self, link: LinkId, from: u64) {
        self.repeated.retain(|sequence| *sequence < from);
        if let Some(cursor) = self.children.get_mut(&link) {
            cursor.sent = from;
            cursor.received = cursor.received.min(from);
        }
    }

    /// The first packet will be this one.
    pub(super) fn start_at(&mut self, sequence: u64) {
        if !self.is_started {
            self.is_started = true;
            self.start = sequence;
            self.begin_newcomers();
        }
    }

    /// Whether it is known where this log begins.
    pub(super) fn is_started(&self) -> bool {
        self.is_started
    }

    /// Appends the front-end's own packet.
    pub(super) fn append(&mut self, packet: Packet) {
        self.bytes += packet.size();
        self.scattered += usize::from(is_scattered(&packet));
        self.packets.push_back(packet);
    }

    /// Whether a packet of this number that has come is of use to anyone.
    pub(super) fn needs(&self, sequence: u64, packet: &Packet) -> bool {
        !self.is_started
            || match sequence {
                next if next == self.next() => true,
                later if later > self.next() => false,
                kept if kept >= self.start => is_scattered(packet),
                _ => !self.children.is_empty(),
            }
    }

    /// Takes a packet from the parent: the children that need just this one, and whether it is new here.
    pub(super) fn take(&mut self, sequence: u64, packet: &Packet) -> Taken {
        self.start_at(sequence);
        if self.question.is_some_and(|question| question.from == sequence) {
            self.question = Some(Question { has_begun: true, ..Question::new(sequence + 1) });
        }
        match sequence {
            new if new == self.next() => {
                self.append(packet.clone());
                Taken::New
            }
            old if old < self.start => Taken::For(self.advance(old)),
            old if old < self.next() => {
                self.replace(old, packet);
                Taken::Known
            }
            _ => Taken::TooEarly,
        }
    }

    /// As [`take`](Self::take), at a member, which has nobody to keep a packet for.
    pub(super) fn pass(&mut self, sequence: u64) -> Taken {
        self.start_at(sequence);
        self.has_come(sequence);
        match sequence.cmp(&self.next()) {
            Ordering::Less => Taken::Known,
            Ordering::Equal => {
                self.start += 1;
                Taken::New
            }
            Ordering::Greater => Taken::TooEarly,
        }
    }

    /// Packets before this one are gone: whoever needs them goes on here.
    pub(super) fn skip(&mut self, until: u64) -> Vec<LinkId> {
        self.question = None;
        self.is_started = true;
        if until > self.next() {
            self.packets.clear();
            self.bytes = 0;
            self.scattered = 0;
            self.repeated.clear();
            self.start = until;
        }
        self.begin_newcomers();
        let behind = self.children.iter_mut().filter(|(_, cursor)| cursor.sent < until.min(self.start));
        behind
            .map(|(link, cursor)| {
                *cursor = Cursor { reached: cursor.reached.max(until), ..Cursor::at(until) };
                *link
            })
            .collect()
    }

    /// The children that something can be sent to now, if some packet holds a part for each member.
    pub(super) fn due_parts(&self) -> Vec<LinkId> {
        let kept = if self.scattered > 0 { self.start..self.next() } else { 0..0 };
        self.children.iter().filter(|(_, cursor)| kept.contains(&cursor.sent)).map(|(link, _)| *link).collect()
    }

    /// The children that need packets which are gone, and with which one they go on.
    pub(super) fn take_late(&mut self) -> Vec<(LinkId, u64)> {
        let start = self.start;
        let late = self.children.iter_mut().filter(|(_, cursor)| cursor.sent < start);
        late.map(|(link, cursor)| {
            *cursor = Cursor { reached: start.max(cursor.reached), ..Cursor::at(start) };
            (*link, start)
        })
        .collect()
    }

    /// What can be sent now: child, number, packet. Of packets with a part for each member a child gets those of the
    /// members below it, which are given.
    pub(super) fn take_due(&mut self, wanted: &SortedMap<LinkId, RankSet>) -> Vec<(LinkId, u64, Packet)> {
        let (start, next) = (self.start, self.next());
        let (mut sends, mut places) = (Vec::new(), SortedMap::new());
        self.incomplete = None;
        for (link, cursor) in self.children.iter_mut() {
            while (start..next).contains(&cursor.sent) {
                let packet = &self.packets[(cursor.sent - start) as usize];
                let packet = match (packet, wanted.get(link)) {
                    // The parent knows best who is below; a member that gets nothing asks again.
                    (Packet::Scatter(scatter), Some(wanted)) if !self.repeated.contains(&cursor.sent) => {
                        let places = places.get_or_insert_with(cursor.sent, || Places::of(&scatter.members));
                        scatter.for_members(wanted, places)
                    }
                    (packet, _) => Some(packet.clone()),
                };
                let Some(packet) = packet else {
                    self.incomplete = Some(self.incomplete.map_or(cursor.sent, |first| first.min(cursor.sent)));
                    break;
                };
                sends.push((*link, cursor.sent, packet));
                cursor.step();
            }
        }
        sends
    }

    /// A packet that is kept has come again: it may have parts for members that were not below this node before.
    fn replace(&mut self, sequence: u64, packet: &Packet) {
        if is_scattered(packet) {
            let known = &mut self.packets[(sequence - self.start) as usize];
            self.bytes = self.bytes - known.size() + packet.size();
            // A filter may have failed on it the first time.
            self.scattered += usize::from(!is_scattered(known));
            known.clone_from(packet);
            self.repeated.insert(sequence);
        }
    }

    /// The packet to ask the parent for, if some child needs one that is not here and was not asked for.
    pub(super) fn take_question(&mut self) -> Option<u64> {
        let dropped = self.children.values().map(|cursor| cursor.sent).filter(|sent| *sent < self.start).min();
        let needed = dropped.or(self.incomplete)?;
        if self.question.is_some_and(|question| question.from <= needed) {
            return None;
        }
        self.question = Some(Question::new(needed));
        Some(needed)
    }

    /// Packets from here on are to be had of the parent: whether to ask for them. If they were asked for and none has come, that
    /// is less and less often: what was sent before the answer comes first, but the parent may not have heard.
    pub(super) fn asks(&mut self, from: u64) -> bool {
        match &mut self.question {
            Some(question) if question.from <= from && !question.has_begun => {
                question.again += 1;
                question.again.is_power_of_two()
            }
            question => {
                *question = Some(Question::new(from));
                true
            }
        }
    }

    /// At a member: this packet has come, so it was not asked for in vain.
    pub(super) fn has_come(&mut self, sequence: u64) {
        self.question = self.question.filter(|question| question.from != sequence);
    }

    /// A child asks for packets from here on.
    pub(super) fn asked_by(&mut self, link: LinkId, from: u64) -> Asked {
        let Some(cursor) = self.children.get_mut(&link) else { return Asked::Later };
        let next = match cursor.answering {
            None => Answering::Sending,
            Some(Answering::Sending) => Answering::Next { from, again: 0 },
            Some(Answering::Next { from: before, again }) if again < AGAIN => {
                let is_earlier = from < before;
                Answering::Next { from: from.min(before), again: again + u32::from(!is_earlier) }
            }
            Some(Answering::Next { .. }) => return Asked::TooOften,
        };
        cursor.answering = Some(next);
        if let Answering::Next { .. } = next {
            return Asked::Later;
        }
        self.rewind(link, from);
        Asked::Now
    }

    /// What was sent to a child has gone: whether there is another answer to give now.
    pub(super) fn drained(&mut self, link: LinkId) -> bool {
        let Some(cursor) = self.children.get_mut(&link) else { return false };
        let Some(Answering::Next { from, .. }) = cursor.answering.take() else { return false };
        cursor.answering = Some(Answering::Sending);
        self.rewind(link, from);
        true
    }

    /// There is a new parent, which was not asked for anything.
    pub(super) fn forget_asking(&mut self) {
        self.question = None;
    }

    /// The first packet that some child has not taken.
    pub(super) fn received_by_children(&self) -> Option<u64> {
        self.children.values().map(|cursor| cursor.received).min()
    }

    /// The children that are furthest behind.
    pub(super) fn slowest(&self) -> impl Iterator<Item = LinkId> {
        let least = self.received_by_children();
        let behind = self
            .children
            .iter()
            .filter(move |(_, cursor)| Some(cursor.received) == least && cursor.received < self.next());
        behind.map(|(link, _)| *link)
    }

    /// Drops the packets before this one.
    pub(super) fn drop_before(&mut self, until: u64) {
        while self.start < until {
            let Some(packet) = self.packets.pop_front() else { return };
            self.bytes -= packet.size();
            self.scattered -= usize::from(is_scattered(&packet));
            self.repeated.remove(&self.start);
            self.start += 1;
        }
    }

    /// The number of the first packet that is kept.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    fn advance(&mut self, sequence: u64) -> Vec<LinkId> {
        let waiting = self.children.iter_mut().filter(|(_, cursor)| cursor.sent == sequence);
        waiting
            .map(|(link, cursor)| {
                cursor.step();
                *link
            })
            .collect()
    }
}

fn is_scattered(packet: &Packet) -> bool {
    matches!(packet, Packet::Scatter(_))
}

/// What became of a packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is the next one.
    New,
    /// It was here before.
    Known,
    /// It was here before and is not kept any more: it goes to these children.
    For(Vec<LinkId>),
    /// One before it is missing.
    TooEarly,
}
