//! Streams at the front-end, and the waves that come of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use banyan_boot::{Deadline, RankSet};
use banyan_link::Slabs;
use banyan_ndr::typed::{Read, Scratch, encode_body};
use banyan_ndr::{DynRecord, Format, Record};
use bytes::Bytes;
use tracing::{Span, info, info_span, trace};

use super::come;
use super::shared::{Core, SharedNetwork, WaveContent};
use crate::error::{TreeError, unfiltered};
use crate::ids::StreamId;
use crate::node::{SendError, StreamCounters};
use crate::pending::{Pending, check_body, check_length};

/// A stream: some members, and what happens to what they send on its way. Dropping it closes it.
pub struct Stream {
    shared: Arc<SharedNetwork>,
    id: StreamId,
    members: Arc<RankSet>,
    span: Span,
}

/// What has come of a stream: the records of its members, combined.
pub struct Wave {
    shared: Arc<SharedNetwork>,
    whole: WaveContent,
}

impl Stream {
    pub(super) fn new(shared: &Arc<SharedNetwork>, id: StreamId, members: &Arc<RankSet>) -> Stream {
        let span = info_span!("stream", stream = id.0);
        info!(parent: &span, members = members.len(), "opened");
        Stream { shared: Arc::clone(shared), id, members: Arc::clone(members), span }
    }

    /// Its number: what members send on.
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// Its members.
    pub fn members(&self) -> &RankSet {
        &self.members
    }

    /// What the front-end has sent, delivered and still holds of it; for streams without waves also what has come and what
    /// was lost here. [`Network::figures`](crate::Network::figures) has the rest: what every node has dropped, of all streams that
    /// are open.
    pub fn counters(&self) -> StreamCounters {
        self.shared.core().driver.node().stream_counters(self.id).unwrap_or_default()
    }

    /// How many records of each member came after their waves had been delivered without it, by rank: of streams with a timeout.
    /// [`Report::Late`](crate::Report::Late) says when a member falls behind.
    pub fn late(&self) -> BTreeMap<u32, u64> {
        self.shared.core().driver.node().late(self.id)
    }

    /// Sends a record to all members. Waits while a member is too far behind.
    ///
    /// # Errors
    /// When the record cannot be encoded, the front-end's filter can make nothing of it, no member is left
    /// ([`TreeError::NobodyLeft`]), or the network has ended.
    pub fn send<R: Record>(&self, tag: u32, record: &R) -> Result<(), TreeError> {
        self.send_timeout(tag, record, Deadline::NEVER)
    }

    /// As [`send`](Self::send), but waits no longer than the limit. After it, nothing is sent.
    ///
    /// # Errors
    /// As [`send`](Self::send), and [`TreeError::Behind`] when a member is too far behind until the limit.
    pub fn send_timeout<R: Record>(&self, tag: u32, record: &R, limit: impl Into<Deadline>) -> Result<(), TreeError> {
        let mut scratch = Scratch::new();
        let body = encode_body(record, &mut scratch)?;
        check_length(body.len())?;
        let body = self.slabs().join(body.len(), body.slices());
        self.send_encoded(None, tag, R::format(), &body, limit.into())
    }

