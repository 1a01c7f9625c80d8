//! What every node has done, collected through the tree itself: the question goes down from node to node, and every node
//! answers with its figures, which its parents pass on. Neither is kept: who has moved meanwhile is asked again.

use std::collections::BTreeMap;

use super::records::RecordCounters;
use super::{Action, Node};
use crate::ids::{LinkId, NodeId};
use crate::message::{Message, NodeInfo};

/// What a node has done since it was made, and what it holds at this moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// Children.
    pub children: u64,
    /// Waves that went up from here, of all streams that are open; at the front-end none do.
    pub waves_up: u64,
    /// Their bytes.
    pub bytes_up: u64,
    /// Packets that went down from here, counted for each child.
    pub packets_down: u64,
    /// Their bytes.
    pub bytes_down: u64,
    /// Bytes that are kept: of waves that the front-end has not taken, or that wait for others, and of packets that someone
    /// at or below it has not taken.
    pub held_bytes: u64,
    /// How often the program could not send because others were behind.
    pub program_stalls: u64,
    /// Nanoseconds in filters.
    pub filter_nanoseconds: u64,
    /// Of streams without waves that are open: what was sent here, and dropped for which reason; at the front-end what came.
    pub records: RecordCounters,
    /// Of its links: see [`LinkFigures`].
    pub links: LinkFigures,
}

/// What the links of a node that are there have done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkFigures {
    /// Frames sent.
    pub frames_sent: u64,
    /// Frames received.
    pub frames_received: u64,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Times that data had to wait because the peer's credit was used up.
    pub credit_stalls: u64,
    /// Frames that wait for it now.
    pub queued: u64,
    /// Connections to its listeners that were refused: port scans, other programs, strangers without the secret.
    pub refused: u64,
}

impl Figures {
    /// How many numbers they are.
    pub(crate) const NUMBERS: usize = 22;

    /// As numbers, in the order of the fields.
    pub(crate) fn to_numbers(self) -> [u64; Figures::NUMBERS] {
        let Figures { children, waves_up, bytes_up, packets_down, bytes_down, held_bytes, .. } = self;
        let LinkFigures { frames_sent, frames_received, bytes_sent, bytes_received, credit_stalls, queued, refused } =
            self.links;
        let RecordCounters { sent, seen, delivered, filtered, without_parent, without_room, without_stream } =
            self.records;
        [
            children,
            waves_up,
            bytes_up,
            packets_down,
            bytes_down,
            held_bytes,
            self.program_stalls,
            self.filter_nanoseconds,
            sent,
            seen,
            delivered,
            filtered,
            without_parent,
            without_room,
            without_stream,
            frames_sent,
            frames_received,
            bytes_sent,
            bytes_received,
            credit_stalls,
            queued,
            refused,
        ]
    }

    /// The figures of such numbers.
    pub(crate) fn from_numbers(numbers: [u64; Figures::NUMBERS]) -> Figures {
        let [children, waves_up, bytes_up, packets_down, bytes_down, held_bytes, program_stalls, rest @ ..] = numbers;
        let [filter_nanoseconds, sent, seen, delivered, filtered, rest @ ..] = rest;
        let [without_parent, without_room, without_stream, rest @ ..] = rest;
        let records = RecordCounters { sent, seen, delivered, filtered, without_parent, without_room, without_stream };
        let [frames_sent, frames_received, bytes_sent, bytes_received, rest @ ..] = rest;
        let [credit_stalls, queued, refused] = rest;
        let links =
            LinkFigures { frames_sent, frames_received, bytes_sent, bytes_received, credit_stalls, queued, refused };
        Figures {
            children,
            waves_up,
            bytes_up,
            packets_down,
            bytes_down,
            held_bytes,
            program_stalls,
            filter_nanoseconds,
            records,
            links,
        }
    }
}

/// At the front-end: the last question, and the answers so far.
#[derive(Debug, Default)]
pub(super) struct Inquiry {
    question: u32,
    answers: BTreeMap<NodeId, Figures>,
}

impl Node {
    /// At the front-end: asks every node for its figures. Answers to questions before are forgotten.
    pub fn ask_figures(&mut self) {
        let Some(front_end) = self.role.front_end_mut() else { return };
        front_end.inquiry.question += 1;
        front_end.inquiry.answers.clear();
        let question = front_end.inquiry.question;
        self.pass_question(question);
    }

    /// At the front-end: the answers to the last question that have come.
    pub fn figures(&self) -> Option<&BTreeMap<NodeId, Figures>> {
        self.role.front_end().map(|front_end| &front_end.inquiry.answers)
    }

    /// Asks those below, and the driver.
    pub(super) fn pass_question(&mut self, question: u32) {
        let links: Vec<LinkId> = self.below.links().map(|(_, link)| link).collect();
        for link in links {
            self.send(link, Message::Count(question));
        }
        self.actions.push_back(Action::Count(question));
    }

    /// Where everyone is who is below this node now, in no order; at the front-end without those who are adrift or were
    /// given up.
    pub fn nodes(&self) -> Vec<NodeInfo> {
        let is_there = |place: &&NodeInfo| {
            let misses = |node| self.role.front_end().is_some_and(|front_end| front_end.misses(node));
            self.below.link_towards(place.node).is_some() && !self.below.chain(place.node).any(misses)
        };
        self.below.places().filter(is_there).copied().collect()
    }

    /// Answers a question, with what the driver knows of this node's links.
    pub fn answer(&mut self, question: u32, links: LinkFigures) {
        let figures = self.own_figures(links);
        self.counted(question, self.id, figures);
    }

    /// A node's answer is on its way.
    pub(super) fn counted(&mut self, question: u32, node: NodeId, figures: Figures) {
        match self.role.front_end_mut() {
            Some(front_end) if front_end.inquiry.question == question => {
                _ = front_end.inquiry.answers.insert(node, figures)
            }
            Some(_) => {}
            None => self.send_up(Message::Counted { question, node, figures: Box::new(figures) }),
        }
    }

    fn own_figures(&self, links: LinkFigures) -> Figures {
        let counters = self.counters();
        let held = counters.kept_bytes + counters.gathered_bytes + counters.log_bytes;
        let mut figures = Figures {
            children: counters.children as u64,
            held_bytes: held as u64,
            filter_nanoseconds: self.transformations.time().as_nanos().try_into().unwrap_or(u64::MAX),
            records: counters.records,
            links,
            ..Figures::default()
        };
        for stream in self.streams.values() {
            figures.waves_up += stream.traffic.waves_up;
            figures.bytes_up += stream.traffic.bytes_up;
            figures.packets_down += stream.traffic.packets_down;
            figures.bytes_down += stream.traffic.bytes_down;
            figures.program_stalls += stream.traffic.stalls;
        }
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_come_back_from_their_numbers() {
        let numbers = std::array::from_fn(|at| at as u64 + 1);
        assert_eq!(Figures::from_numbers(numbers).to_numbers(), numbers);
        assert_eq!(Figures::from_numbers(numbers).links.refused, Figures::NUMBERS as u64);
    }
}
