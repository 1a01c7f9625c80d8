//! Records of older formats, by a plan and by rules: both ways give the same.

use banyan_ndr::{
    ByteOrder, CStruct, Compatibility, ConvertOptions, DecodeError, Decoder, DefId, Definition, DynRecord, Field,
    Format, Morph, Plan, PointerWidth, Record, RecordDef, RecordView, Type, Value, compatibility, typed,
};

const INT: Type = Type::Int { width: 4, signed: true };

fn record(name: &str, fields: Vec<Field>) -> Definition {
    Definition::Record(RecordDef { name: name.into(), size: 0, align: 1, fields })
}

fn format(definitions: Vec<Definition>) -> Format {
    Format::laid_out(ByteOrder::NATIVE, PointerWidth::NATIVE, definitions).expect("a format")
}

fn field(name: &str, ty: Type, default: Option<Value>) -> Field {
    Field { default, ..Field::new(name, 0, ty) }
}

/// Old records have only the field `a`; new ones a record `inner` with fields `x` and `text`, too.
fn with_inner(x: Option<Value>) -> Format {
    let inner = vec![field("x", INT, x), field("text", Type::Str, Some(Value::from("none")))];
    let root = vec![field("a", INT, None), field("inner", Type::Record(DefId(1)), None)];
    format(vec![record("root", root), record("inner", inner)])
}

#[test]
fn a_missing_record_is_filled_from_the_defaults_of_its_fields() {
    let old = format(vec![record("root", vec![field("a", INT, None)])]);
    let new = with_inner(Some(Value::Int(7)));
    let body = DynRecord::new(&old).to_body().unwrap();
    let mut decoder = Decoder::new();
    let id = decoder.learn(&old).unwrap();
    let planned = decoder.convert(id, &body, &new).unwrap().to_string();
    let mapped = Morph::new("root").apply(RecordView::new(&old, &body).unwrap(), &new).unwrap().to_string();
    assert_eq!(planned, "root {a: 0, inner: {x: 7, text: \"none\"}}");
    assert_eq!(mapped, planned);
}

#[test]
fn a_missing_record_of_which_a_field_has_no_default_is_named() {
    let old = format(vec![record("root", vec![field("a", INT, None)])]);
    let new = with_inner(None);
    let body = DynRecord::new(&old).to_body().unwrap();
    let mut decoder = Decoder::new();
    let id = decoder.learn(&old).unwrap();
    let missing = |error: DecodeError| match error {
        DecodeError::Missing { fields, .. } => fields,
        other => panic!("{other}"),
    };
    assert_eq!(missing(decoder.convert(id, &body, &new).unwrap_err()), ["inner"]);
    let mapped = Morph::new("root").apply(RecordView::new(&old, &body).unwrap(), &new);
    assert_eq!(missing(mapped.unwrap_err()), ["inner"]);
}

#[test]
fn a_renamed_field_wins_over_one_that_has_the_name_only_if_that_is_renamed_too() {
    let old = format(vec![record("root", vec![field("was", INT, None), field("is", INT, None)])]);
    let new = format(vec![record("root", vec![field("is", INT, None)])]);
    let mut record = DynRecord::new(&old);
    record.set("was", 1).unwrap();
    record.set("is", 2).unwrap();
    let body = record.to_body().unwrap();
    let rename = Morph::new("root").rename("was", "is");
    for (morph, is) in [(rename.clone(), 2), (rename.rename("is", "was"), 1)] {
        let mut decoder = Decoder::new();
        let id = decoder.learn(&old).unwrap();
        decoder.morph(morph.clone());
        assert_eq!(decoder.convert(id, &body, &new).unwrap().value::<i32>("is").unwrap(), is);
        let mapped = morph.apply(RecordView::new(&old, &body).unwrap(), &new).unwrap();
        assert_eq!(mapped.get("is").unwrap(), &Value::Int(is.into()));
    }
}

/// What senders of three generations call a reading.
mod generations {
    use banyan_ndr::Record;

    pub(super) mod first {
        use super::Record;

        #[derive(Record)]
        pub(in super::super) enum Kind {
            Guessed = 4,
            Known = -1,
        }

        #[derive(Record)]
        pub(in super::super) struct Reading {
            pub(in super::super) kinds: Vec<Kind>,
        }
    }

    pub(super) mod second {
        use super::Record;

        #[derive(Record, Debug, PartialEq)]
        pub(in super::super) enum Kind {
            Known,
            Measured { by: u32 },
            Guessed,
        }

        #[derive(Record, Debug, PartialEq)]
        pub(in super::super) struct Reading {
            pub(in super::super) kinds: Vec<Kind>,
        }
    }
}

fn body<T: Record>(record: &T) -> Vec<u8> {
    let mut body = Vec::new();
    typed::encode_body_into(record, &mut body).unwrap();
    body
}

