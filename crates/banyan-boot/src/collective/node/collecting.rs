//! Many short messages at a node: collected into one frame on their way up, cut apart on their way down.
//!
//! Whoever gets the parts of a gather needs all of them, so nobody waits longer when a node keeps those that came first.

use banyan_link::Frame;

use super::{Collectives, Out, To};
use crate::{
    collective::{
        Number,
        broken::Offence,
        bundle::{self, Bundle, BundleMessage, OVERHEAD, messages},
    },
    message::{GATHER, SCATTER},
};

impl Collectives {
    /// Takes what came up in a gather or an `all_gather`, so many messages, and passes it on with the others: when all
    /// have come, when a bundle is full, or at once if it is long.
    pub(super) fn collect(&mut self, number: Number, to: To, frame: Frame, messages: u32, out: &mut Out) {
        let kind = frame.kind;
        let all = self.children.all_messages(kind == GATHER);
        let round = self.rounds.at(number);
        round.arrived = round.arrived.saturating_add(messages);
        let is_last = round.arrived >= all;
        let is_alone = is_last && round.collected.is_empty();
        if is_alone || !Bundle::takes(&frame) {
            out.push((to, frame));
        } else {
            let length = frame.payload.len();
            if !round.collected.has_room(length) {
                out.extend(round.collected.take(kind, number).map(|full| (to, full)));
            }
            if round.collected.is_empty() {
                // Those that are still to come are, as often as not, as long as this one.
                let same = all.saturating_sub(round.arrived) as usize + 1;
                round.collected.reserve(same.saturating_mul(length + OVERHEAD));
            }
            round.collected.add_frame(&frame);
        }
        if is_last {
            out.extend(round.collected.take(kind, number).map(|last| (to, last)));
        }
    }

    /// Passes the parts of a scatter on, which came from a child or from the parent: to each child a slice of the bundle,
    /// or the bytes alone if it is a single member.
    pub(super) fn pass_parts(&self, from: Option<usize>, frame: &Frame, out: &mut Out) -> Result<(), Offence> {
        let before = out.len();
        let passed = self.cut(from, frame, out);
        if passed.is_err() {
            out.truncate(before);
        }
        passed
    }

    fn cut(&self, from: Option<usize>, frame: &Frame, out: &mut Out) -> Result<(), Offence> {
        let mut run: Option<(To, BundleMessage)> = None;
        let slice = |(to, run): (To, BundleMessage)| {
            let parts = frame.payload.slice(run.begin..run.end);
            (to, bundle::frame(SCATTER, run.rank, frame.sequence, parts))
        };
        for part in messages(frame) {
            let part = part?;
            let to = self.way_of_part(part.rank, from)?;
            if matches!(to, To::Child(child) if self.children.members(child) == 1) {
                out.extend(run.take().map(slice));
                out.push((to, Frame::new(SCATTER, part.rank, frame.sequence, part.bytes(&frame.payload))));
                continue;
            }
            match &mut run {
                Some((same, run)) if *same == to => run.end = part.end,
                _ => out.extend(run.replace((to, part)).map(slice)),
            }
        }
        out.extend(run.map(slice));
        Ok(())
    }

    fn way_of_part(&self, rank: u32, from: Option<usize>) -> Result<To, Offence> {
        match from {
            Some(_) if !self.children.exists(rank) => Err(Offence::Rank(rank)),
            Some(child) => self.way_to(rank, child),
            None => self.children.of(rank).map(To::Child).ok_or(Offence::Rank(rank)),
        }
    }
}
