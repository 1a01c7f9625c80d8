//! Hosts on their way: who has not answered yet, in a line on the terminal, and in one that stays when the user gives up.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use banyan_boot::HostSet;

use crate::progress;
use crate::speech::{is_quiet, warn};

/// Hosts that have not answered, for people; nothing if all have. A process launches one session at a time.
static AWAITED: Mutex<Option<String>> = Mutex::new(None);

/// These hosts have not answered. The session says so, whenever that changes.
pub(crate) fn awaited(hosts: &[&str]) {
    let hosts = HostSet::from_names(hosts).ok().filter(|hosts| !hosts.is_empty());
    let has = |hosts: &HostSet| if hosts.len() == 1 { "has" } else { "have" };
    *lock() = hosts.map(|hosts| format!("{hosts} {} not answered yet", has(&hosts)));
    show();
}

/// Who has not answered, if that is known of any.
pub(crate) fn missing() -> Option<String> {
    lock().clone()
}

/// Shows the line where something else has taken its place, or takes it away if it is over.
pub(crate) fn show() {
    let text = missing();
    let mut terminal = std::io::stderr().lock();
    match text {
        None => progress::clear(&mut terminal),
        Some(text) if terminal.is_terminal() && !is_quiet() => progress::write(&mut terminal, &text),
        Some(_) => {}
    }
}

/// Something is written where the line stands.
pub(crate) fn make_room() {
    let mut terminal = std::io::stderr().lock();
    progress::clear(&mut terminal);
    let _ = terminal.flush();
}

/// Says who has not answered: the user does not want to wait for them.
pub(crate) fn tell() {
    missing().into_iter().for_each(warn);
}

fn lock() -> std::sync::MutexGuard<'static, Option<String>> {
    AWAITED.lock().unwrap_or_else(PoisonError::into_inner)
}
