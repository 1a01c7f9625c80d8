//! Bodies of any format, read in every way there is and converted to any other format.
//!
//! Making a plan takes most of the time, so each input is read as one compiled type, which its first byte chooses.

use banyan_fuzz::{Bytes, Choice, Deep, Flat, Item, Numbers, format};
use banyan_ndr::typed::Read;
use banyan_ndr::{
    Buffer, ConvertOptions, DecodeOptions, Decoder, DynRecord, Format, Generate, Limits, Loss, Plan, Record,
    RecordView, compatibility, read_native,
};

pub(crate) fn target(bytes: &[u8]) {
    let mut input = Bytes(bytes);
    let choice = input.byte();
    let (Some(source), Some(target)) = (format(&mut input), format(&mut input)) else { return };
    let body = Buffer::from_slice(input.0);
    reflect(&source, &body);
    convert(&source, &target, &body, choice);
    match (choice >> 2) % 5 {
        0 => typed::<Deep>(&source, &body),
        1 => typed::<Numbers>(&source, &body),
        2 => typed::<Item>(&source, &body),
        3 => typed::<Choice>(&source, &body),
        _ => {
            for generate in WAYS {
                decode::<Flat<'_>>(&mut decoder(&source, *generate), &source, &body);
            }
            let _ = read_native::<Flat<'_>>(&body);
        }
    }
}

/// The ways to run a plan: with generated code only where there is a generator.
const WAYS: &[Generate] = if cfg!(feature = "jit") { &[Generate::Never, Generate::AtOnce] } else { &[Generate::Never] };

/// What is read as values can be written, and reads the same again.
fn reflect(format: &Format, body: &[u8]) {
    let limits = Limits::default();
    let Ok(view) = RecordView::new(format, body) else { return };
    let _ = view.walk(&limits, &mut |_, _| Ok(()));
    let Ok(record) = DynRecord::from_body(format, body, &limits) else { return };
    let text = record.to_string();
    let written = record.to_body().expect("what was read can be written");
    let again = DynRecord::from_body(format, &written, &limits).expect("what was written can be read");
    assert_eq!(again.to_string(), text);
}

/// Generated code and interpreter agree, and what they make is a body of the target.
fn convert(source: &Format, target: &Format, body: &[u8], choice: u8) {
    let loss = if choice & 1 == 0 { Loss::Error } else { Loss::Saturate };
    let options = ConvertOptions::default().loss(loss).cut_arrays(choice & 2 != 0);
    if choice & 0x80 != 0 {
        let _ = compatibility(source, target);
    }
    let Ok(plan) = Plan::new(source, target, &options) else { return };
    let (mut generated, mut interpreted) = (Buffer::new(), Buffer::new());
    let first = plan.convert_interpreted(body, &mut interpreted);
    plan.compile();
    let second = plan.convert(body, &mut generated);
    assert_eq!(first, second);
    if first.is_ok() {
        assert_eq!(&*generated, &*interpreted);
        assert!(target.fits(generated.len()));
        let _ = DynRecord::from_body(target, &generated, &Limits::default());
    }
}

fn decoder(source: &Format, generate: Generate) -> Decoder {
    let mut decoder = Decoder::with_options(DecodeOptions::default().generate(generate));
    decoder.learn(source).expect("it knows no other");
    decoder
}

fn decode<'a, T: Record + Read<'a>>(decoder: &'a mut Decoder, source: &Format, body: &'a [u8]) -> Option<T> {
    decoder.decode(source.id(), body).ok()
}

/// A compiled type, from the source's layout, and from any bytes taken for this machine's.
fn typed<T: Record + for<'a> Read<'a> + std::fmt::Debug>(source: &Format, body: &[u8]) {
    let mut values = WAYS.iter().map(|generate| {
        let value = decode::<T>(&mut decoder(source, *generate), source, body);
        value.map(|value| format!("{value:?}"))
    });
    let interpreted = values.next();
    assert!(values.all(|generated| Some(&generated) == interpreted.as_ref()));
    let _ = read_native::<T>(body);
}
