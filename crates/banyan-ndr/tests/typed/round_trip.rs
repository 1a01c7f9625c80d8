//! Records of every kind of field come back equal, as their formats describe them.

use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::fmt::Debug;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::OnceLock;

use banyan_ndr::typed::{self, ByteBuf, Bytes, Read};
use banyan_ndr::{
    Buffer, Dim, EncodeError, F16, Meter, Order, Record, Scratch, Type, Value, encode, encode_into, encode_to_slice,
    read_native,
};

/// The body of a record, aligned.
fn body<T: Record>(record: &T) -> Buffer {
    let mut bytes = Vec::new();
    typed::encode_body_into(record, &mut bytes).expect("it can be encoded");
    Buffer::from_slice(&bytes)
}

/// Encodes in every way, and reads back.
fn round_trip<T: Record + for<'a> Read<'a> + PartialEq + Debug>(record: &T) {
    let mut whole = Vec::new();
    encode_into(record, &mut whole).expect("it can be encoded");
    for threshold in [1, 16, 4096] {
        let mut scratch = Scratch::new();
        scratch.set_threshold(threshold);
        // Without memory at first, then with.
        for _ in 0..2 {
            let message = encode(record, &mut scratch).expect("it can be encoded");
            assert_eq!(message.to_vec(), whole, "with a threshold of {threshold}");
            assert_eq!(&*message.to_buffer(), &whole[..]);
            let mut written = Dribble(Vec::new());
            message.write_to(&mut written).expect("a Vec takes everything");
            assert_eq!(written.0, whole);
        }
    }
    let mut fixed = vec![0; whole.len()];
    assert_eq!(encode_to_slice(record, &mut fixed), Ok(whole.len()));
    assert_eq!(fixed, whole);
    let short = encode_to_slice(record, &mut fixed[1..]);
    assert_eq!(short, Err(EncodeError::TooSmall { needed: whole.len(), available: whole.len() - 1 }));

    // Owned types can be read from anywhere.
    for shift in 0..3 {
        let mut shifted = vec![0xff; shift];
        shifted.extend_from_slice(&whole[32..]);
        let mut back: T = read_native(&shifted[shift..]).expect("it can be read");
        assert_eq!(&back, record);
        typed::read_native_into(&mut back, &shifted[shift..]).expect("it can be read again");
        assert_eq!(&back, record);
    }
}

/// A writer that takes a few bytes at a time.
struct Dribble(Vec<u8>);

