//! What goes down: packets, from the front-end to the members of a stream.

use std::ops::{Bound, Range};
use std::sync::Arc;

use banyan_boot::RankSet;
use banyan_ndr::FormatId;
use bytes::Bytes;

use super::log::{Due, Taken};
use super::newcomer::Standing;
use super::stream::{NodeStream, WaitingPacket};
use super::{Node, Report};
use crate::ids::{LinkId, NodeId, StreamId, WaveNumber};
use crate::message::{Message, Opening, Packet, Resume};
use crate::sorted::SortedMap;
use crate::stream_options::StreamOptions;
use crate::transformation::TransformationError;

/// Why something cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// There is no such stream here.
    #[error("{0} is not open here, or this process is not one of its members")]
    NoStream(StreamId),
    /// That wave is over, or this member has contributed to it.
    #[error("{0} is over here; contribute to later ones")]
    Over(WaveNumber),
    /// Not a record for each member.
    #[error("{stream} has {members} members, and {parts} records are to be scattered; give one for each, by rank")]
    Parts {
        /// The stream.
        stream: StreamId,
        /// Its members.
        members: u64,
        /// The records.
        parts: u32,
    },
    /// Not members of the stream.
    #[error("members {others} are not in {stream}; Stream::members has those that are")]
    Others {
        /// The stream.
        stream: StreamId,
        /// Who is not in it.
        others: RankSet,
    },
    /// The front-end's filter for what goes down made nothing of it.
    #[error(transparent)]
    Unfiltered(#[from] TransformationError),
    /// Another process is this member now.
    #[error("another process has taken this member's place; this one has no part in the network any more")]
    Succeeded,
    /// Others have to catch up first.
    #[error("the other side is too far behind; take what has come, and try again")]
    Full,
}

/// A record that a member has received.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Received {
    /// The stream.
    pub stream: StreamId,
    /// The sender's tag.
    pub tag: u32,
    /// The record's format and body; or why a filter on its way could make nothing of it.
    pub record: Result<(FormatId, Bytes), TransformationError>,
}

impl Node {
    /// At the front-end: whether a stream may be opened. Members may be as far behind in hearing of streams as in taking packets.
    pub fn may_open(&self) -> bool {
        self.control.len() < self.options.ahead_packets
    }

    /// At the front-end: opens a stream, also if it [may not](Self::may_open) be opened.
    ///
    /// # Errors
    /// If a filter is not known here, other than one of members.
    pub fn open(&mut self, members: Arc<RankSet>, options: StreamOptions) -> Result<StreamId, TransformationError> {
        for filter in options.known_above_members() {
            self.transformations.make(filter)?;
        }
        let stream = self.role.front_end_mut().map_or(StreamId::CONTROL, super::FrontEnd::new_stream);
        let opening = Arc::new(Opening { stream, members, options });
        self.control.append(Packet::Open(Arc::clone(&opening)));
        self.open_here(&opening);
        self.pump(StreamId::CONTROL);
        Ok(stream)
    }

    /// At the front-end: ends a stream. What is on its way is dropped.
    pub fn close(&mut self, stream: StreamId) {
        if self.streams.remove(&stream).is_some() {
            self.control.append(Packet::Close(stream));
            self.pump(StreamId::CONTROL);
        }
    }

    /// At the front-end: sends a record to all members of a stream.
    ///
    /// # Errors
    /// If the stream is not there, or a member is too far behind.
    pub fn multicast(&mut self, stream: StreamId, tag: u32, format: FormatId, body: Bytes) -> Result<(), SendError> {
        self.send_packet(stream, Packet::Record { tag, format, body, is_partial: false })
    }

    pub(super) fn send_packet(&mut self, stream: StreamId, packet: Packet) -> Result<(), SendError> {
        let (packets, bytes) = (self.options.ahead_packets, self.options.ahead_bytes);
        let Some(known) = self.streams.get_mut(&stream) else { return Err(SendError::NoStream(stream)) };
        // Members that have taken everything may not have said so for less than this.
        let unreported = bytes / 8;
        let is_full = known.log.len() >= packets
            || (known.log.bytes() >= unreported && known.log.bytes() + packet.size() > bytes);
        if is_full {
            known.traffic.stalls += 1;
            self.ask_received_beyond(stream, unreported);
            return Err(SendError::Full);
        }
        let sequence = known.log.next();
        let packet = self.descend(stream, sequence, packet);
        if let Packet::Failed { cause, .. } = packet.content() {
            return Err(TransformationError(cause.to_string()).into());
        }
        self.await_newcomers(stream, &packet);
        let Some(log) = self.log_mut(stream) else { return Err(SendError::NoStream(stream)) };
        log.append(packet);
        self.pump_down(stream);
        self.ask_received_beyond(stream, self.options.ahead_bytes / 2);
        Ok(())
    }

