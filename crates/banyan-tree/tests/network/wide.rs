//! Records of many fields, whose descriptions are longer than a frame.

use std::process::ExitCode;
use std::sync::Arc;

use banyan_boot::{ProcessDistribution, RankSet};
use banyan_ndr::{ByteOrder, Definition, Field, Format, PointerWidth, Record, RecordDef, Type};
use banyan_tree::{BackEnd, Bodies, Message, Network, Run, StreamOptions, TreeError, WaveNumber};

use crate::setup::{assert_settled, deadline, options, order, this_program};

const FIELDS: u32 = 20_000;

/// What comes of the last field and of another one.
#[derive(Record, Debug, PartialEq)]
struct Extremes {
    highest: i64,
    total: i64,
    #[record(rename = "count()")]
    count: u64,
}

fn name(field: u32) -> String {
    format!("the_name_of_a_counter_of_a_device_of_some_length_{field}")
}

/// Members of odd ranks have another byte order, and so a format of their own.
fn format(rank: u32) -> Format {
    let ty = Type::Int { width: 4, signed: false };
    let fields = (0..FIELDS).map(|field| Field::new(name(field), field * 4, ty.clone())).collect();
    let record = RecordDef { name: "wide".into(), size: FIELDS * 4, align: 4, fields };
    let order = if rank.is_multiple_of(2) { ByteOrder::Little } else { ByteOrder::Big };
    Format::new(order, PointerWidth::Eight, vec![Definition::Record(record)]).unwrap()
}

/// Every field is the member's rank.
fn body(rank: u32) -> Vec<u8> {
    let bytes = if rank.is_multiple_of(2) { rank.to_le_bytes() } else { rank.to_be_bytes() };
    bytes.repeat(FIELDS as usize)
}

/// The member.
pub(crate) fn run() -> ExitCode {
    match serve() {
        Ok(()) | Err(TreeError::Ended) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve() -> Result<(), TreeError> {
    let mut back_end = BackEnd::join()?;
    let incoming = back_end.recv()?;
    let (rank, stream) = (back_end.rank(), incoming.stream);
    let format = format(rank);
    let bodies = Bodies::one(format.id(), body(rank).into());
    let (first, members) = (WaveNumber(0), Arc::new(RankSet::from_iter([rank])));
    let run = Run { stream, first, members, is_fresh: true, is_partial: false, yields: None, bodies };
    back_end.say(Message::Run(run), &[format])?;
    loop {
        back_end.recv()?;
    }
}

fn launch() -> Network {
    assert!(format(0).encoded().len() > 1 << 20, "the description does not fit a frame");
    Network::launch(&ProcessDistribution::new(this_program(), ["wide"]), &options("2x2")).unwrap()
}

pub(crate) fn records_of_twenty_thousand_fields_are_described_once_and_reduced() {
    let network = launch();
    let text = format!("max({}) as highest, sum({}) as total, count()", name(FIELDS - 1), name(7));
    let stream = network.open(&network.everyone(), text.as_str()).unwrap();
    order(&stream, 0, 1, 0);
    let wave = stream.recv_timeout(deadline()).unwrap();
    assert_eq!(wave.members(), &"0-3".parse::<RankSet>().unwrap());
    assert_eq!(wave.read::<Extremes>().unwrap(), Extremes { highest: 3, total: 6, count: 4 });
    assert_settled(&network);
}

pub(crate) fn records_of_twenty_thousand_fields_pass_agents_as_they_are() {
    let network = launch();
    let options = StreamOptions::default().synchronised("none".parse().unwrap());
    let stream = network.open(&network.everyone(), options).unwrap();
    order(&stream, 0, 1, 0);
    for _ in 0..4 {
        let wave = stream.recv_timeout(deadline()).unwrap();
        let rank = wave.members().first().unwrap();
        assert_eq!((wave.format(), wave.body()), (Some(format(rank)), &body(rank)[..]));
    }
    assert_settled(&network);
}
