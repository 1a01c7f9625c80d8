//! Record types that together hold something of everything.

use std::borrow::Cow;
use std::ffi::CString;
use std::rc::Rc;

use banyan_ndr::typed::ByteBuf;
use banyan_ndr::{F16, Record};

/// A list that contains itself.
#[derive(Record, Debug, Clone, PartialEq)]
pub struct Item {
    pub on: bool,
    pub label: String,
    pub path: Option<Box<Item>>,
}

/// An enumeration.
#[derive(Record, Debug, Clone, Copy, PartialEq)]
#[repr(i16)]
pub enum Phase {
    Idle = -5,
    Busy = 300,
}

/// A variant.
#[derive(Record, Debug, Clone, PartialEq)]
pub enum Choice {
    No,
    Number(u32),
    Phase(Option<Phase>),
    Both { left: Vec<Item>, right: Rc<Item> },
}

/// Records in records.
#[derive(Record, Debug, Clone, PartialEq)]
pub struct Deep {
    pub count: u16,
    pub name: String,
    pub c: Option<CString>,
    pub blob: ByteBuf,
    pub numbers: Vec<u32>,
    pub items: Vec<Item>,
    pub choices: [Choice; 2],
    pub letters: Vec<char>,
    pub shared: Vec<Rc<Item>>,
    #[record(length = count)]
    pub sized: Vec<Option<u16>>,
}

/// What can be borrowed from a body.
#[derive(Record, Debug, Clone, PartialEq)]
pub struct Flat<'a> {
    pub count: i8,
    pub name: &'a str,
    pub numbers: Cow<'a, [u32]>,
    pub flags: Vec<bool>,
    pub texts: Vec<String>,
    #[record(length = count)]
    pub sized: Vec<String>,
    pub pointer: Box<u64>,
    pub shared: [Rc<String>; 2],
}

/// Numbers of every kind, without references.
#[derive(Record, Debug, Clone, PartialEq)]
pub struct Numbers {
    pub a: u8,
    pub b: f64,
    pub c: i16,
    pub d: u64,
    pub e: [[f32; 3]; 2],
    pub f: u128,
    pub g: bool,
    pub h: char,
    pub i: Option<i32>,
    pub j: F16,
    pub k: Phase,
}

/// A record to start from.
pub fn deep() -> Deep {
    let item =
        Item { on: true, label: "x".into(), path: Some(Box::new(Item { on: false, label: "".into(), path: None })) };
    let shared = Rc::new(item.clone());
    Deep {
        count: 3,
        name: "größer".into(),
        c: CString::new("c").ok(),
        blob: ByteBuf(vec![1, 2, 3]),
        numbers: vec![1, 2],
        items: vec![item.clone()],
        choices: [Choice::Number(3), Choice::Both { left: vec![item], right: shared.clone() }],
        letters: vec!['a', 'ß'],
        shared: vec![shared.clone(), shared],
        sized: vec![None, Some(1), Some(2)],
    }
}

/// A record to start from.
pub fn flat() -> Flat<'static> {
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

/// A record to start from.
pub fn numbers() -> Numbers {
    Numbers {
        a: 1,
        b: -2.5,
        c: -3,
        d: 4,
        e: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
        f: 1 << 100,
        g: true,
        h: 'h',
        i: Some(-9),
        j: F16::from_f32(1.5),
        k: Phase::Busy,
    }
}
