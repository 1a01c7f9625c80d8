//! A member that speaks with the extension of its agent.

#![expect(clippy::print_stdout, reason = "members speak to their tests by their output")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use crate::member::join;

/// Speaks with the extension of its agent, and says what it heard.
pub(crate) fn run() -> ExitCode {
    let mut socket = BufReader::new(UnixStream::from(banyan_boot::extension_socket().unwrap()));
    let mut line = String::new();
    socket.read_line(&mut line).unwrap();
    let mut member = join();
    writeln!(socket.get_mut(), "I am {}", member.rank()).unwrap();
    println!("{}{}", line, String::from_utf8_lossy(member.note()));
    let again = banyan_boot::extension_socket().unwrap_err().to_string();
    println!("{}", if again.contains("fd:4") { "once" } else { &again });
    member.barrier().unwrap();
    ExitCode::SUCCESS
}
