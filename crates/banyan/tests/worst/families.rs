//! Families of inputs: for each decoder those that a sender might choose to make it work hard.

use std::io::IoSlice;
use std::time::Instant;

use banyan_boot::{HostSet, RankSet};
use banyan_link::{Connection, Event, LinkOptions};
use banyan_ndr::{
    Buffer, ByteOrder, ConvertOptions, DynRecord, Format, Limits, Plan, PointerWidth, Record, RecordView,
};
use banyan_query::{Process, Query, Selector, evaluate};
use banyan_text::schema::{format_from_json_schema, format_from_xml_schema, json_schema, xml_schema};
use banyan_text::{from_json, from_json_skipping, from_xml, from_xml_skipping};
use banyan_tree::fuzzing::{agent_among_strangers, polite_words};
use banyan_tree::reduce::{Part, Reduction, ReductionLimits, Specification};
use banyan_tree::topology::{Spec, Topology};

use crate::formats::{cases, chain, lists, mesh, names, ring, wide, wide_backwards};

/// Inputs of one kind for one decoder.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    /// An input of about so many bytes.
    pub(crate) input: fn(usize) -> Vec<u8>,
    pub(crate) decode: fn(&[u8]),
}

macro_rules! families {
    ($($name:literal: $decode:path, $input:expr;)*) => {
        &[$(Family { name: $name, input: $input, decode: $decode }),*]
    };
}

