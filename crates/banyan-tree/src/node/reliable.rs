//! Streams without waves that lose nothing: each record comes once, in the order of its member.
//!
//! A member numbers its records and keeps them until the front-end confirms that its program has taken them. Nobody else keeps
//! any: nodes pass records on, and one that has found another parent has everyone below send again what is not confirmed.
//! The front-end takes of each member the next record and no other. What comes twice is dropped, and so is what comes behind
//! a gap: it is sent again with what is missing.
//!
//! What a member may have unconfirmed bounds the memory of all nodes above it ([`window_of_member`]). A member that has to wait
//! asks for a confirmation ([`Message::WantAcknowledgement`]).

use std::collections::{BTreeMap, BTreeSet};

use super::Node;
use super::packets::SendError;
use crate::ids::{LinkId, StreamId, WaveNumber};
use crate::message::Message;
use crate::run::Run;
use crate::sorted::SortedMap;

/// A front-end confirms when this part of a member's window was taken.
const CONFIRMED: usize = 4;

/// What a child that is a member may send between two confirmations, in windows: two, and what it sends again meanwhile.
const UNCONFIRMED: usize = 4;

/// What all members of a stream may have unconfirmed together, in windows of a single member.
const TOGETHER: usize = 4;

/// What each of them may at least.
const LEAST: usize = 64 << 10;

/// Bytes of records that each member of a stream may have unconfirmed; one record may be larger.
pub(super) fn window_of_member(window: usize, members: u64) -> usize {
    let share = (window as u64).saturating_mul(TOGETHER as u64) / members.max(1);
    usize::try_from(share).unwrap_or(window).clamp(LEAST.min(window), window)
}

/// A stream that loses nothing, at one node.
#[derive(Debug)]
pub(super) struct Reliable {
    /// Bytes that each member may have unconfirmed.
    window: usize,
    /// Bytes and records of children that are members, since something was last confirmed to each.
    unconfirmed: SortedMap<LinkId, (usize, u64)>,
    /// At the front-end: how far each member is.
    sources: BTreeMap<u32, MemberProgress>,
    /// At the front-end: whom to confirm what was taken.
    due: BTreeSet<u32>,
    /// At the front-end: whom to confirm filtered records when nothing waits to be taken any more. What a member has sent may have
    /// been longer than what filters made of it: its window may be full although little has come.
    filtered: BTreeSet<u32>,
    /// At the front-end: whether some member waits for a confirmation.
    is_eager: bool,
}

/// How far the records of a member have come.
#[derive(Debug)]
struct MemberProgress {
    /// The first that has not come.
    next: WaveNumber,
    /// The first that was not taken.
    taken: WaveNumber,
    /// The first that was not confirmed, and bytes from there on that were taken.
    confirmed: WaveNumber,
    untold: usize,
}

impl MemberProgress {
    fn of_life(life: u32) -> MemberProgress {
        let first = WaveNumber::first_record(life);
        MemberProgress { next: first, taken: first, confirmed: first, untold: 0 }
    }
}

impl Reliable {
    pub(super) fn new(window: usize) -> Reliable {
        let (unconfirmed, sources) = (SortedMap::new(), BTreeMap::new());
        Reliable { window, unconfirmed, sources, due: BTreeSet::new(), filtered: BTreeSet::new(), is_eager: false }
    }

    pub(super) fn forget_child(&mut self, link: LinkId) {
        self.unconfirmed.remove(&link);
    }

    /// A child that is a member sends records: whether it may.
    fn check(&mut self, link: LinkId, run: &Run, records: u64) -> Result<(), String> {
        let (sent, count) = self.unconfirmed.get_or_insert_with(link, Default::default);
        if *sent > self.window.saturating_mul(UNCONFIRMED) || *count > records.saturating_mul(UNCONFIRMED as u64) {
            return Err(format!("sent {sent} bytes of {count} records, and nobody has confirmed any; it has to wait"));
        }
        *sent += run.size();
        *count += u64::from(run.len());
        Ok(())
    }