    /// As [`send`](Self::send), a record without a compiled type.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_dyn(&self, tag: u32, record: &DynRecord) -> Result<(), TreeError> {
        self.send_dyn_timeout(tag, record, Deadline::NEVER)
    }

    /// As [`send_dyn`](Self::send_dyn), but waits no longer than the limit. After it, nothing is sent.
    ///
    /// # Errors
    /// As [`send_timeout`](Self::send_timeout).
    pub fn send_dyn_timeout(&self, tag: u32, record: &DynRecord, limit: impl Into<Deadline>) -> Result<(), TreeError> {
        let body = record.to_body()?;
        check_length(body.len())?;
        let body = self.slabs().join(body.len(), [&body[..]]);
        self.send_encoded(None, tag, &record.format, &body, limit.into())
    }

    /// As [`send`](Self::send), the body of a record with its format, such as [`Wave::body`] and [`Wave::format`] of another
    /// network. The body is checked like input from outside.
    ///
    /// # Errors
    /// As [`send`](Self::send), and [`TreeError::Body`] when the body is not a record of the format.
    pub fn send_body(&self, tag: u32, format: &Format, body: &[u8]) -> Result<(), TreeError> {
        self.send_body_timeout(tag, format, body, Deadline::NEVER)
    }

    /// As [`send_body`](Self::send_body), but waits no longer than the limit. After it, nothing is sent.
    ///
    /// # Errors
    /// As [`send_body`](Self::send_body), and [`TreeError::Behind`] when a member is too far behind until the limit.
    pub fn send_body_timeout(
        &self,
        tag: u32,
        format: &Format,
        body: &[u8],
        limit: impl Into<Deadline>,
    ) -> Result<(), TreeError> {
        check_body(format, body)?;
        let body = self.slabs().join(body.len(), [body]);
        self.send_encoded(None, tag, format, &body, limit.into())
    }

    /// Sends a record to some members of the stream, at the cost of the way to these: agents that have none of them below do
    /// not hear of it. The members get it in order with everything else that is sent on the stream. Members that are lost do
    /// not get it. Waits while a member of the stream is too far behind, as [`send`](Self::send) does.
    ///
    /// ```no_run
    /// # fn tell(network: &banyan_tree::Network) -> Result<(), Box<dyn std::error::Error>> {
    /// # #[derive(banyan_ndr::Record)]
    /// # struct Level { verbosity: u32 }
    /// const SET_LEVEL: u32 = 7;
    /// let stream = network.open(&network.everyone(), "max(temp)")?;
    /// stream.send_to(&"3,17,40-43".parse()?, SET_LEVEL, &Level { verbosity: 2 })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`send`](Self::send), [`TreeError::NotMembers`] when one of them is not a member of the stream, and
    /// [`TreeError::NobodyLeft`] when none of them is left.
    pub fn send_to<R: Record>(&self, members: &RankSet, tag: u32, record: &R) -> Result<(), TreeError> {
        self.send_to_timeout(members, tag, record, Deadline::NEVER)
    }

    /// As [`send_to`](Self::send_to), but waits no longer than the limit. After it, nothing is sent.
    ///
    /// # Errors
    /// As [`send_to`](Self::send_to), and [`TreeError::Behind`] when a member is too far behind until the limit.
    pub fn send_to_timeout<R: Record>(
        &self,
        members: &RankSet,
        tag: u32,
        record: &R,
        limit: impl Into<Deadline>,
    ) -> Result<(), TreeError> {
        let mut scratch = Scratch::new();
        let body = encode_body(record, &mut scratch)?;
        check_length(body.len())?;
        let body = self.slabs().join(body.len(), body.slices());
        self.send_encoded(Some(members), tag, R::format(), &body, limit.into())
    }

    /// As [`send_to`](Self::send_to), a record without a compiled type.
    ///
    /// # Errors
    /// As [`send_to`](Self::send_to).
    pub fn send_dyn_to(&self, members: &RankSet, tag: u32, record: &DynRecord) -> Result<(), TreeError> {
        self.send_dyn_to_timeout(members, tag, record, Deadline::NEVER)
    }

    /// As [`send_dyn_to`](Self::send_dyn_to), but waits no longer than the limit. After it, nothing is sent.
    ///
    /// # Errors
    /// As [`send_to_timeout`](Self::send_to_timeout).
    pub fn send_dyn_to_timeout(
        &self,
        members: &RankSet,
        tag: u32,
        record: &DynRecord,
        limit: impl Into<Deadline>,
    ) -> Result<(), TreeError> {
        let body = record.to_body()?;
        check_length(body.len())?;
        let body = self.slabs().join(body.len(), [&body[..]]);
        self.send_encoded(Some(members), tag, &record.format, &body, limit.into())
    }

    /// Where long bodies are put to be sent.
    fn slabs(&self) -> Slabs {
        self.shared.core().driver.slabs().clone()
    }

    /// Sends a body to some members, or all.
    fn send_encoded(
        &self,
        some: Option<&RankSet>,
        tag: u32,
        format: &Format,
        body: &Bytes,
        deadline: Deadline,
    ) -> Result<(), TreeError> {
        let chosen = some.map(|members| Arc::new(members.clone()));
        self.shared.wait_for_room(self.id, deadline, |core| {
            if let Some(error) = core.nobody_left(some.unwrap_or(&self.members)) {
                return Some(Err(error));
            }
            if let Err(error) = core.driver.formats().learn(format) {
                return Some(Err(error.into()));
            }
            let node = core.driver.node_mut();
            let sent = match &chosen {
                Some(members) => node.send_to(self.id, Arc::clone(members), tag, format.id(), body.clone()),
                None => node.multicast(self.id, tag, format.id(), body.clone()),
            };
            match sent {
                Ok(()) => Some(Ok(())),
                Err(SendError::Full) => None,
                Err(SendError::Others { stream, others }) => Some(Err(TreeError::NotMembers { stream, others })),
                Err(SendError::Unfiltered(error)) => Some(Err(unfiltered(self.id, tag, error))),
                Err(_) => Some(Err(TreeError::NoStream(self.id))),
            }
        })
    }

    /// Sends each member a record of its own: one for each, in the order of ranks. Waits while a member is too far
    /// behind.
    ///
    /// # Errors
    /// When there are not as many records as members, one cannot be encoded, or the network has ended.
    pub fn scatter<R: Record>(&self, tag: u32, records: &[R]) -> Result<(), TreeError> {
        self.scatter_timeout(tag, records, Deadline::NEVER)
    }

    /// As [`scatter`](Self::scatter), but waits no longer than the limit. After it, nothing is sent.
    ///
    /// # Errors
    /// As [`scatter`](Self::scatter), and [`TreeError::Behind`] when a member is too far behind until the limit.
    pub fn scatter_timeout<R: Record>(
        &self,
        tag: u32,
        records: &[R],
        limit: impl Into<Deadline>,
    ) -> Result<(), TreeError> {
        let (members, parts) = (self.members.len(), records.len() as u32);
        let format = R::format();
        let mut pending = Pending::new(format.id(), self.shared.core().driver.slabs().clone());
        for record in records {
            pending.add(record)?;
        }
        let Some((_, bodies)) = pending.take() else { return Err(TreeError::Parts { members, parts }) };
        self.shared.wait_for_room(self.id, limit.into(), |core| {
            if let Some(error) = core.nobody_left(&self.members) {
                return Some(Err(error));
            }
            if let Err(error) = core.driver.formats().learn(format) {
                return Some(Err(error.into()));
            }
            match core.driver.node_mut().scatter(self.id, tag, bodies.clone()) {
                Ok(()) => Some(Ok(())),
                Err(SendError::Full) => None,
                Err(SendError::Unfiltered(error)) => Some(Err(unfiltered(self.id, tag, error))),
                Err(SendError::Parts { members, parts, .. }) => Some(Err(TreeError::Parts { members, parts })),
                Err(_) => Some(Err(TreeError::NoStream(self.id))),
            }
        })
    }

    /// Waits for the next wave.
    ///
    /// # Errors
    /// When the wave cannot be combined, no member is left ([`TreeError::NobodyLeft`]), or the network ends.
    pub fn recv(&self) -> Result<Wave, TreeError> {
        self.recv_timeout(Deadline::NEVER)
    }

    /// As [`recv`](Self::recv), but waits no longer than the limit.
    ///
    /// # Errors
    /// As [`recv`](Self::recv), and [`TreeError::TimedOut`] after the limit.
    pub fn recv_timeout(&self, limit: impl Into<Deadline>) -> Result<Wave, TreeError> {
        let next = |core: &mut Core| core.take(self.id).or_else(|| core.nobody_left(&self.members).map(Err));
        Ok(Wave::new(&self.shared, self.shared.wait(limit.into(), next)?))
    }

    /// The next wave that has come already, if there is one.
    ///
    /// # Errors
    /// When it cannot be combined, or the network has ended.
    pub fn try_recv(&self) -> Result<Option<Wave>, TreeError> {
        come(self.recv_timeout(Instant::now()))
    }

    /// The waves one after the other, until the network ends or no member is left: that is the last item, an error.
    pub fn waves(&self) -> impl Iterator<Item = Result<Wave, TreeError>> + '_ {
        let mut is_over = false;
        std::iter::from_fn(move || {
            if is_over {
                return None;
            }
            let wave = self.recv();
            is_over = matches!(wave, Err(TreeError::NobodyLeft { .. }));
            (!matches!(wave, Err(TreeError::Ended))).then_some(wave)
        })
    }
}

