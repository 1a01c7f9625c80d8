//! What simulated nodes say on their links, as their drivers would say it: frames that wait for credit and for the system,
//! bytes that come in parts, and links that end in the middle of a frame.

use std::sync::Arc;

use banyan_link::Address;

use super::happening::Happening;
use super::model::Broken;
use super::network::{EndIndex, Sent, Wire, WireArrival, WireEnd, WireId};
use super::world::World;
use crate::ids::{LinkId, NodeId, Time};
use crate::link_protocol::{self, Way};
use crate::message::{Ancestry, Message};
use crate::wire::AddressBook;

/// One of so many pieces of what is sent comes in two parts.
const PARTED: usize = 8;

/// Where a node is told to be reached.
fn address(node: NodeId) -> Arc<[Address]> {
    [Address::Abstract(format!("n{}", node.0))].into()
}

/// What a node knows when it starts: where those above it are, and where it is itself, unless it is a member.
pub(super) fn book(node: NodeId, rank: Option<u32>, ancestry: &Ancestry) -> AddressBook {
    let mut book = AddressBook::new();
    let above = ancestry.iter().map(|ancestor| ancestor.itself.node);
    let own = Some(node).filter(|_| rank.is_none());
    own.into_iter().chain(above).for_each(|node| book.set(node, address(node)));
    book
}

impl World<'_, '_> {
    /// Makes the end of a wire that a node has from now on.
    pub(super) fn make_end(&mut self, wire: WireId, end: EndIndex) {
        let made = WireEnd::new(&self.link_options, Wire::is_local(wire), self.begin);
        self.wires[wire].ends[end] = Some(Box::new(made));
    }

    fn end_of(&self, node: usize, link: LinkId) -> Option<(WireId, EndIndex)> {
        self.nodes[node].wires.get(&link).copied().filter(|(wire, end)| self.wires[*wire].ends[*end].is_some())
    }

    pub(super) fn touch(&mut self, node: usize, link: LinkId) {
        let touched = &mut self.nodes[node].touched;
        if touched.last() != Some(&link) {
            touched.push(link);
        }
    }

    /// A node says something on a link.
    pub(super) fn send(&mut self, node: usize, link: LinkId, message: &Message) {
        let Some((wire, end)) = self.end_of(node, link) else { return self.note_lost_message(message) };
        let at = &mut self.wires[wire];
        at.sent[1 - end].push_back(Sent::of(message));
        if let Some(own) = &mut at.ends[end] {
            own.protocol.send(message, &self.nodes[node].book);
        }
        self.touch(node, link);
    }

    /// A node closes a link when everything has gone.
    pub(super) fn close(&mut self, node: usize, link: LinkId) {
        let Some((wire, end)) = self.end_of(node, link) else { return };
        if let Some(own) = &mut self.wires[wire].ends[end] {
            if end == 0 && !own.protocol.is_open() {
                // Nobody is there yet.
                return self.let_go(node, link);
            }
            own.protocol.close();
        }
        self.touch(node, link);
    }

    /// A node closes a link at once.
    pub(super) fn let_go(&mut self, node: usize, link: LinkId) {
        let Some((wire, end)) = self.end_of(node, link) else { return };
        self.nodes[node].wires.remove(&link);
        self.abandon(wire, end);
        if self.wires[wire].names[1 - end].is_some() {
            let at = self.now.after(self.way(node, self.wires[wire].nodes[1 - end]));
            self.put(wire, 1 - end, at, WireArrival::Closed);
        }
    }

    /// What was on its way to an end, or waits there to be sent, never comes.
    pub(super) fn abandon(&mut self, wire: WireId, end: EndIndex) {
        let lost = self.wires[wire].close(end);
        self.note_lost(&lost);
    }

    /// A node wants to hear when all has gone.
    pub(super) fn drain(&mut self, node: usize, link: LinkId) {
        let Some((wire, end)) = self.end_of(node, link) else { return };
        if let Some(own) = &mut self.wires[wire].ends[end] {
            own.protocol.tell_drained();
        }
        self.touch(node, link);
    }

    /// Sends what waits on links that something was said on or has come by; false if there was none.
    pub(super) fn flush(&mut self, node: usize) -> bool {
        let touched = std::mem::take(&mut self.nodes[node].touched);
        let has_any = !touched.is_empty();
        for link in touched {
            let Some((wire, end)) = self.end_of(node, link) else { continue };
            let (bytes, has_written) = self.wires[wire].transmit(end, &self.formats, self.begin);
            if has_written {
                self.ring(wire, 1 - end);
            }
            if !bytes.is_empty() {
                self.put_bytes(wire, end, bytes);
            }
            let is_drained = self.wires[wire].ends[end].as_mut().is_some_and(|own| own.protocol.take_drained());
            if is_drained {
                self.nodes[node].node.drained(link);
            }
            if self.wires[wire].is_finished(end) {
                self.let_go(node, link);
            }
        }
        has_any
    }

    /// Puts bytes on their way from an end, now and then in two parts.
    fn put_bytes(&mut self, wire: WireId, end: EndIndex, mut bytes: Vec<u8>) {
        let [from, to] = [self.wires[wire].nodes[end], self.wires[wire].nodes[1 - end]];
        if self.chance.one_in(PARTED) {
            let rest = bytes.split_off(self.chance.below(bytes.len()));
            let at = self.now.after(self.way(from, to));
            self.put(wire, 1 - end, at, WireArrival::Bytes(bytes));
            bytes = rest;
        }
        let at = self.now.after(self.way(from, to));
        self.put(wire, 1 - end, at, WireArrival::Bytes(bytes));
    }

