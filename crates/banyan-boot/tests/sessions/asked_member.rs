//! A member that has a connection to the network, and does what it is asked there.

use std::io::{BufRead, BufReader, Write};
use std::process::ExitCode;

use crate::member::{join, write_numbers};
use crate::network;

/// More than a pipe holds.
const MUCH: usize = 200_000;

/// Does what the network asks it to.
pub(crate) fn run() -> ExitCode {
    let mut member = join();
    let mut network = BufReader::new(network::connect(member.note()).unwrap());
    writeln!(network.get_mut(), "here {} {}", member.rank(), std::process::id()).unwrap();
    let mut asked = String::new();
    while network.read_line(&mut asked).unwrap() > 0 {
        match asked.trim() {
            "print" => {
                write_numbers(MUCH);
                writeln!(network.get_mut(), "printed {}", member.rank()).unwrap();
            }
            "meet" if member.is_master() => {}
            "meet" => {
                let error = member.barrier().unwrap_err();
                writeln!(network.get_mut(), "alone {}: {error}", member.rank()).unwrap();
            }
            "end" => return ExitCode::SUCCESS,
            other => panic!("asked for {other}"),
        }
        asked.clear();
    }
    // Not by itself, though the network is over: others see to that.
    loop {
        std::thread::park();
    }
}
