//! What a node's downward filter makes of a packet, before it is kept here and sent on.
//!
//! A packet passes the filter of each node on its way once: of the front-end when it is sent, of every other node when it
//! comes. What a filter cannot take goes on to the members as a failure, with its number, so that nothing is out of step.
//! Only packets that come again, because someone below has moved here, pass once more.

use std::sync::Arc;

use banyan_boot::RankSet;
use banyan_ndr::FormatId;
use banyan_reduce::{Bodies, FilterRole};
use bytes::Bytes;

use super::Node;
use super::stream::NodeStream;
use crate::ids::{StreamId, WaveNumber};
use crate::message::{Chosen, Packet, Scatter};
use crate::run::Run;
use crate::stream_options::Direction;
use crate::transformation::TransformationError;
use crate::wire::LONGEST_MESSAGE;

impl Node {
    /// What this node's filter makes of a packet of a stream.
    pub(super) fn descend(&mut self, id: StreamId, sequence: u64, packet: Packet) -> Packet {
        let place = self.role.filters();
        match self.streams.get_mut(&id) {
            Some(stream) if stream.down.is_some() => {
                let has_failed_above = matches!(packet.content(), Packet::Failed { .. });
                let members = Arc::clone(&stream.opening.members);
                let made = stream.descend(sequence, members, packet, place);
                // The front-end and members have the error in place of the record.
                if let (Packet::Failed { cause, .. }, FilterRole::Inner, false) =
                    (made.content(), place, has_failed_above)
                {
                    self.uncombined(id, Direction::Down, WaveNumber(sequence), cause);
                }
                made
            }
            _ => packet,
        }
    }
}

impl NodeStream {
    fn descend(&mut self, sequence: u64, members: Arc<RankSet>, packet: Packet, place: FilterRole) -> Packet {
        match packet {
            Packet::Chosen(chosen) => {
                let Chosen { members, content } = Arc::unwrap_or_clone(chosen);
                let content = self.descend(sequence, Arc::clone(&members), content, place);
                Packet::Chosen(Arc::new(Chosen { members, content }))
            }
            Packet::Record { tag, format, body, is_partial } => {
                let made = self.make_down(sequence, members, Bodies::one(format, body), is_partial, place);
                match made {
                    Ok((format, body)) => Packet::Record { tag, format, body, is_partial: true },
                    Err(error) => failed(tag, &error),
                }
            }
            Packet::Scatter(scatter) => match self.descend_parts(sequence, &scatter, place) {
                Ok(scatter) => Packet::Scatter(Arc::new(scatter)),
                Err(error) => failed(scatter.tag, &error),
            },
            packet => packet,
        }
    }

    /// Each part passes the filter by itself, and all must come out in one format.
    fn descend_parts(
        &mut self,
        sequence: u64,
        scatter: &Scatter,
        place: FilterRole,
    ) -> Result<Scatter, TransformationError> {
        let Scatter { tag, members, bodies, is_partial } = scatter;
        let (mut bytes, mut ends, mut format) = (Vec::new(), Vec::new(), None);
        for (at, rank) in (0..bodies.len()).zip(members.iter()) {
            let own = Arc::new(RankSet::from_iter([rank]));
            let part = Bodies::one(bodies.format(), bodies.body(at));
            let (made, body) = self.make_down(sequence, own, part, *is_partial, place)?;
            if *format.get_or_insert(made) != made {
                return Err(TransformationError("the filter made parts of several formats of a scatter".into()));
            }
            bytes.extend_from_slice(&body);
            check_length(bytes.len())?;
            // Below 256 MiB.
            ends.push(bytes.len() as u32);
        }
        let format = format.unwrap_or(bodies.format());
        let bodies = Bodies::by_ends(format, ends.into(), bytes.into());
        let bodies = bodies.map_err(|error| TransformationError(error.to_string()))?;
        Ok(Scatter { tag: *tag, members: Arc::clone(members), bodies, is_partial: true })
    }

    fn make_down(
        &mut self,
        sequence: u64,
        members: Arc<RankSet>,
        bodies: Bodies,
        is_partial: bool,
        place: FilterRole,
    ) -> Result<(FormatId, Bytes), TransformationError> {
        let Some(filter) = &mut self.down else { return Ok((bodies.format(), bodies.body(0))) };
        let stream = self.opening.stream;
        let run =
            Run { stream, first: WaveNumber(sequence), members, is_fresh: true, is_partial, yields: None, bodies };
        let made = filter.combine(std::slice::from_ref(&run), place)?;
        check_length(made.size())?;
        Ok((made.format(), made.body(0)))
    }
}

fn check_length(bytes: usize) -> Result<(), TransformationError> {
    if bytes <= LONGEST_MESSAGE {
        return Ok(());
    }
    Err(TransformationError(format!("the filter made {bytes} bytes, and {LONGEST_MESSAGE} are what a network carries")))
}

fn failed(tag: u32, error: &TransformationError) -> Packet {
    Packet::Failed { tag, cause: error.to_string().into() }
}
