//! Signals, as far as all verbs treat them alike.
//!
//! Those that whoever started this process wants ignored, such as `nohup` and shells that start something in the background,
//! stay so, where others are watched for.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::arrival;
use crate::failure::Failure;

/// What shells add to the number of the signal that ended a command.
const SIGNALLED: i32 = 128;

/// The exit status that a signal deserves.
pub fn status(signal: i32) -> u8 {
    u8::try_from(SIGNALLED + signal).unwrap_or(u8::MAX)
}

/// Ends this process for a signal that came before there was a session. What was started ends when it sees that this process
/// is gone.
pub(crate) fn end_launch(signal: i32) -> ! {
    arrival::tell();
    Failure::with_status("interrupted while it launched; what was started ends with it", status(signal)).end()
}

/// Whether something else looks after the signals that end this process.
static ARE_TAKEN: AtomicBool = AtomicBool::new(false);

/// From now on such signals are another's business.
pub(crate) fn take() {
    ARE_TAKEN.store(true, Ordering::Release);
}

/// Until somebody takes them, signals end this process as they do by themselves, but say before which hosts have not answered.
pub(crate) fn tell_awaited() -> Result<(), Failure> {
    let refused = |error| Failure::system("signals cannot be watched for", &error);
    let mut signals = Signals::new(heeded([SIGINT, SIGTERM])).map_err(refused)?;
    let watch = move || {
        for signal in signals.forever() {
            if !ARE_TAKEN.load(Ordering::Acquire) {
                arrival::tell();
                // It fails for signals that do not exist only.
                let _ = emulate_default_handler(signal);
            }
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(watch).map(drop).map_err(refused)
}

/// Of these signals those that are not ignored. Ask before anything is watched for: what is watched for is not ignored.
pub fn heeded<const N: usize>(signals: [i32; N]) -> Vec<i32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    signals.into_iter().filter(|signal| !has(ignored, *signal)).collect()
}

/// The signals that a process ignores, one bit for each, from what `/proc` tells of it; none if it does not.
fn ignored(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0)
}

fn has(signals: u64, signal: i32) -> bool {
    let bit = signal.checked_sub(1).and_then(|bit| u32::try_from(bit).ok());
    bit.and_then(|bit| 1u64.checked_shl(bit)).is_some_and(|bit| signals & bit != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nohup_ignores_is_not_heeded() {
        let ignored = ignored("Name:\tbanyan\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\nSigCgt:\t4\n");
        assert_eq!((0..70).filter(|signal| has(ignored, *signal)).collect::<Vec<_>>(), [1, 13]);
        assert_eq!(super::ignored("Name:\tbanyan\n"), 0);
    }
}
