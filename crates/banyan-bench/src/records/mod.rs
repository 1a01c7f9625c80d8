//! `banyan bench records`: what it costs to send and to receive a record, against copying its bytes.

mod foreign;
pub mod mesh;
pub mod mixed;

use banyan_ndr::typed::Read;
use banyan_ndr::{
    Buffer, ConvertOptions, DecodeOptions, Decoder, Format, Generate, Message, Plan, Record, RecordDef, Scratch, encode,
};

use crate::plot::{Axes, Series, stacked};
use crate::stopwatch::thread_cpu_nanoseconds;
use crate::{Contestant, Effort, Row, Timing, compare};
pub use foreign::{Foreign, Sender};
use mesh::{Elem, Mesh10, Mesh104, Mesh1040};
use mixed::{Report, ReportRef};

const SWAPPED: Sender = Sender { swapped: true, extra_field: false, longer_elements: false };
const EXTRA_FIELD: Sender = Sender { swapped: false, extra_field: true, longer_elements: false };
const SWAPPED_AND_LONGER: Sender = Sender { swapped: true, extra_field: false, longer_elements: true };

/// Samples in the mixed records.
pub const MIXED_SAMPLES: [usize; 3] = [1, 24, 1024];

/// Formats among which one is looked up.
const KNOWN_FORMATS: usize = 1000;

/// Measures everything; `progress` is told what comes next.
pub fn run(effort: Effort, progress: &mut dyn FnMut(&str)) -> Vec<Row> {
    let mut rows = Vec::new();
    progress("plain record, 96 B");
    plain(effort, &Elem::sample(1), &mut rows);
    progress("plain record, 1 KB");
    plain(effort, &*Mesh10::sample(), &mut rows);
    progress("plain record, 10 KB");
    plain(effort, &*Mesh104::sample(), &mut rows);
    progress("plain record, 100 KB");
    plain(effort, &*Mesh1040::sample(), &mut rows);
    for samples in MIXED_SAMPLES {
        progress(&format!("mixed record, {samples} samples"));
        mixed(effort, samples, &mut rows);
    }
    progress("look-up among 1,000 formats");
    lookup(effort, &mut rows);
    progress("code generation");
    compile(effort, &mut rows);
    rows
}

/// One decoder for each way of receiving, warmed up by a first record.
struct Receiver {
    decoder: Decoder,
    sent: Foreign,
}

impl Receiver {
    fn of<T: Record>(sender: Sender, record: &T, generate: Generate) -> Receiver {
        let options = DecodeOptions::default().generate(generate);
        let mut decoder = Decoder::with_options(options);
        let sent = sender.send(record);
        decoder.learn(&sent.format).expect("room for one format");
        Receiver { decoder, sent }
    }

    fn view<T: Record>(&mut self) -> &T {
        self.decoder.view(self.sent.format.id(), &self.sent.body).expect("the sample decodes")
    }

    fn decode<'a, T: Record + Read<'a>>(&'a mut self) -> T {
        self.decoder.decode(self.sent.format.id(), &self.sent.body).expect("the sample decodes")
    }
}

/// Encodes a record; all of the message must be there: the compiler would leave out the header, which nobody reads.
#[inline]
fn encoded_len<T: Record>(record: &T, scratch: &mut Scratch) -> usize {
    let message: Message<'_> = encode(std::hint::black_box(record), scratch).expect("the sample can be encoded");
    std::hint::black_box(&message).body_len()
}

fn plain<T: Record + PartialEq + std::fmt::Debug>(effort: Effort, record: &T, rows: &mut Vec<Row>) {
    let bytes = size_of::<T>();
    let source = Sender::default().send(record);
    let mut target = Buffer::new();
    target.set_len(bytes);
    let mut scratch = Scratch::default();
    let mut same = Receiver::of(Sender::default(), record, Generate::AtOnce);
    let mut extra = Receiver::of(EXTRA_FIELD, record, Generate::AtOnce);
    let mut swapped = Receiver::of(SWAPPED, record, Generate::AtOnce);
    let mut longer = Receiver::of(SWAPPED_AND_LONGER, record, Generate::AtOnce);
    let mut interpreted = Receiver::of(SWAPPED, record, Generate::Never);
    for receiver in [&mut same, &mut extra, &mut swapped, &mut longer, &mut interpreted] {
        assert_eq!(receiver.view::<T>(), record, "a bench must measure right answers");
    }
    let mut contestants = [
        Contestant::new(|| std::hint::black_box(&mut target[..]).copy_from_slice(std::hint::black_box(&source.body))),
        Contestant::new(|| encoded_len(record, &mut scratch)),
        Contestant::new(|| std::ptr::from_ref(same.view::<T>())),
        Contestant::new(|| std::ptr::from_ref(extra.view::<T>())),
        Contestant::new(|| std::ptr::from_ref(swapped.view::<T>())),
        Contestant::new(|| std::ptr::from_ref(longer.view::<T>())),
        Contestant::new(|| std::ptr::from_ref(interpreted.view::<T>())),
    ];
    let names = [
        ("memcpy", "copy"),
        ("banyan", "encode"),
        ("banyan", "decode_same"),
        ("banyan", "decode_extra_field"),
        ("banyan", "decode_foreign"),
        ("banyan", "decode_foreign_layout"),
        ("banyan", "decode_foreign_interpreted"),
    ];
    push(rows, "plain", bytes, &names, &compare(effort, &mut contestants));
}

