//! Writes a corpus of records as this machine lays them out, and reads the corpora of other machines.
//!
//! `corpus write FILE` writes one record of every kind into a record file. `corpus check FILE…` decodes every record
//! of every file, interpreted and with generated code, and compares it with what this machine would have written.
//! The test command runs it on machines of other byte order, pointer width and alignment.

use std::ffi::CString;
use std::rc::Rc;

use banyan_files::{Reader, Writer, WriterOptions};
use banyan_ndr::typed::Read;
use banyan_ndr::{DecodeOptions, Decoder, DynRecord, F16, Format, Generate, Limits, Record, Scratch, encode};

type Failure = Box<dyn std::error::Error>;

/// Padding, and alignment that differs between machines.
#[derive(Record, Debug, Clone, PartialEq)]
struct Padded {
    a: u8,
    b: f64,
    c: u16,
    d: u64,
    e: [i16; 3],
    f: u128,
    g: bool,
    h: char,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Edges {
    i8s: [i8; 2],
    i16s: [i16; 2],
    i32s: [i32; 2],
    i64s: [i64; 2],
    i128s: [i128; 2],
    u64_max: u64,
    halves: [F16; 3],
    singles: [f32; 4],
    doubles: [f64; 4],
    size: usize,
}

#[derive(Record, Debug, Clone, Copy, PartialEq)]
#[repr(i16)]
enum Phase {
    Idle = -5,
    Busy = 300,
}

#[derive(Record, Debug, Clone, PartialEq)]
enum Shape {
    Nothing,
    Circle(f64),
    Box { width: u32, height: u16 },
    Named(String),
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Texts {
    text: String,
    empty: String,
    c: CString,
    words: Vec<String>,
    blob: Vec<u8>,
    maybe: Option<String>,
    nothing: Option<f32>,
    something: Option<Phase>,
    shapes: Vec<Shape>,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Arrays {
    rows: u16,
    columns: i64,
    #[record(length(rows, columns))]
    table: Vec<f32>,
    #[record(length(rows, columns), order = column)]
    fortran: Vec<i32>,
    cube: [[[u16; 4]; 3]; 2],
    ragged: Vec<Vec<u64>>,
    nested: Vec<Padded>,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct List {
    value: u32,
    next: Option<Box<List>>,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Tree {
    name: String,
    children: Vec<Tree>,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Shared {
    first: Rc<List>,
    second: Rc<List>,
    none: Option<Rc<List>>,
}

fn padded() -> Padded {
    Padded { a: 1, b: -2.5, c: 3, d: u64::MAX, e: [-1, 0, 1], f: 1 << 100, g: true, h: 'ß' }
}

fn edges() -> Edges {
    Edges {
        i8s: [i8::MIN, i8::MAX],
        i16s: [i16::MIN, i16::MAX],
        i32s: [i32::MIN, i32::MAX],
        i64s: [i64::MIN, i64::MAX],
        i128s: [i128::MIN, i128::MAX],
        u64_max: u64::MAX,
        halves: [F16::from_f32(1.5), F16::from_f32(-0.0), F16::from_f32(65504.0)],
        singles: [f32::MIN_POSITIVE, f32::MAX, -0.0, f32::INFINITY],
        doubles: [f64::MIN_POSITIVE, f64::MAX, -0.0, f64::NEG_INFINITY],
        size: 1 << 20,
    }
}

fn texts() -> Texts {
    Texts {
        text: "größer".into(),
        empty: String::new(),
        c: CString::new("C string").expect("no NUL in it"),
        words: vec!["one".into(), String::new(), "three".into()],
        blob: (0..=255).collect(),
        maybe: Some("there".into()),
        nothing: None,
        something: Some(Phase::Busy),
        shapes: vec![
            Shape::Nothing,
            Shape::Circle(0.25),
            Shape::Box { width: 70_000, height: 2 },
            Shape::Named("n".into()),
        ],
    }
}

fn arrays() -> Arrays {
    let cube = std::array::from_fn(|i| std::array::from_fn(|j| std::array::from_fn(|k| (100 * i + 10 * j + k) as u16)));
    Arrays {
        rows: 2,
        columns: 3,
        table: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        fortran: vec![1, 4, 2, 5, 3, 6],
        cube,
        ragged: vec![vec![], vec![1], vec![2, 3, 4]],
        nested: vec![padded(); 5],
    }
}

fn list(length: u32) -> List {
    let rest = (1..length).rev().fold(None, |next, value| Some(Box::new(List { value, next })));
    List { value: 0, next: rest }
}

fn tree() -> Tree {
    let leaf = |name: &str| Tree { name: name.into(), children: vec![] };
    let inner = Tree { name: "inner".into(), children: vec![leaf("a"), leaf("b")] };
    Tree { name: "root".into(), children: vec![inner, leaf("c")] }
}

fn shared() -> Shared {
    let both = Rc::new(list(3));
    Shared { first: both.clone(), second: both, none: None }
}

/// One record of the corpus: how to write it, and how to check what another machine wrote.
struct Entry {
    format: &'static Format,
    write: fn(&mut Writer) -> Result<(), Failure>,
    check: fn(&mut Decoder, &Format, &[u8]) -> Result<(), Failure>,
}

macro_rules! entries {
    ($($record:expr => $ty:ty),* $(,)?) => {
        [$(Entry {
            format: <$ty>::format(),
            write: |file| {
                let record = $record;
                let mut scratch = Scratch::default();
                let message = encode(&record, &mut scratch)?;
                Ok(file.write_body(<$ty>::format(), &message.body_to_buffer())?)
            },
            check: |decoder, format, body| check::<$ty>(decoder, format, body, &$record),
        }),*]
    };
}

fn entries() -> Vec<Entry> {
    entries![
        padded() => Padded,
        edges() => Edges,
        texts() => Texts,
        arrays() => Arrays,
        list(1000) => List,
        tree() => Tree,
        shared() => Shared,
        Shape::Box { width: 1, height: 2 } => Shape,
    ]
    .into()
}

fn check<T>(decoder: &mut Decoder, format: &Format, body: &[u8], wanted: &T) -> Result<(), Failure>
where
    T: Record + for<'a> Read<'a> + PartialEq + std::fmt::Debug,
{
    decoder.learn(format)?;
    let found: T = decoder.decode(format.id(), body)?;
    if found != *wanted {
        return Err(format!("{}: found {found:?}, wanted {wanted:?}", format.name()).into());
    }
    // Without the compiled type the values must be the same as well.
    let mut scratch = Scratch::default();
    let native = encode(wanted, &mut scratch)?.body_to_buffer();
    let limits = Limits::default();
    let mine = DynRecord::from_body(T::format(), &native, &limits)?;
    let theirs = DynRecord::from_body(format, body, &limits)?;
    if mine.to_string() != theirs.to_string() {
        return Err(format!("{}: reflected as {theirs}, wanted {mine}", format.name()).into());
    }
    Ok(())
}

fn write(path: &str) -> Result<(), Failure> {
    let mut file = Writer::create(path, WriterOptions::default())?;
    for entry in entries() {
        (entry.write)(&mut file)?;
    }
    file.finish()?;
    Ok(())
}

fn check_file(path: &str) -> Result<(), Failure> {
    for generate in [Generate::Never, Generate::AtOnce] {
        let options = DecodeOptions::default().generate(generate);
        let mut decoder = Decoder::with_options(options);
        let file = Reader::open(path)?;
        let entries = entries();
        if file.len() != entries.len() as u64 {
            return Err(format!("{path}: {} records, wanted {}", file.len(), entries.len()).into());
        }
        for (number, entry) in entries.iter().enumerate() {
            let record = file.record(number as u64)?;
            assert_eq!(record.format.name(), entry.format.name(), "{path}: record {number}");
            (entry.check)(&mut decoder, record.format, record.body).map_err(|error| format!("{path}: {error}"))?;
        }
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((verb, [path])) if verb == "write" => write(path),
        Some((verb, paths)) if verb == "check" && !paths.is_empty() => {
            paths.iter().try_for_each(|path| check_file(path))
        }
        _ => Err("usage: corpus write FILE | corpus check FILE…".into()),
    }
}
