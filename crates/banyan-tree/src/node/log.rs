//! The packets of a stream on their way down: kept until everyone below has taken them, so that a child that comes from
//! elsewhere goes on where it was.
//!
//! A node sends each child the packets in order from where that child is. What a newcomer needs and this node has not got
//! any more it asks its own parent for; the front-end keeps a packet until every member that may come back has taken it.
//!
//! A packet for some members goes to the children that have any of them below. The others hear of it with the next packet that
//! goes to them: nothing before that is for them. Until then they count as having taken it.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use banyan_boot::RankSet;

use super::joins::Joins;
use super::scatter::Places;
use super::slots::Slots;
use crate::ids::LinkId;
use crate::message::{Chosen, Packet, Resume};
use crate::sorted::SortedMap;

#[derive(Debug, Default)]
pub(super) struct Log {
    /// What is kept.
    slots: Slots,
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
    /// Whether the parent was told of children that begin with its next packet, and has not said which that is.
    awaits_beginning: bool,
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

/// A packet for a child. It knows of those before `from`, and those from there up to this one are for nobody below it.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) link: LinkId,
    pub(super) from: u64,
    pub(super) sequence: u64,
    pub(super) packet: Packet,
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
    /// Behind the last packet that it knows of. Those from there up to `sent` are for nobody below it.
    told: u64,
    /// Behind the last packet that it was ever told of: it may have those from `told` on, which are sent again.
    reached: u64,
    /// The first packet that someone below has not taken.
    received: u64,
    /// The same, whatever it has asked for: nobody below has ever needed one before this.
    assured: u64,
    /// Whether it is not known yet that it can go on where it is.
    is_new: bool,
    /// Whether it has asked for packets, and waits to hear of all there are.
    is_asking: bool,
    /// Whether it has asked for packets again.
    answering: Option<Answering>,
}

impl Cursor {
    /// It begins with this packet.
    fn at(next: u64) -> Cursor {
        Cursor {
            sent: next,
            told: next,
            reached: next,
            received: next,
            assured: next,
            is_new: false,
            is_asking: false,
            answering: None,
        }
    }

    /// The packet to send next is sent: the first that the child had not heard of.
    fn step(&mut self) -> u64 {
        let from = self.told;
        self.sent += 1;
        self.told = self.sent;
        self.reached = self.reached.max(self.sent);
        from
    }

    /// Packets before this one are for nobody below.
    fn step_over(&mut self, until: u64) {
        self.sent = until;
        self.set_received(self.received);
    }

    /// Who has taken everything that it was sent has also taken what was left out.
    fn set_received(&mut self, until: u64) {
        self.received = if until >= self.told { until.max(self.sent) } else { until };
        self.assured = self.assured.max(self.received);
    }

    /// Packets that are gone were not for anyone below, or were taken.
    fn settle(&mut self, start: u64) {
        if self.sent < start && self.assured >= start {
            self.step_over(start);
        }
        self.is_new &= self.sent < start;
    }
}

impl Log {
    /// A log that begins with the first packet there is.
    pub(super) fn from_the_first() -> Log {
        Log { is_started: true, ..Log::default() }
    }