/// All of them.
pub(crate) const FAMILIES: &[Family] = families![
    "format, many fields": format, |bytes| wide(bytes / 40).encoded().to_vec();
    "format, definitions in a chain": format, |bytes| chain(bytes / 40).encoded().to_vec();
    "format, definitions in rings": format, |bytes| mesh(bytes / 50).encoded().to_vec();
    "format, many names": format, |bytes| names(bytes / 20).encoded().to_vec();
    "format, many cases": format, |bytes| cases(bytes / 20).encoded().to_vec();
    "plan, many fields": plan, |bytes| pair(&wide(bytes / 80), &wide_backwards(bytes / 80));
    "plan, definitions in a chain": plan, |bytes| pair(&chain(bytes / 80), &other_order(&chain(bytes / 80)));
    "plan, definitions in rings": plan, |bytes| pair(&mesh(bytes / 100), &other_order(&mesh(bytes / 100)));
    "plan, many names": plan, |bytes| pair(&names(bytes / 40), &other_order(&names(bytes / 40)));
    "plan, many cases": plan, |bytes| pair(&cases(bytes / 40), &other_order(&cases(bytes / 40)));
    "record, the last of many names": record, |bytes| last_names(bytes);
    "record, the last of many cases": record, |bytes| last_cases(bytes);
    "record, many fields": record, |bytes| described(&wide(bytes / 45), &many_numbers(bytes / 45, false));
    "record, a list of itself": record, |bytes| described(&ring(), &nested_items(bytes / 30));
    "record, a long list": record, |bytes| described(&lists(), &whole("", &list("7", bytes / 4), ""));
    "record, many texts": record, |bytes| described(&lists(), &whole(&list("\"\"", bytes / 16), "", ""));
    "record, one text many times": record, |bytes| one_text_many_times(bytes);
    "conversion, many texts": conversion, |bytes| described(&lists(), &whole(&list("\"a\"", bytes / 24), "", ""));
    "conversion, the last of many names": conversion, |bytes| last_names(bytes);
    "conversion, a list of itself": conversion, |bytes| described(&ring(), &nested_items(bytes / 30));
    "json, a list": json_lists, |bytes| whole("", &list("1", bytes / 2), "").into_bytes();
    "json, a text of escapes": json_lists, |bytes| whole("", "", &"\\u00e4".repeat(bytes / 6)).into_bytes();
    "json, unknown fields": json_lists, |bytes| object(bytes / 12, "x");
    "json, one field again and again": json_lists, |bytes| format!("{{{}}}", list("\"text\":\"\"", bytes / 10)).into_bytes();
    "json, brackets that nest": json_lists, |bytes| ["{\"x\":", &"[".repeat(bytes / 2), &"]".repeat(bytes / 2), "}"].concat().into_bytes();
    "json, brackets that stay open": json_lists, |bytes| "{\"texts\":[".repeat(bytes / 10).into_bytes();
    "json, a number of many digits": json_lists, |bytes| format!("{{\"numbers\":[{}]}}", "9".repeat(bytes)).into_bytes();
    "json, white space": json_lists, |bytes| format!("{{{}}}", " ".repeat(bytes)).into_bytes();
    "json, items that nest": json_ring, |bytes| nested_items(bytes / 24).into_bytes();
    "json, fields the last first": json_wide, |bytes| many_numbers(bytes / 35, true).into_bytes();
    "xml, a list": xml_lists, |bytes| xml(&"<item>1</item>".repeat(bytes / 14));
    "xml, unknown elements": xml_lists, |bytes| format!("<lists>{}</lists>", "<x/>".repeat(bytes / 4)).into_bytes();
    "xml, elements that nest": xml_lists, |bytes| ["<lists>", &"<x>".repeat(bytes / 7), &"</x>".repeat(bytes / 7), "</lists>"].concat().into_bytes();
    "xml, elements that stay open": xml_lists, |bytes| "<lists>".repeat(bytes / 7).into_bytes();
    "xml, attributes": xml_lists, |bytes| attributes(bytes / 12);
    "xml, namespaces": xml_lists, |bytes| namespaces(bytes / 20);
    "xml, references": xml_lists, |bytes| format!("<lists><text>{}</text></lists>", "&#65;".repeat(bytes / 5)).into_bytes();
    "json schema, many properties": read_json_schema, |bytes| json_schema(&wide(bytes / 110)).to_string().into_bytes();
    "json schema, definitions in a chain": read_json_schema, |bytes| json_schema(&chain(bytes / 400)).to_string().into_bytes();
    "json schema, definitions in rings": read_json_schema, |bytes| json_schema(&mesh(bytes / 500)).to_string().into_bytes();
    "json schema, many names": read_json_schema, |bytes| json_schema(&names(bytes / 40)).to_string().into_bytes();
    "json schema, many cases": read_json_schema, |bytes| json_schema(&cases(bytes / 200)).to_string().into_bytes();
    "json schema, what is required": read_json_schema, |bytes| required(bytes / 40);
    "json schema, schemas that nest": read_json_schema, |bytes| nested_schema(bytes / 45);
    "xml schema, many elements": read_xml_schema, |bytes| xml_schema(&wide(bytes / 90)).into_bytes();
    "xml schema, definitions in a chain": read_xml_schema, |bytes| xml_schema(&chain(bytes / 500)).into_bytes();
    "xml schema, many names": read_xml_schema, |bytes| xml_schema(&names(bytes / 60)).into_bytes();
    "record file, many records": record_file, |bytes| written(bytes / 48, 1);
    "record file, many formats": record_file, |bytes| written(bytes / 160, usize::MAX);
    "record file, many blocks": record_file, |bytes| blocks(bytes / 80);
    "record file, cut": record_file, |bytes| cut(bytes / 80);
    "record file, blocks that are damaged": record_file, |bytes| damaged(bytes);
    "ffs file, its data again and again": ffs_file, |bytes| ffs_again(bytes);
    "link, frames without payloads": link, |bytes| frames(bytes, 0);
    "link, short frames": link, |bytes| frames(bytes, 16);
    "link, one long frame": link, |bytes| frames(bytes, bytes);
    "tree, what members say": tree, |bytes| said(bytes, 1);
    "tree, what agents hear": tree, |bytes| said(bytes, 0);
    "tree, frames of no kind": tree, |bytes| [1u8, 41, 1, 1, 0, 0, 0, 0].repeat(bytes / 8);
    "ranks, as text": rank_text, |bytes| numbers(bytes / 7, |at| format!("{}", 3 * at + at % 2)).into_bytes();
    "ranks, as text, in disorder": rank_text, |bytes| numbers(bytes / 7, |at| format!("{}", at * 7_919 % 1_000_003)).into_bytes();
    "ranks, as bytes": rank_bytes, |bytes| rank_bytes_of(bytes);
    "hosts, names": hosts, |bytes| numbers(bytes / 8, |at| format!("n{}x", at * 7_919 % 1_000_003)).into_bytes();
    "hosts, ranges": hosts, |bytes| numbers(bytes / 12, |at| format!("r{at}n[1-9]")).into_bytes();
    "hosts, numbers in brackets": hosts, |bytes| format!("n[{}]", numbers(bytes / 7, |at| (2 * at).to_string())).into_bytes();
    "hosts, left out": hosts, |bytes| format!("n[1-9],{}", numbers(bytes / 8, |at| format!("!m{at}"))).into_bytes();
    "topology, an outline of many lines": topology, |bytes| outline(bytes / 20, |_| 2);
    "topology, an outline in steps": topology, |bytes| outline(bytes / 20, |at| 2 + 2 * (at % 8));
    "topology, edges": topology, |bytes| edges(bytes / 14);
    "topology, widths": topology, |bytes| "1x".repeat(bytes / 2).into_bytes();
    "reduction, many": reduction, |bytes| numbers(bytes / 12, |at| format!("max(v{at})")).into_bytes();
    "reduction, one again and again": reduction, |bytes| numbers(bytes / 6, |_| "sum(v)".into()).into_bytes();
    "reduction, a long path": reduction, |bytes| format!("max({}v)", "v.".repeat(bytes / 2)).into_bytes();
    "query, many columns": query, |bytes| format!("select {} from s", numbers(bytes / 12, |at| format!("max(v) as c{at}"))).into_bytes();
    "query, many different aggregates": query, |bytes| format!("select {} from s", numbers(bytes / 12, |at| format!("sum(v + {at})"))).into_bytes();
    "query, a chain of conditions": query, |bytes| format!("select v from s where {}v = 1", "v = 1 or ".repeat(bytes / 9)).into_bytes();
    "query, brackets": query, |bytes| format!("select {}v{} from s", "(".repeat(bytes / 2), ")".repeat(bytes / 2)).into_bytes();
    "query, signs": query, |bytes| format!("select {}v from s", "- ".repeat(bytes / 2)).into_bytes();
    "query, truths of truths": query, |bytes| format!("select {}true{} as x from s", "(".repeat(bytes / 9), " = true)".repeat(bytes / 9)).into_bytes();
    "query, a long text": query, |bytes| format!("select v from s where host = '{}'", "a''".repeat(bytes / 3)).into_bytes();
    "query, a pattern": query, |bytes| format!("select v from s where host matches '{}'", "(a?)*".repeat(bytes / 5)).into_bytes();
    "query, wild cards": query, |bytes| format!("select v from s where host like '{}b'", "%a_".repeat(bytes / 3)).into_bytes();
    "query, a long path": query, |bytes| format!("select {}v from s", "v.".repeat(bytes / 2)).into_bytes();
    "query, a long name": query, |bytes| format!("select {} from s", "v".repeat(bytes)).into_bytes();
    "query, white space": query, |bytes| format!("select v{}from s", " ".repeat(bytes)).into_bytes();
    "query, digits": query, |bytes| format!("select {} as x from s", "9".repeat(bytes)).into_bytes();
    "reduction, brackets": reduction, |bytes| "max(".repeat(bytes / 4).into_bytes();
];

