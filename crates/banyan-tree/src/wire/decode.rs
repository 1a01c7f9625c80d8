//! From frames to messages.

use std::num::NonZeroU32;
use std::sync::Arc;

use banyan_boot::RankSet;
use banyan_link::Frame;
use banyan_ndr::FormatId;
use banyan_reduce::Bodies;
use bytes::Bytes;

use crate::ids::{Epoch, NodeId, StreamId, WaveNumber};
use crate::message::{Attach, Chosen, Gone, Message, Opening, Packet, Scatter, Succession};
use crate::node::Figures;
use crate::run::Run;
use crate::stream_options::Direction;
use crate::yields::Yields;

use super::book::AddressBook;
use super::error::WireError;
use super::layout::Layout;
use super::pieces::Pieces;
use super::reader::Reader;
use super::sets::MemberSets;
use super::{
    ACKNOWLEDGE, ADDRESSES, AGAIN, ANCESTRY, APART, ATTACH, BEGIN, BODIES, CERTAIN, CHOSEN, CLOCK_ASKED, CLOCK_COUNTED,
    CLOCK_TOLD, CLOSE, CONFIRM, COUNT, COUNT_CLOCKS, COUNTED, ENDED, EXAMINE, FAILED, FIELD_MISSING, FRESH, GAP, GONE,
    JOINS_HEARD, LARGEST_NUMBER, LISTED, LONGEST_SET, MEMBERS, NEW, OPEN, OVER, OVERDUE, PARTIAL, PARTICIPATE, PLACED,
    RECEIVED, RECORD, REFUSE, RESEND, RUN, RUN_WAVES, SCATTER, SIZES, SKIPPED, SUCCEEDED, TAGGED, TAKEN, UNCOMBINED,
    URGENT, VIOLATED, WANT_ACKNOWLEDGEMENT, WANT_RECEIPT, WELCOME, WITHDRAW, YIELDS,
};

/// Reads the messages that come on one link.
#[derive(Debug)]
pub(crate) struct Decoder {
    /// Bytes of the longest payload that is put together from pieces.
    longest: usize,
    /// What the peer says by number.
    sets: MemberSets,
    /// A message, or what is before its bodies, in pieces.
    pieces: Pieces,
    /// A message whose bodies are to come.
    announced: Option<Frame>,
}

impl Decoder {
    /// For a new link on which messages are at most `longest` bytes long: [`LONGEST_MESSAGE`](super::LONGEST_MESSAGE),
    /// unless there is a reason.
    pub(crate) fn new(longest: usize) -> Decoder {
        Decoder { longest, sets: MemberSets::default(), pieces: Pieces::default(), announced: None }
    }

    /// Reads the next frame of the link. `None` if it was not the last of a message, or prepares others. What it says of
    /// addresses is put into the book. Bodies are parts of the payload, or of what was put together from pieces.
    ///
    /// # Errors
    /// If the peer sent nonsense. The link cannot be used any more.
    pub(crate) fn decode(&mut self, frame: &Frame, book: &mut AddressBook) -> Result<Option<Message>, WireError> {
        let layout = Layout::of(frame.kind)?;
        layout.check(frame)?;
        let limit = if frame.kind == MEMBERS { LONGEST_SET } else { self.longest };
        let Some(whole) = self.pieces.put(frame, &layout, limit)? else { return Ok(None) };
        match (self.announced.take(), whole.kind) {
            (None, BODIES) => Err(WireError::Unannounced),
            (None, MEMBERS) => self.members(&whole).map(|()| None),
            (None, ADDRESSES) => hear(&whole, &layout, book).map(|()| None),
            (None, _) if whole.flags & APART != 0 => {
                self.announced = Some(whole.into_owned());
                Ok(None)
            }
            (None, _) => self.message(&whole, &layout, None).map(Some),
            (Some(head), BODIES) => self.message(&head, &Layout::of(head.kind)?, Some(whole.payload.clone())).map(Some),
            (Some(head), _) => Err(WireError::Interrupted { message: Layout::of(head.kind)?.name, other: layout.name }),
        }
    }

