//! Streams without waves: records go up as they come. Those of streams that lose nothing are kept by their members
//! ([`reliable`](super::reliable)). Of the others, which this is about, records come at most once, and nobody keeps anything.
//!
//! Each member numbers its records, so the front-end sees how many of them did not come: they were dropped by a node that
//! had no parent, whose parent was too far behind, or that had not heard of the stream (all are counted there), or went down
//! with a node or a link. A process that takes a member's place has numbers behind all of those before it: whatever comes of
//! whom, and in whichever order, each process is counted by itself.
//! Between two nodes a window of bytes is on its way; a member whose window is full has to wait, a node that only passes
//! records on drops them, and so does the front-end when a child that has lost its link begins another window before its last
//! one was taken. That is at most the other window: the child hears that there is room when the last one was taken. Of a child
//! that ignores its window the front-end drops what is more than two.

use std::collections::{BTreeMap, VecDeque};

use banyan_boot::RankSet;

use super::packets::SendError;
use super::reliable::Reliable;
use super::stream::Stream;
use super::waves::Delivery;
use super::{Action, Node};
use crate::ids::{LinkId, NodeId, StreamId, Wave};
use crate::message::Message;
use crate::reduce::Place;
use crate::run::{Bodies, Run};
use crate::sorted::SortedMap;

/// What a run counts for beside its bytes, so that many small ones are bounded too.
const RUN_COST: usize = 64;

/// A parent tells its child of what it has taken when it is this part of the window.
const TOLD: usize = 8;

/// Records of streams without waves, as one node has counted them.
///
/// For each process that is or was a member `sent` = `delivered` + lost + on their way. At the front-end `seen` −
/// `delivered` are lost, as far as it has heard of them; `without_parent`, `without_room` and `without_stream` of all nodes
/// say where, and the rest of them went down with a node or a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordCounters {
    /// At a member: records that it has sent.
    pub sent: u64,
    /// At the front-end: records that its members had sent at least, by the numbers of those that came.
    pub seen: u64,
    /// At the front-end: records that have come.
    pub delivered: u64,
    /// Dropped here, because there was no parent.
    pub without_parent: u64,
    /// Dropped here, because the parent was too far behind; or the front-end's program, when a child has begun another window,
    /// or ignores it.
    pub without_room: u64,
    /// Dropped here, because this node had not heard of the stream.
    pub without_stream: u64,
}

impl RecordCounters {
    pub(super) fn plus(self, other: RecordCounters) -> RecordCounters {
        RecordCounters {
            sent: self.sent + other.sent,
            seen: self.seen + other.seen,
            delivered: self.delivered + other.delivered,
            without_parent: self.without_parent + other.without_parent,
            without_room: self.without_room + other.without_room,
            without_stream: self.without_stream + other.without_stream,
        }
    }
}

/// A stream without waves at one node.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// Bytes that the parent has not taken.
    on_their_way: usize,
    /// Bytes of children that were taken, and of which they were not told.
    untold: SortedMap<LinkId, usize>,
    /// At the front-end: what has come and was not taken.
    arrived: VecDeque<Arrived>,
    /// At the front-end: what that counts for, by the node and the link that it came from. Links have ascending names. At most
    /// a window of each node, as the node counts it: what it sent as one may come in several parts. So two are allowed.
    held: BTreeMap<(NodeId, LinkId), usize>,
    /// At the front-end: what those count for that were dropped, and on which link of a node; it is not told of them as long
    /// as records of its earlier links are held.
    owed: BTreeMap<NodeId, (LinkId, usize)>,
    /// At the front-end: behind the last record that came of each member, in each of its lives that any came of.
    seen: BTreeMap<(u32, u32), Wave>,
    pub(super) counters: RecordCounters,
    /// If nothing is lost.
    pub(super) reliable: Option<Reliable>,
}

/// Records at the front-end.
#[derive(Debug)]
struct Arrived {
    /// Of a stream that loses some: where they came from, and what they count for, all of them.
    from: Option<(NodeId, LinkId, usize)>,
    /// Those that were not taken.
    run: Run,
}

impl Records {
    /// Of a stream that loses nothing.
    pub(super) fn new_reliable(window: usize) -> Records {
        Records { reliable: Some(Reliable::new(window)), ..Records::default() }
    }

    /// What is new of a stream that loses nothing.
    pub(super) fn push(&mut self, run: Run) {
        self.counters.seen += u64::from(run.bodies.len());
        self.counters.delivered += u64::from(run.bodies.len());
        self.arrived.push_back(Arrived { from: None, run });
    }

    /// Bytes of what was not taken.
    pub(super) fn bytes(&self) -> usize {
        self.arrived.iter().map(|arrived| arrived.run.bodies.size()).sum()
    }

    /// Runs that were not taken.
    pub(super) fn waiting(&self) -> usize {
        self.arrived.len()
    }

