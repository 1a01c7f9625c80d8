//! What `ps` calls a process: its command line and its name, written by the process itself.
//!
//! An agent, its keeper and its guard are copies of one process, so they would all be called by the command that started the
//! agent. The kernel shows the command line from the memory that held the arguments, which a process may write to.

use std::ops::Range;
use std::sync::Mutex;

use rustix::thread::set_name;

/// What a process of an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Agent,
    Keeper,
    Guard,
}

/// What this process is.
static OWN_ROLE: Mutex<Role> = Mutex::new(Role::Agent);

/// What this process was called last.
pub(crate) fn own_role() -> &'static str {
    OWN_ROLE.lock().map_or(Role::Agent, |role| *role).name()
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Role::Agent => "agent",
            Role::Keeper => "keeper",
            Role::Guard => "guard",
        }
    }
}

/// Calls this process `banyan: ROLE OF`, and `banyan-ROLE` where there is room for a name only. Arguments of this process
/// cannot be read any more. To be called while this process has one thread.
pub(crate) fn set_title(role: Role, of: &str) {
    if let Ok(mut own) = OWN_ROLE.lock() {
        *own = role;
    }
    // A process that is called something else works as well.
    if let Ok(name) = std::ffi::CString::new(format!("banyan-{}", role.name())) {
        let _ = set_name(&name);
    }
    let space = if of.is_empty() { "" } else { " " };
    let title = format!("banyan: {}{space}{of}", role.name());
    if let Some(place) = std::fs::read("/proc/self/stat").ok().and_then(|stat| arguments(&stat)) {
        write_arguments(place, title.as_bytes());
    }
}

/// Where the arguments lie, from `/proc/self/stat`: its fields 48 and 49.
fn arguments(stat: &[u8]) -> Option<Range<usize>> {
    // The name is the second field, stands in parentheses, and can hold anything.
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let mut fields = std::str::from_utf8(&stat[after_name..]).ok()?.split_ascii_whitespace().skip(45);
    let (start, end) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    (0 < start && start < end).then_some(start..end)
}

/// Writes a text where the arguments were, cut to the room there, with zeros behind it.
fn write_arguments(place: Range<usize>, text: &[u8]) {
    let room = place.len();
    let length = text.len().min(room - 1);
    let start = std::ptr::with_exposed_provenance_mut::<u8>(place.start);
    // SAFETY: the kernel has just said that the arguments of this process lie here, on its first stack, which is writable
    // and stays where it is. Nothing in Rust refers to them: the standard library copies them when it is asked. Whoever
    // asks for them later finds strings that still end with a zero within this place, since its last byte is one. No
    // other thread reads them meanwhile: there is none.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), start, length);
        std::ptr::write_bytes(start.add(length), 0, room - length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_found_behind_any_name() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let stat = format!("12 (a) b) 7 (x) {}", fields.join(" "));
        assert_eq!(arguments(stat.as_bytes()), Some(48..49));
        assert_eq!(arguments(b"12 (cut) S 1"), None);
    }
}
