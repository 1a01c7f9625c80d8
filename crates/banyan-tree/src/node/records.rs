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
use banyan_reduce::FilterRole;

use super::packets::SendError;
use super::reliable::Reliable;
use super::stream::NodeStream;
use super::waves::Delivery;
use super::{Action, Node};
use crate::ids::{LinkId, NodeId, StreamId, WaveNumber};
use crate::message::Message;
use crate::run::Run;
use crate::sorted::SortedMap;
use crate::stream_options::Direction;
use crate::transformation::TransformationError;

/// What a run counts for beside its bytes, so that many small ones are bounded too.
const RUN_COST: usize = 64;

/// A parent tells its child of what it has taken when it is this part of the window.
const TOLD: usize = 8;

/// Records of streams without waves, as one node has counted them.
///
/// For each process that is or was a member `sent` = `delivered` + `filtered` + lost + on their way. All of them count records
/// as members have sent them. At the front-end `seen` − `delivered` − `filtered` are lost, as far as it has heard of them;
/// `without_parent`, `without_room` and `without_stream` of all nodes say where, and the rest of them went down with a node or
/// a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordCounters {
    /// At a member: records that it has sent.
    pub sent: u64,
    /// At the front-end: records that its members had sent at least, by the numbers of those that came.
    pub seen: u64,
    /// At the front-end: records that have come, or of which filters made others that have come.
    pub delivered: u64,
    /// At the front-end: records of which some filter on the way, or its own, made nothing.
    pub filtered: u64,
    /// Dropped here, because there was no parent.
    pub without_parent: u64,
    /// Dropped here, because the parent was too far behind; or the front-end's program, when a child has begun another window,
    /// or ignores it.
    pub without_room: u64,
    /// Dropped here, because this node had not heard of the stream.
    pub without_stream: u64,
}

