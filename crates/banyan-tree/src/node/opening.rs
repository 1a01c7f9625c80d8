//! A stream begins at a node: with what the node's role gives it, and with what was said of it before.

use std::sync::Arc;

use banyan_reduce::FilterRole;
use tracing::debug;

use super::Node;
use super::kept::Kept;
use super::ledger::Ledger;
use super::log::Log;
use super::newcomer::{Predecessor, Standing};
use super::patience::Patience;
use super::records::Records;
use super::reliable::window_of_member;
use super::stream::NodeStream;
use super::waves::Uncombinable;
use crate::ids::{LinkId, StreamId, WaveNumber};
use crate::message::{Message, Opening};
use crate::stream_options::Direction;
use crate::synchronisation::Synchronisation;
use crate::transformation::Transformation;

impl Node {
    /// A stream begins here.
    #[cold]
    pub(super) fn open_here(&mut self, opening: &Arc<Opening>) {
        let id = opening.stream;
        if self.streams.contains_key(&id) {
            // It was listed before.
            return;
        }
        debug!(stream = id.0, members = opening.members.len(), "a stream is open");
        let mut stream = self.make_stream(opening);
        let foretold = self.unopened.take(id);
        if let Some(lossy) = stream.records.as_mut().filter(|lossy| lossy.reliable.is_none()) {
            lossy.counters.without_stream = foretold.records;
        }
        self.add_children(&mut stream, foretold.skipped);
        self.unopened.opened(id);
        let first = foretold.first_packet();
        if first.is_some() || foretold.skipped > 0 {
            stream.log.start_at(first.unwrap_or(foretold.skipped));
            if self.role.is_member() && first.is_none() {
                stream.standing = Standing::Beginner;
            }
        }
        self.streams.insert(id, Box::new(stream));
        match foretold.acknowledged {
            Some(until) => self.acknowledge(id, until),
            None => self.tell_acknowledged(id),
        }
        if foretold.whole > WaveNumber(0) {
            self.begin(id, foretold.whole);
        }
        if let Some(from) = first {
            self.ask_again(id, from);
        }
        self.tell_received(id);
        self.tell_participation(id);
        let is_idle = self.streams.get(&id).is_some_and(|stream| !stream.is_participating);
        if is_idle {
            // The parent waits for this node unless it hears otherwise.
            self.send_up(Message::Withdraw(id));
        }
    }

    /// A stream with the filters and the state that this node's role asks for.
    fn make_stream(&mut self, opening: &Arc<Opening>) -> NodeStream {
        let id = opening.stream;
        let (place, level) = (self.role.filters(), self.ascent.level());
        let upward = opening.options.upward(place, level);
        let transformation = self.make_filter(id, Direction::Up, upward.unwrap_or_default());
        let mut stream = NodeStream::new(Arc::clone(opening), transformation);
        stream.down = opening.options.downward(place, level).map(|text| self.make_filter(id, Direction::Down, text));
        stream.predecessor = if self.epoch.life() > 0 { Predecessor::Unknown } else { Predecessor::None };
        stream.standing = if self.role.is_arriving() { Standing::Awaiting } else { Standing::Regular };
        stream.filters_own = place == FilterRole::Member && opening.options.filters_at_members();
        stream.sifts = upward.is_some();
        self.synchronise(&mut stream);
        if self.role.is_front_end() {
            let expected = opening.members.intersection(&self.members());
            stream.ledger = Some(Ledger::new(Arc::new(expected)));
            stream.holders = self.holders(opening);
            self.keep_for_adrift(opening);
            stream.log = Log::from_the_first();
            stream.knows_acknowledged = true;
        }
        stream
    }

    /// How long waves are waited for, or what there is instead of waves.
    fn synchronise(&self, stream: &mut NodeStream) {
        match stream.opening.options.synchronisation {
            Synchronisation::Timeout(time) => stream.patience = Some(Patience::at(self.ascent.level(), time)),
            Synchronisation::Lossy => self.send_records_on(stream, Records::default()),
            Synchronisation::None => {
                let window = window_of_member(self.options.window_bytes, stream.opening.members.len());
                self.send_records_on(stream, Records::new_reliable(window));
            }
            Synchronisation::All | Synchronisation::Interval(_) => {}
        }
    }

    fn send_records_on(&self, stream: &mut NodeStream, records: Records) {
        stream.records = Some(records);
        stream.sent = WaveNumber::first_record(self.life());
        stream.kept = Kept::from(stream.sent);
    }

    /// The children that have members of a stream at or below them. Those that spoke of it before are asked to say it again.
    fn add_children(&mut self, stream: &mut NodeStream, skipped: u64) {
        let (id, members) = (stream.opening.stream, Arc::clone(&stream.opening.members));
        let mut links: Vec<LinkId> = self.below.links().map(|(_, link)| link).collect();
        links.retain(|link| !self.below.members(*link).is_disjoint(&members));
        for link in links {
            let (has_spoken, resume) = self.unopened.take_of_child(link, id);
            if has_spoken {
                self.send(link, Message::Again(id));
            } else if stream.records.is_none() {
                stream.gathering.participate(link, WaveNumber(0));
            }
            let (next, received) = resume.map_or((skipped, skipped), |resume| (resume.next, resume.received));
            stream.log.add_child(link, next, received);
        }
    }

    /// A filter of this node; in place of one that it does not know, one that fails.
    fn make_filter(&mut self, stream: StreamId, direction: Direction, text: &str) -> Box<dyn Transformation> {
        self.transformations.make(text).unwrap_or_else(|error| {
            self.uncombined(stream, direction, WaveNumber(0), &error.to_string());
            Box::new(Uncombinable(error))
        })
    }
}
