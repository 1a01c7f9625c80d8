//! A tree with one agent and one member, which is this program: what stands above links. The agent dials the front-end as
//! it does within a host, or over TCP as between hosts; the member is on the agent's host in either case.
//!
//! Three layers use it. All of them send waves of arrays; the streams differ in what the agent and the front-end do with
//! them, and the typed layer reads them into structs at both ends.

use std::process::exit;
use std::rc::Rc;
use std::time::{Duration, Instant};

use banyan_boot::ProcessDistribution;
use banyan_ndr::Record;
use banyan_tree::topology::Spec;
use banyan_tree::{BackEnd, Network, NetworkOptions, Stream, StreamOptions, TreeError, Wave};

use super::Layer;
use super::pass::PASS_ON;
use super::path::{Cause, NUMBER, Path, check, numbers};
use crate::arrays::{Array, ArraySum};
use crate::channel::PATIENCE;

/// The first argument of the member.
const ROLE: &str = "bench-layers-member";

/// An agent, and a member below it.
const SHAPE: [u32; 2] = [1, 1];

/// Tag: answers are arrays of so many bytes from now on.
const PREPARE: u32 = 1;
/// Tag: an array, which is answered by the one that was prepared.
const ECHO: u32 = 2;
/// Tag: an array, which is read and sent back.
const ECHO_READ: u32 = 3;
/// Tag: send the prepared array so many times.
const SEND: u32 = 4;

#[derive(Record)]
struct Number {
    value: u64,
}

/// Never returns in a process that an agent of this bench has started as member.
pub(super) fn become_member_if_asked() {
    if std::env::args().nth(1).as_deref() == Some(ROLE) {
        // The end of the network is the end of a member; what else goes wrong, the front-end says.
        exit(i32::from(!matches!(take_part(), Err(TreeError::Ended))));
    }
}

fn take_part() -> Result<(), TreeError> {
    let mut back_end = BackEnd::join()?;
    let mut prepared = Array { values: Vec::new() };
    loop {
        let incoming = back_end.recv()?;
        let stream = incoming.stream;
        match incoming.tag {
            PREPARE => {
                let bytes = incoming.read::<Number>()?.value;
                prepared.values = numbers(usize::try_from(bytes).unwrap_or(0).min(super::LONGEST));
            }
            ECHO => _ = back_end.send(stream, &prepared)?,
            ECHO_READ => {
                let array: Array = incoming.read()?;
                back_end.send(stream, &array)?;
            }
            SEND => {
                let count = incoming.read::<Number>()?.value;
                (0..count).try_for_each(|_| back_end.send(stream, &prepared).map(drop))?;
            }
            _ => {}
        }
    }
}

/// The network of all three layers. Everything it started ends with the last of them.
pub(super) struct LayerTree {
    passed: Stream,
    summed: Stream,
    _network: Network,
}

impl LayerTree {
    /// Starts the agent, which is reached over TCP or as within a host, and the member.
    pub(super) fn start(only_tcp: bool) -> Result<Rc<LayerTree>, Cause> {
        let members = ProcessDistribution::new(std::env::current_exe()?, [ROLE]);
        let options = NetworkOptions::default().topology(Spec::Widths(SHAPE.to_vec()).into()).only_tcp(only_tcp);
        let network = Network::launch(&members, &options)?;
        let everyone = network.everyone();
        Ok(Rc::new(LayerTree {
            passed: network.open(&everyone, StreamOptions::filter(PASS_ON, ""))?,
            summed: network.open(&everyone, "sum(values)")?,
            _network: network,
        }))
    }

    fn stream(&self, layer: Layer) -> &Stream {
        if matches!(layer, Layer::Hop | Layer::TcpHop) { &self.passed } else { &self.summed }
    }
}

/// One of the layers that use the tree.
pub(super) struct Member {
    pub(super) layer: Layer,
    pub(super) tree: Rc<LayerTree>,
}

impl Member {
    fn prepare(&self, bytes: usize) -> Result<&Stream, Cause> {
        let stream = self.tree.stream(self.layer);
        stream.send(PREPARE, &Number { value: bytes as u64 })?;
        Ok(stream)
    }

    /// Whether records are read into structs.
    fn is_typed(&self) -> bool {
        matches!(self.layer, Layer::Typed | Layer::TcpTyped)
    }

    /// Takes a wave as far as this layer does: as it came, or as a struct.
    fn take(&self, wave: &Wave, bytes: usize) -> Result<(), Cause> {
        if self.is_typed() {
            let sum: ArraySum = wave.read()?;
            check(sum.values.len() == bytes / NUMBER && sum.values.last() == Some(&((bytes / NUMBER - 1) as f64)));
        } else {
            check(wave.body().len() >= bytes);
        }
        Ok(())
    }
}

impl Path for Member {
    fn round_trips(&mut self, bytes: usize, count: u64) -> Result<Vec<f64>, Cause> {
        let stream = self.prepare(bytes)?;
        let sent = Array { values: numbers(bytes) };
        let tag = if self.is_typed() { ECHO_READ } else { ECHO };
        let round_trip = |_| {
            let begin = Instant::now();
            stream.send(tag, &sent)?;
            self.take(&stream.recv_timeout(begin + PATIENCE)?, bytes)?;
            Ok(begin.elapsed().as_secs_f64())
        };
        (0..count).map(round_trip).collect()
    }

    fn messages(&mut self, bytes: usize, count: u64) -> Result<Duration, Cause> {
        let stream = self.prepare(bytes)?;
        let begin = Instant::now();
        stream.send(SEND, &Number { value: count })?;
        for _ in 0..count {
            self.take(&stream.recv_timeout(begin + PATIENCE)?, bytes)?;
        }
        Ok(begin.elapsed())
    }
}
