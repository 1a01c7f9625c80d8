//! What ^C and its relatives do: the first is forwarded, the second ends the session, and the exit status tells of it. ^Z
//! stops the members, too, until this command goes on.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use banyan_boot::Session;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGSTOP, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;
use signal_hook::low_level::raise;

use super::SharedSession;
use super::job::Job;
use crate::arrival;
use crate::failure::warn;
use crate::signals::{self, end_launch, heeded};

/// It was to stop while it launched: agents that have no work yet cannot be told to wait.
static IS_PAUSE_DUE: AtomicBool = AtomicBool::new(false);

/// The first signal that was to end the members; 0 if none has come.
static CAME: AtomicI32 = AtomicI32::new(0);

/// Watches for signals in a thread of its own until this process ends.
pub(super) fn watch(shared: SharedSession) -> io::Result<()> {
    let mut heeded = heeded([SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT]);
    // Without a shell above nobody would let it go on: there the system ignores ^Z.
    if Job::of_this_process().is_some_and(|job| job.leads_its_session()) {
        heeded.retain(|signal| *signal != SIGTSTP);
    }
    let mut signals = Signals::new(heeded)?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            match &*shared.read() {
                Some(session) if signal == SIGTSTP && session.is_up() => pause(session),
                _ if signal == SIGTSTP => IS_PAUSE_DUE.store(true, Ordering::Relaxed),
                session if signal == SIGCONT => session.iter().for_each(Session::resume),
                None => end_launch(signal),
                Some(session) if !session.has_begun() => end_launch(signal),
                Some(session) => {
                    arrival::tell();
                    session.give_up_awaited();
                    let is_first = CAME.compare_exchange(0, signal, Ordering::AcqRel, Ordering::Acquire).is_ok();
                    if is_first && matches!(signal, SIGINT | SIGQUIT) {
                        warn("the members were interrupted; once more ends them");
                        // It came here, so it has a name.
                        let _ = session.signal(signal, None);
                    } else {
                        session.stop();
                    }
                }
            }
        }
    })?;
    Ok(())
}

/// The exit status that it deserves, if some signal came.
pub(super) fn status() -> Option<u8> {
    let signal = CAME.load(Ordering::Acquire);
    (signal != 0).then(|| signals::status(signal))
}

/// Stops the members, and then this process.
fn pause(session: &Session) {
    session.pause();
    // Nothing keeps a process from stopping itself.
    let _ = raise(SIGSTOP);
}

/// Now that there is a session, stops if that was asked for before.
pub(super) fn pause_if_due() {
    if IS_PAUSE_DUE.swap(false, Ordering::Relaxed) {
        // As above.
        let _ = raise(SIGTSTP);
    }
}