fn mixed(effort: Effort, samples: usize, rows: &mut Vec<Row>) {
    let report = Report::sample(samples);
    let source = Sender::default().send(&report);
    let bytes = source.body.len();
    let mut target = Buffer::new();
    target.set_len(bytes);
    let mut scratch = Scratch::default();
    let mut borrowed = Receiver::of(Sender::default(), &report, Generate::AtOnce);
    let mut owned = Receiver::of(Sender::default(), &report, Generate::AtOnce);
    let mut extra = Receiver::of(EXTRA_FIELD, &report, Generate::AtOnce);
    let mut swapped = Receiver::of(SWAPPED, &report, Generate::AtOnce);
    let mut longer = Receiver::of(SWAPPED_AND_LONGER, &report, Generate::AtOnce);
    let mut interpreted = Receiver::of(SWAPPED, &report, Generate::Never);
    for receiver in [&mut owned, &mut extra, &mut swapped, &mut longer, &mut interpreted] {
        assert_eq!(receiver.decode::<Report>(), report, "a bench must measure right answers");
    }
    let mut contestants = [
        Contestant::new(|| std::hint::black_box(&mut target[..]).copy_from_slice(std::hint::black_box(&source.body))),
        Contestant::new(|| encoded_len(&report, &mut scratch)),
        Contestant::new(|| std::hint::black_box(&borrowed.decode::<ReportRef<'_>>()).samples.len()),
        Contestant::new(|| owned.decode::<Report>()),
        Contestant::new(|| std::hint::black_box(&extra.decode::<ReportRef<'_>>()).samples.len()),
        Contestant::new(|| std::hint::black_box(&swapped.decode::<ReportRef<'_>>()).samples.len()),
        Contestant::new(|| std::hint::black_box(&longer.decode::<ReportRef<'_>>()).samples.len()),
        Contestant::new(|| std::hint::black_box(&interpreted.decode::<ReportRef<'_>>()).samples.len()),
    ];
    let names = [
        ("memcpy", "copy"),
        ("banyan", "encode"),
        ("banyan", "decode_same"),
        ("banyan", "decode_owned"),
        ("banyan", "decode_extra_field"),
        ("banyan", "decode_foreign"),
        ("banyan", "decode_foreign_layout"),
        ("banyan", "decode_foreign_interpreted"),
    ];
    push(rows, "mixed", bytes, &names, &compare(effort, &mut contestants));
}

fn push(rows: &mut Vec<Row>, record: &'static str, bytes: usize, names: &[(&str, &'static str)], times: &[Timing]) {
    for ((system, op), timing) in names.iter().zip(times) {
        rows.push(Row { system: (*system).into(), op, record, bytes, ns: timing.best, ns_median: timing.median });
    }
}

/// Views the records of a thousand formats in turn: the look-up and nothing else, as all of them are the receiver's
/// own layout under other names.
fn lookup(effort: Effort, rows: &mut Vec<Row>) {
    let record = Elem::sample(1);
    let body = Sender::default().send(&record).body;
    let mut decoder = Decoder::new();
    let ids: Vec<_> = (0..KNOWN_FORMATS)
        .map(|number| {
            let format = renamed(Elem::format(), &format!("Elem{number}"));
            decoder.learn(&format).expect("room for a thousand formats")
        })
        .collect();
    // The first record of each format decides its way; those are not measured.
    ids.iter().for_each(|id| assert_eq!(*decoder.view::<Elem>(*id, &body).expect("the same layout"), record));
    let mut next = 0;
    let times = compare(
        effort,
        &mut [Contestant::new(|| {
            // A stride that visits all of them in an order the processor cannot guess from the table.
            next = (next + 617) % KNOWN_FORMATS;
            std::ptr::from_ref::<Elem>(decoder.view(ids[next], &body).expect("the same layout"))
        })],
    );
    push(rows, "plain", 0, &[("banyan", "lookup_1000")], &times);
}

fn renamed(format: &Format, name: &str) -> Format {
    let mut definitions = format.definitions().to_vec();
    if let banyan_ndr::Definition::Record(RecordDef { name: old, .. }) = &mut definitions[0] {
        *old = name.into();
    }
    Format::new(format.order(), format.pointer(), definitions).expect("only the name changed")
}

/// Generates the code for the nested record in another byte order and layout.
fn compile(effort: Effort, rows: &mut Vec<Row>) {
    let foreign = SWAPPED_AND_LONGER.send(&*Mesh1040::sample()).format;
    let mut times: Vec<f64> = (0..effort.batches.max(20))
        .filter_map(|_| {
            let plan = Plan::new(&foreign, Mesh1040::format(), &ConvertOptions::default()).expect("convertible");
            let start = thread_cpu_nanoseconds();
            plan.compile().then(|| (thread_cpu_nanoseconds() - start) as f64)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    if let (Some(best), Some(median)) = (times.first(), times.get(times.len() / 2)) {
        push(rows, "plain", 0, &[("banyan", "compile")], &[Timing { best: *best, median: *median }]);
    }
}

/// Draws the figures: a plot for each record.
pub fn draw(rows: &[Row]) -> String {
    let axes = |title| Axes { title, x: "bytes of the record", y: "nanoseconds" };
    stacked(&[
        (axes("Sending and receiving a plain record"), series(rows, "plain")),
        (axes("Sending and receiving a mixed record"), series(rows, "mixed")),
    ])
}

/// A line for each system and operation.
fn series(rows: &[Row], record: &str) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for row in rows.iter().filter(|row| row.record == record && row.bytes > 0) {
        let name = format!("{} {}", row.system, row.op);
        let point = (row.bytes as f64, row.ns);
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => series.push(Series { name, points: vec![point] }),
        }
    }
    series
}
