//! What the tests have in common.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use banyan_boot::{Launcher, ProcessDistribution, SessionOptions};
use banyan_ndr::Record;
use banyan_tree::{Network, NetworkOptions, Report, Stream, Wave};

use crate::harness::WAY;

/// Nothing here takes a third of it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The [way](WAY) of tests whose networks are over TCP alone.
pub(crate) const ONLY_TCP: &str = "only_tcp";

/// Tag: send so many waves, as [`Order`] says.
pub(crate) const SEND: u32 = 1;
/// Tag: end.
pub(crate) const END: u32 = 2;

/// Tag: send back what you were told, a [`Text`].
pub(crate) const ECHO: u32 = 3;

/// What some members are told, and send.
#[derive(Record, Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
}

/// What members are told.
#[derive(Record, Clone, Copy)]
pub(crate) struct Order {
    /// The first wave.
    pub(crate) first: u64,
    /// How many.
    pub(crate) waves: u64,
    /// Milliseconds between them.
    pub(crate) pause: u32,
}

/// What members send.
#[derive(Record)]
pub(crate) struct Value {
    pub(crate) value: i64,
    pub(crate) ones: u32,
}

/// What comes of `sum(value), sum(ones)`.
#[derive(Record, Debug, PartialEq)]
pub(crate) struct Sums {
    #[record(rename = "sum(value)")]
    pub(crate) value: i64,
    #[record(rename = "sum(ones)")]
    pub(crate) ones: u64,
}

pub(crate) const SUMS: &str = "sum(value), sum(ones)";

/// What a member contributes to a wave.
pub(crate) fn value(rank: u32, wave: u64) -> i64 {
    i64::from(rank) * 1_000_003 + wave as i64 * 7
}

pub(crate) fn deadline() -> Option<Instant> {
    Some(Instant::now() + PATIENCE)
}

/// Says that nobody has lost its parent so far.
pub(crate) fn assert_settled(network: &Network) {
    while let Ok(Some(report)) = network.try_recv_event() {
        assert!(matches!(report, Report::Joined(_) | Report::AgentJoined(_)), "{report:?}");
    }
}

/// Lets time pass, as a program does that computes.
pub(crate) fn compute(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        std::thread::park_timeout(end.saturating_duration_since(Instant::now()));
    }
}

pub(crate) fn this_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// Whether the networks of this test are over TCP alone.
pub(crate) fn is_only_tcp() -> bool {
    std::env::var(WAY).is_ok_and(|way| way == ONLY_TCP)
}

pub(crate) fn options(topology: &str) -> NetworkOptions {
    let session = SessionOptions::default()
        .launcher(Launcher::Local)
        .deadline(PATIENCE)
        .grace(Duration::from_millis(500))
        .agent(this_program());
    NetworkOptions::default().topology(topology.parse().unwrap()).session(session).only_tcp(is_only_tcp())
}

/// A network of this program's agents and members.
pub(crate) fn network(topology: &str, behaviour: &str) -> Network {
    Network::launch(&ProcessDistribution::new(this_program(), ["member", behaviour]), &options(topology)).unwrap()
}

/// Tells members to send waves.
pub(crate) fn order(stream: &Stream, first: u64, waves: u64, pause: u32) {
    stream.send(SEND, &Order { first, waves, pause }).unwrap();
}

/// The next wave, which must be this one, and the sum of exactly those who are in it.
pub(crate) fn expect_wave(stream: &Stream, number: u64) -> Wave {
    let (wave, behind) = take_wave(stream, number);
    assert_eq!(behind, 0, "{wave:?}: {:?}", wave.read::<Sums>());
    wave
}

/// The next wave, which must be this one; and by how many waves all those together are behind who are in it. Whoever was given up
/// and is back goes on with the wave that is due, whatever it has made its next record for.
pub(crate) fn take_wave(stream: &Stream, number: u64) -> (Wave, i64) {
    let wave = stream.recv_timeout(deadline()).unwrap();
    assert_eq!(wave.number(), number);
    let sums: Sums = wave.read().unwrap();
    assert_eq!(sums.ones, wave.members().len(), "{wave:?}");
    let expected: i64 = wave.members().iter().map(|rank| value(rank, number)).sum();
    let (late, step) = (expected - sums.value, value(0, 1));
    assert!(late >= 0 && late % step == 0, "{wave:?}: {sums:?} is not {expected}");
    (wave, late / step)
}
