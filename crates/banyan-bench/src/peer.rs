//! The process at the other end of a bench: this program, started again with a word that no user writes.
//!
//! It ends with whoever started it, however that ends: its standard input ends then, and the kernel kills it if it waits
//! for anything else.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio, exit};

use rustix::process::{Signal, set_parent_process_death_signal, setsid};

/// A process that runs as long as this is held.
pub(crate) struct Peer(Child);

impl Peer {
    /// Starts this program with these arguments, and a socket as its standard input.
    pub(crate) fn start(arguments: &[&str], stdin: OwnedFd) -> io::Result<Peer> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(arguments).env_clear().stdin(stdin).stdout(Stdio::null());
        command.spawn().map(Peer)
    }

    /// How it has ended, if it has.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.0.try_wait()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // One that has ended already need not be told.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a process does that was started as a peer. Never returns.
pub(crate) fn be_peer(bench: &str, serve: impl FnOnce() -> io::Result<()>) -> ! {
    let served = set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from).and_then(|()| {
        // As members of a session are: the scheduler shares processors between such groups.
        let _ = setsid();
        serve()
    });
    let Err(error) = served else { exit(0) };
    let ended = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset, io::ErrorKind::UnexpectedEof];
    if !ended.contains(&error.kind()) {
        let _ = writeln!(io::stderr(), "a process of `banyan bench {bench}`, which is what starts such: {error}");
    }
    exit(1)
}
