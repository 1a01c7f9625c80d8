//! What is sent as it lies, what is viewed where it lies, and that padding is never read.

use std::mem::MaybeUninit;

use banyan_ndr::typed::{self, Wire};
use banyan_ndr::{Buffer, DecodeError, Record, Scratch, encode, read_native, view_native};

#[derive(Record, Debug, PartialEq, Clone, Copy)]
struct Plain {
    id: u32,
    x: f32,
    cells: [[u16; 2]; 2],
}

/// Rust may put the fields into any order.
#[derive(Record, Debug, PartialEq, Clone, Copy)]
struct Padded {
    flag: bool,
    x: f64,
    letter: char,
    small: u8,
}

#[derive(Record, Debug, PartialEq, Clone, Copy)]
#[repr(C, align(32))]
struct Aligned {
    a: u8,
    b: u64,
}

#[derive(Record, Debug, Clone, Copy)]
#[repr(C, packed)]
struct Packed {
    a: u8,
    b: u64,
    c: [u16; 2],
}

#[derive(Record, Debug, PartialEq)]
struct Referring {
    items: Vec<Padded>,
}

fn body<T: Record>(record: &T) -> Buffer {
    let mut bytes = Vec::new();
    typed::encode_body_into(record, &mut bytes).expect("it can be encoded");
    Buffer::from_slice(&bytes)
}

#[test]
fn classes_follow_from_the_fields() {
    fn class<T: Wire>() -> (bool, bool, bool) {
        (T::PLAIN, T::IN_PLACE, T::ANY_BITS)
    }
    assert_eq!(class::<Plain>(), (true, true, true));
    assert_eq!(class::<Padded>(), (false, true, false));
    assert_eq!(class::<Aligned>(), (false, true, true));
    assert_eq!(class::<Packed>(), (true, true, true));
    assert_eq!(class::<Referring>(), (false, false, false));
}

#[test]
fn a_plain_record_is_handed_over_where_it_lies() {
    let record = Plain { id: 1, x: 2.0, cells: [[3, 4], [5, 6]] };
    let mut scratch = Scratch::new();
    let message = encode(&record, &mut scratch).expect("it can be encoded");
    let pieces: Vec<_> = message.body_slices().collect();
    assert_eq!(pieces.len(), 1);
    assert_eq!(pieces[0].as_ptr(), std::ptr::from_ref(&record).cast());
    assert_eq!(message.body_len(), size_of::<Plain>());
}

#[test]
fn long_plain_lists_are_handed_over_where_they_lie() {
    #[derive(Record)]
    struct Lists {
        name: String,
        short: Vec<u32>,
        long: Vec<u64>,
        tail: String,
    }
    let record = Lists { name: "n".into(), short: vec![1; 10], long: vec![2; 1000], tail: "t".into() };
    let mut scratch = Scratch::new();
    let message = encode(&record, &mut scratch).expect("it can be encoded");
    let pieces: Vec<_> = message.body_slices().collect();
    assert_eq!(pieces.len(), 3);
    assert_eq!(pieces[1].as_ptr(), record.long.as_ptr().cast());
    assert_eq!(pieces.iter().map(|piece| piece.len()).sum::<usize>(), message.body_len());
}

#[test]
fn offsets_are_the_compilers() {
    let format = Padded::format();
    assert_eq!((format.size(), format.align()), (size_of::<Padded>(), align_of::<Padded>()));
    let offsets: Vec<_> = format.fields().iter().map(|field| field.offset as usize).collect();
    let real = [
        std::mem::offset_of!(Padded, flag),
        std::mem::offset_of!(Padded, x),
        std::mem::offset_of!(Padded, letter),
        std::mem::offset_of!(Padded, small),
    ];
    assert_eq!(offsets, real);
    assert_eq!(Packed::format().fields()[1].offset, 1);
    assert_eq!(Aligned::format().size(), 32);
}