impl Wave {
    pub(super) fn new(shared: &Arc<SharedNetwork>, whole: WaveContent) -> Wave {
        let (stream, wave) = (whole.stream.0, whole.number.0);
        trace!(stream, wave, members = whole.members.len(), bytes = whole.body.len(), "a wave has come");
        Wave { shared: Arc::clone(shared), whole }
    }

    /// The stream that it has come of.
    pub fn stream(&self) -> StreamId {
        self.whole.stream
    }

    /// Its number, from 0. Of a stream without waves: the number of the record among those of its member; a process that has
    /// taken a member's place goes on at a multiple of 2⁴⁷, behind all numbers of those before it. What filters made of one record
    /// has one number.
    pub fn number(&self) -> u64 {
        self.whole.number.0
    }

    /// Who is in it.
    pub fn members(&self) -> &RankSet {
        &self.whole.members
    }

    /// Who was waited for and did not come in time: nobody, unless the stream has a timeout.
    pub fn missing(&self) -> &RankSet {
        &self.whole.missing
    }

    /// The tag that its member gave the record ([`BackEnd::send_tagged`](crate::BackEnd::send_tagged)); 0 without one. Members
    /// of one wave may give several: then it is the tag of the lowest rank that is in the wave with a record.
    pub fn tag(&self) -> u32 {
        self.whole.tag
    }

