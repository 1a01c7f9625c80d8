//! Hosts on their way: who has not answered yet, in a line on the terminal, and when all have.

use std::time::{Duration, Instant};

use banyan_boot::{HostSet, Session};

use super::interrupt;
use super::show::Show;
use crate::progress::Progress;
use crate::speech::note;

/// How often it is looked whether hosts have answered.
const INTERVAL: Duration = Duration::from_millis(200);

/// See the module.
pub(super) struct Arrival {
    begin: Instant,
    is_over: bool,
    line: Option<Progress>,
}

impl Arrival {
    /// Of a launch that began then.
    pub(super) fn new(begin: Instant) -> Arrival {
        Arrival { begin, is_over: false, line: None }
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
        let text = || missing(session).unwrap_or_default();
        if session.awaited().is_empty() {
            self.line = None;
        } else if show.is_folding() {
            show.progress(text);
        } else {
            self.line.get_or_insert_with(Progress::new).tell(text);
        }
        Some(Instant::now() + INTERVAL)
    }

    /// All members run, or have ended already.
    pub(super) fn all_run(&mut self, session: &Session) {
        self.line = None;
        if !std::mem::replace(&mut self.is_over, true) {
            note(format_args!("all of {} run after {:.3} s", session.size(), self.begin.elapsed().as_secs_f64()));
        }
    }

    /// Something is written where the line stands.
    pub(super) fn make_room(&mut self) {
        self.line = None;
    }
}

/// Who has not answered yet, if that is known of any.
pub(super) fn missing(session: &Session) -> Option<String> {
    let awaited = session.awaited();
    let hosts = HostSet::from_names(&awaited).ok().filter(|hosts| !hosts.is_empty())?;
    let has = if hosts.len() == 1 { "has" } else { "have" };
    Some(format!("{hosts} {has} not answered yet"))
}