#[test]
fn an_enumeration_becomes_a_variant_when_a_case_gets_data() {
    use generations::{first, second};
    let old = first::Reading { kinds: vec![first::Kind::Known, first::Kind::Guessed, first::Kind::Known] };
    let mut decoder = Decoder::new();
    let id = decoder.learn(first::Reading::format()).unwrap();
    let new: second::Reading = decoder.decode(id, &body(&old)).unwrap();
    assert_eq!(new.kinds, [second::Kind::Known, second::Kind::Guessed, second::Kind::Known]);
    assert_eq!(compatibility(first::Reading::format(), second::Reading::format()), Compatibility::Lossless);
    let format = second::Reading::format();
    let mut record = DynRecord::new(format);
    record.push("kinds", Value::Enum("Known".into())).unwrap();
    assert_eq!(*record.to_body().unwrap(), *body(&second::Reading { kinds: vec![second::Kind::Known] }));
}

#[test]
fn a_case_that_must_carry_a_value_is_not_filled_with_zeros() {
    let mut record = DynRecord::new(generations::second::Reading::format());
    let error = record.push("kinds", Value::Case("Measured".into(), None)).unwrap_err();
    assert_eq!(error.to_string(), "kinds: case Measured must carry a value");

    #[derive(Record)]
    struct WithDefault {
        #[record(default)]
        kind: Option<u8>,
    }
    let mut format = generations::second::Reading::format().definitions().to_vec();
    let Definition::Record(root) = &mut format[0] else { panic!("a record") };
    root.fields[0].default = Some(Value::List(vec![Value::Case("Measured".into(), None)]));
    let format = Format::new(ByteOrder::NATIVE, PointerWidth::NATIVE, format).unwrap();
    let error = Plan::new(WithDefault::format(), &format, &ConvertOptions::default()).unwrap_err();
    assert!(error.to_string().contains("the default Measured has no payload"), "{error}");
}

/// Old senders: `amount` is who measured. New ones: `by` is, and `amount` is something else.
fn amounts() -> (Format, Format) {
    let old = CStruct::new("Reading", 4, 4).uint("amount", 0, 4).build().unwrap();
    let new = CStruct::new("Reading", 8, 4).uint("amount", 0, 4).uint("by", 4, 4).build().unwrap();
    (old, new)
}

#[derive(Record, Debug, PartialEq)]
struct Reading {
    by: u32,
    #[record(default = 1)]
    amount: u32,
}

#[test]
fn a_sender_that_has_the_new_field_is_believed() {
    let (old, new) = amounts();
    for morph in [
        Morph::new("Reading").rename("amount", "by"),
        Morph::new("Reading").rename("amount", "by").if_lacks("by"),
        Morph::for_format(old.id()).rename("amount", "by"),
    ] {
        let mut decoder = Decoder::new();
        decoder.morph(morph);
        let id = decoder.learn(&new).unwrap();
        let body = [0_u32, 7].map(u32::to_ne_bytes).concat();
        assert_eq!(decoder.decode::<Reading>(id, &body), Ok(Reading { by: 7, amount: 0 }));
        let id = decoder.learn(&old).unwrap();
        assert_eq!(decoder.decode::<Reading>(id, &7_u32.to_ne_bytes()), Ok(Reading { by: 7, amount: 1 }));
    }
}

#[test]
fn rules_apply_by_id_and_by_fields_only_to_those_they_are_for() {
    let (old, new) = amounts();
    let by_nine = |morph: Morph| morph.default("extra", 9);
    let target = CStruct::new("Reading", 4, 4).uint("extra", 0, 4).build().unwrap();
    for (morph, for_old, for_new) in [
        (by_nine(Morph::for_format(old.id())), true, false),
        (by_nine(Morph::new("Reading").if_has("by")), false, true),
        (by_nine(Morph::new("Reading").if_lacks("by")), true, false),
        (by_nine(Morph::new("Reading").if_has("amount")), true, true),
        (by_nine(Morph::new("Other")), false, false),
    ] {
        assert_eq!((morph.applies_to(&old), morph.applies_to(&new)), (for_old, for_new), "{morph:?}");
        let mut decoder = Decoder::new();
        decoder.morph(morph);
        for (format, is_for) in [(&old, for_old), (&new, for_new)] {
            let id = decoder.learn(format).unwrap();
            let body = vec![0; format.size()];
            assert_eq!(decoder.convert(id, &body, &target).is_ok(), is_for);
        }
    }
}

#[test]
fn formats_of_twenty_thousand_fields_are_described_and_converted() {
    let name = "the_name_of_a_counter_of_a_device_of_some_length_";
    let fields = |width: u8| {
        let ty = Type::Int { width, signed: false };
        (0..20_000_u32)
            .map(|number| Field::new(format!("{name}{number}"), number * u32::from(width), ty.clone()))
            .collect::<Vec<_>>()
    };
    let format = |order, width: u8| {
        let record = RecordDef {
            name: "wide".into(),
            size: 20_000 * u32::from(width),
            align: width.into(),
            fields: fields(width),
        };
        Format::new(order, PointerWidth::Eight, vec![Definition::Record(record)]).unwrap()
    };
    let (narrow, wide) = (format(ByteOrder::Big, 4), format(ByteOrder::Little, 8));
    assert!(narrow.encoded().len() > 1 << 20);
    let mut decoder = Decoder::new();
    let id = decoder.learn_encoded(narrow.encoded()).unwrap();
    let body = [0, 0, 0, 7].repeat(20_000);
    let converted = decoder.convert(id, &body, &wide).unwrap();
    assert_eq!(converted.value::<u64>(&format!("{name}19999")), Ok(7));
}