    /// The record as it came.
    pub fn body(&self) -> &[u8] {
        &self.whole.body
    }

    /// The format of the record.
    pub fn format(&self) -> Option<Format> {
        self.shared.reader.format(self.whole.format)
    }

    /// The value in the record, within the usual [`Limits`](banyan_ndr::Limits): for recursive values that are deeper than these
    /// allow, decode [`body`](Self::body) with a decoder of your own.
    ///
    /// # Errors
    /// When it is no such record.
    pub fn read<R>(&self) -> Result<R, TreeError>
    where
        R: Record + for<'a> Read<'a>,
    {
        self.shared.reader.read(self.whole.format, &self.whole.body)
    }

    /// The record without a compiled type, within the usual [`Limits`](banyan_ndr::Limits).
    ///
    /// # Errors
    /// When the bytes are no record of their format.
    pub fn read_dyn(&self) -> Result<DynRecord, TreeError> {
        self.shared.reader.read_dyn(self.whole.format, &self.whole.body)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        info!(parent: &self.span, "closed");
        let mut core = self.shared.core();
        core.taken.remove(&self.id);
        core.driver.node_mut().close(self.id);
        self.shared.leave(&mut core);
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("id", &self.id).field("members", &self.members).finish_non_exhaustive()
    }
}

impl fmt::Debug for Wave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wave")
            .field("stream", &self.whole.stream)
            .field("number", &self.whole.number)
            .field("members", &self.whole.members)
            .finish_non_exhaustive()
    }
}