impl std::io::Write for Dribble {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(7);
        self.0.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[derive(Record, Debug, PartialEq, Clone, Copy)]
#[repr(i16)]
enum Level {
    Low = -3,
    High = 1000,
}

#[derive(Record, Debug, PartialEq, Clone, Copy)]
enum Colour {
    Red,
    #[record(rename = "grün")]
    Green = 7,
}

#[derive(Record, Debug, PartialEq, Clone)]
struct Numbers {
    a: i8,
    b: u16,
    c: i32,
    d: u64,
    e: i128,
    f: u128,
    g: isize,
    h: usize,
    i: f32,
    j: f64,
    k: F16,
    l: bool,
    m: char,
    n: Level,
    o: [[u16; 3]; 2],
}

fn numbers() -> Numbers {
    Numbers {
        a: -1,
        b: 2,
        c: -3,
        d: u64::MAX,
        e: i128::MIN,
        f: u128::MAX,
        g: -5,
        h: 6,
        i: 1.5,
        j: -2.5,
        k: F16::from_f32(0.25),
        l: true,
        m: 'ß',
        n: Level::High,
        o: [[1, 2, 3], [4, 5, 6]],
    }
}

#[derive(Record, Debug, PartialEq, Clone)]
struct Owned {
    numbers: Numbers,
    colour: Colour,
    text: String,
    boxed: Box<str>,
    c: CString,
    no_c: Option<CString>,
    blob: ByteBuf,
    list: Vec<f64>,
    slice: Box<[Numbers]>,
    maybe: Option<u64>,
    never: Option<String>,
    twice: Option<Option<bool>>,
    pointer: Box<Pair>,
    nothing: Option<Box<u32>>,
    something: Option<Box<u32>>,
    texts: Vec<String>,
    lists: Vec<Vec<Option<u8>>>,
    shapes: Vec<Shape>,
    texts_in_place: [String; 2],
    empty: Empty,
    pair: Pair,
}

#[derive(Record, Debug, PartialEq, Clone, Default)]
struct Empty;

#[derive(Record, Debug, PartialEq, Clone)]
struct Pair(u8, f64);

#[derive(Record, Debug, PartialEq, Clone)]
enum Shape {
    Point,
    Circle(f64),
    Named { name: String, sides: u32 },
    Line(u8, Pair),
}

fn owned() -> Owned {
    Owned {
        numbers: numbers(),
        colour: Colour::Green,
        text: "räcksmörgås".into(),
        boxed: "".into(),
        c: c"c text".into(),
        no_c: None,
        blob: ByteBuf(vec![0, 255, 1]),
        list: vec![1.0, 2.0, 3.0],
        slice: vec![numbers(), numbers()].into(),
        maybe: Some(9),
        never: None,
        twice: Some(None),
        pointer: Box::new(Pair(4, 5.0)),
        nothing: None,
        something: Some(Box::new(17)),
        texts: vec!["a".into(), "".into(), "bc".into()],
        lists: vec![vec![], vec![None, Some(1)]],
        shapes: vec![
            Shape::Point,
            Shape::Circle(2.0),
            Shape::Named { name: "hex".into(), sides: 6 },
            Shape::Line(1, Pair(2, 3.0)),
        ],
        texts_in_place: ["x".into(), "y".into()],
        empty: Empty,
        pair: Pair(1, 2.0),
    }
}

#[test]
fn every_kind_of_field_comes_back_equal() {
    round_trip(&owned());
    round_trip(&numbers());
    round_trip(&Empty);
    round_trip(&Pair(3, 4.0));
}

#[test]
fn a_variant_can_be_the_whole_record() {
    for shape in owned().shapes {
        round_trip(&shape);
    }
}

#[test]
fn what_borrows_for_ever_is_read_from_a_body_that_lives_for_ever() {
    #[derive(Record, Debug, PartialEq)]
    struct Static {
        name: &'static str,
        cow: Cow<'static, [u16]>,
    }
    let record = Static { name: "static", cow: Cow::Owned(vec![1, 2, 3]) };
    static BODY: OnceLock<Buffer> = OnceLock::new();
    let body: &'static Buffer = BODY.get_or_init(|| body(&record));
    let back: Static = read_native(body).expect("it can be read");
    assert_eq!(back, record);
    assert!(matches!(back.cow, Cow::Borrowed(_)));
}

#[derive(Record, Debug, PartialEq)]
struct Borrowing<'a, 'b> {
    id: u32,
    text: &'a str,
    c: &'b CStr,
    numbers: &'a [f64],
    levels: Cow<'b, [Level]>,
    title: Cow<'a, str>,
    blob: Bytes<'b>,
    none: &'a [u128],
}

#[test]
fn borrowed_fields_borrow_from_the_body() {
    let record = Borrowing {
        id: 1,
        text: "text",
        c: c"c",
        numbers: &[1.0, 2.0],
        levels: Cow::Borrowed(&[Level::Low]),
        title: "title".into(),
        blob: Bytes(b"blob"),
        none: &[],
    };
    let body = body(&record);
    let back: Borrowing<'_, '_> = read_native(&body).expect("it can be read");
    assert_eq!(back, record);
    let range = body.as_ptr_range();
    assert!(range.contains(&back.text.as_ptr()));
    assert!(range.contains(&back.c.as_ptr().cast()));
    assert!(range.contains(&back.numbers.as_ptr().cast()));
    assert!(range.contains(&back.blob.0.as_ptr()));
    assert!(matches!(back.levels, Cow::Borrowed(_)) && matches!(back.title, Cow::Borrowed(_)));
}

#[test]
fn a_misaligned_body_cannot_be_borrowed_from_but_a_cow_copies() {
    #[derive(Record, Debug)]
    struct Slice<'a> {
        numbers: &'a [f64],
    }
    #[derive(Record, Debug)]
    struct Copying<'a> {
        numbers: Cow<'a, [f64]>,
    }
    let mut shifted = Buffer::from_slice(&[0]);
    shifted.extend_from_slice(&body(&Slice { numbers: &[1.0, 2.0] }));
    let error = read_native::<Slice<'_>>(&shifted[1..]).expect_err("it is misaligned");
    assert!(error.to_string().starts_with("numbers: cannot be borrowed"), "{error}");
    let copied: Copying<'_> = read_native(&shifted[1..]).expect("it can be copied");
    assert!(matches!(&copied.numbers, Cow::Owned(numbers) if *numbers == [1.0, 2.0]));
}