    /// A set that is known from now on.
    fn members(&mut self, frame: &Frame) -> Result<(), WireError> {
        let mut reader = Reader::new("a set of members", &frame.payload);
        let (set, length) = RankSet::decode(&frame.payload)?;
        reader.bytes("ranks", length)?;
        reader.end()?;
        if frame.sequence != self.sets.next() {
            return Err(reader.value("its number", frame.sequence));
        }
        self.sets.add(Arc::new(set), length);
        Ok(())
    }

    /// A whole message; its bodies, if they came apart.
    fn message(&self, frame: &Frame, layout: &Layout, bodies: Option<Bytes>) -> Result<Message, WireError> {
        let stream = StreamId(frame.stream);
        let mut reader = Reader::new(layout.name, &frame.payload);
        let message = match frame.kind {
            RUN => Message::Run(self.run(frame, &mut reader, bodies)?),
            RECORD => {
                let (sequence, packet) = self.record(frame, &mut reader, bodies)?;
                Message::Packet { stream, sequence, packet }
            }
            ACKNOWLEDGE => Message::Acknowledge { stream, until: WaveNumber(numbered(frame, &mut reader)?) },
            RECEIVED => Message::Received { stream, until: numbered(frame, &mut reader)? },
            _ => self.decode_rare(frame, &mut reader, bodies)?,
        };
        reader.end()?;
        Ok(message)
    }

    /// What is not said for every wave: its variables would lie between those of what is, on a stack that is cold.
    #[cold]
    fn decode_rare(&self, frame: &Frame, reader: &mut Reader<'_>, bodies: Option<Bytes>) -> Result<Message, WireError> {
        let stream = StreamId(frame.stream);
        Ok(match frame.kind {
            ATTACH => attach(reader, frame.flags)?,
            WELCOME => Message::Welcome(reader.ancestry()?.into()),
            REFUSE => Message::Refuse(reader.candidates()?),
            ANCESTRY => Message::Ancestry(reader.ancestry()?.into()),
            SUCCEEDED => {
                let (member, life) = (NodeId(frame.stream), frame.sequence);
                Message::Succeeded(Arc::new(Succession { member, life, free: reader.free_waves()? }))
            }
            PLACED => {
                let count = reader.u32("how many places there are")?;
                let is_new = frame.flags & NEW != 0;
                Message::Placed { places: reader.places(count)?, resumes: reader.resumes()?, is_new }
            }
            GONE => Message::Gone(Gone {
                node: NodeId(frame.stream),
                epoch: Epoch(frame.sequence),
                is_certain: frame.flags & CERTAIN != 0,
                resumes: reader.resumes()?,
            }),
            ENDED => Message::Ended { node: NodeId(frame.stream), members: self.set(frame, reader)? },
            PARTICIPATE => Message::Participate { stream, next: WaveNumber(numbered(frame, reader)?) },
            WITHDRAW => Message::Withdraw(stream),
            AGAIN => Message::Again(stream),
            WANT_ACKNOWLEDGEMENT => Message::WantAcknowledgement(stream),
            WANT_RECEIPT => Message::WantReceipt(stream),
            BEGIN => Message::Begin { stream, next: WaveNumber(numbered(frame, reader)?) },
            SCATTER | FAILED | OPEN | CLOSE | OVER => {
                let (sequence, packet) = self.packet(frame, reader, bodies)?;
                Message::Packet { stream, sequence, packet }
            }
            LISTED => {
                let options = reader.stream_options()?;
                let members = self.set(frame, reader)?;
                Message::Listed(Arc::new(Opening { stream, members, options }))
            }
            RESEND => Message::Resend { stream, from: numbered(frame, reader)? },
            SKIPPED => Message::Skipped { stream, until: numbered(frame, reader)? },
            GAP => gap(stream, reader)?,
            JOINS_HEARD => Message::JoinsHeard(frame.sequence),
            COUNT => Message::Count(frame.sequence),
            COUNTED => Message::Counted {
                question: frame.sequence,
                node: NodeId(frame.stream),
                figures: Box::new(figures(reader)?),
            },
            CLOCK_ASKED | CLOCK_TOLD | COUNT_CLOCKS | CLOCK_COUNTED => reader.of_clocks(frame)?,
            UNCOMBINED => Message::Uncombined {
                node: NodeId(frame.sequence),
                stream,
                wave: WaveNumber(reader.number("the wave")?),
                direction: direction(reader)?,
                cause: text(reader, "why")?,
            },
            VIOLATED => Message::Violated {
                node: NodeId(frame.stream),
                child: NodeId(frame.sequence),
                cause: text(reader, "what it did")?,
            },
            FIELD_MISSING => {
                let field = text(reader, "the field")?;
                Message::FieldMissing { stream, field, members: self.set(frame, reader)? }
            }
            OVERDUE => {
                let wave = WaveNumber(reader.number("the wave")?);
                Message::Overdue { stream, wave, members: self.set(frame, reader)? }
            }
            EXAMINE => Message::Examine { stream, wave: WaveNumber(numbered(frame, reader)?) },
            CONFIRM => Message::Confirm { stream, until: reader.confirmations()? },
            TAKEN => Message::Taken { stream, bytes: numbered(frame, reader)? },
            kind => return Err(WireError::Kind(kind.number())),
        })
    }

