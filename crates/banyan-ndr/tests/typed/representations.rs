//! `#[repr(…)]` in every form that a record can have: what is read in place is as long as the type is in memory.

use banyan_ndr::typed::{self, Wire};
use banyan_ndr::{Buffer, DecodeError, Record, read_native, view_native};

/// One byte of value, three of padding.
#[derive(Record, Debug, Clone, Copy, PartialEq)]
#[repr(u8, align(4))]
enum Aligned {
    One = 1,
    Two = 2,
}

/// As Rust stores it, which is nothing at all.
#[derive(Record, Debug, Clone, Copy, PartialEq)]
enum Only {
    Value = 7,
}

#[derive(Record, Debug, Clone, Copy, PartialEq)]
#[repr(i16)]
enum Short {
    Below = -2,
    Above = 300,
}

#[derive(Record, Debug, Clone, Copy, PartialEq)]
#[repr(C)]
enum AsInC {
    Low = -1,
    High = 1,
}

#[derive(Record, Debug, Clone, Copy, PartialEq)]
struct Nothing;

#[derive(Record, Debug, Clone, Copy, PartialEq)]
#[repr(align(8))]
struct WideNothing {}

#[derive(Record, Debug, Clone, Copy, PartialEq)]
#[repr(transparent)]
struct Transparent(Short);

#[derive(Record, Debug, Clone, Copy, PartialEq)]
#[repr(align(16))]
struct Wide {
    kind: Short,
    on: bool,
}

#[derive(Record, Debug, Clone, Copy)]
#[repr(C, packed)]
struct Packed {
    on: bool,
    kind: Short,
    letter: char,
}

impl PartialEq for Packed {
    fn eq(&self, other: &Packed) -> bool {
        (self.on, { self.kind }, { self.letter }) == (other.on, { other.kind }, { other.letter })
    }
}

#[derive(Record, Debug, Clone, PartialEq)]
struct All {
    aligned: Vec<Aligned>,
    only: Vec<Only>,
    short: Vec<Short>,
    as_in_c: Vec<AsInC>,
    nothing: Vec<Nothing>,
    wide_nothing: Vec<WideNothing>,
    transparent: Vec<Transparent>,
    wide: Vec<Wide>,
    packed: Vec<Packed>,
    niches: Vec<Option<bool>>,
    fixed: [Aligned; 3],
}

fn body<T: Record>(record: &T) -> Buffer {
    let mut bytes = Vec::new();
    typed::encode_body_into(record, &mut bytes).expect("it can be encoded");
    Buffer::from_slice(&bytes)
}

fn all() -> All {
    All {
        aligned: vec![Aligned::One, Aligned::Two, Aligned::Two, Aligned::One],
        only: vec![Only::Value; 3],
        short: vec![Short::Above, Short::Below],
        as_in_c: vec![AsInC::High, AsInC::Low],
        nothing: vec![Nothing; 3],
        wide_nothing: vec![WideNothing {}; 2],
        transparent: vec![Transparent(Short::Below), Transparent(Short::Above)],
        wide: vec![Wide { kind: Short::Above, on: true }; 2],
        packed: vec![Packed { on: true, kind: Short::Below, letter: 'é' }; 3],
        niches: vec![None, Some(false), Some(true)],
        fixed: [Aligned::Two, Aligned::One, Aligned::Two],
    }
}

#[test]
fn what_is_read_in_place_is_as_long_as_in_memory() {
    fn check<T: Wire>(in_place: bool) {
        let name = std::any::type_name::<T>();
        assert_eq!(T::IN_PLACE, in_place, "{name}");
        assert!(!in_place || (T::SIZE, T::ALIGN) == (size_of::<T>(), align_of::<T>()), "{name}");
        assert!(!T::PLAIN || in_place, "{name}");
    }
    check::<Aligned>(false);
    check::<Only>(false);
    check::<Short>(true);
    check::<AsInC>(false);
    check::<Nothing>(false);
    check::<WideNothing>(false);
    check::<Transparent>(true);
    check::<Wide>(true);
    check::<Packed>(true);
    check::<Option<bool>>(false);
    const { assert!(!Wide::PLAIN, "there is padding behind the fields") };
}

#[test]
fn records_of_every_representation_arrive() {
    let record = all();
    let body = body(&record);
    assert_eq!(read_native::<All>(&body), Ok(record.clone()));
    let mut again = All { aligned: vec![Aligned::One; 9], short: Vec::new(), ..record.clone() };
    typed::read_native_into(&mut again, &body).expect("it can be read");
    assert_eq!(again, record);
}

#[test]
fn values_that_do_not_exist_are_refused_in_lists_too() {
    #[derive(Record, Debug, PartialEq)]
    struct Kinds {
        kinds: Vec<Aligned>,
    }
    let mut body = body(&Kinds { kinds: vec![Aligned::One; 4] });
    let end = body.len();
    assert_eq!(body[end - 4..], [1; 4], "one byte each on the wire");
    for at in end - 4..end {
        body[at] = 9;
        let error = read_native::<Kinds>(&body).expect_err("9 is no value");
        assert!(matches!(error, DecodeError::Invalid { .. }), "{error}");
        body[at] = 2;
    }
    assert_eq!(read_native::<Kinds>(&body), Ok(Kinds { kinds: vec![Aligned::Two; 4] }));
}

#[test]
fn views_check_every_value_where_it_lies() {
    let mut bytes = body(&Wide { kind: Short::Above, on: true });
    assert_eq!(view_native::<Wide>(&bytes), Ok(&Wide { kind: Short::Above, on: true }));
    let at = std::mem::offset_of!(Wide, kind);
    bytes[at..at + 2].copy_from_slice(&7_i16.to_ne_bytes());
    assert_eq!(view_native::<Wide>(&bytes).expect_err("7 is no value").to_string(), "kind: 7 is no Short");

    #[derive(Record)]
    struct Borrowed<'a> {
        kinds: &'a [Transparent],
    }
    let mut bytes = body(&Borrowed { kinds: &[Transparent(Short::Below); 3] });
    assert_eq!(read_native::<Borrowed<'_>>(&bytes).map(|record| record.kinds.len()), Ok(3));
    let last = bytes.len() - 2;
    bytes[last..].copy_from_slice(&0_i16.to_ne_bytes());
    assert!(read_native::<Borrowed<'_>>(&bytes).is_err());
}
