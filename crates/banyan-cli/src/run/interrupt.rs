//! What ^C and its relatives do: the first is forwarded, the second ends the session.

use std::io;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::Shared;
use crate::failure::warn;
use crate::signals::heeded;

/// What shells add to the number of the signal that ended a command.
const SIGNALLED: i32 = 128;

/// Watches for signals in a thread of its own until this process ends.
pub(super) fn watch(shared: Shared) -> io::Result<()> {
    let mut signals = Signals::new(heeded([SIGINT, SIGQUIT, SIGTERM, SIGHUP]))?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut forwarded = false;
        for signal in signals.forever() {
            match &*shared.read() {
                // Agents that were started already end when they see that this process is gone.
                None => std::process::exit(SIGNALLED + signal),
                Some(session) if !forwarded && matches!(signal, SIGINT | SIGQUIT) => {
                    warn("the members were interrupted; once more ends them");
                    session.signal(signal, None);
                    forwarded = true;
                }
                Some(session) => session.stop(),
            }
        }
    })?;
    Ok(())
}
