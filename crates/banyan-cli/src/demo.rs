//! `banyan demo`: three machines send a record each, one program receives them all, nobody agreed on anything.

use std::io::Write;
use std::process::ExitCode;

use banyan_bench::records::Sender;
use banyan_bench::records::mesh::Mesh1040;
use banyan_bench::{Contestant, Effort, compare, nanoseconds};
use banyan_ndr::{
    Buffer, ByteOrder, Compatibility, DecodeOptions, Decoder, DynRecord, Format, Generate, Limits, PointerWidth,
    Record, RecordView, Scratch, compatibility, encode,
};
use clap::Args;
use serde_json::json;

use crate::failure::{Failure, Outcome};
use crate::output;

/// Three senders, one receiver.
#[derive(Args)]
pub(crate) struct Demo {
    /// One JSON object instead of the story
    #[arg(long)]
    json: bool,
}

/// What the receiver was compiled for.
#[derive(Record, Debug, PartialEq)]
struct Reading<'a> {
    sensor: &'a str,
    #[record(unit = "°C", gauge)]
    celsius: f64,
    #[record(counter)]
    samples: u64,
    #[record(default = &[])]
    history: &'a [f32],
}

/// What an old sensor was compiled for, years ago: narrower, with one field less and one more.
#[derive(Record)]
#[record(rename = "Reading")]
struct OldReading {
    firmware: u16,
    samples: u16,
    celsius: f32,
    sensor: String,
}

/// One of the senders.
struct Machine {
    name: &'static str,
    format: Format,
    body: Buffer,
}

/// The time one way of receiving takes.
struct Speed {
    what: &'static str,
    ns: f64,
}

