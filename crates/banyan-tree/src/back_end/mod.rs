//! The member's side of a network: receive from any stream, send on any.
//!
//! Everything happens in the caller's thread, while it is in one of these calls. Records that are sent one after the
//! other travel together; [`flush`](BackEnd::flush) before computing for long.

mod intervals;

use std::fmt;
use std::ops::Bound;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use banyan_boot::{JoinError, Member, Ticket, TicketError, extension_socket};
use banyan_clock::Estimate;
use banyan_link::{Deadline, Event, Link, Slabs};
use banyan_ndr::{DynRecord, Format, Record};
use banyan_reduce::{Alignment, Bodies};

use crate::combiner::Combiners;
use crate::driver::{Credentials, Driver, Invited, Note, NoteError, silent_links};
use crate::error::{TreeError, unfiltered};
use crate::format_book::{FormatBook, MOST_OF_MEMBER, SentFormats};
use crate::ids::{Level, StreamId, WaveNumber};
use crate::incoming::Incoming;
use crate::invitation::Invitation;
use crate::node::{Node, Received, Report, SendError, StreamCounters};
use crate::pending::{Body, Pending, ToSend, Typed, check_body};
use crate::record_reader::SharedReader;
use crate::registered_filters::registered_filters;
use crate::reports::Reports;
use crate::sorted::SortedMap;
use crate::wire::INVITATION;

/// How long an agent may take to invite a member it has started.
const INVITATION_TIME: Duration = Duration::from_secs(30);

/// How much longer than the front-end waits for those who are adrift a member looks for a parent.
const ADRIFT_TIMES: u32 = 2;

/// A member that only sends listens to its agent so often: it has to hear, too, that the agent is gone.
const LISTENS: Duration = Duration::from_millis(4);

/// How long a member that leaves waits for the front-end to have room for what it has sent.
const LAST_RECORDS: Duration = Duration::from_secs(1);

/// A process that takes part in a network as a member.
pub struct BackEnd {
    driver: Driver,
    reader: Arc<SharedReader>,
    invited: Invited,
    pending: SortedMap<StreamId, Pending>,
    /// The formats of what was sent.
    sent_formats: SentFormats,
    /// What its links receive into and send from.
    slabs: Slabs,
    /// Streams whose waves are intervals.
    aligned: SortedMap<StreamId, Alignment>,
    /// The tags of the records of their intervals that have begun: of each the first.
    interval_tags: SortedMap<StreamId, u32>,
    /// Their intervals that are complete and found no room.
    complete: SortedMap<StreamId, (WaveNumber, Bodies)>,
    combiners: Arc<Combiners>,
    /// The stream that was looked at last: the others have their turn first.
    last: StreamId,
    patience: Duration,
    events: Reports,
    is_over: bool,
    /// Whether that is because another process is this member now.
    is_succeeded: bool,
    /// Whether nothing is left to send, or nobody waits for that any more.
    has_left: bool,
    /// Its part in the session, if nobody of the session has started this process: held as long as it takes part.
    _attached: Option<Member>,
}

impl BackEnd {
    /// Joins the network whose agent has started this process; or the one that `BANYAN_INVITATION` is an [`Invitation`]
    /// to; or the one that `BANYAN_TICKET` is a [`Ticket`] for.
    ///
    /// # Errors
    /// When no agent of a network has started this process and there is no ticket, or it has joined before.
    pub fn join() -> Result<BackEnd, TreeError> {
        BackEnd::join_timeout(Deadline::NEVER)
    }

