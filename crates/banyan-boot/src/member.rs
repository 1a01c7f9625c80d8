//! The member's side of a session: join, collectives, user data.
//!
//! Everything happens in the caller's thread: a member has one link, to the agent of its host, and no other thread.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use banyan_link::shared::SharedError;
use banyan_link::{Deadline, Event, Frame, Link, LinkError, SecretBytes, SessionId};
use banyan_ndr::Record;
use banyan_ndr::typed::Read;
use bytes::Bytes;

use crate::collective::{
    ANSWER_TIME, Absent, CallOutcome, Caller, CollectiveError, Element, Own, ReduceOp, belongs_to_collectives,
};
use crate::described::{self, DescribedError};
use crate::extension::EXTENSION_VARIABLE;
use crate::inherited::named_socket;
use crate::message;
use crate::node::member_link_options;
use crate::sharing::{FIRST_ROOM_PAUSE, LONGEST_ROOM_PAUSE, MemberEvent, Sharing};
use crate::ticket::{Ticket, TicketError};

/// The environment variable that says how to join: `protocol:1,fd:3,socket:4711`.
///
/// The descriptor itself is the right to join: nobody but the process that was given it can use it, so the variable
/// holds no secret.
pub(crate) const JOIN_VARIABLE: &str = "BANYAN_JOIN";

/// The descriptor that a member inherits.
pub(crate) const JOIN_DESCRIPTOR: i32 = 3;

/// How long an agent may take to say who the member is. It has said so before the member runs.
pub(crate) const WELCOME_DEADLINE: Duration = Duration::from_secs(10);

/// How long a member waits to hear who has not entered: the root answers before.
const ANSWER_DEADLINE: Duration = Duration::from_millis(2 * ANSWER_TIME.as_millis() as u64);

/// Bytes of user data kept for later while something else is waited for.
const USER_BOUND: usize = 64 << 20;

/// A process that takes part in a session.
#[derive(Debug)]
pub struct Member {
    link: Link,
    sharing: Option<Sharing>,
    rank: u32,
    size: u32,
    session: SessionId,
    note: SecretBytes,
    caller: Caller,
    /// What there was no room for when the time of a call was over.
    unsent: Option<Frame>,
    user: VecDeque<(Bytes, bool)>,
    user_bytes: usize,
    timeout: Option<Duration>,
}

/// Why a process could not join.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// Nobody asked it to.
    #[error(
        "this process was not started by an agent (neither {JOIN_VARIABLE} nor BANYAN_TICKET is set); start it with a session, or let it \
         attach with a ticket (banyan run starts members that may join with --join)"
    )]
    NotStartedByAnAgent,
    /// What the environment says cannot be used.
    #[error("{JOIN_VARIABLE}={value:?} cannot be used: {reason}")]
    Environment {
        /// The variable.
        value: String,
        /// Why not.
        reason: String,
    },
    /// There is no socket to the agent's extension.
    #[error(
        "this process has no socket to the extension of its agent ({EXTENSION_VARIABLE} is not set); start it with a session \
         that has an extension"
    )]
    NoExtension,
    /// What the environment says of that socket cannot be used.
    #[error("{EXTENSION_VARIABLE}={value:?} cannot be used: {reason}")]
    Extension {
        /// The variable.
        value: String,
        /// Why not.
        reason: String,
    },
    /// What should be a ticket cannot be used.
    #[error(transparent)]
    Ticket(#[from] TicketError),
    /// No agent lets it in.
    #[error(
        "no agent lets this process attach ({reasons}); is the ticket in time and for as many processes, and does this \
         host have an agent of the session, or reach one?"
    )]
    NotAdmitted {
        /// What the last one said.
        reasons: String,
    },
    /// The agent does not answer as agents do.
    #[error("the agent did not say who this member is: {0}")]
    Agent(String),
}

