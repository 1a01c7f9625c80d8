//! Banyan: a network on this machine whose agents and members are this program.

use std::io;
use std::process::exit;
use std::time::{Duration, Instant};

use banyan_boot::ProcessDistribution;
use banyan_ndr::Record;
use banyan_tree::topology::Spec;
use banyan_tree::{BackEnd, Network, NetworkOptions, Stream, TreeError};
use rustix::process::{Pid, Signal, kill_process};

use super::{ARRAY_NUMBERS, Shape};
use crate::arrays::{Array, ArraySum};
use crate::processes::{arguments, descendants, parent};
use crate::stopwatch::thread_cpu_nanoseconds;

/// The first argument of a member.
const ROLE: &str = "bench-tree-member";

/// How long anything may take. Only a broken machine takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tag: send the number back.
const ECHO: u32 = 1;
/// Tag: send so many waves of one integer.
const WAVES: u32 = 2;
/// Tag: send so many arrays.
const ARRAYS: u32 = 3;
/// Tag: an array that needs no answer.
const TAKE: u32 = 4;

/// An integer: an answer, or how often to do something.
#[derive(Record)]
struct Value {
    value: u64,
}

/// What comes of everyone's integer.
#[derive(Record)]
struct Sum {
    #[record(rename = "sum(value)")]
    value: u64,
}

/// The array that everyone sends: each number is its place, so that sums are exact and known.
fn array() -> Array {
    Array { values: (0..ARRAY_NUMBERS).map(|place| place as f64).collect() }
}

/// Never returns in a process that an agent of a bench has started as member.
pub(super) fn become_member_if_asked() {
    if std::env::args().nth(1).as_deref() == Some(ROLE) {
        // The end of the network is the end of a member; what else goes wrong, the front-end says.
        exit(i32::from(!matches!(take_part(), Err(TreeError::Ended))));
    }
}

fn take_part() -> Result<(), TreeError> {
    let mut back_end = BackEnd::join()?;
    loop {
        let incoming = back_end.recv()?;
        let stream = incoming.stream;
        match incoming.tag {
            ECHO => {
                let value: Value = incoming.read()?;
                back_end.send(stream, &value)?;
            }
            WAVES => {
                let count = incoming.read::<Value>()?.value;
                (0..count).try_for_each(|value| back_end.send(stream, &Value { value }).map(drop))?;
            }
            ARRAYS => {
                let (count, array) = (incoming.read::<Value>()?.value, array());
                (0..count).try_for_each(|_| back_end.send(stream, &array).map(drop))?;
            }
            _ => {}
        }
    }
}

/// A running network, seen from its front-end. Everything it started ends with it.
pub(super) struct Banyan {
    numbers: Stream,
    arrays: Stream,
    leaves: u64,
    children: u64,
    _network: Network,
}

impl Banyan {
    /// Starts the network; returns when every member has joined, with the time that took.
    pub(super) fn start(shape: &Shape) -> Result<(Banyan, Duration), TreeError> {
        let begin = Instant::now();
        let members = ProcessDistribution::new(std::env::current_exe()?, [ROLE]);
        let topology = Spec::Widths(shape.widths().to_vec()).into();
        let network = Network::launch(&members, &NetworkOptions::default().topology(topology))?;
        let took = begin.elapsed();
        let everyone = network.everyone();
        let banyan = Banyan {
            numbers: network.open(&everyone, "sum(value)")?,
            arrays: network.open(&everyone, "sum(values)")?,
            leaves: shape.leaves(),
            children: shape.widths().first().copied().unwrap_or(1).into(),
            _network: network,
        };
        Ok((banyan, took))
    }

    /// Round trips of one integer, each with its time.
    pub(super) fn round_trips(&mut self, count: u64) -> Result<Vec<Duration>, TreeError> {
        let round_trip = |value: u64| {
            let begin = Instant::now();
            self.numbers.send(ECHO, &Value { value })?;
            self.expect(value, begin + PATIENCE)?;
            Ok(begin.elapsed())
        };
        (0..count).map(round_trip).collect()
    }

