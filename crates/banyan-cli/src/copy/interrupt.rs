//! ^C and its relatives while files are copied: the session is ended, and half files are removed. Once more ends this process
//! at once, and so does the first while there is no session yet.

use std::io;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use banyan_boot::Session;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::arrival;
use crate::signals::{self, end_launch, heeded};

/// What signals do, and whether one came.
#[derive(Clone, Default)]
pub(super) struct CopyInterrupt(Arc<InterruptState>);

#[derive(Default)]
struct InterruptState {
    /// The signal that came; 0 if none has.
    signal: AtomicI32,
    /// What is to be ended.
    session: OnceLock<Weak<Session>>,
}

impl CopyInterrupt {
    /// Watches for signals in a thread of its own until this process ends.
    pub(super) fn watch() -> io::Result<CopyInterrupt> {
        let interrupt = CopyInterrupt::default();
        let mut came = Signals::new(heeded([SIGINT, SIGQUIT, SIGTERM, SIGHUP]))?;
        let told = interrupt.clone();
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in came.forever() {
                let Some(session) = told.0.session.get() else { end_launch(signal) };
                if told.0.signal.swap(signal, Ordering::AcqRel) != 0 {
                    std::process::exit(signals::status(signal).into());
                }
                arrival::tell();
                if let Some(session) = session.upgrade() {
                    session.stop();
                }
            }
        })?;
        Ok(interrupt)
    }

    /// From now on this session is what a signal stops.
    pub(super) fn stops(&self, session: &Arc<Session>) {
        // There is one session only.
        let _ = self.0.session.set(Arc::downgrade(session));
    }

    /// The exit status that it deserves, if some signal came.
    pub(super) fn status(&self) -> Option<u8> {
        let signal = self.0.signal.load(Ordering::Acquire);
        (signal != 0).then(|| signals::status(signal))
    }
}