    fn run(&self, frame: &Frame, reader: &mut Reader<'_>, apart: Option<Bytes>) -> Result<Run, WireError> {
        let first = WaveNumber(reader.number("the first wave")?);
        let count = reader.u32("how many waves there are")?;
        let size = reader.u32("the size of a body")?;
        let has_yields = frame.flags & YIELDS != 0;
        if count > RUN_WAVES || (!has_yields && first.after(count) > WaveNumber(LARGEST_NUMBER)) {
            return Err(reader.value("how many waves there are", count));
        }
        let tag = if frame.flags & TAGGED != 0 { tag(reader)? } else { 0 };
        let yields = if has_yields { Some(yields(reader, first, count)?) } else { None };
        let bodies = if frame.format.is_none() {
            let is_plain = frame.flags & (SIZES | APART | YIELDS | TAGGED) == 0 && apart.is_none();
            let absent = absent(count, size).filter(|_| is_plain);
            absent.ok_or_else(|| reader.value("the size of what is absent", size))?
        } else {
            self.bodies_of_run(frame, reader, apart, (count, size))?
        };
        let (members, bodies) = (self.set(frame, reader)?, bodies.tagged(tag));
        let (is_fresh, is_partial) = (frame.flags & FRESH != 0, frame.flags & PARTIAL != 0);
        Ok(Run { stream: StreamId(frame.stream), first, members, is_fresh, is_partial, yields, bodies })
    }

    fn bodies_of_run(
        &self,
        frame: &Frame,
        reader: &mut Reader<'_>,
        apart: Option<Bytes>,
        (count, size): (u32, u32),
    ) -> Result<Bodies, WireError> {
        let format = format(frame, reader)?;
        Ok(if frame.flags & SIZES == 0 {
            Bodies::of_size(format, size, count, bodies(frame, reader, apart))?
        } else if size == 0 {
            let ends = reader.bytes("where bodies end", count as usize * size_of::<u32>())?;
            let ends = ends.as_chunks().0.iter().map(|end| u32::from_le_bytes(*end)).collect();
            reader.padding()?;
            Bodies::by_ends(format, ends, bodies(frame, reader, apart))?
        } else {
            return Err(reader.value("the size of bodies of several sizes", size));
        })
    }

