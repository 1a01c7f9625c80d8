//! Forged bodies: every byte may be wrong, and nothing worse than an error comes of it.

use std::borrow::Cow;
use std::ffi::CString;
use std::rc::Rc;

use banyan_ndr::typed::{self, ByteBuf, Read};
use banyan_ndr::{Buffer, DecodeError, Record, read_native};
use proptest::prelude::*;

#[derive(Record, Debug, Clone, PartialEq)]
struct Item {
    on: bool,
    label: String,
    path: Option<Box<Item>>,
}

#[derive(Record, Debug, Clone, PartialEq)]
enum Choice {
    No,
    Number(u32),
    Both { left: Vec<Item>, right: Rc<Item> },
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Deep {
    count: u16,
    name: String,
    c: Option<CString>,
    blob: ByteBuf,
    numbers: Vec<u32>,
    items: Vec<Item>,
    choices: [Choice; 2],
    letters: Vec<char>,
    shared: Vec<Rc<Item>>,
    #[record(length = count)]
    sized: Vec<Option<u16>>,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Flat<'a> {
    count: i8,
    name: &'a str,
    numbers: Cow<'a, [u32]>,
    flags: Vec<bool>,
    texts: Vec<String>,
    #[record(length = count)]
    sized: Vec<String>,
    pointer: Box<u64>,
    shared: [Rc<String>; 2],
}

fn body<T: Record>(record: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    typed::encode_body_into(record, &mut bytes).expect("it can be encoded");
    bytes
}

/// Not by a regular expression, which would be parsed again for every text.
fn text(most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(any::<char>(), 0..=most).prop_map(String::from_iter)
}

fn item() -> impl Strategy<Value = Item> {
    let leaf = (any::<bool>(), text(5)).prop_map(|(on, label)| Item { on, label, path: None });
    leaf.prop_recursive(3, 8, 1, |inner| {
        (any::<bool>(), text(5), inner).prop_map(|(on, label, path)| Item { on, label, path: Some(Box::new(path)) })
    })
}

fn choice() -> impl Strategy<Value = Choice> {
    prop_oneof![
        Just(Choice::No),
        any::<u32>().prop_map(Choice::Number),
        (prop::collection::vec(item(), 0..3), item())
            .prop_map(|(left, right)| Choice::Both { left, right: Rc::new(right) }),
    ]
}

prop_compose! {
    fn deep()(
        name in text(9),
        c in prop::option::of(prop::collection::vec(b'a'..=b'z', 0..6)),
        blob in prop::collection::vec(any::<u8>(), 0..9),
        numbers in prop::collection::vec(any::<u32>(), 0..9),
        items in prop::collection::vec(item(), 0..4),
        choices in [choice(), choice()],
        letters in prop::collection::vec(any::<char>(), 0..5),
        shared in item(),
        sized in prop::collection::vec(any::<Option<u16>>(), 0..5),
    ) -> Deep {
        let shared = Rc::new(shared);
        let c = c.map(|c| CString::new(c).expect("letters only"));
        Deep {
            count: sized.len() as u16, name, c, blob: ByteBuf(blob), numbers, items, choices, letters,
            shared: vec![shared.clone(), shared], sized,
        }
    }
}

fn flat() -> Flat<'static> {
    let shared = Rc::new(String::from("shared"));
    Flat {
        count: 2,
        name: "flat",
        numbers: Cow::Owned(vec![1, 2, 3]),
        flags: vec![true, false],
        texts: vec!["one".into(), "two".into()],
        sized: vec!["a".into(), "b".into()],
        pointer: Box::new(7),
        shared: [shared.clone(), shared],
    }
}

/// No files of failures.
fn config() -> ProptestConfig {
    ProptestConfig { cases: crate::effort::share(256), ..ProptestConfig::default() }
}

