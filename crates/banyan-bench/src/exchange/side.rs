//! One side of an exchange: a record that lies in this side's layout, and what is needed to send it and to receive the
//! other side's.
//!
//! Nobody can have a machine of the other byte order at hand in every run: the side that plays one is a process of this
//! machine whose records lie as they would there. It converts what it receives into that layout, and sends its own as
//! they lie. Both are the work that the other machine would do, by this machine's processor.

use std::hint::black_box;
use std::io::{self, IoSlice, Read, Write};

use banyan_ndr::wire::{HEADER_BYTES, Header};
use banyan_ndr::{Buffer, DecodeOptions, Decoder, Format, Generate, Record, Scratch, encode, split_message};
use rustix::time::{ClockId, clock_gettime};

use super::layout::Layout;
use crate::channel::Channel;

/// What a side does with records.
enum Handling<'r, T> {
    /// Nothing.
    None,
    /// The record is a value of this program.
    Native { record: &'r T, scratch: Scratch },
    /// The record lies as another machine would have it.
    Played { format: Format },
}

/// See the module.
pub(super) struct Side<'r, T> {
    handling: Handling<'r, T>,
    decoder: Decoder,
    /// The record in this side's layout.
    body: Buffer,
    /// What came: header and body.
    received: Buffer,
}

impl<'r, T: Record> Side<'r, T> {
    /// The side that begins, whose records are those of this machine.
    pub(super) fn first(layout: Layout, record: &'r T) -> Side<'r, T> {
        let (native, theirs) = (Layout::Same.of_other_side(record), layout.of_other_side(record));
        let handling = Handling::Native { record, scratch: Scratch::default() };
        Side::new(layout, handling, native.body, (&theirs.format, theirs.body.len()))
    }

    /// The other side.
    pub(super) fn second(layout: Layout, record: &'r T) -> Side<'r, T> {
        let (native, own) = (Layout::Same.of_other_side(record), layout.of_other_side(record));
        let handling = match layout {
            Layout::Order | Layout::OrderAndPlaces => Handling::Played { format: own.format },
            Layout::Bytes | Layout::Same => Handling::Native { record, scratch: Scratch::default() },
        };
        Side::new(layout, handling, own.body, (&native.format, native.body.len()))
    }

    fn new(layout: Layout, handling: Handling<'r, T>, body: Buffer, (format, length): (&Format, usize)) -> Side<'r, T> {
        let mut decoder = Decoder::with_options(DecodeOptions::default().generate(Generate::AtOnce));
        decoder.learn(format).expect("room for one format");
        let mut received = Buffer::new();
        let is_bare = layout == Layout::Bytes;
        received.set_len(if is_bare { length } else { HEADER_BYTES + length });
        Side { handling: if is_bare { Handling::None } else { handling }, decoder, body, received }
    }

    /// Makes the record ready to be sent, sends it, and says when it was ready.
    pub(super) fn send(&mut self, channel: &mut Channel) -> io::Result<u64> {
        match &mut self.handling {
            Handling::None => {
                let ready = now();
                channel.write_all(&self.body)?;
                Ok(ready)
            }
            Handling::Native { record, scratch } => {
                let message = encode(black_box(*record), scratch).map_err(io::Error::other)?;
                let message = black_box(message);
                let ready = now();
                message.write_to(channel)?;
                Ok(ready)
            }
            Handling::Played { format } => {
                let header = Header { format: format.id(), body_len: self.body.len() as u64 }.to_bytes();
                let header = black_box(header);
                let ready = now();
                write_both(channel, &header, &self.body)?;
                Ok(ready)
            }
        }
    }

    /// Receives a record and makes it one of this side's; says when it had come and when it was ready to be used.
    pub(super) fn receive(&mut self, channel: &mut Channel) -> io::Result<(u64, u64)> {
        channel.read_exact(&mut self.received)?;
        let came = now();
        match &self.handling {
            Handling::None => {}
            Handling::Native { .. } => {
                let (header, body) = split_message(&self.received).map_err(io::Error::other)?;
                let record: &T = self.decoder.view(header.format, body).map_err(io::Error::other)?;
                black_box(record);
            }
            Handling::Played { format } => {
                let (header, body) = split_message(&self.received).map_err(io::Error::other)?;
                black_box(self.decoder.convert(header.format, body, format).map_err(io::Error::other)?);
            }
        }
        Ok((came, now()))
    }

    /// Whether what came last is what was sent: a bench must measure right answers.
    pub(super) fn has_received(&mut self, record: &T) -> bool
    where
        T: PartialEq,
    {
        if matches!(self.handling, Handling::None) {
            return self.received[..] == self.body[..];
        }
        let Ok((header, body)) = split_message(&self.received) else { return false };
        match &self.handling {
            Handling::Played { format } => {
                let converted = self.decoder.convert(header.format, body, format);
                let mut again = Decoder::new();
                let id = again.learn(format).expect("room for one format");
                converted.is_ok_and(|view| again.view::<T>(id, view.body()).is_ok_and(|came| came == record))
            }
            _ => self.decoder.view::<T>(header.format, body).is_ok_and(|came| came == record),
        }
    }
}

/// Both pieces, in one call if the system takes them so.
fn write_both(channel: &mut Channel, header: &[u8], body: &[u8]) -> io::Result<()> {
    let mut pieces = [IoSlice::new(header), IoSlice::new(body)];
    let mut left = &mut pieces[..];
    while !left.is_empty() {
        match channel.write_vectored(left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut left, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Nanoseconds on a clock that all processes of this machine share.
pub(super) fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