    /// As [`join`](Self::join), but waits no longer than the limit. Without a limit it waits for half a minute for its agent,
    /// or for each agent that it asks to let it in.
    ///
    /// # Errors
    /// As [`join`](Self::join), and when no agent answers before the limit.
    pub fn join_timeout(limit: impl Into<Deadline>) -> Result<BackEnd, TreeError> {
        let limit = limit.into();
        let socket = match extension_socket() {
            Ok(socket) => socket,
            Err(JoinError::NoExtension) => {
                if let Some(invitation) = Invitation::from_env()? {
                    return BackEnd::replace_timeout(&invitation, limit);
                }
                return match Ticket::from_env() {
                    Ok(ticket) => BackEnd::attach_timeout(&ticket, limit),
                    Err(TicketError::Missing) => Err(JoinError::NoExtension.into()),
                    Err(error) => Err(JoinError::from(error).into()),
                };
            }
            Err(error) => return Err(error.into()),
        };
        let slabs = Slabs::new();
        let options = silent_links(INVITATION_TIME).slabs(slabs.clone());
        let mut link = Link::inherited(socket, &options);
        let note = invitation(&mut link, limit)?;
        link.set_silence(note.members_silence());
        let mut back_end = BackEnd::of(&note, Some(link), None, slabs)?;
        back_end.turn(Some(Instant::now()))?;
        Ok(back_end)
    }

    /// Joins the network of a ticket, as any member that nobody is yet: of this host, if an agent is there. What was sent
    /// on its streams before is over for this member.
    ///
    /// # Errors
    /// When no agent waits for members, or none of the network takes this one in.
    pub fn attach(ticket: &Ticket) -> Result<BackEnd, TreeError> {
        BackEnd::attach_timeout(ticket, Deadline::NEVER)
    }

    /// As [`attach`](Self::attach), but waits no longer than the limit.
    ///
    /// # Errors
    /// As [`attach`](Self::attach), and when nobody has taken this member in before the limit.
    pub fn attach_timeout(ticket: &Ticket, limit: impl Into<Deadline>) -> Result<BackEnd, TreeError> {
        let limit = limit.into();
        let member = Member::attach_timeout(ticket, limit)?;
        if member.note().is_empty() {
            return Err(TreeError::Invitation("its session has no network".into()));
        }
        let note = read_invitation(member.note())?;
        BackEnd::of(&note, None, Some(member), Slabs::new())?.taken_in(limit)
    }

    /// Takes the place of a member that is lost, with its rank. What was sent on its streams before is over for this
    /// process; waves that the one before it has contributed to are not contributed to again.
    ///
    /// # Errors
    /// When no node of the network takes this one in.
    pub fn replace(invitation: &Invitation) -> Result<BackEnd, TreeError> {
        BackEnd::replace_timeout(invitation, Deadline::NEVER)
    }

    /// As [`replace`](Self::replace), but waits no longer than the limit.
    ///
    /// # Errors
    /// As [`replace`](Self::replace), and when nobody has taken this member in before the limit.
    pub fn replace_timeout(invitation: &Invitation, limit: impl Into<Deadline>) -> Result<BackEnd, TreeError> {
        BackEnd::of(&invitation.note, None, None, Slabs::new())?.taken_in(limit.into())
    }

    /// Waits until some node is the parent.
    fn taken_in(mut self, deadline: Deadline) -> Result<BackEnd, TreeError> {
        let deadline = until(deadline);
        while self.driver.node().parent().is_none() {
            match self.wait(Some(deadline)) {
                Err(TreeError::TimedOut) => return Err(TreeError::Invitation("nobody took this member in".into())),
                waited => waited?,
            }
        }
        Ok(self)
    }

    /// The member that a note is for, with its link to the agent that has started it.
    fn of(note: &Note, inherited: Option<Link>, attached: Option<Member>, slabs: Slabs) -> Result<BackEnd, TreeError> {
        let invited = note.member.ok_or_else(|| TreeError::Invitation("it does not say who this member is".into()))?;
        let formats = FormatBook::new();
        let combiners = Arc::new(Combiners::new(registered_filters(), formats.clone()));
        let reader = Arc::new(SharedReader::new(formats.clone()));
        let (options, ancestry) = (note.options.clone(), note.ancestry());
        // Members never have children: any agent may take them in, however deep it is.
        let node = Node::below(invited.node, Some(invited.rank), Level::LOWEST, ancestry, options, combiners.clone());
        let node = node.in_life(invited.life);
        let mut driver = Driver::new(node, formats, Credentials::member(note, slabs.clone()))?;
        driver.learn_addresses(note.addresses());
        if let (Some(parent), Some(link)) = (note.above.first(), inherited) {
            driver.inherit_parent(parent.node, link);
        }
        Ok(BackEnd {
            driver,
            reader,
            invited,
            pending: SortedMap::new(),
            sent_formats: SentFormats::default(),
            slabs,
            aligned: SortedMap::new(),
            interval_tags: SortedMap::new(),
            complete: SortedMap::new(),
            combiners,
            last: StreamId::CONTROL,
            patience: note.options.adrift * ADRIFT_TIMES,
            events: Reports::default(),
            is_over: false,
            is_succeeded: false,
            has_left: false,
            _attached: attached,
        })
    }

