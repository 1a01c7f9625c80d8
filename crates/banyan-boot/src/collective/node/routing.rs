//! Which way data goes, and what of it may come from where.

use banyan_link::{Frame, Kind};

use super::{Collectives, Out, To, reducing::Reducing};
use crate::{
    collective::{
        Call, Number,
        broken::Offence,
        bundle::{Damaged, is_bundle, messages},
    },
    message::{BROADCAST, CONTINUED, GATHER, MORE, REDUCE, RESULT, SCATTER, SHARE},
};

impl Collectives {
    pub(super) fn data_from_child(
        &mut self,
        child: usize,
        number: Number,
        frame: Frame,
        out: &mut Out,
    ) -> Result<(), Offence> {
        if self.is_doomed(number) {
            return Ok(());
        }
        let messages = count(&frame)?;
        self.account(child, number, &frame, messages)?;
        let stream = frame.stream;
        match frame.kind {
            REDUCE => return self.reduce(child, number, frame, out),
            BROADCAST => {
                self.check_is_master(child, 0)?;
                if !self.is_root {
                    out.push((To::Parent, frame.clone()));
                }
                out.push((To::AllChildrenBut(child), frame));
            }
            SCATTER if is_bundle(&frame) => {
                self.check_is_master(child, 0)?;
                self.pass_parts(Some(child), &frame, out)?;
            }
            SCATTER => {
                self.check_is_master(child, stream)?;
                out.push((self.way_to(stream, child)?, frame));
            }
            kind => {
                self.check_senders(child, &frame)?;
                let to = match kind {
                    GATHER => self.way_to(0, child)?,
                    _ if self.is_root => To::AllChildren,
                    _ => To::Parent,
                };
                self.collect(number, to, frame, messages, out);
            }
        }
        Ok(())
    }

    pub(super) fn data_from_parent(&mut self, number: Number, frame: Frame, out: &mut Out) -> Result<(), Offence> {
        if self.is_doomed(number) {
            return Ok(());
        }
        count(&frame)?;
        let below = |rank: u32| self.children.of(rank).map(To::Child).ok_or(Offence::Rank(rank));
        let to = match frame.kind {
            BROADCAST if self.children.of_master().is_some() => return Err(Offence::Data { number: number.0 }),
            SCATTER if is_bundle(&frame) => return self.pass_parts(None, &frame, out),
            SCATTER => below(frame.stream)?,
            GATHER => below(0)?,
            _ => To::AllChildren,
        };
        out.push((to, frame));
        Ok(())
    }

    /// Counts the messages of a child, and refuses what it cannot have to send.
    ///
    /// A child of several members passes their data on before all of them have entered, so only then is the call known.
    fn account(&mut self, child: usize, number: Number, frame: &Frame, messages: u32) -> Result<(), Offence> {
        let has_entered = number < self.entered[child];
        let has_one_way = self.children.members(child) == 1 || frame.kind == REDUCE;
        let children = self.children.len();
        let round = self.rounds.at(number);
        let fits = match round.call {
            Some(call) if has_entered => {
                // One that goes on is one more.
                let sum = round.finished(child).saturating_add(messages.max(1));
                kind_of(&call) == Some(frame.kind) && sum <= self.children.messages(&call, child)
            }
            _ => !has_one_way,
        };
        if !fits {
            return Err(Offence::Data { number: number.0 });
        }
        if messages > 0 {
            round.finished.resize(children, 0);
            round.finished[child] = round.finished[child].saturating_add(messages);
        }
        Ok(())
    }

    /// Refuses messages of members that are elsewhere.
    fn check_senders(&self, child: usize, frame: &Frame) -> Result<(), Offence> {
        let check = |rank: u32| {
            if self.children.of(rank) == Some(child) { Ok(()) } else { Err(Offence::Rank(rank)) }
        };
        match is_bundle(frame) {
            true => messages(frame).try_for_each(|message| check(message?.rank)),
            false => check(frame.stream),
        }
    }

    /// Only the master sends to others: refuses what another child says to be the master's.
    fn check_is_master(&self, child: usize, to: u32) -> Result<(), Offence> {
        let is_master = self.children.of_master() == Some(child);
        if !is_master {
            return Err(Offence::Rank(0));
        }
        if self.children.exists(to) { Ok(()) } else { Err(Offence::Rank(to)) }
    }

    /// Where data for a rank goes that came from a child: never back.
    pub(super) fn way_to(&self, rank: u32, from: usize) -> Result<To, Offence> {
        match self.children.of(rank) {
            Some(child) if child != from => Ok(To::Child(child)),
            None if !self.is_root => Ok(To::Parent),
            _ => Err(Offence::Rank(rank)),
        }
    }

    fn reduce(&mut self, child: usize, number: Number, frame: Frame, out: &mut Out) -> Result<(), Offence> {
        let place = self.children.place(child);
        let children = self.children.peopled();
        let round = self.rounds.at(number);
        let Some(Call::AllReduce(reduction)) = round.call else {
            return Err(Offence::Data { number: number.0 });
        };
        let reducing = round.reducing.get_or_insert_with(|| Box::new(Reducing::new(reduction, children)));
        let is_last = frame.flags & MORE == 0;
        let combined = reducing.take(place, frame.payload, is_last).map_err(|_| Offence::Piece { number: number.0 })?;
        let Some((payload, is_last)) = combined else { return Ok(()) };
        let continued = if reducing.is_continued() { CONTINUED } else { 0 };
        if is_last {
            round.reducing = None;
        }
        let flags = continued | if is_last { 0 } else { MORE };
        let (to, kind, stream) =
            if self.is_root { (To::AllChildren, RESULT, 0) } else { (To::Parent, REDUCE, self.children.lowest()) };
        out.push((to, Frame { flags, ..Frame::new(kind, stream, number.sequence(), payload) }));
        Ok(())
    }
}

/// Messages that are complete with a frame.
fn count(frame: &Frame) -> Result<u32, Offence> {
    if !is_bundle(frame) {
        return Ok(u32::from(frame.flags & MORE == 0));
    }
    let count = messages(frame).try_fold(0, |count, message| message.map(|_| count + 1))?;
    if count > 0 { Ok(count) } else { Err(Damaged.into()) }
}

/// The kind of the data that comes up in a call.
fn kind_of(call: &Call) -> Option<Kind> {
    match call {
        Call::Barrier => None,
        Call::Broadcast => Some(BROADCAST),
        Call::Scatter => Some(SCATTER),
        Call::Gather => Some(GATHER),
        Call::AllGather => Some(SHARE),
        Call::AllReduce(_) => Some(REDUCE),
    }
}
