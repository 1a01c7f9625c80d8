//! The limits on records and decoders at their edges: what reaches one is fine, what passes it is refused with the
//! limit's name. Those on formats are tested where formats are checked.

use banyan_ndr::{
    Buffer, ByteOrder, CStruct, ConvertOptions, DecodeError, DecodeOptions, Decoder, DefId, Definition, DynRecord,
    Field, Format, Limits, Plan, PointerWidth, Record, RecordDef, RecordView, Type, Value,
};

fn node(width: u8) -> Format {
    let node = CStruct::new("node", 16, 8).pointer_width(PointerWidth::Eight);
    node.int("value", 0, width).pointer("next", 8, CStruct::own_type()).build().unwrap()
}

/// A list of nodes.
fn chain(format: &Format, length: usize) -> DynRecord {
    let mut record = DynRecord::new(format);
    record.shared = (0..length)
        .map(|at| {
            let next = if at + 1 < length { Value::Shared(at + 1) } else { Value::Null };
            Value::record([("value", Value::Int(1)), ("next", next)])
        })
        .collect();
    record
}

fn is_limit<T>(result: Result<T, DecodeError>, wanted: &str) -> bool {
    matches!(result, Err(DecodeError::Limit { name, .. }) if name == wanted)
}

#[test]
fn body_bytes() {
    let (source, target) = (node(4), node(2));
    let body = chain(&source, 3).to_body().unwrap();
    for (body_bytes, fits) in [(body.len(), true), (body.len() - 1, false)] {
        let limits = Limits::default().body_bytes(body_bytes);
        let read = DynRecord::from_body(&source, &body, &limits);
        assert_eq!((read.is_ok(), is_limit(read, "body_bytes")), (fits, !fits));

        let options = ConvertOptions::default().limits(limits.clone());
        let plan = Plan::new(&source, &target, &options).unwrap();
        let converted = plan.convert(&body, &mut Buffer::new());
        assert_eq!((converted.is_ok(), is_limit(converted, "body_bytes")), (fits, !fits));

        let mut decoder = Decoder::with_options(DecodeOptions::default().limits(limits));
        let id = decoder.learn(&source).unwrap();
        let converted = decoder.convert(id, &body, &target);
        assert_eq!((converted.is_ok(), is_limit(converted, "body_bytes")), (fits, !fits));
    }
}

#[test]
fn growth_of_what_is_converted() {
    const MIB: usize = 1 << 20;
    let list = |item| {
        let record = CStruct::new("numbers", 16, 8).pointer_width(PointerWidth::Eight);
        record.field("list", 0, Type::List { item: Box::new(item) }).build().unwrap()
    };
    let (bytes, words) = (list(CStruct::int_type(1)), list(CStruct::int_type(8)));
    let convert = |growth, count: usize| {
        let mut record = DynRecord::new(&bytes);
        record.set("list", Value::List(vec![Value::Int(1); count])).unwrap();
        let options = ConvertOptions::default().limits(Limits::default().growth(growth));
        Plan::new(&bytes, &words, &options).unwrap().convert(&record.to_body().unwrap(), &mut Buffer::new())
    };
    // Besides the fixed part of both.
    let most = |growth| (MIB + growth * 16) / (8 - growth);
    for growth in [0, 1] {
        convert(growth, most(growth)).unwrap();
        assert!(is_limit(convert(growth, most(growth) + 1), "growth"));
    }
    convert(Limits::default().growth, MIB).unwrap();
}

#[test]
fn growth_by_what_the_sender_lacks() {
    #[derive(Record)]
    #[record(rename = "Item")]
    struct Short {
        number: u8,
    }
    #[derive(Record)]
    #[record(rename = "Items")]
    struct Sent {
        items: Vec<Short>,
    }
    #[derive(Record)]
    struct Item {
        numbers: Option<[f64; 20]>,
    }
    #[derive(Record)]
    struct Items {
        items: Vec<Item>,
    }
    let mut body = Vec::new();
    let items = (0..100_000).map(|_| Short { number: 1 }).collect();
    banyan_ndr::typed::encode_body_into(&Sent { items }, &mut body).unwrap();
    let mut decoder = Decoder::new();
    let id = decoder.learn(Sent::format()).unwrap();
    let decoded = decoder.decode::<Items>(id, &body).map(|items| items.items[0].numbers);
    assert!(is_limit(decoded, "growth"));
}

#[test]
fn nesting_of_what_is_walked() {
    let format = node(4);
    let limits = Limits::default().nesting(10);
    let walked = |length| {
        let body = chain(&format, length).to_body().unwrap();
        RecordView::new(&format, &body).unwrap().walk(&limits, &mut |_, _| Ok(()))
    };
    let deepest = (1..100).take_while(|length| walked(*length).is_ok()).last().expect("a single node");
    assert!((4..=10).contains(&deepest), "{deepest} nodes");
    assert!(is_limit(walked(deepest + 1), "nesting"));
}

#[test]
fn formats_of_a_decoder() {
    let limits = Limits::default().formats(2);
    let mut decoder = Decoder::with_options(DecodeOptions::default().limits(limits));
    decoder.learn(&node(1)).unwrap();
    decoder.learn(&node(2)).unwrap();
    decoder.learn(&node(1)).expect("it is known already");
    assert!(matches!(decoder.learn(&node(4)), Err(DecodeError::TooManyFormats(2))));
}

#[test]
fn values_take_no_more_memory_than_the_limit() {
    let name = "name".repeat(50);
    let item = Definition::Record(RecordDef {
        name: "item".into(),
        size: 1,
        align: 1,
        fields: vec![Field::new(name, 0, Type::Int { width: 1, signed: false })],
    });
    let list = Field::new("list", 0, Type::List { item: Type::Record(DefId(1)).into() });
    let root = Definition::Record(RecordDef { name: "root".into(), size: 16, align: 8, fields: vec![list] });
    let format = Format::new(ByteOrder::Little, PointerWidth::Eight, vec![root, item]).unwrap();
    let body = [32_u64.to_le_bytes().as_slice(), &10_000_u64.to_le_bytes(), &[7; 10_000]].concat();
    let read = |value_bytes| DynRecord::from_body(&format, &body, &Limits::default().value_bytes(value_bytes));
    let error = read(1 << 20).unwrap_err().to_string();
    assert!(error.ends_with("is more than the limit of 1048576 (raise Limits::value_bytes to allow it)"), "{error}");
    assert!(read(8 << 20).is_ok());
}
