//! Descriptions of formats that are longer than a payload: sent in pieces, put together, and refused where they cannot be.

use banyan_link::{Event, Frame, LONGEST_DESCRIPTION, LinkError, ProtocolError, SendError};
use banyan_ndr::{ByteOrder, Definition, Field, Format, Limits, PointerWidth, RecordDef, Type};

use crate::pair::{DATA, Pair};
use crate::{lost_by, small};

/// A format of so many fields, whose names have so many bytes.
fn wide(fields: u32, name: usize) -> Format {
    let ty = Type::Int { width: 4, signed: false };
    let field = |number: u32| Field::new(format!("{number:0name$}"), number * 4, ty.clone());
    let fields: Vec<Field> = (0..fields).map(field).collect();
    let record = RecordDef { name: "wide".into(), size: 4 * fields.len() as u32, align: 4, fields };
    let limits = Limits::default().format_bytes(2 * LONGEST_DESCRIPTION);
    Format::with_limits(ByteOrder::Little, PointerWidth::Eight, vec![Definition::Record(record)], &limits).unwrap()
}

/// A frame of the link, as it lies on the wire.
fn link_frame(kind: u8, format: Option<&Format>, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 32];
    bytes[..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    bytes[4] = kind;
    format.iter().for_each(|format| bytes[16..].copy_from_slice(&format.id().to_bytes()));
    bytes.extend_from_slice(payload);
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    bytes
}

const LAST: u8 = 2;
const PIECE: u8 = 10;

fn lost_by_frames(frames: &[Vec<u8>]) -> ProtocolError {
    let mut pair = Pair::new(&small());
    pair.settle();
    pair.wire[0].extend(frames.concat());
    pair.deliver(0, usize::MAX);
    match pair.events(1).pop() {
        Some(Event::Lost(LinkError::Protocol(error))) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_description_of_twenty_thousand_fields_comes_in_pieces_before_its_first_record() {
    for encrypt in [false, true] {
        let format = wide(20_000, 64);
        assert!(format.encoded().len() > 1 << 20);
        let mut pair = Pair::dialled(&small(), encrypt);
        pair.ends[0].send_format(&format).unwrap();
        pair.ends[0].send_format(&format).unwrap();
        let frame = Frame { format: Some(format.id()), ..Frame::new(DATA, 0, 1, vec![7; 16]) };
        pair.ends[0].send(frame.clone());
        pair.settle();
        assert_eq!(pair.frames(1), [frame]);
        assert_eq!(pair.ends[1].format(format.id()), Some(&format));
        let wire = pair.ends[1].counters().bytes_received;
        assert!(wire < format.encoded().len() as u64 * 11 / 10, "it was sent once: {wire}");
    }
}

#[test]
fn a_description_that_is_as_long_as_whole_pieces_is_complete_with_the_last_of_them() {
    let is_even = |format: &Format| format.encoded().len().is_multiple_of(2);
    let format = (800..900).map(|fields| wide(fields, 40 + fields as usize % 7)).find(is_even).unwrap();
    let options = small().max_payload(format.encoded().len() / 2);
    let mut pair = Pair::new(&options);
    pair.ends[0].send_format(&format).unwrap();
    pair.settle();
    assert_eq!(pair.frames(1), []);
    assert_eq!(pair.ends[1].format(format.id()), Some(&format));
}

#[test]
fn a_description_longer_than_links_carry_is_refused_by_its_sender() {
    let format = wide(40_000, 120);
    let length = format.encoded().len();
    assert!(length > LONGEST_DESCRIPTION);
    let mut pair = Pair::new(&small());
    let refused = pair.ends[0].send_format(&format);
    assert_eq!(refused, Err(SendError::LongDescription { length, limit: LONGEST_DESCRIPTION }));
    pair.ends[0].send(Frame::new(DATA, 0, 1, vec![1]));
    pair.settle();
    assert_eq!(pair.frames(1).len(), 1);
}

#[test]
fn a_sender_stays_within_the_bytes_of_descriptions_that_its_peer_takes() {
    let mut pair = Pair::new(&small());
    let taught = (0..9).take_while(|more| pair.ends[0].send_format(&wide(20_000 + more, 60)).is_ok()).count();
    assert!((2..5).contains(&taught), "{taught} descriptions of more than 1 MiB were sent");
    pair.settle();
    assert_eq!(pair.frames(1), [], "and all of them were taken");
}

#[test]
fn pieces_that_no_honest_peer_sends_are_refused() {
    let payload = small().max_payload;
    let (one, other) = (wide(2_000, 60), wide(2_001, 60));
    let piece = |format: &Format| link_frame(PIECE, Some(format), &format.encoded()[..payload]);

    // None but the last is shorter than a payload, so pieces cannot be many.
    for length in [0, 1, payload - 1] {
        let short = link_frame(PIECE, Some(&one), &one.encoded()[..length]);
        assert_eq!(lost_by_frames(&[short]), ProtocolError::DescriptionPiece { length, expected: payload });
    }
    // One description at a time.
    for second in [piece(&other), link_frame(LAST, Some(&other), other.encoded().get(..100).unwrap())] {
        let (unfinished, other) = (one.id().to_string(), other.id().to_string());
        assert_eq!(lost_by_frames(&[piece(&one), second]), ProtocolError::Interleaved { unfinished, other });
    }
    // What is put together is checked as what comes at once.
    let end = link_frame(LAST, Some(&one), &[0xff; 100]);
    assert!(matches!(lost_by_frames(&[piece(&one), end]), ProtocolError::Format(_)));
    let rest = one.encoded()[payload..].chunks(payload);
    let mut lie = vec![link_frame(PIECE, Some(&other), &one.encoded()[..payload])];
    let last = rest.len() - 1;
    lie.extend(
        rest.enumerate().map(|(at, piece)| link_frame(if at == last { LAST } else { PIECE }, Some(&other), piece)),
    );
    assert!(matches!(lost_by_frames(&lie), ProtocolError::FormatId { .. }));
    // An unfinished one takes no more memory than the longest.
    let endless: Vec<_> = std::iter::repeat_n(piece(&one), LONGEST_DESCRIPTION / payload + 1).collect();
    let length = (LONGEST_DESCRIPTION / payload + 1) * payload;
    assert_eq!(lost_by_frames(&endless), ProtocolError::LongDescription { length, limit: LONGEST_DESCRIPTION });
    // A record whose description is not complete.
    let frame = link_frame(DATA.number(), Some(&one), &[1; 16]);
    assert_eq!(lost_by_frames(&[piece(&one), frame]), ProtocolError::UnknownFormat(one.id()));
}

#[test]
fn descriptions_have_no_flags() {
    for kind in [LAST, PIECE] {
        let mut header = [0; 32];
        (header[4], header[5]) = (kind, 1);
        assert_eq!(lost_by(header, &[]), ProtocolError::Reserved { kind });
    }
}

#[test]
fn a_link_ends_in_order_while_a_description_is_unfinished() {
    let mut pair = Pair::new(&small());
    pair.settle();
    let format = wide(2_000, 60);
    pair.wire[0].extend(link_frame(PIECE, Some(&format), &format.encoded()[..small().max_payload]));
    pair.wire[0].extend(link_frame(5, None, &[]));
    pair.deliver(0, usize::MAX);
    assert_eq!(pair.events(1).last(), Some(&Event::Closed));
}
