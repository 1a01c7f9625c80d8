//! A tool of one's own in one file: front-end, agents, members and a filter.
//! Every member times a piece of work; the filter makes a record of who was the slowest, and how long all took.

#![expect(clippy::print_stdout, reason = "a program that shows what it found")]

use std::time::Instant;

use banyan::tree::reduce::{Filter, FilterError, FilterRole, Filters, Output, Part, Recovery};
use banyan::{BackEnd, Network, NetworkOptions, ProcessDistribution, Record, StreamOptions, TreeError};

#[derive(Record)]
struct Rounds {
    rounds: u32,
}

#[derive(Record)]
struct Timing {
    rank: u32,
    microseconds: u64,
}

/// What the filter makes of timings, and of its own records.
#[derive(Record)]
struct Summary {
    slowest: Timing,
    total: u64,
}

/// The filter. It works in every agent and in the front-end.
struct Summarise;

impl Filter for Summarise {
    fn wave(&mut self, parts: &[Part<'_>], _: FilterRole, out: &mut Output) -> Result<(), FilterError> {
        let mut all = Summary { slowest: Timing { rank: 0, microseconds: 0 }, total: 0 };
        for part in parts {
            let Summary { slowest, total } = if part.is_partial {
                part.read::<Summary>()? // made by this filter, one level below
            } else {
                let timing = part.read::<Timing>()?; // sent by a member
                Summary { total: timing.microseconds, slowest: timing }
            };
            all.total += total;
            if slowest.microseconds >= all.slowest.microseconds {
                all.slowest = slowest;
            }
        }
        out.push_record(&all)
    }

    fn recovery(&self) -> Recovery {
        Recovery::Recomputed
    }
}

fn filters() -> Filters {
    let mut filters = Filters::default();
    filters.register("summarise", |_| Ok(Box::new(Summarise)));
    filters
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    banyan::register_filters(filters());
    banyan::become_agent_if_asked();
    match std::env::args().nth(1).as_deref() {
        Some("member") => member(),
        Some(topology) => front_end(topology),
        None => Err("usage: own_tool TOPOLOGY, such as 4x16".into()),
    }
}

fn front_end(topology: &str) -> Result<(), Box<dyn std::error::Error>> {
    let options = NetworkOptions::default().topology(topology.parse()?);
    let members = ProcessDistribution::new(std::env::current_exe()?, ["member"]);
    let network = Network::launch(&members, &options)?;
    let stream = network.open(&network.everyone(), StreamOptions::filter("summarise", ""))?;
    stream.send(0, &Rounds { rounds: 3 })?;
    for _ in 0..3 {
        let wave = stream.recv()?;
        let Summary { slowest: Timing { rank, microseconds }, total } = wave.read()?;
        println!("slowest of members {}: {rank}, {microseconds} of {total} µs", wave.members());
    }
    Ok(())
}

fn member() -> Result<(), Box<dyn std::error::Error>> {
    let mut back_end = BackEnd::join()?;
    loop {
        let order = match back_end.recv() {
            Err(TreeError::Ended) => return Ok(()),
            order => order?,
        };
        for _ in 0..order.read::<Rounds>()?.rounds {
            let begin = Instant::now();
            std::hint::black_box((0..100_000_u64).fold(0, |sum, number| sum ^ std::hint::black_box(number)));
            let microseconds = u64::try_from(begin.elapsed().as_micros())?;
            back_end.send(order.stream, &Timing { rank: back_end.rank(), microseconds })?;
        }
    }
}
