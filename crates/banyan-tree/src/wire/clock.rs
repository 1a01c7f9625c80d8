//! What nodes say of clocks, as bytes. The table of the module has their layout.

use std::time::Duration;

use banyan_clock::Estimate;
use banyan_link::Frame;

use crate::clocks::{ClockAnswer, ClockId, NodeClock};
use crate::ids::NodeId;
use crate::message::Message;

use super::error::WireError;
use super::reader::Reader;
use super::{CLOCK_ASKED, CLOCK_COUNTED, CLOCK_TOLD, COUNT_CLOCKS};

/// What is known of a node: whether its clock is its parent's, and whether the estimates are there.
const SAME: u32 = 1;
const OF_PARENT: u32 = 2;
const FRONT_END: u32 = 4;
const ROUND_TRIP: u32 = 8;

/// No clock gains more in a second than its peer shows in it.
const FASTEST: f64 = 1e9;

/// The frame of a message about clocks; none of others. It fits into the shortest payload.
pub(super) fn frame_of(message: &Message) -> Option<Frame> {
    Some(match message {
        Message::ClockAsked { question, clock } => Frame::new(CLOCK_ASKED, 0, *question, question_bytes(clock)),
        Message::ClockTold(answer) => Frame::new(CLOCK_TOLD, 0, answer.question, answer_bytes(answer)),
        Message::CountClocks(question) => Frame::new(COUNT_CLOCKS, 0, *question, Vec::new()),
        Message::ClockCounted { question, node, clock } => {
            Frame::new(CLOCK_COUNTED, node.0, *question, node_clock_bytes(clock))
        }
        _ => return None,
    })
}

fn question_bytes(clock: &ClockId) -> Vec<u8> {
    let mut bytes = Vec::new();
    push_clock(&mut bytes, clock);
    bytes
}

fn answer_bytes(answer: &ClockAnswer) -> Vec<u8> {
    let mut bytes = Vec::new();
    push_clock(&mut bytes, &answer.clock);
    bytes.extend_from_slice(&answer.heard.to_le_bytes());
    bytes.extend_from_slice(&answer.answered.to_le_bytes());
    answer.front_end.iter().for_each(|clock| push_estimate(&mut bytes, clock));
    bytes
}

fn node_clock_bytes(clock: &NodeClock) -> Vec<u8> {
    let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
    let flags = flag(clock.is_same, SAME)
        | flag(clock.of_parent.is_some(), OF_PARENT)
        | flag(clock.front_end.is_some(), FRONT_END)
        | flag(clock.round_trip.is_some(), ROUND_TRIP);
    let round_trip = clock.round_trip.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let mut bytes = Vec::new();
    for number in [clock.parent.0, flags] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for number in [round_trip, clock.exchanges, clock.steps] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    clock.of_parent.iter().chain(&clock.front_end).for_each(|clock| push_estimate(&mut bytes, clock));
    bytes
}

fn push_clock(bytes: &mut Vec<u8>, clock: &ClockId) {
    bytes.extend_from_slice(&clock.boot);
    bytes.extend_from_slice(&clock.namespace.to_le_bytes());
}

fn push_estimate(bytes: &mut Vec<u8>, clock: &Estimate) {
    for number in [clock.at, clock.low, clock.high] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for number in [clock.slowest, clock.fastest, clock.wander] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
}

impl Reader<'_> {
    /// A message about clocks.
    pub(super) fn of_clocks(&mut self, frame: &Frame) -> Result<Message, WireError> {
        let question = frame.sequence;
        Ok(match frame.kind {
            CLOCK_ASKED => Message::ClockAsked { question, clock: self.clock()? },
            CLOCK_TOLD => Message::ClockTold(Box::new(self.clock_answer(question)?)),
            COUNT_CLOCKS => Message::CountClocks(question),
            CLOCK_COUNTED => {
                let clock = Box::new(self.node_clock()?);
                Message::ClockCounted { question, node: NodeId(frame.stream), clock }
            }
            kind => return Err(WireError::Kind(kind.number())),
        })
    }

    fn clock(&mut self) -> Result<ClockId, WireError> {
        let boot = self.array("which kernel it is")?;
        Ok(ClockId { boot, namespace: self.u64("a namespace")? })
    }

    fn clock_answer(&mut self, question: u32) -> Result<ClockAnswer, WireError> {
        let clock = self.clock()?;
        let (heard, answered) = (self.i64("when it was heard")?, self.i64("when it was answered")?);
        let front_end = if self.left() > 0 { Some(self.estimate()?) } else { None };
        Ok(ClockAnswer { question, clock, heard, answered, front_end })
    }

    fn node_clock(&mut self) -> Result<NodeClock, WireError> {
        let (parent, flags) = (NodeId(self.u32("a parent")?), self.u32("what is known")?);
        if flags & !(SAME | OF_PARENT | FRONT_END | ROUND_TRIP) != 0 {
            return Err(self.value("what is known", flags));
        }
        let round_trip = Duration::from_nanos(self.u64("a round trip")?);
        let (exchanges, steps) = (self.u64("how many exchanges")?, self.u64("how many steps")?);
        let of_parent = if flags & OF_PARENT != 0 { Some(self.estimate()?) } else { None };
        let front_end = if flags & FRONT_END != 0 { Some(self.estimate()?) } else { None };
        let round_trip = Some(round_trip).filter(|_| flags & ROUND_TRIP != 0);
        let is_same = flags & SAME != 0;
        Ok(NodeClock { parent, is_same, of_parent, front_end, round_trip, exchanges, steps })
    }

    /// An estimate that can be computed with.
    fn estimate(&mut self) -> Result<Estimate, WireError> {
        let at = self.at();
        let mut time = || self.i64("an estimate of a clock");
        let (when, low, high) = (time()?, time()?, time()?);
        let mut rate = || self.i64("an estimate of a clock").map(|bits| f64::from_bits(bits.cast_unsigned()));
        let (slowest, fastest, wander) = (rate()?, rate()?, rate()?);
        let rates = -FASTEST..=FASTEST;
        let is_ordered = low <= high && slowest <= fastest && wander >= 0.0;
        // Not a number is in no range.
        if !is_ordered || ![slowest, fastest, wander].iter().all(|rate| rates.contains(rate)) {
            return Err(self.malformed("an estimate of a clock", at));
        }
        Ok(Estimate { at: when, low, high, slowest, fastest, wander })
    }

    fn u64(&mut self, part: &'static str) -> Result<u64, WireError> {
        self.array(part).map(u64::from_le_bytes)
    }

    fn i64(&mut self, part: &'static str) -> Result<i64, WireError> {
        self.array(part).map(i64::from_le_bytes)
    }
}