    /// There is another parent, or none: what was on its way is delivered or lost.
    pub(super) fn reset(&mut self) {
        self.on_their_way = 0;
    }

    pub(super) fn forget_child(&mut self, link: LinkId) {
        self.untold.remove(&link);
        self.reliable.as_mut().into_iter().for_each(|reliable| reliable.forget_child(link));
        self.owed.retain(|_, (owed, _)| *owed != link);
    }

    /// At the front-end: records have come. They are dropped if there is a window of that child's already, and not of this
    /// link alone: one that has lost its link and come back begins another window, whatever of the last one was not taken.
    /// On one link it keeps to its window by itself; what is more than two is dropped all the same.
    fn arrive(&mut self, (child, link): (NodeId, LinkId), rank: u32, run: Run, window: usize) {
        let (life, count, cost) = (run.first.life(), u64::from(run.bodies.len()), cost(&run));
        let seen = self.seen.entry((rank, life)).or_insert(Wave::first_record(life));
        self.counters.seen = self.counters.seen.saturating_add(seen.until(run.end()));
        *seen = run.end().max(*seen);
        let earlier = self.held_before(child, link);
        let held = self.held.get(&(child, link)).copied().unwrap_or_default();
        let allowed = if earlier > 0 { window } else { window.saturating_mul(2) };
        if earlier + held > 0 && earlier + held + cost > allowed {
            self.counters.without_room += count;
            let (_, owed) = self.owed.entry(child).or_insert((link, 0));
            *owed += cost;
            return;
        }
        self.held.insert((child, link), held + cost);
        self.counters.delivered += count;
        self.arrived.push_back(Arrived { from: Some((child, link, cost)), run });
    }

    /// At the front-end: what is held of a child's links before this one.
    fn held_before(&self, child: NodeId, link: LinkId) -> usize {
        self.held.range((child, LinkId(0))..(child, link)).map(|(_, held)| held).sum()
    }

    /// At the front-end: records of a child were taken. If these were the last of its earlier links, the link on which
    /// others were dropped meanwhile, and what they count for.
    fn let_go(&mut self, child: NodeId, link: LinkId, cost: usize) -> Option<(LinkId, usize)> {
        if let Some(held) = self.held.get_mut(&(child, link)) {
            *held -= cost;
            if *held == 0 {
                self.held.remove(&(child, link));
            }
        }
        let (owed, _) = self.owed.get(&child)?;
        if self.held_before(child, *owed) > 0 {
            return None;
        }
        self.owed.remove(&child)
    }

    /// Bytes of a child were taken: what to tell it, if it is time.
    fn take(&mut self, link: LinkId, bytes: usize, window: usize) -> Option<u64> {
        let untold = self.untold.get_or_insert_with(link, usize::default);
        *untold += bytes;
        (*untold >= window / TOLD).then(|| std::mem::take(untold) as u64)
    }
}

fn cost(run: &Run) -> usize {
    run.bodies.size() + RUN_COST
}

impl Stream {
    /// At a member: what goes of its records.
    pub(super) fn make_own(&mut self, run: Run) -> Vec<Run> {
        if self.filters_own { self.filter_own(run) } else { vec![run] }
    }

    /// At a member: what its own filter makes of its records. Those that it can make nothing of go as they are, for the
    /// front-end's to try.
    fn filter_own(&mut self, run: Run) -> Vec<Run> {
        let (mut made, mut rest) = (Vec::new(), Some(run));
        while let Some(run) = rest {
            let combined = self.transformation.combine(std::slice::from_ref(&run), Place::Member);
            let until = run.first.after(combined.as_ref().map_or(1, Bodies::len));
            rest = run.within(until..run.end());
            made.extend(match combined {
                Ok(bodies) => Some(Run { is_partial: true, bodies, ..run }),
                Err(_) => run.within(run.first..until),
            });
        }
        made
    }
}

impl Node {
    /// At a member: sends records. They have numbers of its own.
    pub(super) fn send_records(&mut self, id: StreamId, run: Run) -> Result<Wave, SendError> {
        let (window, is_attached) = (self.options.window_bytes, self.ascent.link().is_some());
        if self.reliable_of(id).is_some() {
            return self.send_reliably(id, run);
        }
        let Some(stream) = self.streams.get_mut(&id) else { return Err(SendError::NoStream(id)) };
        let Some(records) = &mut stream.records else { return Err(SendError::NoStream(id)) };
        if is_attached && records.on_their_way > 0 && records.on_their_way + cost(&run) > window {
            stream.traffic.stalls += 1;
            return Err(SendError::Full);
        }
        records.counters.sent += u64::from(run.bodies.len());
        let first = run.first;
        stream.sent = run.end();
        stream.make_own(run).into_iter().for_each(|run| self.pass_on(run));
        Ok(first)
    }