    /// At a member: the next record of a stream.
    pub fn take_packet(&mut self, id: StreamId) -> Option<Received> {
        let stream = self.streams.get_mut(&id)?;
        let Some(WaitingPacket { sequence, not_for_it, packet }) = stream.inbox.pop_front() else {
            self.tell_end_of_skip(id);
            return None;
        };
        let before = sequence.saturating_sub(stream.consumed + not_for_it);
        stream.consumed = sequence + 1;
        stream.unreported_bytes += packet.size();
        self.tell_skipped(id, before);
        self.report_received(id);
        let (tag, record) = match packet.content() {
            Packet::Record { tag, format, body, .. } => (*tag, Ok((*format, body.clone()))),
            Packet::Failed { tag, cause } => (*tag, Err(TransformationError(cause.to_string()))),
            Packet::Scatter(scatter) => {
                let body = scatter.part_of(self.role.rank()?)?;
                (scatter.tag, Ok((scatter.bodies.format(), body)))
            }
            Packet::Chosen(_) | Packet::Open(_) | Packet::Close(_) | Packet::Over => return None,
        };
        Some(Received { stream: id, tag, record })
    }

    /// The children of this node that are furthest behind in taking packets of a stream.
    pub fn slowest(&self, stream: StreamId) -> Vec<NodeId> {
        let slowest = self.streams.get(&stream).into_iter().flat_map(|stream| stream.log.slowest());
        slowest.filter_map(|link| self.below.node_of(link)).collect()
    }

    /// At the front-end: who has not taken the first packet of a stream that is kept, or of the control stream: its children that
    /// have not, or someone below them, and nodes that may come back. With them the members at and below these children.
    pub fn behind(&self, stream: StreamId) -> (Vec<NodeId>, RankSet) {
        let log = match stream {
            StreamId::CONTROL => Some(&self.control),
            _ => self.streams.get(&stream).map(|stream| &stream.log),
        };
        let Some(log) = log else { return Default::default() };
        let links = log.slowest().filter(|link| log.received_by(*link) <= Some(log.start()));
        let mut nodes: Vec<NodeId> = links.filter_map(|link| self.below.node_of(link)).collect();
        let members = nodes.iter().fold(RankSet::new(), |all, node| all.union(&self.below.members_below(*node)));
        if let Some(front_end) = self.role.front_end().filter(|_| stream != StreamId::CONTROL) {
            nodes.extend(front_end.adrift_before(stream, log.start()));
        }
        (nodes, members)
    }

    /// The stream that is open here and whose turn is after this one's.
    pub fn stream_after(&self, stream: StreamId) -> Option<StreamId> {
        let after = self.streams.range((Bound::Excluded(stream), Bound::Unbounded)).next();
        after.or_else(|| self.streams.first_key_value()).map(|(stream, _)| *stream)
    }

    /// The streams that are open here.
    pub fn streams(&self) -> impl Iterator<Item = &Arc<Opening>> {
        self.streams.values().map(|stream| &stream.opening)
    }

    /// A packet from the parent.
    pub(super) fn packet(&mut self, id: StreamId, sequence: u64, packet: Packet) {
        let rank = self.role.rank();
        let Some(log) = self.log_mut(id) else { return self.unopened.note_packet(id, sequence) };
        if let (Packet::Scatter(scatter), Some(rank)) = (&packet, rank)
            && sequence >= log.next()
            && !scatter.members.contains(rank)
        {
            // Nodes above have not heard yet where this member is.
            return self.ask_missing(id, sequence);
        }
        let packet = if log.needs(sequence, &packet) { self.descend(id, sequence, packet) } else { packet };
        let joins = self.joins.heard();
        let Some(log) = self.log_mut(id) else { return };
        let is_for_program = rank.is_some() && id != StreamId::CONTROL;
        match if is_for_program { log.pass(sequence) } else { log.take(sequence, &packet, joins) } {
            // What a member has not taken is nothing to report.
            Taken::New if is_for_program => return self.take_new(id, sequence, packet),
            Taken::New => self.take_new(id, sequence, packet),
            Taken::Known => self.repeat_received(id, sequence..sequence + 1),
            Taken::Dropped => {
                let links = log.waiting_for(sequence);
                links.into_iter().for_each(|link| self.send_old(link, id, sequence, &packet));
                self.repeat_received(id, sequence..sequence + 1);
            }
            Taken::TooEarly => {
                let from = log.next();
                return self.ask_again(id, from);
            }
        }
        self.pump_down(id);
    }