    fn packet(&self, frame: &Frame, reader: &mut Reader<'_>, apart: Option<Bytes>) -> Result<(u64, Packet), WireError> {
        if frame.kind == OVER {
            return Ok((numbered(frame, reader)?, Packet::Over));
        }
        let sequence = reader.number("the packet's number")?;
        let packet = match frame.kind {
            OPEN => {
                let stream = StreamId(reader.u32("the new stream")?);
                let options = reader.stream_options()?;
                let members = self.set(frame, reader)?;
                Packet::Open(Arc::new(Opening { stream, members, options }))
            }
            CLOSE => Packet::Close(StreamId(frame.sequence)),
            FAILED if frame.flags & CHOSEN != 0 => {
                let members = self.set_of_number(reader.u32("a set of members")?, reader)?;
                let content = Packet::Failed { tag: frame.sequence, cause: text(reader, "why")? };
                Packet::Chosen(Arc::new(Chosen { members, content }))
            }
            FAILED => Packet::Failed { tag: frame.sequence, cause: text(reader, "why")? },
            SCATTER => Packet::Scatter(Arc::new(self.scatter(frame, reader, apart)?)),
            kind => return Err(WireError::Kind(kind.number())),
        };
        Ok((sequence, packet))
    }

    fn scatter(&self, frame: &Frame, reader: &mut Reader<'_>, apart: Option<Bytes>) -> Result<Scatter, WireError> {
        let count = reader.u32("how many parts there are")?;
        let size = reader.u32("the size of a part")?;
        let tag = reader.u32("the tag")?;
        let later = reader.bytes("what is kept for later", 12)?;
        if later.iter().any(|byte| *byte != 0) {
            return Err(reader.value("what is kept for later", u64::from(later[0])));
        }
        let bodies = self.bodies_of_run(frame, reader, apart, (count, size))?;
        let members = self.set(frame, reader)?;
        if members.len() != u64::from(count) {
            return Err(reader.value("how many parts there are", u64::from(count)));
        }
        Ok(Scatter { tag, members, bodies, is_partial: frame.flags & PARTIAL != 0 })
    }

    /// A record, and its number.
    fn record(&self, frame: &Frame, reader: &mut Reader<'_>, apart: Option<Bytes>) -> Result<(u64, Packet), WireError> {
        let sequence = reader.number("the packet's number")?;
        let format = format(frame, reader)?;
        let (set, later) = (reader.u32("a set of members")?, reader.u32("what is kept for later")?);
        let is_chosen = frame.flags & CHOSEN != 0;
        if later != 0 || (set != 0 && !is_chosen) {
            return Err(reader.value("what is kept for later", later.max(set)));
        }
        let (tag, is_partial) = (frame.sequence, frame.flags & PARTIAL != 0);
        let content = Packet::Record { tag, format, body: bodies(frame, reader, apart), is_partial };
        if !is_chosen {
            return Ok((sequence, content));
        }
        let members = self.set_of_number(set, reader)?;
        Ok((sequence, Packet::Chosen(Arc::new(Chosen { members, content }))))
    }

    /// The set whose number the frame has.
    fn set(&self, frame: &Frame, reader: &Reader<'_>) -> Result<Arc<RankSet>, WireError> {
        self.set_of_number(frame.sequence, reader)
    }

    /// The set of a number: the same memory for the same number.
    fn set_of_number(&self, number: u32, reader: &Reader<'_>) -> Result<Arc<RankSet>, WireError> {
        let message = reader.message();
        self.sets.get(number).cloned().ok_or(WireError::UnknownSet { message, number })
    }
}

/// The tag of records, which is not 0.
fn tag(reader: &mut Reader<'_>) -> Result<u32, WireError> {
    let tag = reader.u32("the tag")?;
    reader.padding()?;
    if tag == 0 { Err(reader.value("the tag", tag)) } else { Ok(tag) }
}

