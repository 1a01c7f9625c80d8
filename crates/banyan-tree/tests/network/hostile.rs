//! A member that breaks the rules is named, and harms nobody else: every wave is made of the records of its members.

use std::process::ExitCode;
use std::time::Instant;

use banyan_boot::ProcessDistribution;
use banyan_ndr::Record;
use banyan_tree::{BackEnd, Network, Report, Stream, TreeError};

use crate::hostile_member::{ALL, BEHAVIOURS, Behaviour, Hostile, Value};
use crate::relatives::wait_until;
use crate::setup::{Order, deadline, options, order, this_program};

/// Who breaks the rules, among eight.
const RANK: u32 = 3;

/// Waves that everyone sends, the hostile one behind what it has to say.
const WAVES: u64 = 20;

/// What comes of [`ALL`].
#[derive(Record, Debug)]
struct CountAndMax {
    #[record(rename = "count()")]
    count: u64,
    #[record(rename = "max(value)")]
    max: i64,
    #[record(rename = "max(value).who")]
    who: u32,
}

fn value(rank: u32, wave: u64) -> i64 {
    i64::from(rank) + wave as i64 * 100
}

/// The member.
pub(crate) fn run(name: &str) -> ExitCode {
    let behaviour = BEHAVIOURS.iter().find(|behaviour| behaviour.name == name).unwrap();
    match serve(behaviour) {
        Ok(()) | Err(TreeError::Ended) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Breaks the rules once, and does then what it is told.
fn serve(behaviour: &Behaviour) -> Result<(), TreeError> {
    let mut back_end = BackEnd::join()?;
    let mut is_honest = back_end.rank() != RANK;
    loop {
        let incoming = back_end.recv(None)?;
        let Order { first, waves, .. } = back_end.read(&incoming)?;
        if !std::mem::replace(&mut is_honest, true) {
            let speech = (behaviour.speak)(Hostile { rank: RANK, stream: incoming.stream });
            for message in speech.messages {
                back_end.say(message, &speech.formats)?;
            }
        }
        for wave in first..first + waves {
            back_end.send(incoming.stream, &Value { value: value(back_end.rank(), wave), ones: 1 })?;
        }
        // Whatever its intervals are, there is nothing more in this one.
        back_end.finish_interval(incoming.stream)?;
    }
}

pub(crate) fn a_hostile_member_is_named_and_no_wave_is_wrong() {
    for behaviour in BEHAVIOURS {
        let program = ProcessDistribution::new(this_program(), ["hostile", behaviour.name]);
        let network = Network::launch(&program, &options("2x4")).unwrap();
        let stream = network.open(&network.everyone(), (behaviour.options)()).unwrap();
        order(&stream, 0, WAVES, 0);
        expect_named(&network, behaviour.cause);
        if (behaviour.options)() == banyan_tree::StreamOptions::reduce(ALL) {
            expect_waves(&stream);
        } else {
            assert_eq!(stream.recv(deadline()).unwrap().members().len(), 8, "{}", behaviour.name);
        }
    }
}

fn expect_named(network: &Network, cause: &str) {
    let is_named = |report: &Report| matches!(report, Report::Violation { rank: Some(RANK), cause: told, .. } if told.contains(cause));
    let named = || std::iter::from_fn(|| network.next_event(Some(Instant::now()))).find(is_named);
    wait_until("the member is named", deadline().unwrap(), named);
}

/// Every wave is of all eight, the hostile one's own records included, and of nothing else.
fn expect_waves(stream: &Stream) {
    for number in 0..WAVES {
        let wave = stream.recv(deadline()).unwrap();
        assert_eq!((wave.number(), wave.members().len()), (number, 8));
        let CountAndMax { count, max, who } = wave.read().unwrap();
        assert_eq!((count, max, who), (8, value(7, number), 7), "{wave:?}");
    }
}