    /// Puts something on its way to an end.
    pub(super) fn put(&mut self, wire: WireId, end: EndIndex, at: Time, arrival: WireArrival) {
        let at = self.wires[wire].put(end, at, arrival);
        self.agenda.add(at, Happening::Arrival(wire, end));
    }

    /// Something was written to memory for an end, which is woken.
    fn ring(&mut self, wire: WireId, end: EndIndex) {
        if !std::mem::replace(&mut self.wires[wire].is_rung[end], true) {
            let [one, other] = self.wires[wire].nodes;
            let at = self.now.after(self.way(one, other));
            self.agenda.add(at, Happening::Rung(wire, end));
        }
    }

    /// A node that waits for room, or is woken because of memory, looks at a link.
    pub(super) fn look(&mut self, wire: WireId, end: EndIndex, happening: Happening) -> Result<(), Broken> {
        let node = self.wires[wire].nodes[end];
        let other = self.wires[wire].nodes[1 - end];
        let Some(link) = self.wires[wire].names[end].filter(|_| self.nodes[node].is_alive) else { return Ok(()) };
        if let Some(until) = self.delayed(node).or(self.cut_until(other, node)) {
            let at = until.after(self.latency());
            self.agenda.add(at, happening);
            return Ok(());
        }
        self.wires[wire].is_rung[end] &= !matches!(happening, Happening::Rung(..));
        self.touch(node, link);
        self.take(wire, end)
    }

    /// Bytes have come to an end, in whose process there is somebody who reads them.
    pub(super) fn take_bytes(&mut self, wire: WireId, end: EndIndex, bytes: &[u8]) -> Result<(), Broken> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let Some(own) = &mut self.wires[wire].ends[end] else { return Ok(()) };
            let space = own.connection.space();
            let count = space.len().min(rest.len());
            space[..count].copy_from_slice(&rest[..count]);
            own.connection.received(count, self.begin);
            rest = &rest[count..];
            let is_whole = rest.is_empty();
            if is_whole {
                own.connection.settle();
            }
            self.hear(wire, end)?;
            if count == 0 {
                break;
            }
        }
        // The other end may send more.
        if self.wires[wire].is_blocked[1 - end] {
            self.wires[wire].is_blocked[1 - end] = false;
            let at = self.now.after(self.latency());
            self.agenda.add(at, Happening::Writable(wire, 1 - end));
        }
        Ok(())
    }

    /// Takes what has come to an end, and does what the node wants done.
    pub(super) fn take(&mut self, wire: WireId, end: EndIndex) -> Result<(), Broken> {
        let node = self.wires[wire].nodes[end];
        self.hear(wire, end)?;
        self.act(node)
    }

    fn hear(&mut self, wire: WireId, end: EndIndex) -> Result<(), Broken> {
        let [node, from] = [self.wires[wire].nodes[end], self.wires[wire].nodes[1 - end]];
        let Some(link) = self.wires[wire].names[end] else { return Ok(()) };
        self.touch(node, link);
        while let Some(arrival) = self.wires[wire].next(end, &mut self.nodes[node].book, &self.formats) {
            match arrival {
                link_protocol::Arrival::Message(message) => self.hear_message(wire, end, message)?,
                link_protocol::Arrival::Opened if end == 0 => {
                    let now = self.time_of(node);
                    self.nodes[node].node.linked(link, now);
                }
                link_protocol::Arrival::Opened => {}
                link_protocol::Arrival::Offered(place) => self.share(wire, end, place),
                link_protocol::Arrival::Broken(what) => {
                    return Err(Broken::Nonsense { from, to: node, what });
                }
                link_protocol::Arrival::Ended(_) => return self.end_closes(wire, end),
            }
        }
        Ok(())
    }

    fn hear_message(&mut self, wire: WireId, end: EndIndex, message: Message) -> Result<(), Broken> {
        let [node, from] = [self.wires[wire].nodes[end], self.wires[wire].nodes[1 - end]];
        let (Some(link), now) = (self.wires[wire].names[end], self.time_of(node)) else { return Ok(()) };
        (self.trace)(&|| format!("{now} {from} -> {node}: {message:?}"));
        self.wires[wire].compare(end, &Sent::of(&message)).map_err(|sent| {
            let sent = sent.map_or("nothing".into(), |sent| format!("{sent:?}"));
            Broken::Link { from, to: node, sent, came: format!("{message:?}") }
        })?;
        let is_closing = self.wires[wire].ends[end].as_ref().is_none_or(|own| own.protocol.is_closing());
        if is_closing || !self.nodes[node].node.is_child(link) {
            self.note_lost_message(&message);
        }
        if is_closing {
            return Ok(());
        }
        let is_question = matches!(message, Message::Attach(_));
        self.nodes[node].node.message(link, message, now);
        if is_question && self.plan.shares_memory && self.nodes[node].node.is_child(link) {
            self.offer(wire, end);
        }
        Ok(())
    }

    /// A node offers memory to a child on its host.
    fn offer(&mut self, wire: WireId, end: EndIndex) {
        if let Some(own) = self.wires[wire].ends[end].as_mut().filter(|own| own.protocol.may_offer()) {
            own.protocol.offer(&mut own.connection, wire as u32);
        }
    }

    /// A child shares the memory that it was offered.
    fn share(&mut self, wire: WireId, end: EndIndex, place: u32) {
        let own = self.wires[wire].ends[end].as_mut();
        if let Some(own) = own.filter(|own| !own.protocol.is_closing() && own.protocol.way() == Way::Socket) {
            own.protocol.share(&mut own.connection, place);
        }
    }
}