    /// The time of so many waves of one integer.
    pub(super) fn waves(&mut self, count: u64) -> Result<Duration, TreeError> {
        let begin = Instant::now();
        self.numbers.send(WAVES, &Value { value: count })?;
        (0..count).try_for_each(|wave| self.expect(wave, begin + PATIENCE))?;
        Ok(begin.elapsed())
    }

    /// The time of so many sums of arrays.
    pub(super) fn array_sums(&mut self, count: u64) -> Result<Duration, TreeError> {
        let begin = Instant::now();
        self.arrays.send(ARRAYS, &Value { value: count })?;
        for _ in 0..count {
            let sum: ArraySum = self.arrays.recv_timeout(begin + PATIENCE)?.read()?;
            check(sum.values.last() == Some(&((ARRAY_NUMBERS - 1) as f64 * self.leaves as f64)));
        }
        Ok(begin.elapsed())
    }

    /// The time until all have got so many arrays.
    pub(super) fn broadcasts(&mut self, count: u64) -> Result<Duration, TreeError> {
        let array = array();
        let begin = Instant::now();
        (0..count).try_for_each(|_| self.numbers.send(TAKE, &array))?;
        self.numbers.send(ECHO, &Value { value: 1 })?;
        self.expect(1, begin + PATIENCE)?;
        Ok(begin.elapsed())
    }

    /// The longest pause between waves after an agent was killed, while so many waves arrive. The first third of them
    /// arrive before. Sums are checked: nothing may be lost.
    pub(super) fn recovery(self, count: u64) -> Result<Duration, TreeError> {
        let agent = an_agent_with_members().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let deadline = Instant::now() + PATIENCE;
        self.numbers.send(WAVES, &Value { value: count })?;
        (0..count / 3).try_for_each(|wave| self.expect(wave, deadline))?;
        kill_process(agent, Signal::KILL).map_err(io::Error::from)?;
        let (mut last, mut longest) = (Instant::now(), Duration::ZERO);
        for wave in count / 3..count {
            self.expect(wave, deadline)?;
            longest = longest.max(last.elapsed());
            last = Instant::now();
        }
        Ok(longest)
    }

    /// Microseconds of this thread's processor time for sending to a child and for hearing from one, over so many round
    /// trips.
    pub(super) fn front_end_work(&mut self, count: u64) -> Result<(f64, f64), TreeError> {
        let (mut sending, mut hearing) = (0, 0);
        for value in 0..count {
            let begin = thread_cpu_nanoseconds();
            self.numbers.send(ECHO, &Value { value })?;
            let sent = thread_cpu_nanoseconds();
            self.expect(value, Instant::now() + PATIENCE)?;
            hearing += thread_cpu_nanoseconds() - sent;
            sending += sent - begin;
        }
        let each = |nanoseconds: u64| nanoseconds as f64 / 1e3 / (count * self.children) as f64;
        Ok((each(sending), each(hearing)))
    }

    /// The next wave is this integer of every member.
    fn expect(&self, value: u64, deadline: Instant) -> Result<(), TreeError> {
        let sum: Sum = self.numbers.recv_timeout(deadline)?.read()?;
        check(sum.value == value * self.leaves);
        Ok(())
    }
}

/// The process that a member has as parent: the working one of the two that an agent consists of.
fn an_agent_with_members() -> Option<Pid> {
    let is_member = |id: &u32| arguments(*id).first().is_some_and(|word| word == ROLE);
    let member = descendants(false).into_iter().find(is_member)?;
    Pid::from_raw(parent(member)?.cast_signed())
}

/// A figure of a wrong sum is worth nothing, and nothing that this program could be told makes one.
fn check(is_right: bool) {
    assert!(is_right, "a sum is not what it should be: this is a bug in Banyan");
}