#[test]
fn sharing_is_kept() {
    #[derive(Record, Debug)]
    struct Sharing {
        a: Rc<String>,
        b: Option<Rc<String>>,
        c: Arc<u32>,
        d: Vec<Arc<u32>>,
        other: Rc<String>,
    }
    let (text, number) = (Rc::new(String::from("shared")), Arc::new(5));
    let record = Sharing {
        a: text.clone(),
        b: Some(text.clone()),
        c: number.clone(),
        d: vec![number.clone(), number],
        other: Rc::new("shared".into()),
    };
    let back: Sharing = read_native(&body(&record)).expect("it can be read");
    assert!(Rc::ptr_eq(&back.a, back.b.as_ref().expect("it was there")));
    assert!(Arc::ptr_eq(&back.c, &back.d[0]) && Arc::ptr_eq(&back.c, &back.d[1]));
    assert!(!Rc::ptr_eq(&back.a, &back.other));
    assert_eq!((back.a.as_str(), back.other.as_str(), *back.c), ("shared", "shared", 5));
    assert_eq!((Rc::strong_count(&back.a), Arc::strong_count(&back.c)), (2, 3), "the reader keeps nothing");
}

#[test]
fn one_shared_value_has_owners_with_different_lifetimes() {
    #[derive(Record, Debug)]
    struct Noted<'a> {
        text: &'a str,
        #[record(skip)]
        reads: Cell<u32>,
    }
    #[derive(Record, Debug)]
    struct Two<'x, 'y> {
        a: Rc<Noted<'x>>,
        b: Rc<Noted<'y>>,
    }
    let noted = Rc::new(Noted { text: "body", reads: Cell::new(7) });
    let body = body(&Two { a: noted.clone(), b: noted });
    let back: Two<'_, '_> = read_native(&body).expect("it can be read");
    assert!(Rc::ptr_eq(&back.a, &back.b));
    assert_eq!(back.a.reads.replace(5), 0, "what is skipped is not sent");
    let kept = back.b.clone();
    drop(back);
    assert_eq!((kept.text, kept.reads.get(), Rc::strong_count(&kept)), ("body", 5, 1));
}

#[derive(Record, Debug, PartialEq, Clone)]
struct Matrix {
    rows: u32,
    columns: i64,
    #[record(length(rows, columns), order = column, unit = "K")]
    cells: Vec<f64>,
    #[record(length = rows)]
    names: Vec<String>,
}

#[test]
fn lengths_stand_in_other_fields() {
    let matrix = Matrix { rows: 2, columns: 3, cells: vec![1.0; 6], names: vec!["a".into(), "b".into()] };
    round_trip(&matrix);
    round_trip(&Matrix { rows: 0, columns: 3, cells: vec![], names: vec![] });
    let cells = &Matrix::format().fields()[2];
    let dims = vec![Dim::Field(0), Dim::Field(1)];
    assert_eq!(cells.ty, Type::Sized { item: Box::new(Type::Float { width: 8 }), dims, order: Order::Column });

    let wrong = encode_into(&Matrix { rows: 3, ..matrix.clone() }, &mut Vec::new());
    assert_eq!(wrong, Err(EncodeError::Length { field: "Matrix.cells".into(), declared: 9, actual: 6 }));
    let mut out = vec![1];
    let negative = encode_into(&Matrix { columns: -3, ..matrix }, &mut out);
    assert!(matches!(negative, Err(EncodeError::Length { .. })));
    assert_eq!(out, [1], "an error leaves the buffer as it was");
}

