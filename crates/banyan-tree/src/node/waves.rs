//! What comes up: waves, from members to the front-end.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use banyan_boot::RankSet;
use banyan_reduce::{Bodies, FilterRole};

use super::gathering::Violation;
use super::ledger::WholeWaves;
use super::newcomer::{Predecessor, Standing};
use super::packets::SendError;
use super::stream::NodeStream;
use super::{Node, Report};
use crate::ids::{LinkId, NodeId, StreamId, Time, WaveNumber};
use crate::message::Message;
use crate::run::Run;
use crate::stream_options::Direction;
use crate::transformation::{Transformation, TransformationError};
use crate::yields::Yields;

/// Waves at the front-end, whole.
#[derive(Debug)]
pub struct Delivery {
    /// The stream.
    pub stream: StreamId,
    /// The first of them.
    pub first: WaveNumber,
    /// How many they are.
    pub count: u32,
    /// Who is in them.
    pub members: Arc<RankSet>,
    /// Who was waited for and did not come in time; nobody, unless the stream has a timeout.
    pub missing: RankSet,
    /// Of records, where filters made none or several of some: which record each body is of.
    pub yields: Option<Yields>,
    /// One body each, or why they could not be combined.
    pub bodies: Result<Bodies, TransformationError>,
}

impl Delivery {
    /// How many bodies there are; one of an error.
    pub fn body_count(&self) -> u32 {
        self.bodies.as_ref().map_or(1, Bodies::len)
    }

    /// The wave, or the record, that a body is of, counted from the first body.
    pub fn number(&self, body: u32) -> WaveNumber {
        let source = self.yields.as_ref().and_then(|yields| yields.sources().get(body as usize));
        self.first.after(source.copied().unwrap_or(body))
    }
}

impl Node {
    /// At a member: contributes to the next waves of a stream.
    ///
    /// # Errors
    /// If the stream is not there, this member is too far ahead, or another process has taken its place.
    pub fn contribute(&mut self, stream: StreamId, bodies: Bodies) -> Result<WaveNumber, SendError> {
        self.contribute_run(stream, bodies, false)
    }

    /// At a member: contributes to the waves from this one on. What it has for waves that are over is dropped, and counted.
    ///
    /// # Errors
    /// As [`contribute`](Self::contribute); nothing is dropped then.
    pub fn contribute_from(&mut self, stream: StreamId, first: WaveNumber, bodies: &Bodies) -> Result<(), SendError> {
        let next = self.next_wave(stream).ok_or(SendError::NoStream(stream))?;
        // At most as many as there are, which is a `u32`.
        let over = first.until(next).min(u64::from(bodies.len()));
        if let Some(rest) = bodies.since(over as u32) {
            self.contribute(stream, rest)?;
        }
        self.streams.get_mut(&stream).into_iter().for_each(|stream| stream.overdue += over);
        Ok(())
    }

    /// At a member: contributes to one wave, and nothing to those before it: what the stream's filter made of the records
    /// of an interval.
    ///
    /// # Errors
    /// If the stream is not there, that wave is over, or this member is too far ahead. In the last case some of the waves
    /// before may have been passed over.
    pub fn contribute_at(&mut self, stream: StreamId, wave: WaveNumber, body: Bodies) -> Result<(), SendError> {
        self.pass_over(stream, wave)?;
        if self.next_wave(stream) != Some(wave) {
            self.streams.get_mut(&stream).into_iter().for_each(|stream| stream.overdue += 1);
            return Err(SendError::Over(wave));
        }
        self.contribute_run(stream, body, true).map(|_| ())
    }

    /// At a member: contributes nothing to the waves before this one, so that nobody waits for it there.
    ///
    /// # Errors
    /// If the stream is not there, or this member is too far ahead; some waves may have been passed over.
    pub fn pass_over(&mut self, stream: StreamId, until: WaveNumber) -> Result<(), SendError> {
        let window = self.options.window_waves;
        if self.streams.get(&stream).is_some_and(|stream| stream.records.is_some()) {
            // There are no waves.
            return Ok(());
        }
        loop {
            let next = self.next_wave(stream).ok_or(SendError::NoStream(stream))?;
            let acknowledged = self.streams.get(&stream).map_or(next, |stream| stream.kept.acknowledged());
            let room = window.saturating_sub(acknowledged.until(next)).max(1);
            let count = next.until(until).min(room).min(u64::from(u32::MAX));
            let Some(count) = NonZeroU32::new(count as u32) else { return Ok(()) };
            self.contribute_run(stream, Bodies::absent(count), true)?;
        }
    }