/// Reads whatever the bytes are. What can be read can be written and read again.
fn survive<'a, T: Record + Read<'a>>(body: &'a [u8]) {
    if let Ok(read) = read_native::<T>(body) {
        let again = self::body(&read);
        // Read from memory of its own: the type may borrow for longer than `again` lives.
        let format = T::format();
        assert!(format.fits(again.len()));
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn records_come_back_equal(record in deep()) {
        let body = body(&record);
        let mut back: Deep = read_native(&body).expect("it can be read");
        prop_assert_eq!(&back, &record);
        prop_assert!(Rc::ptr_eq(&back.shared[0], &back.shared[1]));
        typed::read_native_into(&mut back, &body).expect("it can be read");
        prop_assert_eq!(&back, &record);
    }

    #[test]
    fn changed_bytes_are_survived(
        record in deep(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut body = Buffer::from_slice(&body(&record));
        let len = body.len();
        survive::<Deep>(&body[..cut.index(len + 1)]);
        for (at, value) in changes {
            body[at.index(len)] = value;
        }
        survive::<Deep>(&body);
    }

    #[test]
    fn changed_words_are_survived(
        at in any::<prop::sample::Index>(),
        value in prop_oneof![0..400_usize, any::<usize>(), Just(usize::MAX), Just(usize::MAX - 15)],
    ) {
        let mut body = Buffer::from_slice(&body(&flat()));
        let at = at.index(body.len() - size_of::<usize>());
        body[at..at + size_of::<usize>()].copy_from_slice(&value.to_ne_bytes());
        survive::<Flat<'_>>(&body);
    }
}

/// Sets the word at `index` of a field.
fn forged<T: Record>(record: &T, field: &str, index: usize, value: usize) -> Buffer {
    let mut body = Buffer::from_slice(&body(record));
    let field = T::format().fields().iter().find(|other| other.name == field).expect("there is such a field");
    let at = field.offset as usize + index * size_of::<usize>();
    body[at..at + size_of::<usize>()].copy_from_slice(&value.to_ne_bytes());
    body
}

#[test]
fn references_out_of_the_body_are_refused_by_name() {
    for (field, index, value) in [
        ("name", 0, usize::MAX),
        ("name", 0, 5),
        ("name", 0, 0),
        ("name", 1, usize::MAX),
        ("numbers", 1, usize::MAX / 4 + 1),
        ("texts", 0, 1 << 20),
        ("pointer", 0, 1 << 20),
    ] {
        let body = forged(&flat(), field, index, value);
        match read_native::<Flat<'_>>(&body) {
            Err(DecodeError::OutOfBounds { path, .. }) => assert_eq!(path, field),
            other => panic!("{field}[{index}] = {value}: {other:?}"),
        }
    }
}

#[test]
fn a_missing_target_is_absent() {
    let body = forged(&flat(), "pointer", 0, 0);
    assert_eq!(read_native::<Flat<'_>>(&body), Err(DecodeError::Absent { path: "pointer".into() }));
}

#[test]
fn spans_that_lead_to_the_same_bytes_cannot_multiply_a_record() {
    #[derive(Record, Debug)]
    struct Lists {
        lists: Vec<Vec<u8>>,
    }
    let record = Lists { lists: vec![vec![1; 1000], vec![1; 1000], vec![1; 1000]] };
    let mut body = Buffer::from_slice(&body(&record));
    let word = size_of::<usize>();
    // The spans of the inner lists lie behind the root's own; all of them now lead to the whole body.
    for inner in 1..4 {
        let at = inner * 2 * word;
        body[at..at + word].copy_from_slice(&16_usize.to_ne_bytes());
        let len = body.len();
        body[at + word..at + 2 * word].copy_from_slice(&len.to_ne_bytes());
    }
    let error = read_native::<Lists>(&body).expect_err("three times the body");
    assert!(matches!(&error, DecodeError::Overlap { path, .. } if path.starts_with("lists[")), "{error}");
}

#[test]
fn values_are_checked_with_their_path() {
    let record = flat();
    let mut body = Buffer::from_slice(&body(&record));
    let text = body.windows(3).position(|bytes| bytes == b"two").expect("it is there");
    body[text] = 0xff;
    let error = read_native::<Flat<'_>>(&body).expect_err("no UTF-8");
    assert_eq!(error.to_string(), "texts[1]: a text with a bad byte at 0 is no UTF-8");
}

#[test]
fn unknown_tags_and_values_are_refused() {
    let mut body = body(&Choice::Number(1));
    body[0] = 9;
    assert_eq!(read_native::<Choice>(&body).expect_err("no such case").to_string(), ": 9 is no Choice");
}

#[test]
fn a_negative_length_is_refused() {
    let mut body = Buffer::from_slice(&body(&flat()));
    body[0] = 0xff;
    let error = read_native::<Flat<'_>>(&body).expect_err("-1 is no length");
    assert!(error.to_string().starts_with("sized: a negative"), "{error}");
}
