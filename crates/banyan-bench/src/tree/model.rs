//! What a tree of any size would do, from what one hop costs: a model, not a measurement.
//!
//! Every node is a processor of its own, as in a tree over as many hosts. It does one thing after the other: it sends to
//! its children in turn, and takes in what they send in turn. A message is with the next node one *hop* after it was
//! sent. Members answer at once. Nothing is lost, nobody is slow, and no switch between the hosts is full. Trees are as
//! flat as the fan-out allows, with children spread evenly (`fanout:16:1000` in the words of topologies).

use serde::Serialize;

/// What a node pays, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Costs {
    /// From a message's having been sent to its receiver's having it: the way and the waking.
    pub hop_us: f64,
    /// Of the processor, for sending a message to one child.
    pub send_us: f64,
    /// Of the processor, for taking a message of one child in.
    pub receive_us: f64,
    /// Of the processor, for one child's part of a wave when messages carry as many waves as have arrived.
    pub wave_us: f64,
}

/// What a tree would do.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Prediction {
    /// The most children of a node.
    pub fan_out: u32,
    /// How many members.
    pub members: u32,
    /// Levels below the front-end.
    pub levels: usize,
    /// An integer to everyone, and the sum of the answers.
    pub round_trip_us: f64,
    /// Pipelined waves of one integer.
    pub waves_per_second: f64,
}

impl Costs {
    /// What a tree within this fan-out would do with so many members.
    pub fn predict(&self, fan_out: u32, members: u32) -> Prediction {
        let widths = widths(fan_out, members);
        let widest = f64::from(widths.iter().copied().max().unwrap_or(1));
        Prediction {
            fan_out,
            members,
            levels: widths.len(),
            round_trip_us: widths.iter().rev().fold(0.0, |below, width| self.level(*width, below)),
            // Everyone works at once, so the node with the most children sets the pace. Passing its sums on costs it
            // about as much as one more child.
            waves_per_second: 1e6 / ((widest + 1.0) * self.wave_us),
        }
    }

    /// From a node's beginning to send until it has all answers of so many children, each of whom takes `below` for its
    /// own part. The last of three things decides: its own work alone; the first answer, after which all are taken in
    /// one after the other; the last answer, by when all others are in.
    fn level(&self, width: u32, below: f64) -> f64 {
        let (width, away) = (f64::from(width), 2.0 * self.hop_us + below);
        let own = width * (self.send_us + self.receive_us);
        let first = self.send_us + away + width * self.receive_us;
        let last = width * self.send_us + away + self.receive_us;
        own.max(first).max(last)
    }
}

/// The most children of a node on each level, from the front-end down.
fn widths(fan_out: u32, members: u32) -> Vec<u32> {
    let mut widths = Vec::new();
    let mut count = members;
    while count > fan_out {
        let above = count.div_ceil(fan_out);
        widths.push(count.div_ceil(above));
        count = above;
    }
    widths.push(count);
    widths.reverse();
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs { hop_us: 20.0, send_us: 2.0, receive_us: 1.0, wave_us: 0.01 };

    #[test]
    fn one_member_costs_two_hops_and_its_messages() {
        let one = COSTS.predict(16, 1);
        assert_eq!((one.levels, one.round_trip_us), (1, 2.0 + 20.0 + 20.0 + 1.0));
    }

    #[test]
    fn a_level_more_adds_hops_and_not_more_work_at_the_top() {
        let (one, two) = (COSTS.predict(16, 16), COSTS.predict(16, 256));
        assert_eq!((one.levels, two.levels), (1, 2));
        assert_eq!(one.round_trip_us, 16.0 * 2.0 + 40.0 + 1.0);
        assert_eq!(two.round_trip_us, 2.0 * one.round_trip_us);
        assert_eq!(one.waves_per_second, two.waves_per_second);
    }

    #[test]
    fn a_node_that_is_busy_sending_takes_answers_in_afterwards() {
        let near = Costs { hop_us: 1.0, ..COSTS };
        assert_eq!(near.predict(64, 64).round_trip_us, 64.0 * (2.0 + 1.0));
    }

    #[test]
    fn no_level_is_wider_than_the_fan_out_and_all_members_have_a_place() {
        for fan_out in [2, 8, 16, 32, 64] {
            for members in [1, 2, 15, 16, 17, 1000, 4097, 1_048_576] {
                let widths = widths(fan_out, members);
                let room: u64 = widths.iter().map(|width| u64::from(*width)).product();
                assert!(widths.iter().all(|width| *width <= fan_out), "{fan_out} {members} {widths:?}");
                assert!(room >= members.into(), "{fan_out} {members} {widths:?}");
            }
        }
    }
}