    fn contribute_run(&mut self, stream: StreamId, bodies: Bodies, is_partial: bool) -> Result<WaveNumber, SendError> {
        if self.is_succeeded() {
            return Err(SendError::Succeeded);
        }
        let (waves, bytes) = (self.options.window_waves, self.options.window_bytes);
        let Some(known) = self.streams.get_mut(&stream) else { return Err(SendError::NoStream(stream)) };
        let Some(rank) = self.role.rank().filter(|rank| known.opening.members.contains(*rank)) else {
            return Err(SendError::NoStream(stream));
        };
        if self.role.is_arriving() {
            return Err(SendError::Full);
        }
        let members = known.own_members(rank);
        let run = Run { stream, first: known.sent, members, is_fresh: true, is_partial, yields: None, bodies };
        if known.records.is_some() {
            return self.send_records(stream, run);
        }
        let ahead = known.kept.acknowledged().until(run.end());
        if ahead > waves || (known.kept.bytes() > 0 && known.kept.bytes() + run.bodies.size() > bytes) {
            known.traffic.stalls += 1;
            self.want_acknowledgement(stream);
            return Err(SendError::Full);
        }
        let wave = run.first;
        if known.standing.begin() {
            self.tell_participation(stream);
        }
        let Some(known) = self.streams.get(&stream) else { return Err(SendError::NoStream(stream)) };
        if known.filters_own && !is_partial {
            let members = Arc::clone(&run.members);
            self.combine(stream, vec![run], &members);
        } else {
            self.emit(run);
        }
        Ok(wave)
    }

    /// At a member: the wave that its next packet of a stream is part of.
    pub fn next_wave(&self, stream: StreamId) -> Option<WaveNumber> {
        let rank = self.role.rank()?;
        let stream = self.streams.get(&stream)?;
        stream.opening.members.contains(rank).then_some(stream.sent)
    }

    /// At a member: how many of its records of a stream the front-end has not taken, and their bytes.
    pub fn untaken(&self, stream: StreamId) -> (u64, usize) {
        let stream = self.streams.get(&stream);
        stream.map_or((0, 0), |stream| (stream.kept.acknowledged().until(stream.sent), stream.kept.bytes()))
    }

    /// At the front-end: the next waves of a stream that are whole; or the next records, if the stream has no waves.
    pub fn take_waves(&mut self, stream: StreamId) -> Option<Delivery> {
        if self.streams.get(&stream)?.records.is_some() {
            return self.take_records(stream);
        }
        loop {
            let (delivery, bytes) = self.streams.get_mut(&stream)?.deliver()?;
            self.report_missing_fields(stream);
            self.note_taken(stream, delivery.first.after(delivery.count), bytes);
            // Of waves to which nobody contributed anything there is nothing to tell.
            if delivery.bodies.as_ref().map_or(true, |bodies| !bodies.are_absent()) {
                return Some(delivery);
            }
        }
    }

    /// At the front-end: all waves before this one were taken; bytes of these since the last time.
    fn note_taken(&mut self, stream: StreamId, taken: WaveNumber, bytes: usize) {
        let Some(known) = self.streams.get_mut(&stream) else { return };
        known.taken_bytes += bytes;
        let waves = known.kept.acknowledged().until(taken);
        let is_due = known.is_eager
            || waves >= self.options.window_waves / 4
            || known.taken_bytes >= self.options.window_bytes / 8;
        if is_due {
            self.acknowledge(stream, taken);
        } else {
            known.taken = taken;
        }
    }

    /// At the front-end: how many contributions of each member came to waves of a stream that had been given out without it.
    pub fn late(&self, stream: StreamId) -> BTreeMap<u32, u64> {
        let ledger = self.streams.get(&stream).and_then(|stream| stream.ledger.as_ref());
        ledger.map(|ledger| ledger.overdue_by_rank().clone()).unwrap_or_default()
    }

    /// At the front-end: the members that the next wave of a stream waits for. Some of them may have contributed to it
    /// already, if others under the same node have not.
    pub fn missing(&self, stream: StreamId) -> RankSet {
        let ledger = self.streams.get(&stream).and_then(|stream| stream.ledger.as_ref());
        ledger.map(super::ledger::Ledger::missing).unwrap_or_default()
    }

    /// The children of this node that its next wave of a stream waits for.
    pub fn waits_for(&self, stream: StreamId) -> Vec<NodeId> {
        let waited_for = self.streams.get(&stream).into_iter().flat_map(|stream| stream.gathering.waits_for());
        waited_for.filter_map(|link| self.below.node_of(link)).collect()
    }

