//! Writes the seeds of the fuzz targets: `cargo run --manifest-path fuzz/Cargo.toml --example seeds`.
//!
//! Those of `format` and `ffs` are files of their own and stay as they are.

use std::error::Error;
use std::fs;
use std::path::Path;

use banyan_files::{Writer, WriterOptions};
use banyan_fuzz::{BUILT_IN, built_in, deep, flat, numbers};
use banyan_ndr::{Buffer, ConvertOptions, DynRecord, Format, Limits, Plan, typed};
use banyan_text::schema::{json_schema, xml_schema};
use banyan_text::{to_json, to_xml};
use banyan_tree::fuzzing::polite_words;

fn main() -> Result<(), Box<dyn Error>> {
    for number in 0..BUILT_IN {
        formats(number)?;
        let format = built_in(number);
        let record = record_of(number)?;
        records(number, &format, &record)?;
        texts(number, &record)?;
    }
    files()?;
    shared()?;
    wire()
}

/// A round between a hub and its spokes, and one in which somebody lies about how far a ring is written.
fn shared() -> Result<(), Box<dyn Error>> {
    let round = [0, 1, 26, 4, 0, 0, 3, 0, 26, 5, 0, 0, 0, 6, 0, 0, 1, 2, 0, 0, 1, 1, 26, 4, 1, 0];
    let lie = [3, 0, 26, 7, 0, 0, 0x12, 0x84, 0xff, 0, 0, 0, 2, 0, 0];
    seed("shared", "round", &round)?;
    seed("shared", "lie", &lie)
}

/// Writes a seed.
fn seed(target: &str, name: &str, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    fs::create_dir_all(&directory)?;
    Ok(fs::write(directory.join(name), bytes)?)
}

/// What the peers of each kind of node say.
fn wire() -> Result<(), Box<dyn Error>> {
    for (number, words) in polite_words().into_iter().enumerate() {
        for (kind, name) in ["agent", "front-end", "member"].into_iter().enumerate() {
            seed("wire", &format!("{name}-{number}"), &[&[kind as u8], &words[..]].concat())?;
        }
    }
    Ok(())
}

fn record_of(number: u8) -> Result<DynRecord, Box<dyn Error>> {
    let mut body = Vec::new();
    match number {
        0 => typed::encode_body_into(&deep(), &mut body)?,
        1 => typed::encode_body_into(&flat(), &mut body)?,
        2 => typed::encode_body_into(&numbers(), &mut body)?,
        3 => typed::encode_body_into(&deep().items[0], &mut body)?,
        4 => typed::encode_body_into(&deep().choices[1], &mut body)?,
        _ => {
            let mut record = DynRecord::new(&built_in(number));
            record.set("rows", 2)?;
            record.set("columns", 1)?;
            record.set("name", "m")?;
            record.push("weights", 1.5)?;
            record.push("weights", 2.5)?;
            record.set("table", vec![vec![1], vec![2]])?;
            return Ok(record);
        }
    }
    Ok(DynRecord::from_body(&built_in(number), &body, &Limits::default())?)
}

/// A body in its own layout and in that of another machine, each to be converted to the other.
fn records(number: u8, format: &Format, record: &DynRecord) -> Result<(), Box<dyn Error>> {
    let body = record.to_body()?;
    let (here, there) = (number + BUILT_IN, 0xa0 | (number + BUILT_IN));
    seed("record", &format!("{number}-native"), &[&[0, here, there], &body[..]].concat())?;
    let foreign = banyan_fuzz::format(&mut banyan_fuzz::Bytes(&[there])).ok_or("a format of ours")?;
    let mut converted = Buffer::new();
    Plan::new(format, &foreign, &ConvertOptions::default())?.convert(&body, &mut converted)?;
    seed("record", &format!("{number}-foreign"), &[&[0, there, here], &converted[..]].concat())?;
    let length = (foreign.encoded().len() as u16).to_le_bytes();
    let described = [&[3, 0], &length[..], foreign.encoded(), &[here], &converted].concat();
    seed("record", &format!("{number}-described"), &described)?;
    seed("cstruct", &format!("{number}"), &[&[[2, 3, 0, 4, 0, 1][usize::from(number)]], &body[..]].concat())
}

fn texts(number: u8, record: &DynRecord) -> Result<(), Box<dyn Error>> {
    let first = [number + BUILT_IN];
    seed("json", &number.to_string(), &[&first[..], to_json(record)?.as_bytes()].concat())?;
    seed("xml", &number.to_string(), &[&first[..], to_xml(record)?.as_bytes()].concat())
}

fn formats(number: u8) -> Result<(), Box<dyn Error>> {
    let format = built_in(number);
    seed("schema", &format!("{number}.json"), json_schema(&format).to_string().as_bytes())?;
    seed("schema", &format!("{number}.xml"), xml_schema(&format).as_bytes())?;
    seed("format", &format!("built-in-{number}"), format.encoded())
}

fn files() -> Result<(), Box<dyn Error>> {
    for (name, finished) in [("finished", true), ("cut", false)] {
        let mut file = Writer::stream(Vec::new(), WriterOptions::default())?;
        file.attribute("key", "value")?;
        for number in [2, 3, 2, 0] {
            let record = record_of(number)?;
            file.write_body(&built_in(number), &record.to_body()?)?;
            file.comment("remark")?;
        }
        file.flush()?;
        let mut bytes = file.finish()?;
        if !finished {
            bytes.truncate(bytes.len() * 2 / 3);
        }
        seed("file", name, &bytes)?;
    }
    Ok(())
}
