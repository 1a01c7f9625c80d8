//! ^C while samples are taken: what was seen so far is shown. Once more ends this process at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::signals::{self, heeded};

/// The signal that came; 0 if none has.
pub(super) struct StackInterrupt(Arc<AtomicUsize>);

impl StackInterrupt {
    /// Watches for signals until this process ends.
    pub(super) fn watch() -> io::Result<StackInterrupt> {
        let (came, number) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        for signal in heeded([SIGINT, SIGTERM]) {
            // In this order: what ends the process is a signal that comes after another.
            flag::register_conditional_default(signal, Arc::clone(&came))?;
            flag::register(signal, Arc::clone(&came))?;
            flag::register_usize(signal, Arc::clone(&number), signal.unsigned_abs() as usize)?;
        }
        Ok(StackInterrupt(number))
    }

    pub(super) fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// The exit status that it deserves, if some signal came.
    pub(super) fn status(&self) -> Option<u8> {
        let signal = self.0.load(Ordering::Relaxed);
        i32::try_from(signal).ok().filter(|signal| *signal != 0).map(signals::status)
    }
}