    /// How many of some children have to contribute at least before this node can do anything with that; of those it
    /// waits for. One where it does not wait.
    pub(crate) fn awaited(&self, is_counted: impl Fn(LinkId) -> bool) -> u32 {
        let mut fewest = None;
        for stream in self.streams.values() {
            if stream.records.is_some() || stream.patience.is_some() {
                return 1;
            }
            let missing = stream.gathering.waits_for().filter(|link| is_counted(*link)).count();
            if missing > 0 {
                fewest = fewest.into_iter().chain([missing]).min();
            }
        }
        fewest.map_or(1, |missing| missing as u32)
    }

    /// A child's contributions. Those of a member are within its window of bytes, of which some may have been acknowledged that
    /// this node has not heard of; what agents make of them may be larger.
    pub(super) fn run(&mut self, link: LinkId, run: Run, is_members: bool, now: Time) -> Result<(), String> {
        let window = self.options.window_waves;
        let allowed = if is_members { self.options.window_bytes.saturating_mul(2) } else { usize::MAX };
        let Some(stream) = self.streams.get_mut(&run.stream) else {
            self.drop_unopened(link, &run);
            return Ok(());
        };
        stream.check(&run, window).map_err(|cause| cause.to_string())?;
        if stream.records.is_some() {
            return self.records(link, run);
        }
        if stream.doubts(link, run.end(), window) {
            return Ok(());
        }
        let (id, end) = (run.stream, run.end());
        let is_late = stream.patience.is_some() && run.is_fresh && run.first < stream.gathering.out();
        if let Some(patience) = &mut stream.patience {
            patience.begin(end, now);
        }
        let alone = if run.is_fresh {
            stream.gathering.push(link, run, allowed).map_err(|cause| cause.to_string())?
        } else {
            Some(run)
        };
        if let Some(run) = alone {
            for run in stream.kept.unknown(run) {
                self.emit(Run { is_fresh: false, ..run });
            }
        }
        self.pump_up(id);
        self.settle(id);
        if is_late {
            self.tell_front(link, id, end);
        }
        Ok(())
    }

    /// A child has contributed to waves that went on without it, up to this one: it goes on with the first that nobody has
    /// contributed to. Of those before, which others have begun, the time may be over when it hears of it.
    fn tell_front(&mut self, link: LinkId, id: StreamId, end: WaveNumber) {
        let front = self.streams.get(&id).map(|stream| stream.gathering.front().max(stream.awaited()));
        if let Some(next) = front.filter(|front| *front > end) {
            self.send(link, Message::Begin { stream: id, next });
        }
    }

    /// Does not wait any longer for waves that have gone on.
    fn settle(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let awaited = stream.awaited();
        if let Some(patience) = &mut stream.patience {
            patience.settle(awaited);
        }
    }

    /// Goes on with waves whose time is over.
    pub(super) fn give_up_late(&mut self, now: Time) {
        for id in self.stream_ids() {
            let Some(stream) = self.streams.get_mut(&id) else { continue };
            let Some(until) = stream.patience.as_mut().and_then(|patience| patience.exhausted(now)) else { continue };
            stream.gathering.force(until);
            self.pump_up(id);
            let ledger = self.streams.get_mut(&id).and_then(|stream| stream.ledger.as_mut());
            for (wave, members) in ledger.map(|ledger| ledger.force(until)).unwrap_or_default() {
                self.report(Report::Late { stream: id, wave, members });
            }
            self.settle(id);
        }
    }

    /// Combines what is there of all who are waited for, and sends it on.
    pub(super) fn pump_up(&mut self, id: StreamId) {
        loop {
            let Some(stream) = self.streams.get_mut(&id) else { return };
            let Some(parts) = stream.gathering.ready() else { return self.skip_empty(id) };
            let members = stream.union_of(&parts);
            match &mut stream.ledger {
                Some(ledger) => ledger.add(parts, &members),
                None => self.combine(id, parts, &members),
            }
        }
    }