/// Makes a value in memory that was filled before.
fn in_filled_memory<T: Copy>(fill: u8, memory: &mut MaybeUninit<T>, init: impl FnOnce(*mut T)) -> &T {
    // SAFETY: the bytes belong to `memory`, and any byte may stand in a `MaybeUninit`.
    unsafe { memory.as_mut_ptr().cast::<u8>().write_bytes(fill, size_of::<T>()) };
    init(memory.as_mut_ptr());
    // SAFETY: the callers set every field.
    unsafe { memory.assume_init_ref() }
}

fn padded_in(fill: u8, memory: &mut MaybeUninit<Padded>) -> &Padded {
    in_filled_memory(fill, memory, |value| {
        // SAFETY: `value` leads to memory for a `Padded`.
        unsafe {
            (&raw mut (*value).flag).write(true);
            (&raw mut (*value).x).write(1.5);
            (&raw mut (*value).letter).write('x');
            (&raw mut (*value).small).write(7);
        }
    })
}

#[test]
fn padding_is_zero_whatever_lies_in_memory() {
    let (mut one, mut other) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    let (one, other) = (padded_in(0xaa, &mut one), padded_in(0x55, &mut other));
    assert_eq!(body(one)[..], body(other)[..]);
    let mut covered = [false; size_of::<Padded>()];
    for field in Padded::format().fields() {
        let start = field.offset as usize;
        covered[start..start + Padded::format().size_of(&field.ty)].fill(true);
    }
    let sent = body(one);
    let padding = covered.iter().zip(&sent[..]).filter(|(covered, _)| !**covered);
    let bytes: Vec<u8> = padding.map(|(_, byte)| *byte).collect();
    assert_eq!(bytes, [0; 2], "two bytes of padding, both zero");
}

#[test]
fn views_lie_where_the_body_lies() {
    let record = Padded { flag: true, x: -1.0, letter: 'é', small: 3 };
    let body = body(&record);
    let view: &Padded = view_native(&body).expect("it can be viewed");
    assert_eq!(view, &record);
    assert_eq!(std::ptr::from_ref(view).cast(), body.as_ptr());
    assert_eq!(read_native::<Padded>(&body), Ok(record));
}

#[test]
fn views_of_packed_and_of_widely_aligned_structs() {
    let packed = body(&Packed { a: 1, b: 2, c: [3, 4] });
    assert_eq!(packed.len(), 13);
    let view: &Packed = view_native(&packed).expect("it can be viewed");
    assert_eq!((view.a, { view.b }, { view.c }), (1, 2, [3, 4]));
    let aligned = Aligned { a: 1, b: 2 };
    assert_eq!(view_native::<Aligned>(&body(&aligned)), Ok(&aligned));
    let list = Referring { items: vec![Padded { flag: false, x: 0.0, letter: 'a', small: 1 }; 3] };
    assert_eq!(read_native::<Referring>(&body(&list)), Ok(list));
}

#[test]
fn a_view_is_refused_when_length_alignment_or_values_are_wrong() {
    let mut body = body(&Padded { flag: true, x: 0.0, letter: 'a', small: 1 });
    assert!(matches!(view_native::<Padded>(&body[..body.len() - 1]), Err(DecodeError::Size { .. })));
    let mut shifted = Buffer::from_slice(&[0]);
    shifted.extend_from_slice(&body);
    assert!(matches!(view_native::<Padded>(&shifted[1..]), Err(DecodeError::Misaligned { .. })));
    let flag = std::mem::offset_of!(Padded, flag);
    body[flag] = 2;
    let error = view_native::<Padded>(&body).expect_err("2 is no bool");
    assert_eq!(error.to_string(), "flag: [2] is no bool");
    body[flag] = 1;
    let letter = std::mem::offset_of!(Padded, letter);
    body[letter..letter + 4].copy_from_slice(&0xd800_u32.to_ne_bytes());
    let error = view_native::<Padded>(&body).expect_err("a surrogate is no char");
    assert_eq!(error.to_string(), "letter: 0xd800 is no char");
}
