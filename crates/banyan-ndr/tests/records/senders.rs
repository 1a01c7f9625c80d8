//! Old and new senders at one receiver that has rules for the old ones: what a rule does not concern is converted as
//! if there were none.

use banyan_ndr::{
    Buffer, ByteOrder, DecodeOptions, Decoder, DynRecord, Loss, Morph, PointerWidth, Record, RecordView, Scratch,
    Value, encode,
};

#[derive(Record, Debug, Clone, Copy, PartialEq)]
#[repr(C)]
struct Reading {
    kelvin: f64,
    site: u32,
}

#[derive(Record, Debug, PartialEq)]
#[record(rename = "Reading")]
struct OldReading {
    celsius: f64,
    station: u32,
}

fn reading_rules() -> Morph {
    Morph::new("Reading").rename("station", "site").compute("kelvin", |old| {
        let celsius: f64 = old.value("celsius").map_err(|error| error.to_string())?;
        Ok(Value::from(celsius + 273.15))
    })
}

fn message<T: Record>(record: &T) -> Buffer {
    encode(record, &mut Scratch::new()).expect("encodes").to_buffer()
}

fn body<T: Record>(record: &T) -> Buffer {
    encode(record, &mut Scratch::new()).expect("encodes").body_to_buffer()
}

#[test]
fn old_and_new_senders_coexist() {
    let new = Reading { kelvin: 300.0, site: 1 };
    let big = Reading::format().relaid(ByteOrder::Big, PointerWidth::Eight).unwrap();
    let mut foreign = DynRecord::new(&big);
    foreign.set("kelvin", 300.0).unwrap();
    foreign.set("site", 1).unwrap();
    let foreign = foreign.to_body().unwrap();

    let mut decoder = Decoder::new();
    decoder.learn(Reading::format()).unwrap();
    decoder.learn(OldReading::format()).unwrap();
    decoder.learn(&big).unwrap();
    decoder.morph(reading_rules());
    assert_eq!(decoder.decode_message::<Reading>(&message(&new)).unwrap(), new);
    assert_eq!(decoder.decode::<Reading>(big.id(), &foreign).unwrap(), new);
    let old = message(&OldReading { celsius: 0.0, station: 7 });
    assert_eq!(decoder.decode_message::<Reading>(&old).unwrap(), Reading { kelvin: 273.15, site: 7 });
}

#[test]
fn a_sender_that_no_rule_concerns_takes_the_fast_way() {
    let new = body(&Reading { kelvin: 300.0, site: 1 });
    let mut decoder = Decoder::new();
    decoder.learn(Reading::format()).unwrap();
    decoder.morph(reading_rules());
    let view = decoder.view::<Reading>(Reading::format().id(), &new).unwrap();
    assert_eq!(std::ptr::from_ref(view).cast::<u8>(), new.as_ptr());
    // A rule for a field that the receiver does not have, and one for a field within another.
    decoder.morph(Morph::new("Reading").compute("other", |_| Err("never asked".into())).default("site.part", 1));
    let view = decoder.view::<Reading>(Reading::format().id(), &new).unwrap();
    assert_eq!(std::ptr::from_ref(view).cast::<u8>(), new.as_ptr());
}

#[test]
fn by_hand_too_the_senders_own_field_precedes_the_computed_one() {
    let new = body(&Reading { kelvin: 300.0, site: 1 });
    let view = RecordView::new(Reading::format(), &new).unwrap();
    let morphed = reading_rules().apply(view, Reading::format()).unwrap();
    assert_eq!(morphed.get("kelvin").unwrap(), &Value::F64(300.0));
}

/// Links of a long list.
const LINKS: u32 = 100_000;

#[derive(Record, Debug)]
struct Link {
    value: u32,
    next: Option<Box<Link>>,
}

/// With a path for every link this would take minutes.
#[test]
fn rules_reach_the_end_of_a_long_list() {
    let mut list = None;
    for value in 0..LINKS {
        list = Some(Box::new(Link { value, next: list.take() }));
    }
    let bytes = body(&**list.as_ref().expect("links"));
    // Dropped at once they would nest.
    while let Some(link) = list {
        list = link.next;
    }
    let view = RecordView::new(Link::format(), &bytes).unwrap();
    let morphed = Morph::new("Link").compute("other", |_| Ok(Value::from(1))).apply(view, Link::format()).unwrap();
    assert_eq!(morphed.shared.len(), LINKS as usize);
}