impl RecordCounters {
    pub(crate) fn plus(self, other: RecordCounters) -> RecordCounters {
        RecordCounters {
            sent: self.sent + other.sent,
            seen: self.seen + other.seen,
            delivered: self.delivered + other.delivered,
            filtered: self.filtered + other.filtered,
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
    seen: BTreeMap<(u32, u32), WaveNumber>,
    pub(super) counters: RecordCounters,
    /// If nothing is lost.
    pub(super) reliable: Option<Reliable>,
}

/// Records at the front-end, behind its filter.
#[derive(Debug)]
struct Arrived {
    /// Of a stream that loses some: where they came from, and what they count for, all of them.
    from: Option<Origin>,
    sifted: Sifted,
}

/// The child that sent records, the link that they came by, and what they count for.
type Origin = (NodeId, LinkId, usize);

/// What a filter made of some records of a member, one after the other.
#[derive(Debug)]
pub(super) struct Sifted {
    run: Run,
    /// If the filter failed in them: they are as they were.
    error: Option<TransformationError>,
}

impl Sifted {
    /// How many of these records a filter made something of, or failed in.
    fn yielding(&self) -> u32 {
        if self.error.is_some() { self.run.len() } else { self.run.yielding() }
    }
}

impl Records {
    /// Of a stream that loses nothing.
    pub(super) fn new_reliable(window: usize) -> Records {
        Records { reliable: Some(Reliable::new(window)), ..Records::default() }
    }

    /// At the front-end: its filter has seen these.
    fn push(&mut self, sifted: Vec<Sifted>, from: Option<Origin>) {
        let last = sifted.len().saturating_sub(1);
        for (at, sifted) in sifted.into_iter().enumerate() {
            let yielding = sifted.yielding();
            self.counters.delivered += u64::from(yielding);
            self.counters.filtered += u64::from(sifted.run.len() - yielding);
            self.arrived.push_back(Arrived { from: from.filter(|_| at == last), sifted });
        }
    }

    /// At the front-end: takes records of which filters made nothing, if no others are before them.
    fn take_nothing(&mut self) -> Option<Arrived> {
        self.arrived.pop_front_if(|arrived| arrived.sifted.yielding() == 0)
    }

    /// Bytes of what was not taken.
    pub(super) fn bytes(&self) -> usize {
        self.arrived.iter().map(|arrived| arrived.sifted.run.size()).sum()
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

    /// At the front-end: records have come; what they count for, if there is room. They are dropped if there is a window of that
    /// child's already, and not of this link alone: one that has lost its link and come back begins another window, whatever of
    /// the last one was not taken. On one link it keeps to its window by itself; what is more than two is dropped all the same.
    fn arrive(&mut self, (child, link): (NodeId, LinkId), rank: u32, run: &Run, window: usize) -> Option<usize> {
        let (life, count, cost) = (run.first.life(), u64::from(run.len()), cost(run));
        let seen = self.seen.entry((rank, life)).or_insert(WaveNumber::first_record(life));
        self.counters.seen = self.counters.seen.saturating_add(seen.until(run.end()));
        *seen = run.end().max(*seen);
        let earlier = self.held_before(child, link);
        let held = self.held.get(&(child, link)).copied().unwrap_or_default();
        let allowed = if earlier > 0 { window } else { window.saturating_mul(2) };
        if earlier + held > 0 && earlier + held + cost > allowed {
            self.counters.without_room += count;
            let (_, owed) = self.owed.entry(child).or_insert((link, 0));
            *owed += cost;
            return None;
        }
        self.held.insert((child, link), held + cost);
        Some(cost)
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
    run.size() + RUN_COST
}

impl NodeStream {
    /// On a stream without waves: what this node's filter makes of records, if it has one. What it failed in goes on as it is.
    fn sift(&mut self, run: Run, place: FilterRole) -> Vec<Sifted> {
        // Nothing is made of nothing.
        if !self.sifts || run.bodies.are_absent() {
            return vec![Sifted { run, error: None }];
        }
        let (mut sifted, mut rest) = (Vec::new(), Some(run));
        while let Some(run) = rest {
            let (made, error) = match self.transformation.sift(&run, place) {
                Ok(made) if made.first == run.first && made.end() <= run.end() => {
                    (Some(Run { bodies: made.bodies.tagged(run.bodies.tag()), ..made }), None)
                }
                Ok(_) => (run.within(run.first..run.first.after(1)), Some(TransformationError(MISCOUNTED.into()))),
                Err(error) => (run.within(run.first..run.first.after(1)), Some(error)),
            };
            let until = made.as_ref().map_or(run.end(), Run::end);
            rest = run.within(until..run.end());
            sifted.extend(made.map(|run| Sifted { run, error }));
        }
        self.missing_fields.note_own(self.transformation.missing_fields());
        sifted
    }
}

/// What is said of a transformation that gives other records back than it got.
const MISCOUNTED: &str = "it made records that it was not given";

impl Node {
    /// At a member: sends records. They have numbers of its own.
    pub(super) fn send_records(&mut self, id: StreamId, run: Run) -> Result<WaveNumber, SendError> {
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
        records.counters.sent += u64::from(run.len());
        let first = run.first;
        stream.sent = run.end();
        self.sift(id, run).into_iter().for_each(|run| self.pass_on(run));
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
        if self.role.is_front_end() {
            let (window, child) = (self.options.window_bytes, self.below.node_of(link));
            if let (Some(records), Some(child)) = (self.records_of(id), child)
                && let Some(cost) = records.arrive((child, link), rank, &run, window)
            {
                self.arrive_at_program(id, run, Some((child, link, cost)));
            }
        } else {
            self.sift(id, run).into_iter().for_each(|run| self.pass_on(run));
            self.tell_taken(id, link, bytes);
        }
        Ok(())
    }

    /// A child's records of a stream that this node has not heard of. If it is a stream without waves they are lost; waves
    /// are asked for again.
    pub(super) fn drop_unopened(&mut self, link: LinkId, run: &Run) {
        if !self.unopened.may_open(run.stream) {
            // It was closed.
            return;
        }
        self.unopened.note_dropped(run.stream, u64::from(run.len()));
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
        let count = u64::from(run.len());
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

    /// What this node's filter makes of a member's records on their way up.
    pub(super) fn sift(&mut self, id: StreamId, run: Run) -> Vec<Run> {
        let place = self.role.filters();
        let Some(stream) = self.streams.get_mut(&id) else { return Vec::new() };
        let sifted = stream.sift(run, place);
        let failed = sifted.iter().find_map(|sifted| Some((sifted.run.first, sifted.error.as_ref()?.to_string())));
        if stream.missing_fields.has_untold() {
            self.tell_missing_fields(id);
        }
        if let Some((record, cause)) = failed {
            self.uncombined(id, Direction::Up, record, &cause);
        }
        sifted.into_iter().map(|sifted| sifted.run).collect()
    }

    /// At the front-end: records have come, for its filter and then for its program.
    pub(super) fn arrive_at_program(&mut self, id: StreamId, run: Run, from: Option<Origin>) {
        let place = self.role.filters();
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let sifted = stream.sift(run, place);
        if let Some(records) = &mut stream.records {
            records.push(sifted, from);
        }
        self.take_nothing(id);
    }

    /// At the front-end: its program does not wait for records of which filters made nothing.
    fn take_nothing(&mut self, id: StreamId) {
        while let Some(Arrived { from, sifted }) = self.records_of(id).and_then(Records::take_nothing) {
            self.took(id, &sifted.run, from);
        }
    }

    /// At the front-end: the records that came first.
    pub(super) fn take_records(&mut self, id: StreamId) -> Option<Delivery> {
        let Arrived { from, sifted } = self.records_of(id)?.arrived.pop_front()?;
        self.took(id, &sifted.run, from);
        self.take_nothing(id);
        self.confirm_taken(id);
        self.report_missing_fields(id);
        let Sifted { run, error } = sifted;
        let (count, bodies) = (run.len(), error.map_or(Ok(run.bodies), Err));
        let Run { first, members, yields, .. } = run;
        Some(Delivery { stream: id, first, count, members, missing: RankSet::new(), yields, bodies })
    }

    /// At the front-end: records were taken.
    fn took(&mut self, id: StreamId, run: &Run, from: Option<Origin>) {
        let most = self.options.window_waves;
        let Some(records) = self.records_of(id) else { return };
        if let (Some(reliable), Some(rank)) = (&mut records.reliable, run.members.only()) {
            reliable.took(rank, run, most);
            if records.arrived.is_empty() {
                reliable.rest();
            }
        }
        if let Some((child, link, cost)) = from {
            let owed = records.let_go(child, link, cost);
            self.tell_taken(id, link, cost);
            owed.into_iter().for_each(|(link, cost)| self.tell_taken(id, link, cost));
        }
    }

    fn records_of(&mut self, id: StreamId) -> Option<&mut Records> {
        self.streams.get_mut(&id)?.records.as_mut()
    }
}