    /// This member's number, from 0.
    pub fn rank(&self) -> u32 {
        self.invited.rank
    }

    /// Number of members that the network was made with.
    pub fn size(&self) -> u32 {
        self.invited.size
    }

    /// Waits for the next record, of whatever stream. What was sent before goes out first, as far as the front-end has
    /// room for it, and the rest when it has.
    ///
    /// # Errors
    /// When a filter on the way could make nothing of the record, or the network ends.
    pub fn recv(&mut self) -> Result<Incoming, TreeError> {
        self.recv_timeout(Deadline::NEVER)
    }

    /// As [`recv`](Self::recv), but waits no longer than the limit.
    ///
    /// # Errors
    /// As [`recv`](Self::recv), and [`TreeError::TimedOut`] after the limit.
    pub fn recv_timeout(&mut self, limit: impl Into<Deadline>) -> Result<Incoming, TreeError> {
        let deadline = limit.into().instant();
        loop {
            let has_sent = self.offer_all()?;
            if let Some(incoming) = self.take() {
                if has_sent {
                    self.set_going()?;
                }
                return incoming;
            }
            self.wait(deadline)?;
        }
    }

    /// The next record that has come already, if there is one.
    ///
    /// # Errors
    /// When a filter on the way could make nothing of the record, or the network has ended.
    pub fn try_recv(&mut self) -> Result<Option<Incoming>, TreeError> {
        self.ensure_member()?;
        if let Some(incoming) = self.take() {
            return incoming.map(Some);
        }
        self.offer_all()?;
        self.turn(Some(Instant::now()))?;
        self.ensure_member()?;
        match self.take() {
            None if self.is_over => Err(self.end()),
            None => {
                self.driver.set_alarm();
                Ok(None)
            }
            Some(incoming) => incoming.map(Some),
        }
    }

    /// Waits for what no record tells: records that this member has missed ([`Report::Skipped`]), waves that went on without
    /// it ([`Report::WavesMissed`]), or a filter of its own that failed ([`Report::Uncombined`]). Of events that nobody has
    /// asked for in time only the number is known ([`Report::Dropped`]).
    ///
    /// # Errors
    /// When the network has ended and every event was taken.
    pub fn recv_event(&mut self) -> Result<Report, TreeError> {
        self.recv_event_timeout(Deadline::NEVER)
    }

    /// As [`recv_event`](Self::recv_event), but waits no longer than the limit.
    ///
    /// # Errors
    /// As [`recv_event`](Self::recv_event), and [`TreeError::TimedOut`] after the limit.
    pub fn recv_event_timeout(&mut self, limit: impl Into<Deadline>) -> Result<Report, TreeError> {
        let deadline = limit.into().instant();
        loop {
            if let Some(report) = self.try_recv_event()? {
                return Ok(report);
            }
            self.offer_all()?;
            self.wait(deadline)?;
        }
    }

    /// The event that has come already, if there is one.
    ///
    /// # Errors
    /// As [`recv_event`](Self::recv_event).
    pub fn try_recv_event(&mut self) -> Result<Option<Report>, TreeError> {
        self.driver.prepare(None);
        self.note_reports();
        if let Some(report) = self.events.pop() {
            return Ok(Some(report));
        }
        if !self.is_over {
            self.turn(Some(Instant::now()))?;
        }
        match self.events.pop() {
            None if self.is_over => Err(self.end()),
            None => {
                self.driver.set_alarm();
                Ok(None)
            }
            report => Ok(report),
        }
    }