/// Packets for others.
fn gap(stream: StreamId, reader: &mut Reader<'_>) -> Result<Message, WireError> {
    let (from, until) = (reader.number("the first packet")?, reader.number("the packet behind the last")?);
    if from > until { Err(reader.value("the first packet", from)) } else { Ok(Message::Gap { stream, from, until }) }
}

/// What is said about where nodes can be reached.
fn hear(frame: &Frame, layout: &Layout, book: &mut AddressBook) -> Result<(), WireError> {
    let mut reader = Reader::new(layout.name, &frame.payload);
    while reader.left() > 0 {
        let (node, addresses) = reader.node_with_addresses()?;
        book.hear(node, addresses);
    }
    Ok(())
}

fn attach(reader: &mut Reader<'_>, flags: u8) -> Result<Message, WireError> {
    let count = reader.u32("how many are below")?;
    let place = reader.place()?;
    let (is_urgent, is_new) = (flags & URGENT != 0, flags & NEW != 0);
    let (below, resumes) = (reader.places(count)?, reader.resumes()?);
    Ok(Message::Attach(Attach { place, is_urgent, is_new, below, resumes }))
}

/// The bodies: those that came apart, or else all that is left.
fn bodies(frame: &Frame, reader: &mut Reader<'_>, apart: Option<Bytes>) -> Bytes {
    apart.unwrap_or_else(|| {
        let bytes = frame.payload.slice(reader.at()..);
        reader.rest();
        bytes
    })
}

/// The rest, as text.
fn text(reader: &mut Reader<'_>, what: &'static str) -> Result<Arc<str>, WireError> {
    let at = reader.at();
    std::str::from_utf8(reader.rest()).map(Arc::from).map_err(|_| reader.malformed(what, at))
}

fn direction(reader: &mut Reader<'_>) -> Result<Direction, WireError> {
    match reader.u8("the direction")? {
        0 => Ok(Direction::Up),
        1 => Ok(Direction::Down),
        other => Err(reader.value("the direction", other)),
    }
}

fn figures(reader: &mut Reader<'_>) -> Result<Figures, WireError> {
    let mut numbers = [0; Figures::NUMBERS];
    for number in &mut numbers {
        *number = u64::from_le_bytes(reader.array("a figure")?);
    }
    Ok(Figures::from_numbers(numbers))
}

/// Waves to which nothing is contributed.
fn absent(count: u32, size: u32) -> Option<Bodies> {
    NonZeroU32::new(count).filter(|_| size == 0).map(Bodies::absent)
}

fn format(frame: &Frame, reader: &Reader<'_>) -> Result<FormatId, WireError> {
    frame.format.ok_or(WireError::Header { message: reader.message(), part: "format" })
}

/// The number of a wave or packet that the header has, and the payload if it is a large one.
/// Which records the bodies of a run are of.
fn yields(reader: &mut Reader<'_>, first: WaveNumber, bodies: u32) -> Result<Yields, WireError> {
    let records = reader.u32("how many records there are")?;
    if records > RUN_WAVES || first.after(records) > WaveNumber(LARGEST_NUMBER) {
        return Err(reader.value("how many records there are", records));
    }
    let at = reader.at();
    // At most `RUN_WAVES`.
    let sources = reader.bytes("which records bodies are of", bodies as usize * size_of::<u32>())?;
    let sources = sources.as_chunks().0.iter().map(|source| u32::from_le_bytes(*source)).collect();
    reader.padding()?;
    Yields::new(records, sources).ok_or_else(|| reader.malformed("which records bodies are of", at))
}

fn numbered(frame: &Frame, reader: &mut Reader<'_>) -> Result<u64, WireError> {
    if reader.left() == 0 {
        return Ok(frame.sequence.into());
    }
    let high = reader.u32("a number")?;
    let number = u64::from(high) << 32 | u64::from(frame.sequence);
    if high == 0 || number > LARGEST_NUMBER { Err(reader.value("a number", number)) } else { Ok(number) }
}
