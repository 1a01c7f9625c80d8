//! The decoder as a receiver uses it: records of many senders, one type.

use banyan_ndr::{
    Buffer, ByteOrder, DecodeError, DecodeOptions, Decoder, DynRecord, Format, Generate, Limits, Loss, Morph,
    PointerWidth, Record, Scratch, Value, encode, split_message,
};

#[derive(Record, Debug, Clone, Copy, PartialEq)]
#[repr(C)]
struct Point {
    x: f64,
    y: f32,
    id: i32,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Reading<'a> {
    sensor: &'a str,
    count: u32,
    values: &'a [f64],
    #[record(default = 20.0)]
    limit: f64,
}

#[derive(Record, Debug, Clone, PartialEq, Default)]
struct Owned {
    sensor: String,
    values: Vec<f64>,
}

/// The older description of a reading: other widths, one field less, one more, another name.
#[derive(Record, Debug, Clone, PartialEq)]
#[record(rename = "OldReading")]
struct OldReading {
    rack: u8,
    name: String,
    count: i16,
    values: Vec<f32>,
}

const READING: Reading<'_> = Reading { sensor: "inlet", count: 3, values: &[1.0, 2.5, -3.0], limit: 30.0 };

fn body<T: Record>(record: &T) -> Buffer {
    let mut scratch = Scratch::default();
    encode(record, &mut scratch).expect("encodes").body_to_buffer()
}

/// The record as a machine of another kind would send it.
fn foreign<T: Record>(record: &T, order: ByteOrder, pointer: PointerWidth) -> (Format, Buffer) {
    let native = DynRecord::from_body(T::format(), &body(record), &Limits::default()).expect("valid");
    let format = T::format().relaid(order, pointer).expect("still a format");
    let mut record = DynRecord::new(&format);
    let Value::Record(fields) = &native.root else { panic!("a record") };
    for (name, value) in fields {
        record.set(name, value.clone()).expect("the same fields");
    }
    let body = record.to_body().expect("fits");
    (format, body)
}

fn learnt(format: &Format) -> Decoder {
    let mut decoder = Decoder::new();
    decoder.learn(format).expect("room");
    decoder
}

#[test]
fn a_record_in_the_receivers_layout_is_viewed_where_it_lies() {
    let point = Point { x: 1.0, y: 2.0, id: 3 };
    let bytes = body(&point);
    let mut decoder = learnt(Point::format());
    let view = decoder.view::<Point>(Point::format().id(), &bytes).expect("valid");
    assert_eq!(*view, point);
    assert_eq!(std::ptr::from_ref(view).cast::<u8>(), bytes.as_ptr());
}

#[test]
fn strings_and_slices_are_borrowed_from_the_body() {
    let bytes = body(&READING);
    let mut decoder = learnt(Reading::format());
    let reading: Reading<'_> = decoder.decode(Reading::format().id(), &bytes).expect("valid");
    assert_eq!(reading, READING);
    assert!(bytes.as_ptr_range().contains(&reading.sensor.as_ptr()));
    assert!(bytes.as_ptr_range().contains(&reading.values.as_ptr().cast()));
}

#[test]
fn a_record_of_any_machine_decodes_to_the_same_value() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        for pointer in [PointerWidth::Four, PointerWidth::Eight] {
            for generate in [Generate::Never, Generate::AtOnce, Generate::WhenItPays] {
                let (format, bytes) = foreign(&READING, order, pointer);
                let mut decoder = Decoder::with_options(DecodeOptions::default().generate(generate));
                decoder.learn_encoded(format.encoded()).expect("canonical");
                for _ in 0..3 {
                    assert_eq!(decoder.decode::<Reading<'_>>(format.id(), &bytes).expect("converts"), READING);
                }
            }
        }
    }
}