    /// The front-end's clock as seen from here: how far it is ahead of this process's `CLOCK_MONOTONIC`, how fast that
    /// changes, and a bound on the error. `None` until this member has heard of it, soon after it has joined.
    ///
    /// What is known was true when the node above last said so. [`Estimate::at`] gives any other time, with a bound that
    /// grows with the distance. While this member takes part it keeps the estimate up to date, about once a second; it does
    /// so as long as this is called from time to time.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let monotonic_time_of_event = 0;
    /// let mut back_end = banyan_tree::BackEnd::join()?;
    /// back_end.recv()?;
    /// if let Some(clock) = back_end.clock() {
    ///     let then = clock.at(monotonic_time_of_event);
    ///     println!("{} ± {} ns", monotonic_time_of_event + then.offset(), then.bound());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn clock(&mut self) -> Option<Estimate> {
        self.driver.front_end_clock()
    }

    /// What this member has sent, dropped and not been able to send on a stream; `None` if the stream is not open here.
    pub fn counters(&self, stream: StreamId) -> Option<StreamCounters> {
        self.driver.node().stream_counters(stream)
    }

    /// Sends a record on a stream: this member's part of the stream's next wave. Waits while the front-end is too far
    /// behind. The number is that of the wave ([`Wave::number`](crate::Wave::number) at the front-end), of the interval, or of
    /// the record itself on a stream without waves.
    ///
    /// A member that was never given up or late contributes its k-th record to wave k. One that was goes on with a later wave
    /// ([`Report::WavesMissed`]). If the wave is over before the record has gone, the record is dropped, and counted
    /// ([`StreamCounters::overdue`](crate::StreamCounters::overdue)).
    ///
    /// Small records are held back until there are many or some milliseconds have passed at a later call, and go
    /// with [`flush`](Self::flush) and [`recv`](Self::recv).
    ///
    /// # Errors
    /// When this member has no part in the stream, the record cannot be encoded, is of an interval that is over or far ahead, or
    /// the network has ended. A stream that the front-end has closed is no error, because it may do so at any time: the record is
    /// dropped, and counted ([`dropped_for_closed`](Self::dropped_for_closed)).
    pub fn send<R: Record>(&mut self, stream: StreamId, record: &R) -> Result<WaveNumber, TreeError> {
        self.send_timeout(stream, record, Deadline::NEVER)
    }

    /// As [`send`](Self::send), but waits no longer than the limit. If there is no room by then for what this member has sent
    /// before, the record is not sent. A record that is sent may be held back, and goes when there is room.
    ///
    /// # Errors
    /// As [`send`](Self::send), and [`TreeError::FrontEndBehind`] when there is no room before the limit: the record is not sent.
    pub fn send_timeout<R: Record>(
        &mut self,
        stream: StreamId,
        record: &R,
        limit: impl Into<Deadline>,
    ) -> Result<WaveNumber, TreeError> {
        self.send_any(stream, &Typed(record), limit.into())
    }

    /// As [`send`](Self::send), a record without a compiled type.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_dyn(&mut self, stream: StreamId, record: &DynRecord) -> Result<WaveNumber, TreeError> {
        self.send_dyn_timeout(stream, record, Deadline::NEVER)
    }

    /// As [`send_dyn`](Self::send_dyn), but waits no longer than the limit, as [`send_timeout`](Self::send_timeout) does.
    ///
    /// # Errors
    /// As [`send_timeout`](Self::send_timeout).
    pub fn send_dyn_timeout(
        &mut self,
        stream: StreamId,
        record: &DynRecord,
        limit: impl Into<Deadline>,
    ) -> Result<WaveNumber, TreeError> {
        let body = record.to_body()?;
        self.send_any(stream, &Body(&record.format, &body), limit.into())
    }

    /// As [`send`](Self::send), the body of a record with its format. The body is checked like input from outside.
    ///
    /// # Errors
    /// As [`send`](Self::send), and [`TreeError::Body`] when the body is not a record of the format.
    pub fn send_body(&mut self, stream: StreamId, format: &Format, body: &[u8]) -> Result<WaveNumber, TreeError> {
        self.send_body_timeout(stream, format, body, Deadline::NEVER)
    }

    /// As [`send_body`](Self::send_body), but waits no longer than the limit, as [`send_timeout`](Self::send_timeout) does.
    ///
    /// # Errors
    /// As [`send_body`](Self::send_body), and as [`send_timeout`](Self::send_timeout).
    pub fn send_body_timeout(
        &mut self,
        stream: StreamId,
        format: &Format,
        body: &[u8],
        limit: impl Into<Deadline>,
    ) -> Result<WaveNumber, TreeError> {
        check_body(format, body)?;
        self.send_any(stream, &Body(format, body), limit.into())
    }

    /// Sends a record of whatever kind, unless the front-end has closed the stream.
    pub(crate) fn send_any(
        &mut self,
        stream: StreamId,
        record: &impl ToSend,
        limit: Deadline,
    ) -> Result<WaveNumber, TreeError> {
        match self.send_open(stream, record, limit.instant()) {
            Err(TreeError::NoStream(closed)) if closed == stream => {
                self.aligned.remove(&stream);
                self.pending.remove(&stream);
                let dropped = self.driver.node_mut().drop_for_closed(stream, 1);
                dropped.ok_or(TreeError::NoStream(stream))
            }
            sent => sent,
        }
    }

    /// Records that this member has sent on streams after the front-end had closed them.
    pub fn dropped_for_closed(&self) -> u64 {
        self.driver.node().dropped_for_closed()
    }

    /// Sends a record on a stream that is open.
    fn send_open(
        &mut self,
        stream: StreamId,
        record: &impl ToSend,
        deadline: Option<Instant>,
    ) -> Result<WaveNumber, TreeError> {
        self.ensure_member()?;
        let format = record.format();
        if self.aligns(stream)? {
            return self.align(stream, record, deadline);
        }
        if deadline.is_some() && self.pending.get(&stream).is_some_and(Pending::is_refused) {
            self.contribute(stream, deadline)?;
        }
        if self.pending.get(&stream).is_none_or(|pending| !pending.takes(format.id(), record.tag())) {
            self.change_format(stream, format, deadline)?;
            self.pending.insert(stream, Pending::new(format.id(), self.slabs.clone()).tagged(record.tag()));
        }
        let is_due = self.pending.get(&stream).is_some_and(Pending::is_due);
        if is_due {
            // First of all, so that the record is of a wave that is not over.
            self.listen()?;
        }
        let wave = self.wave_of_next(stream)?;
        let Some(pending) = self.pending.get_mut(&stream) else { return Err(TreeError::NoStream(stream)) };
        record.add_to(pending)?;
        if is_due || pending.is_full() {
            self.contribute_or_hold(stream, deadline)?;
            self.driver.prepare(None);
            if self.is_over {
                return Err(self.end());
            }
        }
        Ok(wave)
    }

    /// The wave of the record that is sent next on a stream.
    fn wave_of_next(&mut self, stream: StreamId) -> Result<WaveNumber, TreeError> {
        let next = self.driver.node().next_wave(stream).ok_or(TreeError::NoStream(stream))?;
        let pending = self.pending.get_mut(&stream).ok_or(TreeError::NoStream(stream))?;
        let wave = pending.next_wave(next);
        if wave >= next {
            return Ok(wave);
        }
        // What waits is for waves that are over: it is dropped, and this one begins anew.
        self.contribute(stream, None)?;
        Ok(self.pending.get_mut(&stream).map_or(next, |pending| pending.next_wave(next)))
    }

    fn change_format(&mut self, stream: StreamId, format: &Format, deadline: Option<Instant>) -> Result<(), TreeError> {
        if self.driver.node().next_wave(stream).is_none() {
            return Err(TreeError::NoStream(stream));
        }
        self.contribute(stream, deadline)?;
        if !self.sent_formats.has_room_for(format) {
            return Err(TreeError::Formats { rank: self.rank(), most: MOST_OF_MEMBER });
        }
        self.driver.formats().learn(format)?;
        self.sent_formats.add(format);
        Ok(())
    }

    /// Sends everything that was held back, and returns when the system has taken it.
    ///
    /// # Errors
    /// When the network has ended.
    pub fn flush(&mut self) -> Result<(), TreeError> {
        self.flush_timeout(Deadline::NEVER)
    }

    /// As [`flush`](Self::flush), but waits no longer than the limit. What has not gone by then goes later.
    ///
    /// # Errors
    /// When the network has ended, [`TreeError::FrontEndBehind`] when there is no room for what was sent before the limit,
    /// and [`TreeError::TimedOut`] when the system has not taken all of it.
    pub fn flush_timeout(&mut self, limit: impl Into<Deadline>) -> Result<(), TreeError> {
        let deadline = limit.into().instant();
        self.hand_over(deadline)?;
        while self.driver.has_unsent() {
            self.wait(deadline)?;
        }
        Ok(())
    }

    /// Says anything to the parent, and listens to nothing, as a hostile program might that speaks the protocol by itself: for
    /// tests of what agents refuse.
    #[doc(hidden)]
    pub fn say(&mut self, message: crate::Message, formats: &[Format]) -> Result<(), TreeError> {
        formats.iter().try_for_each(|format| self.driver.formats().learn(format))?;
        self.driver.node_mut().send_up(message);
        self.driver.prepare(None);
        Ok(())
    }

    /// As [`say`](Self::say), a frame of any kind.
    #[doc(hidden)]
    pub fn say_frame(&mut self, frame: banyan_link::Frame) {
        self.driver.send_frame_up(frame);
    }

    /// The socket to the parent, for what no program would write there by itself.
    #[doc(hidden)]
    pub fn parent_socket(&self) -> Option<std::os::fd::OwnedFd> {
        self.driver.parent_socket()
    }

    /// Leaves the network when the system has taken everything that was sent, intervals that have begun included, for which the
    /// front-end may have to make room first.
    ///
    /// A member that is only dropped waits for a second for that, and what is left then is lost: whoever has something to lose
    /// leaves by this, or by [`leave_timeout`](Self::leave_timeout) with as much time as that is worth.
    ///
    /// # Errors
    /// When the records of an interval cannot be put together, or the network has ended: what is left is lost then.
    pub fn leave(self) -> Result<(), TreeError> {
        self.leave_timeout(Deadline::NEVER)
    }

    /// As [`leave`](Self::leave), but waits no longer than the limit.
    ///
    /// # Errors
    /// As [`leave`](Self::leave); after the limit also [`TreeError::TimedOut`] or [`TreeError::FrontEndBehind`], and what is
    /// left is lost.
    pub fn leave_timeout(mut self, limit: impl Into<Deadline>) -> Result<(), TreeError> {
        let deadline = limit.into().instant();
        self.has_left = true;
        let intervals: Vec<StreamId> = self.aligned.keys().copied().collect();
        let mut finished = Ok(());
        for stream in intervals {
            match self.finish_interval_by(stream, deadline) {
                // Nobody waits for what belongs to a stream that was closed.
                Ok(()) | Err(TreeError::NoStream(_)) => {}
                Err(error) => finished = finished.and(Err(error)),
            }
        }
        self.hand_over(deadline)?;
        // Without a parent, what the last one had goes to the next.
        while self.driver.has_unsent() || self.driver.adrift() > Duration::ZERO {
            self.wait(deadline)?;
        }
        finished
    }

    /// Gives everything that was held back to the links; waits until the front-end has room for it.
    fn hand_over(&mut self, deadline: Option<Instant>) -> Result<(), TreeError> {
        let has_sent = self.offer_all()?;
        let mut has_looked = false;
        while let Some(stream) = self.due_after(None).or_else(|| self.complete.keys().next().copied()) {
            self.wait_for_room(stream, deadline, &mut has_looked)?;
            self.offer_all()?;
        }
        if has_sent { self.set_going() } else { Ok(()) }
    }

    /// Gives what was held back to the node, as far as there is room for it; whether there was anything.
    fn offer_all(&mut self) -> Result<bool, TreeError> {
        self.ensure_member()?;
        let mut last = None;
        while let Some(stream) = self.due_after(last) {
            self.offer(stream)?;
            last = Some(stream);
        }
        let complete: Vec<StreamId> = self.complete.keys().copied().collect();
        for stream in &complete {
            match self.offer_complete(*stream) {
                // It was closed meanwhile: nobody waits for this interval.
                Ok(_) | Err(TreeError::NoStream(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(last.is_some() || !complete.is_empty())
    }

    /// The next stream of which something was held back.
    fn due_after(&self, last: Option<StreamId>) -> Option<StreamId> {
        let rest = self.pending.range((last.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded));
        rest.filter(|(_, pending)| !pending.is_empty()).map(|(stream, _)| *stream).next()
    }

    /// Hands what was held back of a stream to the node; waits until the front-end has taken so much that there is room.
    fn contribute(&mut self, stream: StreamId, deadline: Option<Instant>) -> Result<(), TreeError> {
        let mut has_looked = false;
        while !self.offer(stream)? {
            self.wait_for_room(stream, deadline, &mut has_looked)?;
        }
        Ok(())
    }

    /// As [`contribute`](Self::contribute); what there is no room for before the deadline is held back.
    fn contribute_or_hold(&mut self, stream: StreamId, deadline: Option<Instant>) -> Result<(), TreeError> {
        match self.contribute(stream, deadline) {
            Err(TreeError::FrontEndBehind { .. }) => Ok(()),
            contributed => contributed,
        }
    }

    /// Waits until the front-end may have taken something of a stream. What has come by the deadline counts, so there is one
    /// look in any case.
    fn wait_for_room(
        &mut self,
        stream: StreamId,
        deadline: Option<Instant>,
        has_looked: &mut bool,
    ) -> Result<(), TreeError> {
        if self.is_over {
            return Err(self.end());
        }
        if *has_looked && deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            let (records, bytes) = self.driver.node().untaken(stream);
            return Err(TreeError::FrontEndBehind { stream, records, bytes });
        }
        *has_looked = true;
        self.turn(deadline)
    }

    /// Hands what was held back of a stream to the node; false if there is no room for all of it.
    fn offer(&mut self, stream: StreamId) -> Result<bool, TreeError> {
        while let Some(pending) = self.pending.get_mut(&stream)
            && let Some((first, bodies)) = pending.take()
        {
            match self.driver.node_mut().contribute_from(stream, first, &bodies) {
                Ok(()) => {}
                Err(SendError::Full) => {
                    pending.refuse(first, bodies);
                    return Ok(false);
                }
                Err(SendError::Succeeded) => return Err(TreeError::Succeeded { rank: self.rank() }),
                // It was closed meanwhile: nobody waits for these.
                Err(_) => {
                    self.driver.node_mut().drop_for_closed(stream, bodies.len());
                    self.pending.remove(&stream);
                }
            }
        }
        Ok(true)
    }

    /// Sends what the node has to send, and now and then takes what has come.
    fn set_going(&mut self) -> Result<(), TreeError> {
        self.driver.prepare(None);
        self.listen()
    }

    /// Now and then takes what has come: who only sends has to hear, too, which waves are over, and that its agent is gone.
    fn listen(&mut self) -> Result<(), TreeError> {
        if self.driver.unheard() < LISTENS { Ok(()) } else { self.turn(Some(Instant::now())) }
    }

    fn take(&mut self) -> Option<Result<Incoming, TreeError>> {
        let first = self.driver.node().stream_after(self.last)?;
        let mut stream = first;
        loop {
            if let Some(Received { stream, tag, record }) = self.driver.node_mut().take_packet(stream) {
                self.last = stream;
                let unfiltered = |error| unfiltered(stream, tag, error);
                let reader = Arc::clone(&self.reader);
                return Some(
                    record.map(|(format, body)| Incoming { stream, tag, format, body, reader }).map_err(unfiltered),
                );
            }
            stream = self.driver.node().stream_after(stream).filter(|stream| *stream != first)?;
        }
    }

    fn wait(&mut self, deadline: Option<Instant>) -> Result<(), TreeError> {
        if self.is_over {
            return Err(self.end());
        }
        if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return Err(TreeError::TimedOut);
        }
        self.turn(deadline)
    }

    fn turn(&mut self, deadline: Option<Instant>) -> Result<(), TreeError> {
        self.driver.turn(deadline)?;
        self.note_reports();
        self.is_over |= self.driver.is_front_end_gone() || self.driver.adrift() > self.patience;
        Ok(())
    }

    /// Why there is nothing more to be had.
    fn end(&self) -> TreeError {
        if self.is_succeeded { TreeError::Succeeded { rank: self.rank() } } else { TreeError::Ended }
    }

    /// One whose place another process has taken neither gets nor gives anything any more, not even what has come before.
    fn ensure_member(&self) -> Result<(), TreeError> {
        if self.is_succeeded { Err(self.end()) } else { Ok(()) }
    }

    fn note_reports(&mut self) {
        while let Some(report) = self.driver.report() {
            self.is_succeeded |= report == Report::Succeeded;
            self.is_over |= matches!(report, Report::Over | Report::Succeeded);
            self.events.push(report);
        }
    }
}

/// Ready to read when [`try_recv`](BackEnd::try_recv) should be called: there may be something to receive, or a time is over
/// that the member waits for. Whoever sleeps on it may do so without a limit, once `try_recv` has found nothing.
impl AsFd for BackEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.driver.poller().as_fd()
    }
}

