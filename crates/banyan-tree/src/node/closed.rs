//! Streams of a member that the front-end has closed: what the member still sends there is dropped, and no error.

use std::collections::VecDeque;

use tracing::debug;

use super::Node;
use super::role::NodeRole;
use crate::ids::{StreamId, WaveNumber};

/// Streams that are remembered: a member that has not heard of so many closings is far behind anyway.
const REMEMBERED: usize = 1024;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Closed {
    /// The last ones, with the wave that would have been this member's next.
    streams: VecDeque<(StreamId, WaveNumber)>,
    /// Records that were dropped.
    dropped: u64,
}

impl Closed {
    fn remember(&mut self, stream: StreamId, next: WaveNumber) {
        if self.streams.len() == REMEMBERED {
            self.streams.pop_front();
        }
        self.streams.push_back((stream, next));
    }
}

impl Node {
    /// A stream is no more.
    pub(super) fn forget_stream(&mut self, id: StreamId) {
        let Some(stream) = self.streams.remove(&id) else { return };
        debug!(stream = id.0, "a stream is closed");
        if let NodeRole::Member(member) = &mut self.role
            && stream.opening.members.contains(member.rank)
        {
            member.closed.remember(id, stream.sent);
        }
    }

    /// All streams are no more but those that this holds for.
    pub(super) fn forget_streams_but(&mut self, is_open: impl Fn(StreamId) -> bool) {
        let gone: Vec<StreamId> = self.streams.keys().copied().filter(|id| !is_open(*id)).collect();
        gone.into_iter().for_each(|id| self.forget_stream(id));
    }

    /// At a member: counts records for a stream that was closed as dropped, and gives the wave that the first of them would have
    /// been part of. None if this member had no part in that stream, or it was closed long ago.
    pub fn drop_for_closed(&mut self, stream: StreamId, records: u32) -> Option<WaveNumber> {
        let closed = &mut self.role.member_mut()?.closed;
        let (_, next) = closed.streams.iter().rev().find(|(closed, _)| *closed == stream)?;
        closed.dropped += u64::from(records);
        Some(*next)
    }

    /// At a member: how many records were dropped because their streams had been closed.
    pub fn dropped_for_closed(&self) -> u64 {
        match &self.role {
            NodeRole::Member(member) => member.closed.dropped,
            NodeRole::FrontEnd(_) | NodeRole::Agent => 0,
        }
    }
}