#[test]
fn a_body_that_lies_badly_is_given_a_better_place() {
    let bytes = body(&READING);
    let mut shifted = Buffer::from_slice(&[0]);
    shifted.extend_from_slice(&bytes);
    let mut decoder = learnt(Reading::format());
    assert_eq!(decoder.decode::<Reading<'_>>(Reading::format().id(), &shifted[1..]).expect("copied"), READING);

    let point = Point { x: 1.0, y: 2.0, id: 3 };
    let mut shifted = Buffer::from_slice(&[0]);
    shifted.extend_from_slice(&body(&point));
    assert_eq!(*decoder.view::<Point>(Point::format().id(), &shifted[1..]).expect("copied"), point);
}

#[test]
fn fields_are_matched_by_name_widened_and_defaulted() {
    let old = OldReading { rack: 7, name: "outlet".into(), count: 12, values: vec![0.5, 1.5] };
    let mut decoder = learnt(OldReading::format());
    decoder.morph(Morph::new("OldReading").rename("name", "sensor"));
    let bytes = body(&old);
    let reading: Reading<'_> = decoder.decode(OldReading::format().id(), &bytes).expect("converts");
    assert_eq!(reading, Reading { sensor: "outlet", count: 12, values: &[0.5, 1.5], limit: 20.0 });
}

#[test]
fn rules_for_the_same_format_add_up_and_the_later_counts() {
    let old = OldReading { rack: 7, name: "outlet".into(), count: 12, values: vec![0.5] };
    let mut decoder = learnt(OldReading::format());
    let morph = || Morph::new("OldReading");
    decoder.morph(morph().rename("rack", "sensor").default("limit", 1.0));
    decoder.morph(morph().rename("name", "sensor"));
    decoder.morph(morph().default("limit", 2.0));
    let bytes = body(&old);
    let reading: Reading<'_> = decoder.decode(OldReading::format().id(), &bytes).expect("converts");
    assert_eq!(reading, Reading { sensor: "outlet", count: 12, values: &[0.5], limit: 2.0 });
}

#[test]
fn receivers_that_differ_only_in_their_defaults_get_their_own() {
    macro_rules! receiver {
        ($name:ident, $default:literal) => {
            #[derive(Record)]
            #[record(rename = "Receiver")]
            struct $name {
                x: f64,
                #[record(default = $default)]
                weight: u32,
            }
        };
    }
    receiver!(Light, 1);
    receiver!(Heavy, 1000);
    assert_eq!(Light::format().id(), Heavy::format().id());
    let bytes = body(&Point { x: 0.5, y: 2.0, id: 3 });
    let mut decoder = learnt(Point::format());
    let id = Point::format().id();
    let light = decoder.view::<Light>(id, &bytes).expect("converts");
    assert_eq!((light.x, light.weight), (0.5, 1));
    let heavy = decoder.view::<Heavy>(id, &bytes).expect("converts");
    assert_eq!((heavy.x, heavy.weight), (0.5, 1000));
}

#[test]
fn a_computed_field_comes_from_the_old_record() {
    let old = OldReading { rack: 7, name: "outlet".into(), count: 12, values: vec![0.5] };
    let mut decoder = learnt(OldReading::format());
    let label = |view: &banyan_ndr::RecordView<'_>| {
        let rack: u64 = view.value("rack").map_err(|error| error.to_string())?;
        Ok(Value::Str(format!("rack {rack}")))
    };
    decoder.morph(Morph::new("OldReading").compute("sensor", label).default("limit", Value::F64(1.0)));
    let bytes = body(&old);
    let reading: Reading<'_> = decoder.decode(OldReading::format().id(), &bytes).expect("computed");
    assert_eq!((reading.sensor, reading.limit), ("rack 7", 1.0));
}

#[test]
fn all_missing_fields_are_named() {
    let bytes = body(&Point { x: 1.0, y: 2.0, id: 3 });
    let mut decoder = learnt(Point::format());
    let error = decoder.decode::<Owned>(Point::format().id(), &bytes).expect_err("nothing in common");
    let DecodeError::Missing { fields, .. } = &error else { panic!("{error}") };
    assert_eq!(fields, &["sensor", "values"]);
}

#[test]
fn a_number_that_does_not_fit_is_an_error_or_saturates() {
    #[derive(Record)]
    struct Narrow {
        count: u8,
    }
    let reading = Reading { count: 70_000, ..READING };
    let bytes = body(&reading);
    let error = learnt(Reading::format()).view::<Narrow>(Reading::format().id(), &bytes).map(|_| ()).expect_err("wide");
    assert!(error.to_string().contains("count") && error.to_string().contains("70000"), "{error}");

    let options = DecodeOptions::default().loss(Loss::Saturate);
    let mut decoder = Decoder::with_options(options);
    decoder.learn(Reading::format()).expect("room");
    assert_eq!(decoder.view::<Narrow>(Reading::format().id(), &bytes).expect("saturates").count, 255);
}