    /// At a member: asks for a packet that came without its part.
    fn ask_missing(&mut self, id: StreamId, sequence: u64) {
        self.log_mut(id).into_iter().for_each(|log| log.has_come(sequence));
        self.ask_again(id, sequence);
    }

    /// Sends a packet that is not kept here to a child that needs it.
    fn send_old(&mut self, link: LinkId, id: StreamId, sequence: u64, packet: &Packet) {
        let packet = match packet {
            Packet::Chosen(_) if self.joins.last(link) > self.joins.heard() => return,
            Packet::Chosen(chosen) => chosen.for_members(self.below.members(link)),
            packet => match packet.for_members(&self.concerned(link, id)) {
                Some(packet) => Some(packet),
                // It is asked for again.
                None => return,
            },
        };
        let Some(log) = self.log_mut(id) else { return };
        match packet {
            Some(packet) => {
                let from = log.step(link);
                self.send_due(id, Due { link, from, sequence, packet });
            }
            None => log.step_over(link, sequence),
        }
    }

    fn take_new(&mut self, id: StreamId, sequence: u64, packet: Packet) {
        match packet {
            Packet::Open(opening) if id == StreamId::CONTROL => self.open_here(&opening),
            Packet::Close(stream) if id == StreamId::CONTROL => self.forget_stream(stream),
            Packet::Over if id == StreamId::CONTROL => {
                self.is_over = true;
                self.report(Report::Over);
            }
            Packet::Record { .. } | Packet::Failed { .. } | Packet::Scatter(_) | Packet::Chosen(_)
                if self.role.is_member() =>
            {
                if let Some(stream) = self.streams.get_mut(&id) {
                    let not_for_it = std::mem::take(&mut stream.not_for_it);
                    stream.inbox.push_back(WaitingPacket { sequence, not_for_it, packet });
                    if stream.standing.begin() {
                        self.tell_participation(id);
                    }
                }
            }
            _ => {}
        }
    }

    /// The parent has no packets before this one.
    pub(super) fn skipped(&mut self, id: StreamId, until: u64) {
        if id == StreamId::CONTROL {
            return self.catalogue_ends(until);
        }
        let Some(log) = self.log_mut(id) else { return self.unopened.note_skip(id, until) };
        if log.take_beginning() {
            // What children need that have come since was asked for, or is now.
            let next = log.next();
            if next < until {
                self.ask_again(id, next);
            }
            return self.pump_down(id);
        }
        let behind = log.skip(until);
        for link in behind {
            self.send(link, Message::Skipped { stream: id, until });
        }
        self.tell_end_of_skip(id);
        self.pump_down(id);
    }

    /// At a member that has taken all there is: says how many are missing behind that.
    pub(super) fn tell_end_of_skip(&mut self, id: StreamId) {
        let is_member = self.role.is_member();
        let Some(stream) = self.streams.get_mut(&id).filter(|stream| is_member && stream.inbox.is_empty()) else {
            return;
        };
        let not_for_it = std::mem::take(&mut stream.not_for_it);
        let missing = stream.log.next().saturating_sub(stream.consumed + not_for_it);
        stream.consumed = stream.log.next();
        if missing > 0 {
            stream.standing = Standing::Beginner;
            self.tell_skipped(id, missing);
            self.tell_participation(id);
        }
    }

    fn tell_skipped(&mut self, id: StreamId, packets: u64) {
        if packets > 0 {
            self.report(Report::Skipped { stream: id, packets });
        }
    }