    /// Combines parts of the same waves, and sends on what comes of it.
    fn combine(&mut self, id: StreamId, mut parts: Vec<Run>, members: &Arc<RankSet>) {
        let place = self.role.filters();
        while let Some(first) = parts.first().map(|part| part.first) {
            let Some(stream) = self.streams.get_mut(&id) else { return };
            let until = match stream.combine(&parts, place) {
                Ok(bodies) => {
                    let until = first.after(bodies.len());
                    let members = Arc::clone(members);
                    self.emit(Run {
                        stream: id,
                        first,
                        members,
                        is_fresh: true,
                        is_partial: true,
                        yields: None,
                        bodies,
                    });
                    until
                }
                Err(error) => {
                    let until = first.after(1);
                    let wave = parts.iter().filter_map(|part| part.within(first..until)).collect();
                    self.emit_uncombined(id, wave, until, &error);
                    until
                }
            };
            parts = since(&parts, until);
        }
    }

    /// Tells the parent not to wait for waves that children of this node have sent by another way, or again.
    fn skip_empty(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if stream.gathering.skip_empty() {
            let next = stream.gathering.out();
            self.tell_next(id, next);
        }
    }

    /// Sends the parts of one wave on as they are.
    fn emit_uncombined(&mut self, id: StreamId, parts: Vec<Run>, next: WaveNumber, error: &TransformationError) {
        let wave = parts.first().map_or(WaveNumber(0), |part| part.first);
        self.uncombined(id, Direction::Up, wave, &error.to_string());
        for part in parts {
            self.emit(Run { is_fresh: false, ..part });
        }
        self.tell_next(id, next);
    }

    /// Tells the parent that nothing to be combined will come of waves before this one.
    fn tell_next(&mut self, id: StreamId, next: WaveNumber) {
        let Some(stream) = self.streams.get_mut(&id).filter(|stream| stream.ledger.is_none()) else { return };
        stream.sent = next;
        if stream.is_participating {
            self.send_up(Message::Participate { stream: id, next });
        }
    }

    /// Sends on, and keeps. At the front-end: enters into the book.
    fn emit(&mut self, run: Run) {
        let Some(stream) = self.streams.get_mut(&run.stream) else { return };
        if let Some(ledger) = &mut stream.ledger {
            let members = Arc::clone(&run.members);
            return ledger.add(vec![run], &members);
        }
        if stream.predecessor != Predecessor::None && run.is_fresh {
            return self.emit_beside_predecessor(run);
        }
        stream.kept.keep(&run);
        stream.traffic.up(&run);
        let gap = run.is_fresh && run.first != stream.sent;
        if run.is_fresh {
            stream.sent = run.end();
        }
        if stream.missing_fields.has_untold() {
            self.tell_missing_fields(run.stream);
        }
        if gap {
            self.send_up(Message::Participate { stream: run.stream, next: run.first });
        }
        self.send_up(Message::Run(run));
    }

    /// At a member that another process was before: what that may have contributed to, this one contributes to by itself.
    #[cold]
    fn emit_beside_predecessor(&mut self, run: Run) {
        let (id, end) = (run.stream, run.end());
        let own = self.own_succession();
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if stream.goes_alone(own.as_deref()) {
            self.emit(Run { is_fresh: false, ..run });
            self.streams.get_mut(&id).into_iter().for_each(|stream| stream.sent = end);
        } else {
            self.tell_participation(id);
            self.emit(run);
        }
    }

    /// A child is waited for from this wave on.
    pub(super) fn participate(&mut self, link: LinkId, id: StreamId, next: WaveNumber) -> Result<(), String> {
        let window = self.options.window_waves;
        let Some(stream) = self.streams.get_mut(&id) else { return Ok(()) };
        stream.check_ahead(next, window).map_err(|cause| cause.to_string())?;
        if stream.doubts(link, next, window) {
            return Ok(());
        }
        stream.gathering.participate(link, next);
        let acknowledged = stream.kept.acknowledged();
        let whole = stream.whole;
        // It has joined late, and may have heard of these before it heard of the stream.
        if next < acknowledged {
            self.send(link, Message::Acknowledge { stream: id, until: acknowledged });
        }
        if next < whole {
            self.send(link, Message::Begin { stream: id, next: whole });
        }
        self.tell_participation(id);
        self.pump_up(id);
        Ok(())
    }

    /// A child is not waited for.
    pub(super) fn withdraw(&mut self, link: LinkId, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.gathering.withdraw(link);
        self.pump(id);
    }