#[test]
fn a_value_is_decoded_into_again_and_again() {
    let (format, bytes) = foreign(&READING, ByteOrder::Big, PointerWidth::Four);
    let mut decoder = learnt(&format);
    let mut owned = Owned::default();
    for _ in 0..2 {
        decoder.decode_into(format.id(), &bytes, &mut owned).expect("converts");
        assert_eq!((owned.sensor.as_str(), &owned.values[..]), (READING.sensor, READING.values));
    }
}

#[test]
fn a_projection_takes_the_paths_that_views_take() {
    #[derive(Record)]
    struct Inner {
        #[record(rename = "odd.name")]
        odd: u32,
        plain: u32,
    }
    #[derive(Record)]
    struct Outer {
        #[record(rename = "a.b")]
        inner: Vec<Inner>,
        other: u8,
    }
    let bytes = body(&Outer { inner: vec![Inner { odd: 7, plain: 8 }], other: 9 });
    let mut decoder = learnt(Outer::format());
    let target = Outer::format().project(&[r#""a.b"."odd.name""#]).expect("a field of it");
    let view = decoder.convert(Outer::format().id(), &bytes, &target).expect("converts");
    assert_eq!(view.value::<u32>(r#""a.b"[0]."odd.name""#).expect("it is there"), 7);
    assert!(view.get("other").is_err() && view.get(r#""a.b"[0].plain"#).is_err());
    for path in ["", "a.b", "a..b", r#""a.b"#, r#""a.b"[0]"#] {
        assert!(Outer::format().project(&[path]).is_err(), "{path}");
    }
}

#[test]
fn a_projection_reads_only_what_it_names() {
    let (format, bytes) = foreign(&READING, ByteOrder::Big, PointerWidth::Eight);
    let mut decoder = learnt(&format);
    let target = format.project(&["values"]).expect("a field of it");
    let view = decoder.convert(format.id(), &bytes, &target).expect("converts");
    assert_eq!(view.value::<f64>("values[1]").expect("there"), 2.5);
    assert!(view.get("count").is_err());

    // A damaged string is none of its business.
    let mut damaged = bytes.clone();
    let text = damaged.windows(5).position(|window| window == b"inlet").expect("the text is in the body");
    damaged[text] = 0xff;
    assert!(decoder.convert(format.id(), &damaged, &target).is_ok());
    assert!(decoder.decode::<Reading<'_>>(format.id(), &damaged).is_err());
}

#[test]
fn formats_must_be_learnt_first_and_are_bounded() {
    let bytes = body(&READING);
    let mut decoder = Decoder::new();
    let id = OldReading::format().id();
    let error = decoder.decode::<Reading<'_>>(id, &bytes).expect_err("never learnt");
    assert_eq!(error, DecodeError::UnknownFormat(id));

    let limits = Limits::default().formats(1);
    let mut decoder = Decoder::with_options(DecodeOptions::default().limits(limits));
    decoder.learn(Point::format()).expect("room for one");
    decoder.learn(Point::format()).expect("it is known already");
    assert_eq!(decoder.learn(Reading::format()), Err(DecodeError::TooManyFormats(1)));
}

#[test]
fn a_body_longer_than_the_limit_is_refused() {
    let limits = Limits::default().body_bytes(15);
    let mut decoder = Decoder::with_options(DecodeOptions::default().limits(limits));
    let bytes = body(&Point { x: 1.0, y: 2.0, id: 3 });
    let error = decoder.view::<Point>(Point::format().id(), &bytes).map(|_| ()).expect_err("16 bytes");
    assert!(error.to_string().contains("body_bytes"), "{error}");
}

#[test]
fn a_message_must_have_the_length_it_announces() {
    let mut scratch = Scratch::default();
    let message = encode(&READING, &mut scratch).expect("encodes").to_buffer();
    assert!(split_message(&message).is_ok());
    assert!(split_message(&message[..message.len() - 1]).is_err());
    assert!(split_message(&message[..31]).is_err());
    assert!(split_message(&[0; 64]).is_err());
    let mut decoder = Decoder::new();
    assert_eq!(decoder.decode_message::<Reading<'_>>(&message).expect("its own format"), READING);
}