// What decodes.

fn format(bytes: &[u8]) {
    let _ = Format::decode(bytes, &Limits::default());
}

/// A format behind its length, and the rest.
fn format_and_rest(bytes: &[u8]) -> Option<(Format, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (format, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some((Format::decode(format, &Limits::default()).ok()?, rest))
}

fn plan(bytes: &[u8]) {
    let Some((source, rest)) = format_and_rest(bytes) else { return };
    let Some((target, _)) = format_and_rest(rest) else { return };
    if let Ok(plan) = Plan::new(&source, &target, &ConvertOptions::default()) {
        plan.compile();
    }
}

fn record(bytes: &[u8]) {
    let Some((format, body)) = format_and_rest(bytes) else { return };
    let (body, limits) = (Buffer::from_slice(body), Limits::default());
    if let Ok(view) = RecordView::new(&format, &body) {
        let _ = view.walk(&limits, &mut |_, _| Ok(()));
    }
    if let Ok(record) = DynRecord::from_body(&format, &body, &limits) {
        let _ = (record.to_string(), record.to_body());
    }
}

fn conversion(bytes: &[u8]) {
    let Some((format, body)) = format_and_rest(bytes) else { return };
    let target = other_order(&format);
    let (body, mut out) = (Buffer::from_slice(body), Buffer::new());
    if let Ok(plan) = Plan::new(&format, &target, &ConvertOptions::default()) {
        let _ = plan.convert_interpreted(&body, &mut out);
        plan.compile();
        let _ = plan.convert(&body, &mut out);
    }
}

fn json(format: &Format, bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let _ = from_json_skipping(format, text, &Limits::default());
    let _ = from_json(format, text, &Limits::default()).map(|record| record.to_body());
}

fn json_lists(bytes: &[u8]) {
    json(&lists(), bytes);
}

fn json_ring(bytes: &[u8]) {
    json(&ring(), bytes);
}

fn json_wide(bytes: &[u8]) {
    json(&wide(bytes.len() / 35), bytes);
}

fn xml_lists(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let _ = from_xml_skipping(&lists(), text, &Limits::default());
    let _ = from_xml(&lists(), text, &Limits::default()).map(|record| record.to_body());
}

fn read_json_schema(bytes: &[u8]) {
    let Ok(schema) = serde_json::from_slice(bytes) else { return };
    let _ = format_from_json_schema(&schema, ByteOrder::Little, PointerWidth::Eight);
}

fn read_xml_schema(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let _ = format_from_xml_schema(text, ByteOrder::Little, PointerWidth::Eight);
}

fn record_file(bytes: &[u8]) {
    if let Ok(reader) = banyan_files::Reader::from_bytes(Buffer::from_slice(bytes)) {
        reader.records(0).for_each(drop);
        reader.seek_time(..).for_each(drop);
        let _ = (reader.verify(), reader.damage());
    }
    let Ok(mut stream) = banyan_files::StreamReader::new(bytes) else { return };
    while let Ok(Some(_)) = stream.next() {}
}

fn ffs_file(bytes: &[u8]) {
    let Ok(reader) = banyan_files::ffs::Reader::from_bytes(bytes) else { return };
    reader.flatten().for_each(drop);
}

fn link(bytes: &[u8]) {
    let (now, options) = (Instant::now(), LinkOptions::default());
    let (mut peer, mut end) = (Connection::inherited(&options, now), Connection::inherited(&options, now));
    let mut hello = Vec::new();
    let mut pieces = [IoSlice::new(&[]); 8];
    let count = peer.poll_transmit(&mut pieces);
    pieces[..count].iter().for_each(|piece| hello.extend_from_slice(piece));
    for mut piece in [&hello[..], bytes] {
        while !piece.is_empty() {
            let space = end.space();
            let count = space.len().min(piece.len());
            if count == 0 {
                return;
            }
            space[..count].copy_from_slice(&piece[..count]);
            piece = &piece[count..];
            end.received(count, now);
            end.settle();
            while let Some(event) = end.poll_event() {
                if let Event::Frame(frame) = event {
                    end.release(frame.cost());
                }
            }
        }
    }
}

fn tree(bytes: &[u8]) {
    agent_among_strangers(bytes);
}

fn rank_text(bytes: &[u8]) {
    let _ = str::from_utf8(bytes).unwrap_or_default().parse::<RankSet>().map(|set| set.to_string());
}

fn rank_bytes(bytes: &[u8]) {
    let _ = RankSet::decode(bytes).map(|(set, _)| set.len());
}

fn hosts(bytes: &[u8]) {
    let _ = HostSet::parse(str::from_utf8(bytes).unwrap_or_default()).map(|set| set.to_string());
}

fn topology(bytes: &[u8]) {
    let text = str::from_utf8(bytes).unwrap_or_default();
    let _ = text.parse::<Spec>();
    let _ = Topology::parse(text, None).map(|topology| topology.outline().to_string());
}

#[derive(Record)]
struct Sample {
    v: u32,
}

fn query(bytes: &[u8]) {
    let text = str::from_utf8(bytes).unwrap_or_default();
    let query = match text.parse::<Query>() {
        Ok(query) => query,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert!(query.to_string().parse::<Query>().is_ok_and(|again| again == query));
    let Ok(selector) = Selector::new(&query, "s", Sample::format()) else { return };
    let process = Process { host: "n1", job: None, rank: None, pid: 1 };
    let body = 7u32.to_ne_bytes();
    let event = banyan_query::Event { process: &process, thread: 1, sequence: 0, time: 0, body: &body };
    evaluate(&query, [(&selector, event)]).expect("an event fits");
}

fn reduction(bytes: &[u8]) {
    let text = str::from_utf8(bytes).unwrap_or_default();
    let Ok(specification) = text.parse::<Specification>() else { return };
    let mut reduction = Reduction::new(specification, ReductionLimits::default());
    let (members, body) = (RankSet::from_iter([0]), 7u32.to_ne_bytes());
    let part = Part { members: &members, format: Sample::format(), body: &body, is_partial: false };
    if reduction.add(&part).is_ok() {
        reduction.result(&mut Buffer::new());
    }
}

// What is decoded.

fn behind_length(format: &Format) -> Vec<u8> {
    let encoded = format.encoded();
    [&(encoded.len() as u32).to_le_bytes()[..], encoded].concat()
}

fn pair(source: &Format, target: &Format) -> Vec<u8> {
    [behind_length(source), behind_length(target)].concat()
}

fn other_order(format: &Format) -> Format {
    format.relaid(ByteOrder::Big, PointerWidth::Four).expect("it has other layouts")
}

/// A format and a record of it, which is written as JSON here.
fn described(format: &Format, json: &str) -> Vec<u8> {
    let record =
        from_json_skipping(format, json, &Limits::default()).unwrap_or_else(|error| panic!("{error}: {json:.200}"));
    [behind_length(format), record.to_body().expect("a record of JSON").to_vec()].concat()
}

fn list(item: &str, count: usize) -> String {
    vec![item; count].join(",")
}

/// A record of [`lists`].
fn whole(texts: &str, numbers: &str, text: &str) -> String {
    format!("{{\"texts\":[{texts}],\"numbers\":[{numbers}],\"text\":\"{text}\",\"bytes\":\"\"}}")
}

fn last_names(bytes: usize) -> Vec<u8> {
    let count = bytes / 40;
    described(&names(count), &format!("{{\"list\":[{}]}}", list(&format!("\"state_{}\"", count - 1), bytes / 8)))
}

fn last_cases(bytes: usize) -> Vec<u8> {
    let count = bytes / 40;
    described(&cases(count), &format!("{{\"list\":[{}]}}", list(&format!("{{\"case_{}\":7}}", count - 1), bytes / 16)))
}

fn many_numbers(count: usize, is_backwards: bool) -> String {
    let mut fields: Vec<String> = (0..count).map(|at| format!("\"counter_of_something_{at:06}\":{at}")).collect();
    if is_backwards {
        fields.reverse();
    }
    format!("{{{}}}", fields.join(","))
}

/// Items in items, as deep as texts may nest, and many of them in the innermost.
fn nested_items(count: usize) -> String {
    let (depth, items) = (60, list("{\"next\":null,\"items\":[]}", count));
    let innermost = format!("{{\"next\":null,\"items\":[{items}]}}");
    format!("{}{innermost}{}", "{\"next\":".repeat(depth), ",\"items\":[]}".repeat(depth))
}

/// Spans that all lead to the same bytes.
fn one_text_many_times(bytes: usize) -> Vec<u8> {
    let input = described(&lists(), &whole(&list("\"\"", bytes / 32), "", &"x".repeat(bytes / 2)));
    let (format, body) = format_and_rest(&input).expect("as it was made");
    let mut body = body.to_vec();
    let (spans, text) = (body[..16].to_vec(), body[32..48].to_vec());
    let at = u64::from_le_bytes(spans[..8].try_into().expect("eight bytes")) as usize;
    let count = bytes / 32;
    for span in 0..count {
        if let Some(place) = body.get_mut(at + 16 * span..at + 16 * span + 16) {
            place.copy_from_slice(&text);
        }
    }
    [behind_length(&format), body].concat()
}

fn object(count: usize, name: &str) -> Vec<u8> {
    format!("{{{}}}", numbers(count, |at| format!("\"{name}{at}\":{at}"))).into_bytes()
}

fn numbers(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(",")
}

fn xml(inner: &str) -> Vec<u8> {
    format!("<lists><texts/><numbers>{inner}</numbers><text/><bytes/></lists>").into_bytes()
}

fn attributes(count: usize) -> Vec<u8> {
    let attributes: String = (0..count).map(|at| format!(" a{at}=\"\"")).collect();
    format!("<lists{attributes}></lists>").into_bytes()
}

fn namespaces(count: usize) -> Vec<u8> {
    let namespaces: String = (0..count).map(|at| format!(" xmlns:a{at}=\"u{at}\"")).collect();
    format!("<lists{namespaces}></lists>").into_bytes()
}

fn required(count: usize) -> Vec<u8> {
    let properties = numbers(count, |at| format!("\"p{at}\":{{\"type\":\"integer\"}}"));
    let required = numbers(count, |at| format!("\"p{at}\""));
    format!("{{\"title\":\"t\",\"type\":\"object\",\"properties\":{{{properties}}},\"required\":[{required}]}}")
        .into_bytes()
}

fn nested_schema(depth: usize) -> Vec<u8> {
    let begin = "{\"type\":\"object\",\"properties\":{\"p\":".repeat(depth);
    format!("{begin}{{\"type\":\"integer\"}}{}", "}}".repeat(depth)).into_bytes()
}

/// A file of so many records, each of a format of its own, or of one of so many.
fn written(count: usize, formats: usize) -> Vec<u8> {
    let mut writer = banyan_files::Writer::stream(Vec::new(), banyan_files::WriterOptions::default())
        .expect("memory can be written");
    for number in 0..count {
        let name = format!("sample{}", number % formats.max(1));
        let format = banyan_ndr::CStruct::new(&name, 8, 8).int("value", 0, 8).build().expect("a valid format");
        writer.write_body(&format, &number.to_ne_bytes()).expect("memory can be written");
    }
    writer.finish().expect("memory can be written")
}

/// A file whose records were flushed two by two.
fn blocks(count: usize) -> Vec<u8> {
    let mut writer = banyan_files::Writer::stream(Vec::new(), banyan_files::WriterOptions::default())
        .expect("memory can be written");
    for number in 0..count as u32 {
        writer.write(&Sample { v: number }).expect("memory can be written");
        if number % 2 == 0 {
            writer.flush().expect("memory can be written");
        }
    }
    writer.finish().expect("memory can be written")
}

/// Such a file without its end.
fn cut(count: usize) -> Vec<u8> {
    let whole = blocks(count);
    whole[..whole.len() * 4 / 5].to_vec()
}

/// Every 64th byte is another.
fn damaged(bytes: usize) -> Vec<u8> {
    let mut whole = written(bytes / 48, 4);
    whole.iter_mut().skip(100).step_by(64).for_each(|byte| *byte ^= 0x55);
    whole
}

fn ffs_again(bytes: usize) -> Vec<u8> {
    let whole = include_bytes!("../../../banyan-files/tests/vectors/ffs/file_output.ub12-64.bin");
    let (head, rest) = whole.split_at(whole.len().min(1024));
    [head, &rest.repeat(bytes / rest.len().max(1) + 1)].concat()
}

/// Frames of data of this link, one behind the other.
fn frames(bytes: usize, payload: usize) -> Vec<u8> {
    let mut frame = vec![0; 32 + payload.next_multiple_of(16)];
    frame[..4].copy_from_slice(&(payload as u32).to_le_bytes());
    frame[4] = 16;
    frame.repeat((bytes / frame.len()).max(1))
}

fn said(bytes: usize, which: usize) -> Vec<u8> {
    let words = polite_words().swap_remove(which);
    words.repeat(bytes / words.len() + 1)
}

fn rank_bytes_of(bytes: usize) -> Vec<u8> {
    let mut encoded = Vec::new();
    (0..bytes as u32 / 2).map(|at| 3 * at + at % 2).collect::<RankSet>().encode(&mut encoded);
    encoded
}

fn outline(lines: usize, indent: impl Fn(usize) -> usize) -> Vec<u8> {
    let lines = (0..lines).map(|at| format!("{}agent on node{at}\n", " ".repeat(indent(at))));
    ["front-end\n".to_owned()].into_iter().chain(lines).collect::<String>().into_bytes()
}

fn edges(count: usize) -> Vec<u8> {
    (0..count).map(|at| format!("a:{at} => a:{} ;\n", at + 1)).collect::<String>().into_bytes()
}