#[derive(Record)]
#[record(rename = "node.sample")]
struct Described {
    #[record(rename = "at", unit = "ns", description = "when it was taken", counter)]
    time: u64,
    #[record(gauge, default)]
    load: f32,
    #[record(default = Level::High)]
    level: Level,
    #[record(default = Some(vec![Shape::Line(1, Pair(2, 0.5))]))]
    shapes: Option<Vec<Shape>>,
    #[record(skip)]
    cache: Option<std::collections::HashMap<u8, u8>>,
    #[record(order = column)]
    grid: [[u8; 2]; 3],
}

#[test]
fn attributes_reach_the_format() {
    let format = Described::format();
    assert_eq!(format.name(), "node.sample");
    let names: Vec<_> = format.fields().iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["at", "load", "level", "shapes", "grid"]);
    let [at, load, level, shapes, grid] = format.fields() else { panic!("five fields") };
    assert_eq!((at.unit.as_deref(), at.description.as_deref()), (Some("ns"), Some("when it was taken")));
    assert_eq!((at.meter, load.meter), (Some(Meter::Counter), Some(Meter::Gauge)));
    assert_eq!((at.default.clone(), load.default.clone()), (None, Some(Value::F32(0.0))));
    assert_eq!(level.default, Some(Value::Enum("High".into())));
    let pair = Value::Record(vec![("0".into(), Value::Int(2)), ("1".into(), Value::F64(0.5))]);
    let line = Value::Record(vec![("0".into(), Value::Int(1)), ("1".into(), pair)]);
    assert_eq!(shapes.default, Some(Value::List(vec![Value::Case("Line".into(), Some(Box::new(line)))])));
    let item = Box::new(Type::Int { width: 1, signed: false });
    assert_eq!(grid.ty, Type::Array { item, dims: vec![3, 2], order: Order::Column });
}

#[test]
fn a_skipped_field_comes_from_its_default() {
    #[derive(Record, Debug, PartialEq)]
    struct Partly {
        kept: u32,
        #[record(skip)]
        dropped: Vec<u8>,
    }
    let mut back: Partly = read_native(&body(&Partly { kept: 1, dropped: vec![2] })).expect("it can be read");
    assert_eq!(back, Partly { kept: 1, dropped: vec![] });
    back.dropped.push(1);
    typed::read_native_into(&mut back, &body(&Partly { kept: 3, dropped: vec![] })).expect("it can be read");
    assert_eq!(back, Partly { kept: 3, dropped: vec![] });
}

#[test]
fn generic_types_have_a_format_for_each_set_of_parameters() {
    #[derive(Record, Debug, PartialEq)]
    struct Generic<T, const N: usize> {
        items: [T; N],
        more: Vec<T>,
    }
    round_trip(&Generic { items: [1_u8, 2], more: vec![3] });
    round_trip(&Generic { items: [String::from("a")], more: vec![] });
    assert_ne!(Generic::<u8, 1>::format(), Generic::<u8, 2>::format());
    assert_ne!(Generic::<u8, 1>::format(), Generic::<i8, 1>::format());
    assert_eq!(Generic::<u8, 1>::format(), Generic::<u8, 1>::format());
}

#[test]
fn reading_into_a_value_keeps_its_memory() {
    #[derive(Record, Debug, PartialEq)]
    struct Kept {
        text: String,
        list: Vec<u64>,
        texts: Vec<String>,
    }
    let make = |count: usize| Kept { text: "x".repeat(count), list: vec![1; count], texts: vec!["y".into(); count] };
    let mut value = make(100);
    let before = (value.text.as_ptr(), value.list.as_ptr(), value.texts[0].as_ptr());
    typed::read_native_into(&mut value, &body(&make(10))).expect("it can be read");
    assert_eq!(value, make(10));
    assert_eq!(before, (value.text.as_ptr(), value.list.as_ptr(), value.texts[0].as_ptr()));
}
