//! What a front-end that does not receive does to the memory of everyone: nothing beyond the windows.

#![expect(clippy::print_stdout, reason = "whoever runs it by hand wants to see the figures")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use banyan_boot::ProcessDistribution;
use banyan_tree::Network;
use rustix::process::Pid;

use crate::harness::processes::{name, status, words};
use crate::relatives::others;
use crate::setup::{SUMS, assert_settled, expect_wave, options, order, this_program};

/// Eight agents, a thousand members.
const TOPOLOGY: &str = "8x125";
const MEMBERS: u64 = 1000;

/// Waves that members may be ahead, and how many there are.
const WINDOW: u64 = 1024;
const WAVES: u64 = 4 * WINDOW;

/// How long the front-end receives nothing; another number of seconds can be given in the environment.
const HOLD: Duration = Duration::from_secs(4);
const HOLD_VARIABLE: &str = "BANYAN_TEST_HOLD";

/// How long an agent may be silent.
const SILENCE: Duration = Duration::from_secs(20);

/// How often the memory of all is looked at meanwhile, which is work for a machine of a few processors.
const LOOKS: u32 = 8;

/// What each process may have resident at most, in KiB, its program included (about 10 MiB as it is built for tests).
/// A member keeps a window of its own records, 0.6 MiB. An agent gathers as much from each of its 125 children, 70 MiB, and
/// may keep 64 MiB of memory for what comes next. The front-end has windows of sums, which are small.
const BOUNDS: [(&str, u64); 3] = [("front-end", 24 << 10), ("agent", 144 << 10), ("member", 16 << 10)];

/// The most that processes of each kind have had resident at once, in KiB.
type Peaks = BTreeMap<&'static str, u64>;

fn kind(pid: Pid) -> &'static str {
    match words(pid).get(1).map(String::as_str) {
        Some("member") => "member",
        _ if name(pid).starts_with("banyan-") => "agent",
        _ => "front-end",
    }
}

/// The largest resident memory of a process so far, in KiB.
fn peak(pid: Pid) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_pid())).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

fn peaks() -> Peaks {
    let mut peaks = Peaks::new();
    let all = others().into_iter().chain([rustix::process::getpid()]);
    for (kind, peak) in all.filter(|pid| status(*pid).is_some()).filter_map(|pid| Some((kind(pid), peak(pid)?))) {
        let known = peaks.entry(kind).or_default();
        *known = peak.max(*known);
    }
    peaks
}

fn assert_bounded(when: &str) -> Peaks {
    let peaks = peaks();
    for (kind, bound) in BOUNDS {
        assert!(peaks.get(kind).is_some_and(|peak| *peak <= bound), "{when}, {kind}: {peaks:?}, at most {bound} KiB");
    }
    peaks
}

pub(crate) fn a_thousand_members_and_a_front_end_that_does_not_receive_stay_within_their_bounds() {
    let mut options = options(TOPOLOGY);
    options.node.window_waves = WINDOW;
    // A thousand processes on a few processors: each may have to wait for its turn.
    options.silence = SILENCE;
    let network = Network::launch(&ProcessDistribution::new(this_program(), ["member", "padded"]), &options).unwrap();
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, WAVES, 0);
    assert_eq!(expect_wave(&stream, 0).members().len(), MEMBERS);
    let seconds = std::env::var(HOLD_VARIABLE).ok().and_then(|text| text.parse().ok());
    let hold = seconds.map_or(HOLD, Duration::from_secs);
    let end = Instant::now() + hold;
    while Instant::now() < end {
        std::thread::park_timeout(hold / LOOKS);
        assert_bounded("while nothing is received");
    }
    for number in 1..WAVES {
        assert_eq!(expect_wave(&stream, number).members().len(), MEMBERS, "wave {number}");
    }
    assert_settled(&network);
    println!("resident at most, in KiB: {:?}", assert_bounded("in the end"));
}
