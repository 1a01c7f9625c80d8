//! A run that is interrupted removes the hosts that it has made.

use std::path::Path;
use std::process::Command;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::hosts::CLUSTERS;

/// What shells add to a signal's number.
const STATUS_SIGNALLED: i32 = 128;

/// From now on a signal that ends this process removes hosts whose names end with its number. A system that has no thread for
/// that leaves them, and `cargo xtask hosts list` shows them.
pub(crate) fn remove_hosts_at_a_signal() {
    let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) else { return };
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            remove_own_hosts();
            std::process::exit(STATUS_SIGNALLED + signal);
        }
    };
    let _ = std::thread::Builder::new().name("signals".into()).spawn(wait);
}

fn remove_own_hosts() {
    let own = format!("-{}", std::process::id());
    let names = std::fs::read_dir(Path::new(CLUSTERS)).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    for name in names.filter(|name| name.ends_with(&own)) {
        let this = std::env::current_exe().unwrap_or_else(|_| "xtask".into());
        // What cannot be removed says so itself.
        let _ = Command::new(this).args(["hosts", "down", "--name", &name]).status();
    }
}
