//! Whether the process at the other end of a link is stopped, as its system sees it.

use super::parting;
use super::tree_link::TreeLink;

/// What `/proc` calls the state of a process that was stopped by a signal. One that a debugger holds has another: whoever
/// looks at a member wants the others to wait.
const STOPPED: &str = "T";

/// False if nobody knows: the process is on another host, or has ended.
pub(super) fn is_stopped(link: &TreeLink) -> bool {
    let peer = || Some(parting::peer(link).ok()?.as_raw_nonzero().get().cast_unsigned());
    let process = link.started.or_else(peer).filter(|_| !link.is_remote());
    process.is_some_and(|process| state(process).as_deref() == Some(STOPPED))
}

/// What `/proc` says of a process behind its name, which may hold anything.
fn state(process: u32) -> Option<String> {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, behind) = line.rsplit_once(") ")?;
    behind.split(' ').next().map(str::to_owned)
}
