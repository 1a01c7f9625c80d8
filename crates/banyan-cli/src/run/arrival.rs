//! Members on their way: when all run, and until then the line that says whose hosts have not answered.

use std::time::{Duration, Instant};

use banyan_boot::Session;

use super::interrupt;
use super::show::Show;
use crate::arrival;
use crate::speech::note;

/// How often it is looked whether hosts have answered.
const INTERVAL: Duration = Duration::from_millis(200);

/// See the module.
pub(super) struct Arrival {
    begin: Instant,
    is_over: bool,
}

impl Arrival {
    /// Of a launch that began then.
    pub(super) fn new(begin: Instant) -> Arrival {
        Arrival { begin, is_over: false }
    }

    /// Looks who is missing; when to look again.
    pub(super) fn look(&mut self, session: &Session, show: &mut Show) -> Option<Instant> {
        if self.is_over {
            return None;
        }
        if session.is_up() {
            self.all_run(session);
            interrupt::pause_if_due();
            return None;
        }
        match arrival::missing() {
            Some(text) if show.is_folding() => show.progress(|| text),
            // Members may have written something in its place.
            Some(_) => arrival::show(),
            None => {}
        }
        Some(Instant::now() + INTERVAL)
    }

    /// All members run, or have ended already.
    pub(super) fn all_run(&mut self, session: &Session) {
        if !std::mem::replace(&mut self.is_over, true) {
            note(format_args!("all of {} run after {:.3} s", session.size(), self.begin.elapsed().as_secs_f64()));
        }
    }

    /// Something is written where the line stands.
    pub(super) fn make_room(&self) {
        if !self.is_over {
            arrival::make_room();
        }
    }
}