#[derive(Record, Debug, PartialEq, Clone, Copy)]
#[repr(u8)]
enum Color {
    Red,
    Green = 5,
}

#[derive(Record, Debug)]
struct Pair {
    x: u8,
}

#[derive(Record, Debug)]
struct Source {
    a: i32,
    b: u32,
    truth: bool,
    color: Color,
    absent: Option<u8>,
    list: Vec<u8>,
    exact: f64,
    pair: Pair,
}

fn source() -> Source {
    Source {
        a: -300,
        b: 16_777_217,
        truth: true,
        color: Color::Green,
        absent: None,
        list: vec![9, 8],
        exact: 2.0,
        pair: Pair { x: 4 },
    }
}

/// Decodes by rules, and one more that computes the field `sum`.
fn decoded<T: Record + for<'a> banyan_ndr::typed::Read<'a>>(options: DecodeOptions, morph: Morph) -> Result<T, String> {
    let mut decoder = Decoder::with_options(options);
    decoder.learn(Source::format()).unwrap();
    decoder.morph(morph.compute("sum", |old| {
        let b: i64 = old.value("b").map_err(|error| error.to_string())?;
        Ok(Value::from(b + 1))
    }));
    let message = message(&source());
    decoder.decode_message(&message).map_err(|error| error.to_string())
}

fn rules() -> Morph {
    Morph::new("Source")
}

#[derive(Record, Debug, PartialEq)]
#[record(rename = "Source")]
struct Exact {
    sum: u64,
    b: f32,
}

#[derive(Record, Debug, PartialEq)]
#[record(rename = "Source")]
struct Narrow {
    sum: u64,
    a: u8,
}

#[derive(Record, Debug, PartialEq)]
#[record(rename = "Source")]
struct Numbers {
    sum: u64,
    truth: u8,
    color: i32,
    exact: i16,
}

#[derive(Record, Debug, PartialEq)]
#[record(rename = "Source")]
struct Filled {
    sum: u64,
    #[record(default = 9u8)]
    absent: u8,
    #[record(default = [1u8, 2, 3, 4])]
    list: [u8; 4],
}

#[derive(Record, Debug, PartialEq)]
#[record(rename = "Source")]
struct Cut {
    sum: u64,
    list: [u8; 1],
}

#[derive(Record, Debug, PartialEq)]
#[record(rename = "Source")]
struct Renamed {
    sum: u64,
    #[record(default = 99)]
    a: i32,
    c: i32,
}

#[derive(Record, Debug, PartialEq)]
#[record(rename = "Pair")]
struct NewPair {
    y: u8,
}

/// Needs a rule that no plan expresses: `pair.x` is `pair.y`.
#[derive(Record, Debug, PartialEq)]
#[record(rename = "Source")]
struct Nested {
    sum: u64,
    a: u8,
    b: f32,
    truth: u8,
    color: i32,
    list: [u8; 1],
    pair: NewPair,
}

#[test]
fn a_computed_field_changes_nothing_for_the_others() {
    let (sum, strict) = (16_777_218, DecodeOptions::default);
    let loose = || DecodeOptions::default().loss(Loss::Saturate).cut_arrays(true);
    assert_eq!(decoded::<Exact>(strict(), rules()), Err("b: 16777217 does not fit f32".into()));
    assert_eq!(decoded::<Exact>(loose(), rules()), Ok(Exact { sum, b: 16_777_216.0 }));
    assert_eq!(decoded::<Narrow>(strict(), rules()), Err("a: -300 does not fit u8".into()));
    assert_eq!(decoded::<Narrow>(loose(), rules()), Ok(Narrow { sum, a: 0 }));
    assert_eq!(decoded::<Numbers>(strict(), rules()), Ok(Numbers { sum, truth: 1, color: 5, exact: 2 }));
    assert_eq!(decoded::<Filled>(strict(), rules()), Ok(Filled { sum, absent: 9, list: [9, 8, 3, 4] }));
    assert!(decoded::<Cut>(strict(), rules()).is_err());
    assert_eq!(decoded::<Cut>(loose(), rules()), Ok(Cut { sum, list: [9] }));
    assert_eq!(decoded::<Renamed>(strict(), rules().rename("a", "c")), Ok(Renamed { sum, a: 99, c: -300 }));
}

