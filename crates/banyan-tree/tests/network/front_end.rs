//! A front-end that is to be killed.

use std::io::Write;
use std::process::ExitCode;

use crate::setup::{SUMS, expect_wave, network, order};

pub(crate) fn run(topology: &str) -> ExitCode {
    let network = network(topology, "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 1_000_000_000, 1);
    let _ = writeln!(std::io::stdout(), "up");
    for wave in 0.. {
        expect_wave(&stream, wave);
    }
    ExitCode::SUCCESS
}
