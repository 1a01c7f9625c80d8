//! Whether the process at the other end of a link is stopped, as its system sees it: by a signal, or with its control group.

use std::path::{Path, PathBuf};

use super::closed_children;
use super::tree_link::TreeLink;

/// What `/proc` calls the state of a process that was stopped by a signal. One that a debugger holds has another: whoever
/// looks at a member wants the others to wait.
const STOPPED: &str = "T";

/// What it calls the state of one whose control group is frozen, as that of any that waits.
const WAITING: &str = "S";

/// Where `/proc` says how long a process has run, by itself and in the kernel: so many words behind its state.
const RUN_TIMES: std::ops::RangeInclusive<usize> = 11..=12;

/// How long a process has run that is stopped, in ticks of its system; `None` if it is not. Nobody knows of one that is on another
/// host, or has ended.
pub(super) fn run_time_if_stopped(link: &TreeLink) -> Option<u64> {
    if link.is_remote() {
        return None;
    }
    let peer = || Some(closed_children::peer(link).ok()?.as_raw_nonzero().get().cast_unsigned());
    let process = link.started.or_else(peer)?;
    let (state, time) = state_and_run_time(&std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?)?;
    let is_stopped = state == STOPPED || state == WAITING && is_frozen(process);
    is_stopped.then_some(time)
}

/// Given what `/proc` says of a process, where the name before its state may hold anything.
fn state_and_run_time(text: &str) -> Option<(String, u64)> {
    let (_, words) = text.rsplit_once(") ")?;
    let words: Vec<&str> = words.split(' ').collect();
    let times = words.get(RUN_TIMES)?.iter().map(|word| word.parse::<u64>());
    let time = times.sum::<Result<u64, _>>().ok()?;
    Some(((*words.first()?).to_owned(), time))
}

/// Whether the control group of a process is frozen, as far as this one sees it. There are none but those of version 2.
fn is_frozen(process: u32) -> bool {
    let text = |path: &Path| std::fs::read_to_string(path).ok();
    let groups = text(Path::new(&format!("/proc/{process}/cgroup")));
    let mounts = text(Path::new("/proc/self/mountinfo"));
    let group = groups.zip(mounts).and_then(|(groups, mounts)| directory(&groups, &mounts));
    let events = group.and_then(|group| text(&group.join("cgroup.events")));
    events.is_some_and(|events| events.lines().any(|line| line == "frozen 1"))
}

/// Where the control group of a process is seen, given its groups and what is mounted here.
fn directory(groups: &str, mounts: &str) -> Option<PathBuf> {
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|mount| {
        let (place, kind) = mount.split_once(" - ")?;
        let [_, _, _, root, point, ..] = place.split(' ').collect::<Vec<_>>()[..] else { return None };
        // One that leads out of what is mounted is not seen here.
        let below = Path::new(group).strip_prefix(root).ok().filter(|below| below.iter().all(|name| name != ".."))?;
        kind.starts_with("cgroup2 ").then(|| Path::new(point).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_and_run_time_stand_behind_whatever_name() {
        let of = |state: &str| format!("17 (a ) T 1) {state} 1 17 17 0 -1 4194304 100 0 0 0 250 50 7 8 20 0 1 0 99\n");
        for state in ["T", "R", "S", "D", "t", "Z"] {
            assert_eq!(state_and_run_time(&of(state)), Some((state.to_owned(), 300)));
        }
        assert_eq!(state_and_run_time("17 (cut) T 1 17"), None);
        let own = std::fs::read_to_string("/proc/self/stat").unwrap();
        assert!(state_and_run_time(&own).is_some(), "{own}");
    }

    #[test]
    fn a_control_group_is_found_where_it_is_mounted() {
        let groups = "6:freezer:/old\n0::/job/step 1\n";
        let old = "40 31 0:37 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer\n";
        let of =
            |root: &str| directory(groups, &format!("{old}41 31 0:38 {root} /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"));
        assert_eq!(of("/"), Some("/sys/fs/cgroup/job/step 1".into()));
        assert_eq!(of("/job"), Some("/sys/fs/cgroup/step 1".into()));
        assert_eq!(of("/jo"), None);
        assert_eq!(directory(groups, old), None);
        assert_eq!(directory("6:freezer:/old\n", old), None);
    }
}
