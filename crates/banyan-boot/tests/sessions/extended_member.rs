//! Members of sessions whose agents have an extension.

#![expect(clippy::print_stdout, reason = "members speak to their tests by their output")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use crate::member::{join, write_numbers};
use crate::network;

/// More than a pipe holds.
const MUCH: usize = 200_000;

/// Speaks with the extension of its agent, and says what it heard.
pub(crate) fn extended() -> ExitCode {
    let mut socket = BufReader::new(UnixStream::from(banyan_boot::extension_socket().unwrap()));
    let mut line = String::new();
    socket.read_line(&mut line).unwrap();
    let mut member = join();
    writeln!(socket.get_mut(), "I am {}", member.rank()).unwrap();
    println!("{}{}", line, String::from_utf8_lossy(member.note()));
    let again = banyan_boot::extension_socket().unwrap_err().to_string();
    println!("{}", if again.contains("fd:6") { "once" } else { &again });
    member.barrier().unwrap();
    ExitCode::SUCCESS
}

/// Does what the network asks it to.
pub(crate) fn asked() -> ExitCode {
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
