//! The floating-point maximum over a tree of processes, as the MRNet paper shows it: the front-end.
//!
//! ```console
//! $ cargo build -p banyan-tree --examples
//! $ target/debug/examples/float_max_front_end 4x16 target/debug/examples/float_max_back_end
//! ```

#![expect(clippy::print_stdout, reason = "a program that shows what it found")]

#[path = "float_max/messages.rs"]
mod messages;

use banyan_boot::ProcessDistribution;
use banyan_ndr::Record;
use banyan_tree::{Network, NetworkOptions};
use messages::{EXIT, INIT, Start};

/// The largest value of all, and whose it is.
#[derive(Record)]
struct Largest {
    #[record(rename = "max(value)")]
    value: f32,
    #[record(rename = "max(value).who")]
    who: u32,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    banyan_tree::become_agent_if_asked();
    let arguments: Vec<String> = std::env::args().collect();
    let [_, topology, back_end] = &arguments[..] else {
        return Err("usage: float_max_front_end TOPOLOGY BACK_END".into());
    };

    // Start the back-ends and the agents between.
    let options = NetworkOptions::default().topology(topology.parse()?);
    let network = Network::launch(&ProcessDistribution::new(back_end, [""; 0]), &options)?;

    // A stream to all of them, on which nodes pass on the maximum.
    let stream = network.open(&network.everyone(), "max(value)")?;
    let waves = 5;
    stream.send(INIT, &Start { waves })?;
    for _ in 0..waves {
        let wave = stream.recv()?;
        let largest: Largest = wave.read()?;
        println!(
            "wave {}: {} of member {}, over members {}",
            wave.number(),
            largest.value,
            largest.who,
            wave.members()
        );
    }
    stream.send(EXIT, &Start { waves: 0 })?;
    network.session().wait()?;
    Ok(())
}