    /// A child, or someone below it, goes on from where it is.
    pub(super) fn resume_downwards(&mut self, link: LinkId, resumes: &[Resume], is_new: bool) {
        let mut streams = self.stream_ids();
        if is_new {
            // Who has just come hears of its streams last: where it begins in them it knows then.
            streams.rotate_left(1);
        }
        for id in streams {
            let is_concerned = self.concerns(link, id);
            let resume = resumes.iter().find(|resume| resume.stream == id);
            let over = self.streams.get(&id).map(|stream| (stream.acknowledged(), stream.whole));
            let Some(log) = self.log_mut(id) else { continue };
            if !log.has_child(link) && !is_concerned {
                continue;
            }
            if let Some((until, whole)) = over {
                // Before any packet, so that it does not contribute to waves that are over.
                // One that knows it as little hears of it when this node does.
                if let Some(until) = until {
                    self.send(link, Message::Acknowledge { stream: id, until });
                }
                if until.is_none_or(|until| whole > until) && whole > WaveNumber(0) {
                    self.send(link, Message::Begin { stream: id, next: whole });
                }
            }
            let Some(log) = self.log_mut(id) else { continue };
            if !log.has_child(link) {
                let (next, received) = resume.map_or((0, 0), |resume| (resume.next, resume.received));
                // Those of the control stream are for every node: a child needs them though all below it have them.
                let received = if id == StreamId::CONTROL { received.min(next) } else { received };
                // If others were here who began with the next packet, the parent sends from there on: too late for this one.
                let is_ahead = !log.is_started() && next != Resume::NOW;
                log.add_child(link, next, received);
                // The first who takes part here decides where this log begins; the parent hears of the same packet. One
                // that begins with the next has no say: the parent knows which that is.
                if next != Resume::NOW {
                    log.start_at(next);
                }
                if is_ahead {
                    self.ask_again(id, next);
                }
            } else if let Some(resume) = resume {
                log.lower_received(link, resume.received);
            }
            self.pump_down(id);
            self.ask_received_of_child(link, id);
        }
    }

    /// Whether a stream has members below a link; one that is not open here may.
    pub(super) fn concerns(&mut self, link: LinkId, id: StreamId) -> bool {
        match self.streams.get(&id) {
            Some(stream) => !stream.opening.members.is_disjoint(self.below.members(link)),
            None => true,
        }
    }

    /// A child and all below it have taken packets.
    pub(super) fn received_until(
        &mut self,
        link: LinkId,
        is_members: bool,
        id: StreamId,
        until: u64,
    ) -> Result<(), String> {
        let Some(log) = self.log_mut(id) else { return Ok(()) };
        if is_members {
            log.check_received(link, until)?;
        }
        log.set_received(link, until);
        self.pump_down(id);
        Ok(())
    }

    /// Does whatever can be done for a stream.
    pub(super) fn pump(&mut self, id: StreamId) {
        self.pump_up(id);
        self.tell_participation(id);
        self.pump_down(id);
    }

    /// Sends the children what they need and drops what nobody needs any more.
    pub(super) fn pump_down(&mut self, id: StreamId) {
        let is_front_end = self.role.is_front_end();
        if id == StreamId::CONTROL {
            self.send_catalogues();
        } else if self.role.is_member() {
            // Members have no children.
            return self.report_received(id);
        }
        let wanted = self.wanted(id);
        let Some(log) = self.log_mut(id) else { return };
        let begun = log.take_begun();
        let dues = self.take_due(id, &wanted);
        let Some(log) = self.log_mut(id) else { return };
        let answered = log.take_answered();
        let ask = log.take_question();
        if let Some(stream) = self.streams.get_mut(&id) {
            dues.iter().for_each(|due| stream.traffic.down(&due.packet));
        }
        for (link, until) in begun {
            self.send(link, Message::Skipped { stream: id, until });
        }
        for due in dues {
            self.send_due(id, due);
        }
        for (link, from, until) in answered {
            self.send_gap(link, id, from, until);
        }
        match ask {
            Some(_) if is_front_end => {
                let Some(log) = self.log_mut(id) else { return };
                for (link, until) in log.skip_dropped() {
                    self.send(link, Message::Skipped { stream: id, until });
                }
                return self.pump_down(id);
            }
            Some(from) => self.send_up(Message::Resend { stream: id, from }),
            None => {}
        }
        self.report_received(id);
    }