impl Demo {
    pub(crate) fn run(self) -> Outcome {
        let machines = machines().map_err(Failure::new)?;
        let speeds = speeds();
        let mut out = output::stdout();
        if self.json {
            let received: Vec<_> = machines
                .iter()
                .map(|machine| {
                    receive(machine)
                        .map(|(value, how)| json!({ "sender": machine.name, "received": value, "how": how }))
                })
                .collect::<Result<_, _>>()?;
            let speeds: Vec<_> = speeds.iter().map(|speed| json!({ "what": speed.what, "ns": speed.ns })).collect();
            writeln!(out, "{}", json!({ "demo": "records", "received": received, "speeds": speeds }))?;
        } else {
            tell(&mut out, &machines, &speeds)?;
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A record as it lies on this machine, on a 64-bit big-endian one, and on an old 32-bit big-endian one.
fn machines() -> Result<Vec<Machine>, Box<dyn std::error::Error>> {
    let new = |sensor| Reading { sensor, celsius: 21.5, samples: 4_000_000_000, history: &[21.0, 21.5] };
    let old = OldReading { firmware: 3, samples: 1200, celsius: 19.25, sensor: "cellar".into() };
    Ok(vec![
        machine("this machine", &new("inlet"), ByteOrder::NATIVE, PointerWidth::NATIVE)?,
        machine("a mainframe: 64 bit, big-endian", &new("outlet"), ByteOrder::Big, PointerWidth::Eight)?,
        machine("an old sensor: 32 bit, big-endian, other fields", &old, ByteOrder::Big, PointerWidth::Four)?,
    ])
}

fn machine<T: Record>(
    name: &'static str,
    record: &T,
    order: ByteOrder,
    pointer: PointerWidth,
) -> Result<Machine, Box<dyn std::error::Error>> {
    let mut scratch = Scratch::default();
    let native = encode(record, &mut scratch)?.body_to_buffer();
    if (order, pointer) == (ByteOrder::NATIVE, PointerWidth::NATIVE) {
        return Ok(Machine { name, format: T::format().clone(), body: native });
    }
    let format = T::format().relaid(order, pointer)?;
    let values = DynRecord::from_body(T::format(), &native, &Limits::default())?;
    let body = DynRecord { format: format.clone(), ..values }.to_body()?;
    Ok(Machine { name, format, body })
}

/// What the receiver gets, and how.
fn receive(machine: &Machine) -> Result<(String, String), Failure> {
    let mut decoder = Decoder::new();
    decoder.learn_encoded(machine.format.encoded()).map_err(Failure::new)?;
    let reading: Reading<'_> = decoder.decode(machine.format.id(), &machine.body).map_err(Failure::new)?;
    let how = match compatibility(&machine.format, Reading::format()) {
        Compatibility::Equal => "borrowed from the bytes received, nothing was copied".to_owned(),
        Compatibility::Lossless => "converted without loss".to_owned(),
        Compatibility::Lossy { fields } => {
            let skipped: Vec<String> = fields.into_iter().map(|(path, _)| path).collect();
            format!("widened, history by its default, skipped: {}", skipped.join(", "))
        }
        Compatibility::Incompatible { .. } => "not converted".to_owned(),
    };
    Ok((format!("{reading:?}"), how))
}

/// How long it takes to receive 100 KB of another machine's numbers.
fn speeds() -> Vec<Speed> {
    let mesh = Mesh1040::sample();
    let foreign = Sender { swapped: true, extra_field: false, longer_elements: true }.send(&*mesh);
    let options = DecodeOptions { generate: Generate::AtOnce, ..DecodeOptions::default() };
    let mut decoder = Decoder::with_options(options);
    let learnt = decoder.learn(&foreign.format);
    let id = learnt.expect("room for one format");
    let mut target = Buffer::from_slice(&foreign.body);
    let mut scratch = Scratch::default();
    let times = compare(
        Effort::QUICK,
        &mut [
            Contestant::new(|| encode(&*mesh, &mut scratch).map(|message| std::hint::black_box(&message).body_len())),
            Contestant::new(|| std::hint::black_box(&mut target[..]).copy_from_slice(&foreign.body)),
            Contestant::new(|| decoder.view::<Mesh1040>(id, &foreign.body).map(|mesh| mesh.step)),
        ],
    );
    let what = ["sending it", "memcpy of its bytes", "receiving it from the other byte order and another layout"];
    what.into_iter().zip(times).map(|(what, timing)| Speed { what, ns: timing.best }).collect()
}

fn tell(out: &mut impl Write, machines: &[Machine], speeds: &[Speed]) -> Result<(), Failure> {
    writeln!(out, "Three machines send a reading. Each sends it as it lies in its own memory:\n")?;
    for machine in machines {
        writeln!(out, "  {}", machine.name)?;
        hex(out, &machine.body[..machine.body.len().min(48)])?;
    }
    writeln!(out, "\nWith each travels, once, a description. It is enough to read the record without a compiler:\n")?;
    for machine in machines {
        let view = RecordView::new(&machine.format, &machine.body).map_err(Failure::new)?;
        let id = machine.format.id().to_string();
        writeln!(out, "  {}…  {view}", &id[..8])?;
    }
    writeln!(out, "\nA program compiled for its own idea of a reading receives all three, matched by field name:\n")?;
    for machine in machines {
        let (reading, how) = receive(machine)?;
        writeln!(out, "  {reading}\n      {how}")?;
    }
    writeln!(out, "\nA 100 KB record of finite elements, on this machine, now:\n")?;
    for Speed { what, ns } in speeds {
        writeln!(out, "  {:>10}  {what}", nanoseconds(*ns))?;
    }
    writeln!(out, "\nGo on with:\n")?;
    for command in ["banyan bench records --quick", "banyan records --help", "banyan records dump FILE"] {
        writeln!(out, "  {command}")?;
    }
    Ok(())
}

fn hex(out: &mut impl Write, bytes: &[u8]) -> Result<(), Failure> {
    for line in bytes.chunks(16) {
        let digits: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(out, "      {}", digits.join(" "))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use banyan_ndr::Value;

    use super::*;

    #[test]
    fn the_receiver_gets_what_each_machine_sent() {
        let machines = machines().expect("three machines");
        let received: Vec<String> = machines.iter().map(|machine| receive(machine).expect("it decodes").0).collect();
        assert!(received[0].contains("inlet") && received[1].contains("outlet"));
        assert!(received[2].contains("cellar") && received[2].contains("19.25") && received[2].contains("[]"));
    }

    #[test]
    fn values_are_shown_without_the_compiled_type() {
        let machine = &machines().expect("three machines")[2];
        let record = DynRecord::from_body(&machine.format, &machine.body, &Limits::default()).expect("valid");
        assert_eq!(record.get("firmware").expect("a field of the old sensor"), &Value::Int(3));
    }
}