impl fmt::Debug for BackEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackEnd").field("rank", &self.rank()).field("node", self.driver.node()).finish_non_exhaustive()
    }
}

/// The last resort: [`leave`](BackEnd::leave) says what went wrong.
impl Drop for BackEnd {
    fn drop(&mut self) {
        if self.has_left {
            return;
        }
        let deadline = Instant::now() + LAST_RECORDS;
        let intervals: Vec<StreamId> = self.aligned.keys().copied().collect();
        for stream in intervals {
            // Nobody is left to tell of an error.
            let _ = self.finish_interval_by(stream, Some(deadline));
        }
        // What was sent is sent. The rest of the network hears by the end of the socket that this member has gone.
        let _ = self.hand_over(Some(deadline));
        self.driver.finish(deadline.saturating_duration_since(Instant::now()));
    }
}

fn read_invitation(bytes: &[u8]) -> Result<Note, TreeError> {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    text.parse().map_err(|error: NoteError| TreeError::Invitation(error.to_string()))
}

/// When a member stops to wait for an agent.
fn until(deadline: Deadline) -> Instant {
    let latest = Instant::now() + INVITATION_TIME;
    deadline.instant().map_or(latest, |deadline| deadline.min(latest))
}

/// The first thing that an agent says.
fn invitation(link: &mut Link, deadline: Deadline) -> Result<Note, TreeError> {
    let (begun, deadline) = (Instant::now(), until(deadline));
    let wrong = |why: String| Err(TreeError::Invitation(why));
    loop {
        match link.wait(Some(deadline)) {
            Some(Event::Frame(frame)) if frame.kind == INVITATION => {
                link.release(frame.cost());
                return read_invitation(&frame.payload);
            }
            Some(Event::Opened(_)) => {}
            Some(Event::Frame(frame)) => return wrong(format!("it sent a frame of kind {}", frame.kind.number())),
            Some(Event::Closed) => return wrong("it has gone".into()),
            Some(Event::Lost(error)) => return wrong(error.to_string()),
            None if Instant::now() < deadline => {}
            None => return wrong(format!("it was silent for {:.1} s", begun.elapsed().as_secs_f64())),
        }
    }
}