    /// Tells the parent whether to wait for this node, if that has changed.
    pub(super) fn tell_participation(&mut self, id: StreamId) {
        let (rank, is_attached) = (self.role.rank(), self.ascent.link().is_some());
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let is_member = rank.is_some_and(|rank| stream.opening.members.contains(rank));
        // Without waves nobody waits for anyone.
        let is_combined = is_member && stream.predecessor == Predecessor::None && stream.standing != Standing::Beginner;
        let participates = stream.records.is_none() && (is_combined || stream.gathering.has_participants());
        if !is_attached || participates == stream.is_participating {
            return;
        }
        stream.is_participating = participates;
        if !is_member {
            stream.sent = stream.sent.max(stream.gathering.out());
        }
        let message = match participates {
            true => Message::Participate { stream: id, next: stream.sent },
            false => Message::Withdraw(id),
        };
        self.send_up(message);
    }

    /// After the parent has changed: sends again what the front-end has not taken, and asks to be waited for.
    pub(super) fn resume_upwards(&mut self, id: StreamId) {
        if !self.role.is_member() && self.reliable_of(id).is_some() {
            self.streams.get_mut(&id).into_iter().for_each(|stream| stream.wants_acknowledgement = false);
            self.send_again_below(id);
        }
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let again: Vec<Run> = stream.kept.again().collect();
        let wants_acknowledgement = stream.wants_acknowledgement;
        stream.is_participating = false;
        stream.missing_fields.forget_told();
        self.tell_missing_fields(id);
        for run in again {
            self.send_up(Message::Run(run));
        }
        self.tell_participation(id);
        if self.streams.get(&id).is_some_and(|stream| !stream.is_participating) {
            // The parent may wait for this node because of whom it thinks is below.
            self.send_up(Message::Withdraw(id));
        }
        if wants_acknowledgement {
            self.send_up(Message::WantAcknowledgement(id));
        }
    }

    /// Someone below waits for an acknowledgement.
    pub(super) fn want_acknowledgement(&mut self, id: StreamId) {
        let is_front_end = self.role.is_front_end();
        if is_front_end && self.reliable_of(id).is_some() {
            return self.want_confirmation(id);
        }
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if is_front_end {
            stream.is_eager = true;
            let taken = stream.taken;
            self.acknowledge(id, taken);
        } else if !stream.wants_acknowledgement {
            stream.wants_acknowledgement = true;
            self.send_up(Message::WantAcknowledgement(id));
        }
    }

    /// The front-end has taken all waves before this one.
    pub(super) fn acknowledge(&mut self, id: StreamId, until: WaveNumber) {
        let Some(stream) = self.streams.get_mut(&id) else {
            // Whoever has just come hears of the stream after this.
            return self.unopened.note_acknowledged(id, until);
        };
        let is_news = !std::mem::replace(&mut stream.knows_acknowledged, true);
        let doubted = std::mem::take(&mut stream.doubted);
        for link in doubted.into_iter().filter(|link| stream.log.has_child(*link)).collect::<Vec<_>>() {
            self.send(link, Message::Again(id));
        }
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if until <= stream.kept.acknowledged() {
            if is_news {
                self.tell_acknowledged(id);
            }
            return;
        }
        stream.kept.acknowledge(until);
        // Whoever is still in need will say so again.
        stream.is_eager = false;
        stream.taken = stream.taken.max(until);
        stream.taken_bytes = 0;
        stream.wants_acknowledgement = false;
        for link in stream.log.children().collect::<Vec<_>>() {
            self.send(link, Message::Acknowledge { stream: id, until });
        }
        self.go_on_from(id, until);
    }

    /// Tells agents below what the front-end has taken, if it is known here: what members say of waves far ahead they can judge
    /// then.
    pub(super) fn tell_acknowledged(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get(&id) else { return };
        let Some(until) = stream.acknowledged().filter(|_| stream.records.is_none()) else { return };
        for link in stream.log.children().filter(|link| !self.is_member(*link)).collect::<Vec<_>>() {
            self.send(link, Message::Acknowledge { stream: id, until });
        }
    }

    /// Waves before this one are whole.
    pub(super) fn begin(&mut self, id: StreamId, next: WaveNumber) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return self.unopened.note_whole(id, next);
        };
        if next <= stream.whole {
            return;
        }
        stream.whole = next;
        for link in stream.log.children().collect::<Vec<_>>() {
            self.send(link, Message::Begin { stream: id, next });
        }
        self.go_on_from(id, next);
    }

    /// At a member that joined late, or was given up: waves before this one are over.
    fn go_on_from(&mut self, id: StreamId, wave: WaveNumber) {
        let is_member = self.role.is_member();
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let missed = stream.sent.until(wave);
        if is_member && missed > 0 {
            stream.sent = wave;
            stream.is_participating = false;
            self.report(Report::WavesMissed { stream: id, waves: missed, next: wave });
        }
        self.tell_participation(id);
    }
}

