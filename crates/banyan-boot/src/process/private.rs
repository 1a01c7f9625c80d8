//! Who may read the memory of a process that holds secrets.

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// The variable that leaves processes as they are, for debuggers and core dumps.
const DUMPABLE_VARIABLE: &str = "BANYAN_DUMPABLE";

/// Refuses this process's memory to other processes of the same user: they can neither trace it nor read its environment, and it
/// dumps no core. Children inherit that until they run another program. Nothing changes if the variable `BANYAN_DUMPABLE` is
/// set, or the system does not let it.
///
/// Agents, keepers and guards do this by themselves. Call it in a front-end as soon as it has begun.
pub fn keep_memory_private() {
    if std::env::var_os(DUMPABLE_VARIABLE).is_none_or(|value| value.is_empty()) {
        // A process whose memory can be read works as well.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
