//! The structures within messages as bytes: places, resumes, candidates, ancestries. The table of the module has their
//! layout.

use crate::ids::{Epoch, Level, NodeId, StreamId, WaveNumber};
use crate::message::{Ancestor, Candidate, NodeInfo, Resume};

use super::error::WireError;
use super::reader::Reader;

const PLACE_BYTES: usize = 20;
const RESUME_BYTES: usize = 20;
const FREE_BYTES: usize = 12;
const CANDIDATE_BYTES: usize = 6;
/// An ancestor without its children.
const ANCESTOR_BYTES: usize = CANDIDATE_BYTES + 4;

/// Some places and resumes, as they stand in a payload behind the number of places.
pub(super) fn places_and_resumes(count: usize, places: &[&[NodeInfo]], resumes: &[Resume]) -> Vec<u8> {
    let length = places.iter().map(|places| places.len()).sum::<usize>() * PLACE_BYTES;
    let mut bytes = Vec::with_capacity(4 + length + resumes.len() * RESUME_BYTES);
    // Nodes have ids of 32 bits: there are no more of them.
    bytes.extend_from_slice(&(count as u32).to_le_bytes());
    places.iter().copied().flatten().for_each(|place| push_place(&mut bytes, place));
    push_resumes(&mut bytes, resumes);
    bytes
}

fn push_place(bytes: &mut Vec<u8>, place: &NodeInfo) {
    for number in [place.node.0, place.parent.0, place.epoch.0, place.rank.unwrap_or(0)] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for number in [place.level.0, u16::from(place.rank.is_some())] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
}

pub(super) fn push_resumes(bytes: &mut Vec<u8>, resumes: &[Resume]) {
    for resume in resumes {
        bytes.extend_from_slice(&resume.stream.0.to_le_bytes());
        bytes.extend_from_slice(&resume.next.to_le_bytes());
        bytes.extend_from_slice(&resume.received.to_le_bytes());
    }
}

pub(super) fn resumes(resumes: &[Resume]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(resumes.len() * RESUME_BYTES);
    push_resumes(&mut bytes, resumes);
    bytes
}

/// Streams of a member that has taken another's place.
pub(super) fn free_waves(free: &[(StreamId, WaveNumber)]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(free.len() * FREE_BYTES);
    for (stream, wave) in free {
        bytes.extend_from_slice(&stream.0.to_le_bytes());
        bytes.extend_from_slice(&wave.0.to_le_bytes());
    }
    bytes
}

/// How far the records of members were taken.
pub(super) fn confirmations(until: &[(u32, WaveNumber)]) -> Vec<u8> {
    until.iter().flat_map(|(rank, wave)| rank.to_le_bytes().into_iter().chain(wave.0.to_le_bytes())).collect()
}

fn push_candidate(bytes: &mut Vec<u8>, candidate: Candidate) {
    bytes.extend_from_slice(&candidate.node.0.to_le_bytes());
    bytes.extend_from_slice(&candidate.level.0.to_le_bytes());
}

pub(super) fn candidates(candidates: &[Candidate]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(candidates.len() * CANDIDATE_BYTES);
    candidates.iter().for_each(|candidate| push_candidate(&mut bytes, *candidate));
    bytes
}

pub(super) fn ancestry(ancestry: &[Ancestor]) -> Vec<u8> {
    let children: usize = ancestry.iter().map(|ancestor| ancestor.children.len()).sum();
    let mut bytes = Vec::with_capacity(ancestry.len() * ANCESTOR_BYTES + children * CANDIDATE_BYTES);
    for ancestor in ancestry {
        push_candidate(&mut bytes, ancestor.itself);
        bytes.extend_from_slice(&(ancestor.children.len() as u32).to_le_bytes());
        ancestor.children.iter().for_each(|candidate| push_candidate(&mut bytes, *candidate));
    }
    bytes
}

impl Reader<'_> {
    pub(super) fn place(&mut self) -> Result<NodeInfo, WireError> {
        let node = NodeId(self.u32("a node")?);
        let parent = NodeId(self.u32("a parent")?);
        let epoch = Epoch(self.u32("an epoch")?);
        let rank = self.u32("a rank")?;
        let level = Level(self.u16("a level")?);
        let rank = match (self.u16("whether there is a rank")?, rank) {
            (0, 0) => None,
            (1, rank) => Some(rank),
            (0, rank) => return Err(self.value("the rank of a node without one", rank)),
            (other, _) => return Err(self.value("whether there is a rank", other)),
        };
        Ok(NodeInfo { node, parent, epoch, level, rank })
    }

    /// So many places. Memory is taken for those that can be there.
    pub(super) fn places(&mut self, count: u32) -> Result<Vec<NodeInfo>, WireError> {
        let mut places = Vec::with_capacity((count as usize).min(self.left() / PLACE_BYTES));
        for _ in 0..count {
            places.push(self.place()?);
        }
        Ok(places)
    }

    /// The resumes at the end of a message.
    pub(super) fn resumes(&mut self) -> Result<Vec<Resume>, WireError> {
        let mut resumes = Vec::with_capacity(self.left() / RESUME_BYTES);
        while self.left() > 0 {
            let stream = StreamId(self.u32("a stream")?);
            let (next, received) = (self.number("the next packet")?, self.number("the packets received")?);
            resumes.push(Resume { stream, next, received });
        }
        Ok(resumes)
    }

    /// The streams of a succession at the end of a message.
    pub(super) fn free_waves(&mut self) -> Result<Vec<(StreamId, WaveNumber)>, WireError> {
        let mut free = Vec::with_capacity(self.left() / FREE_BYTES);
        while self.left() > 0 {
            free.push((StreamId(self.u32("a stream")?), WaveNumber(self.number("a wave")?)));
        }
        Ok(free)
    }

    /// How far the records of members were taken, at the end of a message.
    pub(super) fn confirmations(&mut self) -> Result<Vec<(u32, WaveNumber)>, WireError> {
        let mut until = Vec::with_capacity(self.left() / FREE_BYTES);
        while self.left() > 0 {
            until.push((self.u32("a rank")?, WaveNumber(self.number("a record")?)));
        }
        Ok(until)
    }

    fn candidate(&mut self) -> Result<Candidate, WireError> {
        Ok(Candidate { node: NodeId(self.u32("a candidate")?), level: Level(self.u16("a level")?) })
    }

    /// So many candidates. Memory is taken for those that can be there.
    fn some_candidates(&mut self, count: usize) -> Result<Vec<Candidate>, WireError> {
        let mut candidates = Vec::with_capacity(count.min(self.left() / CANDIDATE_BYTES));
        for _ in 0..count {
            candidates.push(self.candidate()?);
        }
        Ok(candidates)
    }

    /// All candidates to the end of a message.
    pub(super) fn candidates(&mut self) -> Result<Vec<Candidate>, WireError> {
        let candidates = self.some_candidates(self.left() / CANDIDATE_BYTES)?;
        self.end()?;
        Ok(candidates)
    }

    /// The ancestors to the end of a message.
    pub(super) fn ancestry(&mut self) -> Result<Vec<Ancestor>, WireError> {
        let mut ancestry = Vec::new();
        while self.left() > 0 {
            let itself = self.candidate()?;
            let count = self.u32("how many children there are")?;
            ancestry.push(Ancestor { itself, children: self.some_candidates(count as usize)? });
        }
        Ok(ancestry)
    }
}
