//! `cargo xtask bench records`: Banyan and other record formats in one run, on the same records.

#[cfg(has_capnp)]
mod cap;
mod derived;
mod flat;
mod mpi;
mod protobuf;
mod records;
#[cfg(has_capnp)]
mod records_capnp {
    include!(concat!(env!("OUT_DIR"), "/records_capnp.rs"));
}
mod rival;

use std::io::Write as _;

use banyan_bench::records::{MIXED_SAMPLES, mesh};
use banyan_bench::{Contestant, Effort, Environment, Row, compare, table, to_json};
use records::{Elem, Mesh, Report, XmlReport};
use rival::Rival;

/// Where the figures are drawn.
const PLOT: &str = "banyan-bench-records.svg";

const NOTES: &str = "\
Ratios are to a memory copy of the record's bytes as Banyan lays them out. `decode_same` of a rival is to the struct, of
banyan to a checked view or to a value that borrows; `decode_owned` is to a struct. Matching of fields by name at
run time, so that sender and receiver may differ in fields, order, width, layout and byte order:
  banyan        yes
  rkyv          no (both sides must be compiled from the same types)
  bincode       no (positional)
  postcard      no (positional)
  prost         no (by field number, fixed at compile time)
  flatbuffers   no (by slot number, fixed at compile time)
  capnp         no (by ordinal, fixed at compile time)
  serde_json    no at run time: names travel with every record, the receiver's fields are fixed at compile time
  quick-xml     no at run time: names travel with every record, the receiver's fields are fixed at compile time
  open-mpi      no (both sides describe the type)";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let flags: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| flags.iter().any(|given| given == flag);
    let effort = if has("--quick") { Effort::QUICK } else { Effort::FULL };
    let mut environment = Environment::observe();
    let mut rows = banyan_bench::records::run(effort, &mut |what| eprintln!("banyan: {what}"));
    measure(effort, smallest_rivals(), "plain", 96, &mut rows);
    for elements in [10, 104, 1040] {
        measure(effort, plain_rivals(elements), "plain", 32 + 96 * elements, &mut rows);
    }
    let mixed_bytes: Vec<usize> =
        rows.iter().filter(|row| row.record == "mixed" && row.system == "memcpy").map(|row| row.bytes).collect();
    for (samples, bytes) in MIXED_SAMPLES.into_iter().zip(mixed_bytes) {
        measure(effort, mixed_rivals(samples), "mixed", bytes, &mut rows);
    }
    match mpi::rows(effort.batches) {
        Ok(found) => rows.extend(found),
        Err(why) => eprintln!("open-mpi is left out: {why}"),
    }
    environment.finish();
    std::fs::write(PLOT, banyan_bench::records::draw(&rows))?;
    eprintln!("plot: {PLOT}");
    let mut out = std::io::stdout().lock();
    if has("--json") {
        writeln!(out, "{}", to_json("records", &rows, &environment))?;
    } else {
        writeln!(out, "{environment}\n\n{}\n{NOTES}", table(&rows))?;
    }
    Ok(())
}

fn smallest_rivals() -> Vec<Box<dyn Rival>> {
    let elem = Elem::from(mesh::Elem::sample(1));
    let mut rivals: Vec<Box<dyn Rival>> = vec![
        Box::new(derived::Rkyv::<Elem>::new(&elem)),
        Box::new(derived::Bincode::new(&elem)),
        Box::new(derived::Postcard::new(&elem)),
        Box::new(protobuf::Prost::<protobuf::Elem>::new((&elem).into())),
        Box::new(flat::Flat::<Elem>::new(&elem)),
        Box::new(derived::SerdeJson::new(&elem)),
        Box::new(derived::QuickXml::new(&elem)),
    ];
    #[cfg(has_capnp)]
    rivals.insert(5, Box::new(cap::Cap::<Elem>::new(&elem)));
    rivals
}

fn plain_rivals(elements: usize) -> Vec<Box<dyn Rival>> {
    let mesh = Mesh::sample(elements);
    let mut rivals: Vec<Box<dyn Rival>> = vec![
        Box::new(derived::Rkyv::<Mesh>::new(&mesh)),
        Box::new(derived::Bincode::new(&mesh)),
        Box::new(derived::Postcard::new(&mesh)),
        Box::new(protobuf::Prost::<protobuf::Mesh>::new((&mesh).into())),
        Box::new(flat::Flat::<Mesh>::new(&mesh)),
        Box::new(derived::SerdeJson::new(&mesh)),
        Box::new(derived::QuickXml::new(&mesh)),
    ];
    #[cfg(has_capnp)]
    rivals.insert(5, Box::new(cap::Cap::<Mesh>::new(&mesh)));
    rivals
}

fn mixed_rivals(samples: usize) -> Vec<Box<dyn Rival>> {
    let report = Report::sample(samples);
    let mut rivals: Vec<Box<dyn Rival>> = vec![
        Box::new(derived::Rkyv::<Report>::new(&report)),
        Box::new(derived::Bincode::new(&report)),
        Box::new(derived::Postcard::new(&report)),
        Box::new(protobuf::Prost::<protobuf::Report>::new((&report).into())),
        Box::new(flat::Flat::<Report>::new(&report)),
        Box::new(derived::SerdeJson::new(&report)),
        Box::new(derived::QuickXml::<XmlReport>::new(&report.clone().into())),
    ];
    #[cfg(has_capnp)]
    rivals.insert(5, Box::new(cap::Cap::<Report>::new(&report)));
    rivals
}

fn measure(effort: Effort, rivals: Vec<Box<dyn Rival>>, record: &'static str, bytes: usize, rows: &mut Vec<Row>) {
    eprintln!("rivals: {record} record, {bytes} B");
    for mut rival in rivals {
        assert!(rival.is_right(), "{} must give right answers to be measured", rival.system());
        let system = rival.system().to_owned();
        let rival = std::cell::RefCell::new(rival);
        let mut contestants =
            [Contestant::new(|| rival.borrow_mut().encode()), Contestant::new(|| rival.borrow_mut().decode())];
        let times = compare(effort, &mut contestants);
        for (op, timing) in ["encode", "decode_same"].into_iter().zip(times) {
            rows.push(Row { system: system.clone(), op, record, bytes, ns: timing.best, ns_median: timing.median });
        }
    }
}
