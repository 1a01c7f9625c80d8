//! How long a topology of a million nodes takes to build, to write, and to read and check again.
//!
//! ```text
//! cargo run --release -p banyan-topology --example topology_speed
//! ```

#![expect(clippy::print_stdout, reason = "figures for people")]

use std::time::{Duration, Instant};

use banyan_hosts::HostSet;
use banyan_topology::{Folding, Spec, Topology, TopologyError};

/// The best of some runs.
fn best<T>(mut work: impl FnMut() -> T) -> (Duration, T) {
    let mut run = || {
        let begin = Instant::now();
        let result = work();
        (begin.elapsed(), result)
    };
    (0..5).map(|_| run()).min_by_key(|(time, _)| *time).expect("some runs")
}

fn main() -> Result<(), TopologyError> {
    for word in ["fanout:64:984251", "10^6", "knomial:8:875000", "flat:999999"] {
        let spec: Spec = word.parse()?;
        let (time, topology) = best(|| spec.build());
        println!("{word:<20} {:>8} nodes built in {time:.1?}", topology?.len());
    }
    let hosts = HostSet::parse("node[1-15616]").expect("hosts");
    let (time, topology) = best(|| "hosts:32:63".parse::<Spec>().and_then(|spec| spec.build_on(&hosts)));
    let topology = topology?;
    println!("{:<20} {:>8} nodes built in {time:.1?}", "hosts:32:63", topology.len());
    let (time, mrnet) = best(|| topology.mrnet().to_string());
    println!("  written for MRNet ({} bytes) in {time:.1?}", mrnet.len());
    println!("  read and checked in {:.1?}", best(|| Topology::parse(&mrnet, None).map(|read| read.len())).0);
    let (time, outline) = best(|| topology.outline().to_string());
    println!("  written as an outline ({} bytes) in {time:.1?}", outline.len());
    println!("  read and checked in {:.1?}", best(|| Topology::parse(&outline, None).map(|read| read.len())).0);
    println!("  drawn as text in {:.1?}", best(|| topology.view(Folding::default()).to_string()).0);
    Ok(())
}