    /// At the front-end: what is new of a member's records.
    fn accept(&mut self, rank: u32, run: &Run) -> Option<Run> {
        let life = run.first.life();
        let source = self.sources.entry(rank).or_insert_with(|| MemberProgress::of_life(life));
        if life > source.next.life() {
            *source = MemberProgress::of_life(life);
        }
        if run.first < source.taken {
            // The confirmation was lost.
            self.due.insert(rank);
        }
        if run.first > source.next || life < source.next.life() {
            return None;
        }
        let new = run.within(source.next..run.end())?;
        source.next = new.end();
        Some(new)
    }

    /// At the front-end: these records of a member were taken.
    pub(super) fn took(&mut self, rank: u32, run: &Run, records: u64) {
        let until = run.end();
        let Some(source) = self.sources.get_mut(&rank).filter(|source| source.taken <= until) else { return };
        source.taken = until;
        source.untold += run.size();
        let is_much = source.untold >= self.window / CONFIRMED;
        if self.is_eager || is_much || source.confirmed.until(until) >= records / CONFIRMED as u64 {
            self.due.insert(rank);
        } else if run.is_partial {
            self.filtered.insert(rank);
        }
    }

    /// At the front-end: of each member the first record that was not taken.
    fn taken(&self) -> BTreeMap<u32, WaveNumber> {
        self.sources.iter().map(|(rank, source)| (*rank, source.taken)).collect()
    }

    /// At the front-end: a member waits for a confirmation, and will have it soon.
    fn want_confirmation(&mut self, has_arrived: bool) {
        self.is_eager = has_arrived;
        let waiting = self.sources.iter().filter(|(_, source)| source.taken > source.confirmed);
        self.due.extend(waiting.map(|(rank, _)| *rank));
    }

    /// At the front-end: nothing waits to be taken any more.
    pub(super) fn rest(&mut self) {
        self.is_eager = false;
        self.due.append(&mut self.filtered);
    }

    /// At the front-end: what to confirm.
    fn confirmations(&mut self) -> Vec<(u32, WaveNumber)> {
        let mut confirmations = Vec::with_capacity(self.due.len());
        for rank in std::mem::take(&mut self.due) {
            if let Some(source) = self.sources.get_mut(&rank) {
                (source.confirmed, source.untold) = (source.taken, 0);
                confirmations.push((rank, source.taken));
            }
        }
        confirmations
    }
}

impl Node {
    /// At a member: sends records, and keeps them.
    pub(super) fn send_reliably(&mut self, id: StreamId, run: Run) -> Result<WaveNumber, SendError> {
        let most = self.options.window_waves;
        let Some(stream) = self.streams.get_mut(&id) else { return Err(SendError::NoStream(id)) };
        let Some(records) = &mut stream.records else { return Err(SendError::NoStream(id)) };
        let window = records.reliable.as_ref().map_or(0, |reliable| reliable.window);
        let (kept, ahead) = (stream.kept.bytes(), stream.kept.acknowledged().until(run.end()));
        let is_first = stream.kept.acknowledged() == run.first;
        if !is_first && (ahead > most || kept + run.bodies.size() > window) {
            stream.traffic.stalls += 1;
            self.want_acknowledgement(id);
            return Err(SendError::Full);
        }
        records.counters.sent += u64::from(run.len());
        let first = run.first;
        stream.sent = run.end();
        for run in self.sift(id, run) {
            let Some(stream) = self.streams.get_mut(&id) else { break };
            stream.kept.keep(&run);
            stream.traffic.up(&run);
            self.send_up(Message::Run(run));
        }
        Ok(first)
    }

    /// A child's records: they go on, and are kept by nobody but their member.
    pub(super) fn reliable_records(&mut self, link: LinkId, rank: u32, run: Run) -> Result<(), String> {
        let (id, most) = (run.stream, self.options.window_waves);
        let is_members = self.below.node_of(link).is_some_and(|child| self.rank_of(child).is_some());
        let (is_front_end, is_attached) = (self.role.is_front_end(), self.ascent.link().is_some());
        let Some(stream) = self.streams.get_mut(&id) else { return Ok(()) };
        let Some(records) = &mut stream.records else { return Ok(()) };
        let Some(reliable) = &mut records.reliable else { return Ok(()) };
        if is_members {
            reliable.check(link, &run, most)?;
        }
        if is_front_end {
            if let Some(new) = reliable.accept(rank, &run) {
                records.counters.seen += u64::from(new.len());
                self.arrive_at_program(id, new, None);
            }
            self.confirm_taken(id);
        } else if is_attached {
            for run in self.sift(id, run) {
                self.streams.get_mut(&id).into_iter().for_each(|stream| stream.traffic.up(&run));
                self.send_up(Message::Run(run));
            }
        }
        // Without a parent: the next one is sent them again.
        Ok(())
    }