    /// The number of the packet to come next.
    pub(super) fn next(&self) -> u64 {
        self.slots.next()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
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

    /// A child takes part. It has not heard of this packet; all below have taken what was for them before the other.
    pub(super) fn add_child(&mut self, link: LinkId, next: u64, received: u64) {
        let cursor = Cursor {
            told: next,
            received,
            assured: received,
            is_new: true,
            is_asking: true,
            ..Cursor::at(next.max(received))
        };
        self.children.insert(link, cursor);
        if self.is_started {
            self.begin_newcomers();
        }
        self.awaits_beginning |= next == Resume::NOW && !self.is_started;
    }

    /// A parent is asked for, and told how far the children are.
    pub(super) fn told_new_parent(&mut self) {
        self.awaits_beginning = !self.is_started && self.received_by_children() == Some(Resume::NOW);
    }

    /// The parent has no packets before one: whether that is only where newcomers begin, and was said before it knew of a child
    /// that has come since and is less far.
    pub(super) fn take_beginning(&mut self) -> bool {
        std::mem::take(&mut self.awaits_beginning) && self.is_started
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

    /// The first packet that someone below a child may ever need.
    pub(super) fn assured_by(&self, link: LinkId) -> Option<u64> {
        self.children.get(&link).map(|cursor| cursor.assured)
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
            cursor.set_received(until.min(cursor.reached));
        }
    }

    /// Someone has come below a child who is only as far as this. What was left out since the child was last sent something may
    /// be for the one that has come.
    pub(super) fn lower_received(&mut self, link: LinkId, until: u64) {
        if let Some(cursor) = self.children.get_mut(&link) {
            // A newcomer begins with what the child above it gets next: nothing before what this child knows of.
            let until = if until == Resume::NOW { cursor.told } else { until };
            cursor.received = cursor.received.min(until);
            cursor.assured = cursor.assured.min(until);
            cursor.sent = cursor.sent.min(cursor.told.max(until));
        }
    }

    /// A child needs packets from here on.
    pub(super) fn rewind(&mut self, link: LinkId, from: u64) {
        self.repeated.retain(|sequence| *sequence < from);
        if let Some(cursor) = self.children.get_mut(&link) {
            // It may ask for a later one while an earlier one is still on its way here: it gets both.
            cursor.sent = cursor.sent.min(from);
            cursor.told = cursor.told.min(cursor.sent);
            cursor.is_asking = true;
            cursor.received = cursor.received.min(from);
        }
    }

    /// The first packet will be this one.
    pub(super) fn start_at(&mut self, sequence: u64) {
        if !self.is_started {
            self.is_started = true;
            self.slots.begin_at(sequence);
            self.begin_newcomers();
        }
    }

    /// Whether it is known where this log begins.
    pub(super) fn is_started(&self) -> bool {
        self.is_started
    }

    /// Appends the front-end's own packet, which is for everyone it says.
    pub(super) fn append(&mut self, packet: Packet) {
        self.append_from(packet, u64::MAX);
    }

    /// Appends a packet of a parent that has heard of these joins.
    fn append_from(&mut self, packet: Packet, joins: u64) {
        self.bytes += packet.size();
        self.scattered += usize::from(is_scattered(&packet));
        self.slots.push(packet, joins);
    }

    /// Whether a packet of this number that has come is of use to anyone.
    pub(super) fn needs(&self, sequence: u64, packet: &Packet) -> bool {
        !self.is_started
            || match sequence {
                next if next == self.next() => true,
                later if later > self.next() => false,
                kept if kept >= self.start() => is_for_some(packet),
                _ => !self.children.is_empty(),
            }
    }

    /// Takes a packet from the parent: the children that need just this one, and whether it is new here.
    pub(super) fn take(&mut self, sequence: u64, packet: &Packet, joins: u64) -> Taken {
        self.awaits_beginning = false;
        self.start_at(sequence);
        self.follow(sequence, sequence + 1);
        match sequence {
            new if new == self.next() => {
                self.append_from(packet.clone(), joins);
                Taken::New
            }
            old if old < self.start() => Taken::Dropped,
            old if old < self.next() => {
                self.replace(old, packet, joins);
                Taken::Known
            }
            _ => Taken::TooEarly,
        }
    }

    /// The parent has said all there is to say of these packets: what was asked for comes.
    fn follow(&mut self, from: u64, until: u64) {
        if self.question.is_some_and(|question| (from..until).contains(&question.from)) {
            self.question = Some(Question { has_begun: true, ..Question::new(until) });
        }
    }

    /// The parent, which has heard of all these joins, has nothing for anyone below between these packets.
    pub(super) fn take_gap(&mut self, from: u64, until: u64, joins: &Joins) -> Taken {
        self.awaits_beginning = false;
        self.start_at(from);
        self.follow(from, until);
        let next = self.next();
        if from > next {
            return Taken::TooEarly;
        }
        if until > next {
            self.slots.push_gap(until, joins.heard());
        }
        let is_known = |link| joins.last(link) <= joins.heard();
        let waiting = self.children.iter_mut().filter(|(_, cursor)| (from..until).contains(&cursor.sent));
        waiting.filter(|(link, _)| is_known(**link)).for_each(|(_, cursor)| cursor.step_over(until));
        if until > next { Taken::New } else { Taken::Known }
    }

    /// As [`take_gap`](Self::take_gap), at a member.
    pub(super) fn pass_gap(&mut self, from: u64, until: u64) -> Taken {
        self.start_at(from);
        self.follow(from, until);
        let next = self.next();
        if from > next {
            return Taken::TooEarly;
        }
        if until <= next {
            return Taken::Known;
        }
        self.slots.begin_at(until);
        Taken::New
    }

    /// As [`take`](Self::take), at a member, which has nobody to keep a packet for.
    pub(super) fn pass(&mut self, sequence: u64) -> Taken {
        self.start_at(sequence);
        self.has_come(sequence);
        match sequence.cmp(&self.next()) {
            Ordering::Less => Taken::Known,
            Ordering::Equal => {
                self.slots.begin_at(sequence + 1);
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
            self.slots.begin_at(until);
            self.bytes = 0;
            self.scattered = 0;
            self.repeated.clear();
        }
        self.begin_newcomers();
        let start = self.start();
        let behind = self.children.iter_mut().filter(|(_, cursor)| cursor.sent < until.min(start));
        behind
            .map(|(link, cursor)| {
                *cursor = Cursor { reached: cursor.reached.max(until), ..Cursor::at(until) };
                *link
            })
            .collect()
    }

    /// At the front-end: children that need packets which are gone, and the first that they do not miss. Those behind the last
    /// that a child knows of were not for anyone who was below it.
    pub(super) fn skip_dropped(&mut self) -> Vec<(LinkId, u64)> {
        self.question = None;
        let start = self.start();
        let behind = self.children.iter_mut().filter(|(_, cursor)| cursor.sent < start);
        behind
            .map(|(link, cursor)| {
                let told = if cursor.is_new { start } else { cursor.reached.min(start) };
                let (reached, is_asking) = (cursor.reached.max(told), cursor.is_asking);
                *cursor = Cursor { told, reached, is_asking, ..Cursor::at(start) };
                (*link, told)
            })
            .collect()
    }

    /// The children that something can be sent to now, if some packet holds a part for each member.
    pub(super) fn due_parts(&self) -> Vec<LinkId> {
        let kept = if self.scattered > 0 { self.start()..self.next() } else { 0..0 };
        self.children.iter().filter(|(_, cursor)| kept.contains(&cursor.sent)).map(|(link, _)| *link).collect()
    }

    /// The children that need packets which are gone, and with which one they go on.
    pub(super) fn take_late(&mut self) -> Vec<(LinkId, u64)> {
        let start = self.start();
        let late = self.children.iter_mut().filter(|(_, cursor)| cursor.sent < start);
        late.map(|(link, cursor)| {
            *cursor = Cursor { reached: start.max(cursor.reached), ..Cursor::at(start) };
            (*link, start)
        })
        .collect()
    }

    /// What can be sent now. Of packets with a part for each member a child gets those of the members below it, which are
    /// wanted. Of those for some members it gets what `chosen` makes of it, if there is anything.
    pub(super) fn take_due(
        &mut self,
        wanted: &SortedMap<LinkId, RankSet>,
        joins: &Joins,
        mut chosen: impl FnMut(LinkId, &Arc<Chosen>) -> Option<Packet>,
    ) -> Vec<Due> {
        let start = self.start();
        let (mut dues, mut places) = (Vec::new(), SortedMap::new());
        self.incomplete = None;
        for (link, cursor) in self.children.iter_mut() {
            cursor.settle(start);
            while let Some(slot) = self.slots.get(cursor.sent) {
                let sequence = cursor.sent;
                let is_known = slot.joins >= joins.last(*link);
                let part = match (&slot.packet, wanted.get(link)) {
                    (None, _) if is_known => PartForChild::Nothing,
                    (Some(Packet::Chosen(some)), _) if is_known => {
                        chosen(*link, some).map_or(PartForChild::Nothing, PartForChild::Packet)
                    }
                    (None | Some(Packet::Chosen(_)), _) => PartForChild::Unknown,
                    // The parent knows best who is below; a member that gets nothing asks again.
                    (Some(Packet::Scatter(scatter)), Some(wanted)) if !self.repeated.contains(&sequence) => {
                        let places = places.get_or_insert_with(sequence, || Places::of(&scatter.members));
                        scatter.for_members(wanted, places).map_or(PartForChild::Unknown, PartForChild::Packet)
                    }
                    (Some(packet), _) => PartForChild::Packet(packet.clone()),
                };
                match part {
                    PartForChild::Packet(packet) => {
                        dues.push(Due { link: *link, from: cursor.step(), sequence, packet });
                    }
                    PartForChild::Nothing => cursor.step_over(slot.end),
                    PartForChild::Unknown => {
                        self.incomplete = Some(self.incomplete.map_or(sequence, |first| first.min(sequence)));
                        break;
                    }
                }
            }
        }
        dues
    }

    /// Children that have asked, and were not told that the last packets there are are not for them: those packets.
    pub(super) fn take_answered(&mut self) -> Vec<(LinkId, u64, u64)> {
        let next = self.next();
        let answered = self.children.iter_mut().filter(|(_, cursor)| cursor.is_asking && cursor.sent == next);
        let told = answered.map(|(link, cursor)| {
            (cursor.is_asking, cursor.reached) = (false, cursor.reached.max(next));
            (*link, std::mem::replace(&mut cursor.told, next), next)
        });
        told.filter(|(_, from, until)| from < until).collect()
    }

    /// A packet that is kept has come again: it may be for members that were not below this node before.
    fn replace(&mut self, sequence: u64, packet: &Packet, joins: u64) {
        if !is_for_some(packet) {
            return;
        }
        let known = self.slots.replace(sequence, packet.clone(), joins);
        // A filter may have failed on it the first time.
        self.bytes = self.bytes + packet.size() - known.as_ref().map_or(0, Packet::size);
        self.scattered =
            self.scattered + usize::from(is_scattered(packet)) - usize::from(known.as_ref().is_some_and(is_scattered));
        if is_scattered(packet) {
            self.repeated.insert(sequence);
        }
    }

    /// The packet to ask the parent for, if some child needs one that is not here and was not asked for.
    pub(super) fn take_question(&mut self) -> Option<u64> {
        let start = self.start();
        let dropped = self.children.values().map(|cursor| cursor.sent).filter(|sent| *sent < start).min();
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
        while let Some(dropped) = self.slots.pop_before(until) {
            self.bytes -= dropped.as_ref().map_or(0, Packet::size);
            self.scattered -= usize::from(dropped.as_ref().is_some_and(is_scattered));
        }
        if !self.repeated.is_empty() {
            self.repeated = self.repeated.split_off(&until);
        }
    }

    /// The number of the first packet that is kept.
    pub(super) fn start(&self) -> u64 {
        self.slots.start()
    }

    /// The children that need just this packet.
    pub(super) fn waiting_for(&self, sequence: u64) -> Vec<LinkId> {
        self.children.iter().filter(|(_, cursor)| cursor.sent == sequence).map(|(link, _)| *link).collect()
    }

    /// A child is sent the packet that it needs: the first that it had not heard of.
    pub(super) fn step(&mut self, link: LinkId) -> u64 {
        self.children.get_mut(&link).map(Cursor::step).unwrap_or_default()
    }

    /// The packet that a child needs is for nobody below it.
    pub(super) fn step_over(&mut self, link: LinkId, sequence: u64) {
        self.children.get_mut(&link).into_iter().for_each(|cursor| cursor.step_over(sequence + 1));
    }
}

/// What a child gets of a packet.
enum PartForChild {
    Packet(Packet),
    Nothing,
    /// The parent has to be asked.
    Unknown,
}

fn is_for_some(packet: &Packet) -> bool {
    matches!(packet, Packet::Scatter(_) | Packet::Chosen(_))
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
    /// It was here before and is not kept any more.
    Dropped,
    /// One before it is missing.
    TooEarly,
}
