//! Whether the process at the other end of a link is stopped, as its system sees it.

use super::parting;
use super::tree_link::TreeLink;

/// What `/proc` calls the state of a process that was stopped by a signal. One that a debugger holds has another: whoever
/// looks at a member wants the others to wait.
const STOPPED: &str = "T";

/// Where `/proc` says how long a process has run, by itself and in the kernel: so many words behind its state.
const RUN_TIMES: std::ops::RangeInclusive<usize> = 11..=12;

/// How long a process has run that is stopped, in ticks of its system; `None` if it is not. Nobody knows of one that is on another
/// host, or has ended.
pub(super) fn run_time_if_stopped(link: &TreeLink) -> Option<u64> {
    if link.is_remote() {
        return None;
    }
    let peer = || Some(parting::peer(link).ok()?.as_raw_nonzero().get().cast_unsigned());
    let process = link.started.or_else(peer)?;
    run_time(&std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// Given what `/proc` says of it, where the name before its state may hold anything.
fn run_time(text: &str) -> Option<u64> {
    let (_, words) = text.rsplit_once(") ")?;
    let words: Vec<&str> = words.split(' ').collect();
    let times = words.get(RUN_TIMES)?.iter().map(|word| word.parse::<u64>());
    let time = times.sum::<Result<u64, _>>().ok()?;
    (words.first() == Some(&STOPPED)).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_stopped_by_a_signal_is_stopped() {
        let of = |state: &str| format!("17 (a ) T 1) {state} 1 17 17 0 -1 4194304 100 0 0 0 250 50 7 8 20 0 1 0 99\n");
        assert_eq!(run_time(&of("T")), Some(300));
        for state in ["R", "S", "D", "t", "Z"] {
            assert_eq!(run_time(&of(state)), None, "{state}");
        }
        assert_eq!(run_time("17 (cut) T 1 17"), None);
        let own = std::fs::read_to_string("/proc/self/stat").unwrap();
        let (before, behind) = own.rsplit_once(") ").unwrap();
        assert!(run_time(&format!("{before}) T{}", &behind[1..])).is_some(), "{own}");
    }
}