/// The tag of the record of the lowest rank among parts of a wave.
fn tag_of(parts: &[Run]) -> u32 {
    let present = parts.iter().filter(|part| !part.bodies.are_absent());
    present.min_by_key(|part| part.members.first()).map_or(0, |part| part.bodies.tag())
}

impl NodeStream {
    /// At the front-end: waves that are whole, and their bytes.
    fn deliver(&mut self) -> Option<(Delivery, usize)> {
        let WholeWaves { parts, members, missing } = self.ledger.as_mut()?.take()?;
        let bodies = self.combine(&parts, FilterRole::Root);
        let first = parts.first()?.first;
        let count = bodies.as_ref().map_or(1, Bodies::len);
        let rest = since(&parts, first.after(count));
        let bytes = |parts: &[Run]| parts.iter().map(|part| part.bodies.size()).sum::<usize>();
        let taken = bytes(&parts) - bytes(&rest);
        let rest = WholeWaves { parts: rest, members: Arc::clone(&members), missing: missing.clone() };
        self.ledger.as_mut()?.put_back(rest);
        let stream = self.opening.stream;
        Some((Delivery { stream, first, count, members, missing, yields: None, bodies }, taken))
    }

    /// Combines the contributions of those who contribute something.
    fn combine(&mut self, parts: &[Run], place: FilterRole) -> Result<Bodies, TransformationError> {
        let combined = if parts.iter().any(|part| part.bodies.are_absent()) {
            let present: Vec<Run> = parts.iter().filter(|part| !part.bodies.are_absent()).cloned().collect();
            match (parts, &present[..]) {
                ([absent, ..], []) => Ok(absent.bodies.clone()),
                (_, present) => self.transformation.combine(present, place),
            }
        } else {
            self.transformation.combine(parts, place)
        };
        self.missing_fields.note_own(self.transformation.missing_fields());
        combined.map(|bodies| bodies.tagged(tag_of(parts)))
    }

    fn own_members(&mut self, rank: u32) -> Arc<RankSet> {
        Arc::clone(self.own.get_or_insert_with(|| Arc::new(RankSet::from_iter([rank]))))
    }

    /// What a child may not do.
    fn check(&self, run: &Run, window: u64) -> Result<(), Violation> {
        if run.members.is_empty() || !run.members.is_subset(&self.opening.members) {
            return Err(Violation::Strangers);
        }
        if self.records.is_some() {
            return Ok(());
        }
        if run.yields.is_some() {
            return Err(Violation::Yields);
        }
        self.check_ahead(run.end(), window)
    }

    /// The first wave that the front-end has not taken, if that is known here.
    pub(super) fn acknowledged(&self) -> Option<WaveNumber> {
        self.knows_acknowledged.then(|| self.kept.acknowledged())
    }

    /// A child may have heard of an acknowledgement that is still on its way here from another side, so it is allowed
    /// twice the window. As long as this node has heard of none it [cannot tell](Self::doubts).
    fn check_ahead(&self, until: WaveNumber, window: u64) -> Result<(), Violation> {
        let ahead = self.kept.acknowledged().until(until);
        if self.knows_acknowledged && ahead > 2 * window {
            return Err(Violation::TooFarAhead { until, ahead, allowed: 2 * window });
        }
        Ok(())
    }

    /// Whether a child speaks of waves so far ahead that only who knows what the front-end has taken can tell whether it may.
    /// The parent tells what it has taken with the stream, or as soon as it knows that there is a member below. Then the child
    /// is asked to say it again.
    fn doubts(&mut self, link: LinkId, until: WaveNumber, window: u64) -> bool {
        let is_far = !self.knows_acknowledged && self.kept.acknowledged().until(until) > 2 * window;
        if is_far && self.log.has_child(link) {
            self.doubted.insert(link);
        }
        is_far
    }
}

/// The waves of these parts from one on.
fn since(parts: &[Run], first: WaveNumber) -> Vec<Run> {
    parts.iter().filter_map(|part| part.within(first..part.end())).collect()
}

/// Stands for a transformation that this node does not know: everything goes on one by one.
pub(super) struct Uncombinable(pub(super) TransformationError);

impl Transformation for Uncombinable {
    fn combine(&mut self, _: &[Run], _: FilterRole) -> Result<Bodies, TransformationError> {
        Err(self.0.clone())
    }

    fn sift(&mut self, _: &Run, _: FilterRole) -> Result<Run, TransformationError> {
        Err(self.0.clone())
    }
}
