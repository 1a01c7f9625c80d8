//! ^C and its relatives while files are copied: the session is ended, and half files are removed. Once more ends this process
//! at once.

use std::io;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Weak};

use banyan_boot::Session;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::signals::heeded;

/// What shells add to the number of the signal that ended a command.
const SIGNALLED: i32 = 128;

/// The signal that came.
#[derive(Clone, Default)]
pub(super) struct Interrupt(Arc<AtomicI32>);

impl Interrupt {
    /// Watches for signals in a thread of its own until this process ends.
    pub(super) fn watch(session: Weak<Session>) -> io::Result<Interrupt> {
        let interrupt = Interrupt::default();
        let mut signals = Signals::new(heeded([SIGINT, SIGQUIT, SIGTERM, SIGHUP]))?;
        let told = interrupt.clone();
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in signals.forever() {
                if told.0.swap(signal, Ordering::AcqRel) != 0 {
                    std::process::exit(SIGNALLED + signal);
                }
                if let Some(session) = session.upgrade() {
                    session.stop();
                }
            }
        })?;
        Ok(interrupt)
    }

    /// The exit status that it deserves, if some signal came.
    pub(super) fn status(&self) -> Option<u8> {
        let signal = self.0.load(Ordering::Acquire);
        (signal != 0).then(|| u8::try_from(SIGNALLED + signal).unwrap_or(u8::MAX))
    }
}