    /// Has those below send again what is not confirmed: this node has another parent.
    pub(super) fn send_again_below(&mut self, id: StreamId) {
        let links: Vec<LinkId> = self.below.links().map(|(_, link)| link).collect();
        for link in links {
            if self.concerns(link, id) {
                if let Some(reliable) = self.reliable_of(id) {
                    reliable.unconfirmed.remove(&link);
                }
                self.send(link, Message::Again(id));
            }
        }
    }

    /// At the front-end: a member waits for a confirmation.
    pub(super) fn want_confirmation(&mut self, id: StreamId) {
        let has_arrived = self
            .streams
            .get(&id)
            .and_then(|stream| stream.records.as_ref())
            .is_some_and(|records| records.waiting() > 0);
        self.reliable_of(id).into_iter().for_each(|reliable| reliable.want_confirmation(has_arrived));
        self.confirm_taken(id);
    }

    /// At the front-end: confirms what is due.
    pub(super) fn confirm_taken(&mut self, id: StreamId) {
        let confirmations = self.reliable_of(id).map(Reliable::confirmations).unwrap_or_default();
        if !confirmations.is_empty() {
            self.confirm_below(id, &confirmations);
        }
    }

    /// The front-end's program has taken the records of members before these.
    pub(super) fn confirmed(&mut self, id: StreamId, confirmations: &[(u32, WaveNumber)]) {
        let rank = self.role.rank();
        let Some(stream) = self.streams.get_mut(&id) else { return };
        // Whoever is still in need will say so again.
        stream.wants_acknowledgement = false;
        match rank {
            None => self.confirm_below(id, confirmations),
            Some(rank) => {
                let own = confirmations.iter().filter(|(of, until)| *of == rank && *until <= stream.sent);
                own.for_each(|(_, until)| stream.kept.acknowledge_records(*until));
            }
        }
    }

    /// Passes confirmations on, each to where its member is.
    fn confirm_below(&mut self, id: StreamId, confirmations: &[(u32, WaveNumber)]) {
        let links: Vec<LinkId> = self.below.links().map(|(_, link)| link).collect();
        for link in links {
            let members = self.below.members(link);
            let of_link: Vec<_> = confirmations.iter().filter(|(rank, _)| members.contains(*rank)).copied().collect();
            if of_link.is_empty() {
                continue;
            }
            if let Some(reliable) = self.reliable_of(id) {
                reliable.unconfirmed.remove(&link);
            }
            self.send(link, Message::Confirm { stream: id, until: of_link });
        }
    }

    /// At the front-end: of each member the first record that was not taken, on a stream without waves that loses nothing.
    pub(crate) fn records_until(&mut self, id: StreamId) -> BTreeMap<u32, WaveNumber> {
        self.reliable_of(id).map(|reliable| reliable.taken()).unwrap_or_default()
    }

    pub(super) fn reliable_of(&mut self, id: StreamId) -> Option<&mut Reliable> {
        self.streams.get_mut(&id)?.records.as_mut()?.reliable.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use banyan_ndr::FormatId;

    use super::*;
    use banyan_reduce::Bodies;

    /// What a member has sent is not known here: its window may be full.
    #[test]
    fn filtered_records_are_confirmed_when_all_that_came_was_taken_however_few_bytes_they_are() {
        let bodies = Bodies::of_size(FormatId::from_bytes([1; 16]), 4, 10, vec![0; 40].into()).unwrap();
        let (stream, first, members) = (StreamId(1), WaveNumber(0), Arc::default());
        let run = Run { stream, first, members, is_fresh: true, is_partial: true, yields: None, bodies };
        let mut reliable = Reliable::new(64 << 10);
        assert!(reliable.accept(3, &run).is_some());
        reliable.took(3, &run, 1280);
        assert_eq!(reliable.confirmations(), [], "others may be taken, and confirmed with them");
        reliable.rest();
        assert_eq!(reliable.confirmations(), [(3, WaveNumber(10))]);
        reliable.rest();
        assert_eq!(reliable.confirmations(), []);
    }
}