#[test]
fn rules_within_records_heed_the_decoders_options() {
    let morph = || rules().rename("pair.x", "pair.y");
    let loose = DecodeOptions::default().loss(Loss::Saturate).cut_arrays(true);
    assert_eq!(decoded::<Nested>(DecodeOptions::default(), morph()), Err("a: -300 does not fit u8".into()));
    let (sum, b, pair) = (16_777_218, 16_777_216.0, NewPair { y: 4 });
    assert_eq!(decoded::<Nested>(loose, morph()), Ok(Nested { sum, a: 0, b, truth: 1, color: 5, list: [9], pair }));
}

#[test]
fn by_hand_too_values_are_converted_as_plans_do() {
    let bytes = body(&source());
    let view = RecordView::new(Source::format(), &bytes).unwrap();
    let morph = || rules().default("sum", 0);
    let error = morph().apply(view, Exact::format()).unwrap_err();
    assert_eq!(error.to_string(), "b: 16777217 does not fit f32");
    let filled = morph().apply(view, Filled::format()).unwrap();
    assert_eq!(filled.to_string(), "Source {sum: 0, absent: 9, list: [9, 8, 3, 4]}");
    let renamed = morph().rename("a", "c").apply(view, Renamed::format()).unwrap();
    assert_eq!(renamed.to_string(), "Source {sum: 0, a: 99, c: -300}");
}

#[derive(Record, Debug, PartialEq)]
struct Tree {
    old: u32,
    kids: Vec<Tree>,
}

#[derive(Record, Debug, PartialEq)]
#[record(rename = "Tree")]
struct NewTree {
    new: u32,
    kids: Vec<NewTree>,
}

#[test]
fn a_rule_that_is_not_needed_leaves_records_that_contain_themselves_to_the_plan() {
    let message = message(&Tree { old: 1, kids: vec![Tree { old: 2, kids: Vec::new() }] });
    let mut decoder = Decoder::new();
    decoder.learn(Tree::format()).unwrap();
    decoder.morph(Morph::new("Tree").rename("old", "new").compute("other", |_| Err("never asked".into())));
    let tree: NewTree = decoder.decode_message(&message).unwrap();
    assert_eq!(tree, NewTree { new: 1, kids: vec![NewTree { new: 2, kids: Vec::new() }] });
}

#[derive(Record, Debug, PartialEq)]
#[record(rename = "Source")]
struct Measured {
    count: u16,
    #[record(length = count)]
    sum: Vec<u64>,
    b: u64,
}

#[test]
fn a_computed_array_brings_its_length() {
    let mut decoder = Decoder::new();
    decoder.learn(Source::format()).unwrap();
    decoder.morph(rules().compute("sum", |_| Ok(Value::from([1, 2, 3]))));
    let sized: Measured = decoder.decode_message(&message(&source())).unwrap();
    assert_eq!(sized, Measured { count: 3, sum: vec![1, 2, 3], b: 16_777_217 });
}

#[derive(Record, Debug, PartialEq)]
#[record(rename = "Tree")]
struct CountedTree {
    new: u32,
    version: u8,
    #[record(default = 0)]
    kinds: u64,
    kids: Vec<CountedTree>,
}

#[test]
fn renames_and_defaults_hold_for_the_record_within_itself_as_well() {
    let message = message(&Tree { old: 1, kids: vec![Tree { old: 2, kids: Vec::new() }] });
    let mut decoder = Decoder::new();
    decoder.learn(Tree::format()).unwrap();
    let morph = Morph::new("Tree").rename("old", "new").default("version", 3);
    decoder.morph(morph.compute("kinds", |old| {
        let kids = old.get("kids").and_then(|kids| kids.len()).map_err(|error| error.to_string())?;
        Ok(Value::from(kids))
    }));
    let tree: CountedTree = decoder.decode_message(&message).unwrap();
    let inner = CountedTree { new: 2, version: 3, kinds: 0, kids: Vec::new() };
    assert_eq!(tree, CountedTree { new: 1, version: 3, kinds: 1, kids: vec![inner] });
}