/// Why a member does not get what it waits for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemberError {
    /// A collective cannot complete, or was called wrongly.
    #[error(transparent)]
    Collective(#[from] CollectiveError),
    /// The agent is gone, and with it the session.
    #[error("the session is over: {0}")]
    Link(#[from] LinkError),
    /// The agent said goodbye.
    #[error("the session has ended")]
    Ended,
    /// The memory that the agent shares holds what agents do not write.
    #[error("the session is over: {0}")]
    Shared(#[from] SharedError),
    /// A collective took longer than [`Member::set_timeout`] allows. The member is still in it: the same call goes on waiting.
    #[error("{what} {number}: no answer in {seconds} s{}", missing(.absent.as_deref()))]
    Incomplete {
        /// The operation.
        what: &'static str,
        /// The number of the collective, from 0.
        number: u64,
        /// The time allowed.
        seconds: f64,
        /// Who has not entered it; `None` if the front-end did not say so in time.
        absent: Option<Box<Absent>>,
    },
    /// It took longer than [`Member::set_timeout`] allows.
    #[error("{what} did not complete within {seconds} s")]
    TimedOut {
        /// What did not.
        what: &'static str,
        /// The time allowed.
        seconds: f64,
    },
    /// Only the master talks to the front-end.
    #[error("only the master (member 0) exchanges user data with the front-end; this is member {0}")]
    NotTheMaster(u32),
    /// The agent sent what agents do not send.
    #[error("the agent sent a frame of kind {0}, which members do not get; use one release for the whole session")]
    Unexpected(u8),
    /// More user data than a member keeps.
    #[error("the front-end sent more than {USER_BOUND} bytes that were not received")]
    TooMuchUserData,
    /// Bytes that are not the record that was expected.
    #[error(transparent)]
    Record(#[from] DescribedError),
}

impl Member {
    /// Joins the session that started this process, or the one that `BANYAN_TICKET` is a [`Ticket`] for.
    ///
    /// # Errors
    /// When this process was not started by an agent, or has joined before.
    pub fn join() -> Result<Member, JoinError> {
        Member::join_timeout(Deadline::NEVER)
    }

    /// As [`join`](Self::join), but waits no longer than the limit. Without a limit, each agent that it asks has ten seconds.
    ///
    /// # Errors
    /// As [`join`](Self::join), and when the agent does not answer before the limit.
    pub fn join_timeout(limit: impl Into<Deadline>) -> Result<Member, JoinError> {
        let deadline = limit.into();
        let value = match std::env::var(JOIN_VARIABLE) {
            Ok(value) => value,
            Err(_) => {
                return match Ticket::from_env() {
                    Ok(ticket) => Member::attach_timeout(&ticket, deadline),
                    Err(TicketError::Missing) => Err(JoinError::NotStartedByAnAgent),
                    Err(error) => Err(error.into()),
                };
            }
        };
        let socket = named_socket(&value).map_err(|reason| JoinError::Environment { value, reason })?;
        let mut link = Link::inherited(socket, &member_link_options());
        link.expect_descriptors();
        Member::welcome(link, Instant::now() + patience(WELCOME_DEADLINE, deadline))
    }

    /// Waits for the agent's word who this member is.
    pub(crate) fn welcome(mut link: Link, deadline: Instant) -> Result<Member, JoinError> {
        loop {
            match link.wait(Some(deadline)) {
                Some(Event::Opened(_)) => {}
                Some(Event::Frame(frame)) if frame.kind == message::WELCOME => {
                    return Member::new(link, &frame);
                }
                Some(Event::Frame(frame)) => {
                    return Err(JoinError::Agent(format!("it sent a frame of kind {}", frame.kind.number())));
                }
                Some(Event::Closed) => return Err(JoinError::Agent("it has gone".into())),
                Some(Event::Lost(error)) => return Err(JoinError::Agent(error.to_string())),
                None if Instant::now() < deadline => {}
                None => return Err(JoinError::Agent("it was silent for too long".into())),
            }
        }
    }

    pub(crate) fn new(link: Link, welcome: &Frame) -> Result<Member, JoinError> {
        let damaged = || JoinError::Agent("its welcome is damaged".into());
        let (session, note) = welcome.payload.split_first_chunk().ok_or_else(damaged)?;
        let (rank, size) = (welcome.stream, welcome.sequence);
        if rank >= size {
            return Err(JoinError::Agent(format!("it says that this is member {rank} of {size}")));
        }
        let (caller, unsent) = (Caller::new(rank, size), None);
        let (session, note) = (SessionId(*session), SecretBytes::from(note.to_vec()));
        let (user, user_bytes, timeout) = (VecDeque::new(), 0, None);
        Ok(Member { link, sharing: None, rank, size, session, note, caller, unsent, user, user_bytes, timeout })
    }

    /// This member's number, from 0.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Number of members.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Whether this is the master, member 0.
    pub fn is_master(&self) -> bool {
        self.rank == 0
    }

    /// The session, the same at all its members and at no others.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// What the [extension](crate::AgentExtension) of this member's agent says to it; empty if it has none.
    pub fn note(&self) -> &[u8] {
        self.note.expose()
    }

    /// Limits how long each later call waits; `None` waits for ever, or until it cannot complete.
    ///
    /// A collective that takes longer is an error that names the members that have not entered it
    /// ([`MemberError::Incomplete`]). Finding them out takes up to two seconds more. The member is still in the collective
    /// then: the same call goes on waiting for it, with the bytes that it was given first, and any other collective is
    /// refused until it has completed.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// Waits until all members have come here.
    pub fn barrier(&mut self) -> Result<(), MemberError> {
        self.call("barrier", Own::Barrier).map(|_| ())
    }

    /// The master's bytes for everyone: the master gives them, the others get them.
    pub fn broadcast(&mut self, bytes: Option<impl Into<Bytes>>) -> Result<Bytes, MemberError> {
        self.call("broadcast", Own::Broadcast(bytes.map(Into::into))).map(one)
    }

    /// The master gives a part for each member, by rank; everyone gets its own.
    pub fn scatter(&mut self, parts: Option<Vec<Bytes>>) -> Result<Bytes, MemberError> {
        self.call("scatter", Own::Scatter(parts)).map(one)
    }

    /// Everyone's bytes for the master, by rank; the others get nothing.
    pub fn gather(&mut self, bytes: impl Into<Bytes>) -> Result<Option<Vec<Bytes>>, MemberError> {
        match self.call("gather", Own::Gather(bytes.into()))? {
            CallOutcome::Parts(parts) => Ok(Some(parts)),
            CallOutcome::Done | CallOutcome::Bytes(_) => Ok(None),
        }
    }

    /// Everyone's bytes for everyone, by rank.
    pub fn all_gather(&mut self, bytes: impl Into<Bytes>) -> Result<Vec<Bytes>, MemberError> {
        match self.call("all_gather", Own::AllGather(bytes.into()))? {
            CallOutcome::Parts(parts) => Ok(parts),
            CallOutcome::Done | CallOutcome::Bytes(_) => Ok(Vec::new()),
        }
    }

    /// Everyone's arrays, combined element by element, for everyone. The arrays have one length.
    ///
    /// # Errors
    /// When members give arrays of different types or lengths, or one is gone; when the operation is one of bits and the
    /// elements are floats; after the time that [`set_timeout`](Self::set_timeout) allows.
    pub fn all_reduce<E: Element>(&mut self, op: ReduceOp, elements: &[E]) -> Result<Vec<E>, MemberError> {
        let own = Own::AllReduce(op, E::KIND, E::to_bytes(elements).into());
        let reduced = self.call("all_reduce", own).map(one)?;
        Ok(E::from_bytes(&reduced))
    }

    /// [`broadcast`](Member::broadcast) of a record.
    pub fn broadcast_record<R>(&mut self, record: Option<&R>) -> Result<R, MemberError>
    where
        R: Record + for<'a> Read<'a>,
    {
        let bytes = record.map(described::encode).transpose()?;
        let bytes = self.broadcast(bytes)?;
        Ok(described::decode(&bytes)?)
    }

    /// [`scatter`](Member::scatter) of records.
    pub fn scatter_records<R>(&mut self, records: Option<&[R]>) -> Result<R, MemberError>
    where
        R: Record + for<'a> Read<'a>,
    {
        let parts = records.map(|records| records.iter().map(described::encode).collect()).transpose()?;
        let bytes = self.scatter(parts)?;
        Ok(described::decode(&bytes)?)
    }

    /// [`gather`](Member::gather) of records.
    pub fn gather_records<R>(&mut self, record: &R) -> Result<Option<Vec<R>>, MemberError>
    where
        R: Record + for<'a> Read<'a>,
    {
        let gathered = self.gather(described::encode(record)?)?;
        Ok(gathered.map(|parts| parts.iter().map(|part| described::decode(part)).collect()).transpose()?)
    }

    /// [`all_gather`](Member::all_gather) of records.
    pub fn all_gather_records<R>(&mut self, record: &R) -> Result<Vec<R>, MemberError>
    where
        R: Record + for<'a> Read<'a>,
    {
        let gathered = self.all_gather(described::encode(record)?)?;
        Ok(gathered.iter().map(|part| described::decode(part)).collect::<Result<_, _>>()?)
    }

    /// Sends bytes to the front-end. Only the master may.
    pub fn send_user_data(&mut self, bytes: impl Into<Bytes>) -> Result<(), MemberError> {
        self.only_master()?;
        let mut bytes: Bytes = bytes.into();
        let deadline = self.deadline();
        loop {
            let piece = bytes.split_to(bytes.len().min(message::CHUNK));
            let mut frame = Frame::new(message::USER, 0, 0, piece);
            frame.flags = if bytes.is_empty() { 0 } else { message::MORE };
            while self.link.credit_left() == 0 {
                self.receive("send_user_data", deadline)?;
            }
            self.link.send(frame);
            if bytes.is_empty() {
                return self.flush("send_user_data", deadline);
            }
        }
    }

    /// Waits for bytes from the front-end, as long as [`set_timeout`](Member::set_timeout) allows. Only the master gets any.
    pub fn recv_user_data(&mut self) -> Result<Vec<u8>, MemberError> {
        self.recv_user_data_timeout(self.deadline())
    }

    /// As [`recv_user_data`](Self::recv_user_data), but waits no longer than the limit, whatever
    /// [`set_timeout`](Self::set_timeout) allows.
    ///
    /// # Errors
    /// As [`recv_user_data`](Self::recv_user_data), and [`MemberError::TimedOut`] after the limit.
    pub fn recv_user_data_timeout(&mut self, limit: impl Into<Deadline>) -> Result<Vec<u8>, MemberError> {
        let deadline = limit.into().instant();
        self.only_master()?;
        let begun = Instant::now();
        loop {
            if let Some(pieces) = self.user.iter().position(|(_, more)| !more) {
                let mut message = Vec::new();
                for (piece, _) in self.user.drain(..=pieces) {
                    self.user_bytes -= piece.len();
                    message.extend_from_slice(&piece);
                }
                return Ok(message);
            }
            match self.receive("recv_user_data", deadline) {
                // It is kept; and what is waited for may be as long as its sender likes.
                Ok(()) | Err(MemberError::TooMuchUserData) => {}
                Err(MemberError::TimedOut { what, .. }) => {
                    return Err(MemberError::TimedOut { what, seconds: begun.elapsed().as_secs_f64() });
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The bytes from the front-end that have come already, if there are any.
    ///
    /// # Errors
    /// As [`recv_user_data`](Self::recv_user_data).
    pub fn try_recv_user_data(&mut self) -> Result<Option<Vec<u8>>, MemberError> {
        match self.recv_user_data_timeout(Instant::now()) {
            Err(MemberError::TimedOut { .. }) => Ok(None),
            received => received.map(Some),
        }
    }

    /// [`send_user_data`](Member::send_user_data) of a record.
    pub fn send_user_record<R: Record>(&mut self, record: &R) -> Result<(), MemberError> {
        self.send_user_data(described::encode(record)?)
    }

    /// [`recv_user_data`](Member::recv_user_data) of a record.
    pub fn recv_user_record<R>(&mut self) -> Result<R, MemberError>
    where
        R: Record + for<'a> Read<'a>,
    {
        Ok(described::decode(&self.recv_user_data()?)?)
    }

    /// [`recv_user_data_timeout`](Member::recv_user_data_timeout) of a record.
    pub fn recv_user_record_timeout<R>(&mut self, limit: impl Into<Deadline>) -> Result<R, MemberError>
    where
        R: Record + for<'a> Read<'a>,
    {
        Ok(described::decode(&self.recv_user_data_timeout(limit)?)?)
    }

    fn only_master(&self) -> Result<(), MemberError> {
        if self.is_master() { Ok(()) } else { Err(MemberError::NotTheMaster(self.rank)) }
    }

    fn deadline(&self) -> Option<Instant> {
        self.timeout.map(|timeout| Instant::now() + timeout)
    }

    /// Enters a collective and stays until it is complete.
    fn call(&mut self, what: &'static str, own: Own) -> Result<CallOutcome, MemberError> {
        let deadline = self.deadline();
        if !self.caller.is_in(&own)? {
            self.unsent = Some(self.caller.begin(own)?);
        }
        match self.complete(what, deadline) {
            Err(MemberError::TimedOut { seconds, .. }) => self.incomplete(what, seconds),
            completed => completed,
        }
    }

    /// Goes on with the collective in progress until it is complete.
    fn complete(&mut self, what: &'static str, deadline: Option<Instant>) -> Result<CallOutcome, MemberError> {
        if let Some(frame) = self.unsent.take() {
            self.send(what, frame, deadline)?;
        }
        let mut has_waited = false;
        loop {
            while self.caller.has_chunk()
                && self.link.credit_left() > 0
                && let Some(frame) = self.caller.next_chunk(message::CHUNK)
            {
                self.send(what, frame, deadline)?;
                if let Some(sharing) = self.sharing.as_mut().filter(|_| has_waited) {
                    sharing.hurry();
                }
            }
            if self.caller.has_result() {
                self.flush(what, deadline)?;
                if let Some(outcome) = self.caller.take_result() {
                    return Ok(outcome);
                }
            }
            self.receive(what, deadline)?;
            has_waited = true;
        }
    }

    /// Finds out who keeps the collective in progress waiting; it may complete meanwhile.
    fn incomplete(&mut self, what: &'static str, seconds: f64) -> Result<CallOutcome, MemberError> {
        let Some(number) = self.caller.number() else { return Err(MemberError::TimedOut { what, seconds }) };
        // Who has not told its agent that it has entered cannot ask.
        if self.unsent.is_none() && !self.caller.has_result() {
            self.caller.ask().into_iter().for_each(|question| self.link.send(question));
            let deadline = Some(Instant::now() + ANSWER_DEADLINE);
            let mut absent = None;
            while absent.is_none() && !self.caller.has_result() {
                match self.receive(what, deadline) {
                    Err(MemberError::TimedOut { .. }) => break,
                    received => received?,
                }
                absent = self.caller.take_absent();
            }
            if !self.caller.has_result() {
                return Err(MemberError::Incomplete { what, number, seconds, absent: absent.map(Box::new) });
            }
        }
        match self.complete(what, Some(Instant::now())) {
            Err(MemberError::TimedOut { .. }) => Err(MemberError::Incomplete { what, number, seconds, absent: None }),
            completed => completed,
        }
    }

    /// Sends a frame of collectives, through shared memory where it can go that way.
    fn send(&mut self, what: &'static str, frame: Frame, deadline: Option<Instant>) -> Result<(), MemberError> {
        if !self.sharing.as_ref().is_some_and(|sharing| sharing.takes(&frame)) {
            self.link.send(frame);
            return Ok(());
        }
        let mut length = FIRST_ROOM_PAUSE;
        while !self.sharing.as_mut().is_some_and(|sharing| sharing.send(&frame)) {
            if let Some(sharing) = self.sharing.as_mut().filter(|_| length == FIRST_ROOM_PAUSE) {
                sharing.hurry();
            }
            let pause = Instant::now() + length;
            length = LONGEST_ROOM_PAUSE.min(2 * length);
            let received = match deadline {
                Some(deadline) if deadline <= pause => self.receive(what, Some(deadline)),
                _ => self.receive_until(Some(pause)).map(drop),
            };
            if let Err(error) = received {
                // It goes when the call goes on.
                self.unsent = Some(frame);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Writes everything, so that the member may compute for hours afterwards.
    fn flush(&mut self, what: &'static str, deadline: Option<Instant>) -> Result<(), MemberError> {
        if let Some(sharing) = &mut self.sharing {
            sharing.announce(&mut self.link);
        }
        if self.link.wants_write() {
            self.link.flush(Instant::now());
        }
        while self.link.wants_write() {
            self.receive(what, deadline)?;
        }
        Ok(())
    }

    /// Waits for one event and deals with it.
    fn receive(&mut self, what: &'static str, deadline: Option<Instant>) -> Result<(), MemberError> {
        let came = self.receive_until(deadline)?;
        if !came && deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return Err(MemberError::TimedOut { what, seconds: self.timeout.unwrap_or_default().as_secs_f64() });
        }
        Ok(())
    }

    /// Waits for one event and deals with it; false when none came.
    fn receive_until(&mut self, deadline: Option<Instant>) -> Result<bool, MemberError> {
        let arrival = match &mut self.sharing {
            Some(sharing) => sharing.wait(&mut self.link, deadline)?,
            None => self.link.wait(deadline).map(MemberEvent::Link),
        };
        match arrival {
            None => return Ok(false),
            Some(MemberEvent::Shared(frame)) => self.handle(frame)?,
            Some(MemberEvent::Link(Event::Opened(_))) => {}
            Some(MemberEvent::Link(Event::Closed)) => return Err(MemberError::Ended),
            Some(MemberEvent::Link(Event::Lost(error))) => return Err(error.into()),
            Some(MemberEvent::Link(Event::Frame(frame))) => {
                if frame.kind.is_data() {
                    self.link.release(frame.cost());
                }
                self.handle(frame)?;
            }
        }
        Ok(true)
    }

    fn handle(&mut self, frame: Frame) -> Result<(), MemberError> {
        match frame.kind {
            kind if belongs_to_collectives(kind) => Ok(self.caller.handle(frame)?),
            message::SHARED if self.sharing.is_none() => {
                self.sharing = Sharing::open(frame.stream, &mut self.link);
                Ok(())
            }
            message::USER => {
                self.user_bytes += frame.payload.len();
                self.user.push_back((frame.payload, frame.flags & message::MORE != 0));
                if self.user_bytes > USER_BOUND { Err(MemberError::TooMuchUserData) } else { Ok(()) }
            }
            kind => Err(MemberError::Unexpected(kind.number())),
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // The agent sees the end of the link in any case; a goodbye only tells it sooner that nothing was lost.
        self.link.close();
        self.link.flush(Instant::now());
    }
}

/// How long something may take that is given up at the deadline, if there is one.
pub(crate) fn patience(at_most: Duration, deadline: Deadline) -> Duration {
    deadline.instant().map_or(at_most, |deadline| at_most.min(deadline.saturating_duration_since(Instant::now())))
}

/// Who keeps a collective waiting, as the end of a message.
fn missing(absent: Option<&Absent>) -> String {
    match absent {
        Some(absent) => format!(": {absent}"),
        None => format!("; the front-end did not say within {} s who has not entered", ANSWER_DEADLINE.as_secs()),
    }
}

fn one(outcome: CallOutcome) -> Bytes {
    match outcome {
        CallOutcome::Bytes(bytes) => bytes,
        CallOutcome::Done | CallOutcome::Parts(_) => Bytes::new(),
    }
}
