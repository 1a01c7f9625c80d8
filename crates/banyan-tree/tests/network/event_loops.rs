//! Front-ends with an event loop of their own: they sleep on the descriptor of the network, and never in it.

use std::time::{Duration, Instant};

use banyan_boot::ProcessDistribution;
use banyan_tree::{Network, Stream, StreamOptions, Wave};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::processes::words;
use crate::relatives::{agents, others, parent};
use crate::setup::{PATIENCE, SUMS, options, order, this_program};

/// The next wave of a stream, as an event loop finds it.
fn next(network: &Network, stream: &Stream) -> Wave {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(wave) = stream.try_recv().unwrap() {
            return wave;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let mut watched = [PollFd::new(network, PollFlags::IN)];
        let ready = rustix::event::poll(&mut watched, Some(&Timespec::try_from(left).unwrap()));
        assert_eq!(ready, Ok(1), "the descriptor is not readable");
        assert!(!left.is_zero(), "no wave came");
    }
}

pub(crate) fn waves_are_found_by_whoever_watches_the_descriptor() {
    let network = crate::setup::network("2x2", "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 50, 1);
    network.flush().unwrap();
    for number in 0..50 {
        assert_eq!(next(&network, &stream).number(), number);
    }
}

pub(crate) fn those_who_are_adrift_are_not_waited_for_longer_by_an_event_loop() {
    let mut options = options("2x1");
    options.node.adrift = Duration::from_secs(2);
    // All that the front-end hears meanwhile: between any two of these it is asleep for long.
    (options.heartbeat, options.silence) = (Duration::from_millis(400), Duration::from_secs(10));
    let members = ProcessDistribution::new(this_program(), ["member", "serve"]);
    let network = Network::launch(&members, &options).unwrap();
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 1, 0);
    assert_eq!(next(&network, &stream).members().len(), 2);
    let (keeper, worker) = agents()[0];
    let is_member = |pid: &Pid| words(*pid).get(1).is_some_and(|word| word == "member");
    let member = others().into_iter().find(|pid| parent(*pid) == Some(worker) && is_member(pid)).unwrap();
    // Nobody is left to tell that the member has ended.
    kill_process(worker, Signal::STOP).unwrap();
    [member, keeper, worker].iter().for_each(|pid| kill_process(*pid, Signal::KILL).unwrap());
    order(&stream, 1, 1, 0);
    assert_eq!(next(&network, &stream).members().len(), 1);
}

pub(crate) fn the_descriptor_is_readable_when_a_time_is_over() {
    let mut options = options("flat:2");
    options.node.stopped = None;
    // Longer than the test may take: nothing else makes the descriptor readable.
    (options.heartbeat, options.silence) = (2 * PATIENCE, 4 * PATIENCE);
    let members = ProcessDistribution::new(this_program(), ["member", "gaps"]);
    let network = Network::launch(&members, &options).unwrap();
    let timeout = StreamOptions::reduce("sum(ones)").synchronised("timeout 200ms".parse().unwrap());
    let stream = network.open(&network.everyone(), timeout).unwrap();
    // Member 1 has nothing for it.
    order(&stream, 1, 1, 0);
    assert_eq!(next(&network, &stream).members().to_string(), "0");
}
