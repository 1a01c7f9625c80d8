//! A tool of one's own in one file: front-end, agents, members and a filter.
//! Every member times a piece of work; the filter passes on the record of the slowest, whole.
//!
//! ```console
//! $ cargo run -p banyan --example own_tool -- 4x16
//! ```

#![expect(clippy::print_stdout, reason = "a program that shows what it found")]

use std::time::Instant;

use banyan::tree::reduce::{Filter, FilterError, Filters, Output, Part, Place, Recovery};
use banyan::{BackEnd, Decoder, Network, NetworkOptions, ProcessDistribution, Record, StreamOptions, TreeError};

/// Tag: time the work so many times.
const TIME: u32 = 1;

#[derive(Record)]
struct Rounds {
    rounds: u32,
}

#[derive(Record)]
struct Timing {
    rank: u32,
    process: u32,
    microseconds: u64,
}

/// The filter. It works in every agent and in the front-end.
struct Slowest(Decoder);

impl Filter for Slowest {
    fn wave(&mut self, parts: &[Part<'_>], _: Place, out: &mut Output) -> Result<(), FilterError> {
        let mut slowest: Option<(u64, &Part<'_>)> = None;
        for part in parts {
            let id = self.0.learn(part.format).map_err(|error| FilterError::Custom(error.to_string()))?;
            let timing: Timing =
                self.0.decode(id, part.body).map_err(|error| FilterError::Custom(error.to_string()))?;
            if slowest.is_none_or(|(time, _)| timing.microseconds > time) {
                slowest = Some((timing.microseconds, part));
            }
        }
        slowest.into_iter().for_each(|(_, part)| out.push(part.format, part.body));
        Ok(())
    }

    fn recovery(&self) -> Recovery {
        Recovery::Recomputed
    }
}

fn filters() -> Filters {
    let mut filters = Filters::default();
    filters.register("slowest", |_| Ok(Box::new(Slowest(Decoder::new()))));
    filters
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    banyan::become_agent_if_asked_with(filters);
    match std::env::args().nth(1).as_deref() {
        Some("member") => member(),
        Some(topology) => front_end(topology),
        None => Err("usage: own_tool TOPOLOGY, such as 4x16".into()),
    }
}

fn front_end(topology: &str) -> Result<(), Box<dyn std::error::Error>> {
    let options = NetworkOptions { topology: Some(topology.parse()?), filters, ..NetworkOptions::default() };
    let members = ProcessDistribution::new(std::env::current_exe()?, ["member"]);
    let network = Network::launch(&members, &options)?;
    let stream = network.open(&network.everyone(), StreamOptions::filter("slowest", ""))?;
    stream.send(TIME, &Rounds { rounds: 3 })?;
    for _ in 0..3 {
        let wave = stream.recv(None)?;
        let Timing { rank, process, microseconds } = wave.read()?;
        println!("slowest of members {}: {rank} (process {process}), {microseconds} µs", wave.members());
    }
    Ok(())
}

fn member() -> Result<(), Box<dyn std::error::Error>> {
    let mut back_end = BackEnd::join()?;
    loop {
        let order = match back_end.recv(None) {
            Err(TreeError::Ended) => return Ok(()),
            order => order?,
        };
        for _ in 0..back_end.read::<Rounds>(&order)?.rounds {
            let begin = Instant::now();
            std::hint::black_box((0..100_000_u64).fold(0, |sum, number| sum ^ std::hint::black_box(number)));
            let microseconds = u64::try_from(begin.elapsed().as_micros())?;
            back_end
                .send(order.stream, &Timing { rank: back_end.rank(), process: std::process::id(), microseconds })?;
        }
    }
}