    fn take_due(&mut self, id: StreamId, wanted: &SortedMap<LinkId, RankSet>) -> Vec<Due> {
        let Node { below, joins, streams, control, .. } = self;
        let log = match id {
            StreamId::CONTROL => Some(control),
            _ => streams.get_mut(&id).map(|stream| &mut stream.log),
        };
        log.map(|log| log.take_due(wanted, joins, |link, chosen| chosen.for_members(below.members(link))))
            .unwrap_or_default()
    }

    /// Sends a child a packet, and before it that those between are not for it.
    fn send_due(&mut self, id: StreamId, due: Due) {
        let Due { link, from, sequence, packet } = due;
        if from < sequence {
            self.send_gap(link, id, from, sequence);
        } else if let Packet::Chosen(_) = packet {
            self.tell_joins(link);
        }
        self.send(link, Message::Packet { stream: id, sequence, packet });
    }

    /// The members below each child that something can be sent to, if there are packets that not all get the same of.
    fn wanted(&mut self, id: StreamId) -> SortedMap<LinkId, RankSet> {
        let links = self.log_mut(id).map(|log| log.due_parts()).unwrap_or_default();
        links.into_iter().map(|link| (link, self.concerned(link, id))).collect()
    }

    /// Tells a new parent how far all below are: they may have got on since it was asked.
    pub(super) fn tell_received(&mut self, id: StreamId) {
        let until = match self.streams.get(&id) {
            // A member that has just come does not know yet where it begins.
            Some(stream) if self.role.is_member() && !stream.log.is_started() => return,
            Some(stream) => self.received(stream),
            None => self.control.received_by_children().unwrap_or(self.control.next()),
        };
        match self.streams.get_mut(&id) {
            Some(stream) => stream.report(until),
            None => self.control_reported = until,
        }
        self.send_up(Message::Received { stream: id, until });
    }

    /// Tells a parent that has sent again what this node had told it to have taken. It did not believe that, before it had
    /// sent it.
    pub(super) fn repeat_received(&mut self, id: StreamId, again: Range<u64>) {
        let reported = self.streams.get(&id).map_or(self.control_reported, |stream| stream.reported);
        if again.start < reported && reported <= again.end {
            self.tell_received(id);
        }
    }

    /// Drops what all have taken, and tells the parent.
    pub(super) fn report_received(&mut self, id: StreamId) {
        let needed = self.role.front_end().and_then(|front_end| front_end.needed_by_adrift(id));
        let (is_member, is_front_end) = (self.role.is_member(), self.role.is_front_end());
        if id == StreamId::CONTROL {
            let taken = self.control.received_by_children().unwrap_or(self.control.next());
            if !self.is_over {
                self.control.drop_before(taken);
            }
            if !is_front_end && taken != self.control_reported {
                self.control_reported = taken;
                self.send_up(Message::Received { stream: id, until: taken });
            }
            return;
        }
        let Some(stream) = self.streams.get(&id) else { return };
        let taken = self.received(stream);
        let is_due = taken > stream.reported
            && (!is_member
                || (stream.reported < stream.received_asked && stream.received_asked <= taken)
                || taken - stream.reported >= self.options.ahead_packets as u64 / 8
                || stream.unreported_bytes >= self.options.ahead_bytes / 8);
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if !is_member {
            stream.log.drop_before(needed.unwrap_or(taken).min(taken));
        }
        if !is_front_end && (is_due || taken < stream.reported) {
            stream.report(taken);
            self.send_up(Message::Received { stream: id, until: taken });
        }
    }

    /// Whether packets of a stream come to this node.
    pub(super) fn takes_part(&self, stream: &NodeStream) -> bool {
        match self.role.rank() {
            Some(rank) => stream.opening.members.contains(rank),
            None => stream.log.children().next().is_some(),
        }
    }

    /// The first packet that someone at or below this node has not taken.
    pub(super) fn received(&self, stream: &NodeStream) -> u64 {
        match self.role.rank() {
            Some(_) => stream.inbox.front().map_or(stream.log.next(), |waiting| waiting.sequence),
            // Who does not know yet where its log begins has nobody below who waits for anything.
            None if !stream.log.is_started() => stream.log.received_by_children().unwrap_or(Resume::NOW),
            None => stream.log.received_by_children().unwrap_or(stream.log.next()),
        }
    }
}