    /// A child's records.
    pub(super) fn records(&mut self, link: LinkId, run: Run) -> Result<(), String> {
        let (id, bytes) = (run.stream, cost(&run));
        let Some(rank) = run.members.first().filter(|rank| run.members.last() == Some(*rank)) else {
            return Err("sent records of several members as one".into());
        };
        if self.reliable_of(id).is_some() {
            return self.reliable_records(link, rank, run);
        }
        if self.root.is_some() {
            let (window, child) = (self.options.window_bytes, self.below.node_of(link));
            if let (Some(records), Some(child)) = (self.records_of(id), child) {
                records.arrive((child, link), rank, run, window);
            }
        } else {
            self.pass_on(run);
            self.tell_taken(id, link, bytes);
        }
        Ok(())
    }

    /// A child's records, if it is a stream without waves, and this node has not heard of it: nobody could say where they
    /// should go. (Waves are asked for again.)
    pub(super) fn drop_early(&mut self, link: LinkId, run: &Run) {
        if run.stream <= self.last_opened {
            // It was closed.
            return;
        }
        let count = u64::from(run.bodies.len());
        self.early(run.stream).into_iter().for_each(|early| early.records += count);
        self.tell_dropped(link, run.stream, cost(run) as u64);
    }

    /// Tells a child that it need not wait for these bytes: once for all of them that come in succession.
    fn tell_dropped(&mut self, link: LinkId, id: StreamId, more: u64) {
        if let Some(Action::Send { link: to, message: Message::Taken { stream, bytes } }) = self.actions.back_mut()
            && (*to, *stream) == (link, id)
        {
            *bytes += more;
            return;
        }
        self.send(link, Message::Taken { stream: id, bytes: more });
    }

    /// Sends records to the parent, if there is one that has room for them.
    fn pass_on(&mut self, run: Run) {
        let (window, is_attached) = (self.options.window_bytes, self.ascent.link().is_some());
        let Some(records) = self.records_of(run.stream) else { return };
        let count = u64::from(run.bodies.len());
        if !is_attached {
            records.counters.without_parent += count;
        } else if records.on_their_way > 0 && records.on_their_way + cost(&run) > window {
            records.counters.without_room += count;
        } else {
            records.on_their_way += cost(&run);
            if let Some(stream) = self.streams.get_mut(&run.stream) {
                stream.traffic.up(&run);
            }
            self.send_up(Message::Run(run));
        }
    }

    /// The parent has taken bytes.
    pub(super) fn taken(&mut self, id: StreamId, bytes: u64) {
        if let Some(records) = self.records_of(id) {
            records.on_their_way = records.on_their_way.saturating_sub(usize::try_from(bytes).unwrap_or(usize::MAX));
        }
    }

    fn tell_taken(&mut self, id: StreamId, link: LinkId, bytes: usize) {
        let window = self.options.window_bytes;
        if self.below.node_of(link).is_none() {
            return;
        }
        if let Some(bytes) = self.records_of(id).and_then(|records| records.take(link, bytes, window)) {
            self.send(link, Message::Taken { stream: id, bytes });
        }
    }

    /// At the front-end: the records that came first.
    pub(super) fn take_records(&mut self, id: StreamId) -> Option<Delivery> {
        let stream = self.streams.get_mut(&id)?;
        let records = stream.records.as_mut()?;
        let Arrived { from, run } = records.arrived.pop_front()?;
        let bodies = match stream.opening.options.up.is_empty() {
            true => Ok(run.bodies.clone()),
            false => stream.transformation.combine(std::slice::from_ref(&run), Place::Root),
        };
        let count = bodies.as_ref().map_or(1, Bodies::len);
        let (first, members) = (run.first, run.members.clone());
        let rest = run.within(first.after(count)..run.end());
        if let (Some(reliable), Some(rank)) = (&mut records.reliable, members.only()) {
            let bytes = run.bodies.size() - rest.as_ref().map_or(0, |rest| rest.bodies.size());
            reliable.took(rank, first.after(count), bytes, self.options.window_waves);
            if records.arrived.is_empty() && rest.is_none() {
                reliable.rest();
            }
        }
        match (rest, from) {
            (Some(rest), from) => records.arrived.push_front(Arrived { from, run: rest }),
            (None, None) => {}
            (None, Some((child, link, cost))) => {
                let owed = records.let_go(child, link, cost);
                self.tell_taken(id, link, cost);
                owed.into_iter().for_each(|(link, cost)| self.tell_taken(id, link, cost));
            }
        }
        self.confirm_taken(id);
        Some(Delivery { stream: id, first, count, members, missing: RankSet::new(), bodies })
    }

    fn records_of(&mut self, id: StreamId) -> Option<&mut Records> {
        self.streams.get_mut(&id)?.records.as_mut()
    }
}
