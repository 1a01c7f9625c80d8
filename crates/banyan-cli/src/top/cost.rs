//! What this tool itself costs on a host: the member that asks, and the agent above it.

use std::fs;

/// The memory of processes changes little, and is expensive to ask for: once in so many ticks.
const MEMORY_EVERY: u32 = 8;

/// Processes above a member that are looked at: the agent and its keeper, and room for what starts them.
const MOST_ABOVE: usize = 4;

/// Bytes of a kibibyte.
const KIB: f64 = 1024.0;

/// Follows the processes of this tool on this host.
pub(super) struct Cost {
    ids: Vec<u32>,
    nanoseconds: u64,
    memory: Option<f64>,
    ticks: u32,
}

impl Cost {
    /// From now on.
    pub(super) fn new() -> Cost {
        let mut ids = vec![std::process::id()];
        while let Some(parent) = ids.last().and_then(|id| parent(*id))
            && ids.len() <= MOST_ABOVE
            && is_agent(parent)
        {
            ids.push(parent);
        }
        let nanoseconds = ids.iter().map(|id| worked(*id)).sum();
        Cost { ids, nanoseconds, memory: None, ticks: 0 }
    }

    /// The share of a core that was used in the seconds since it was last asked, in percent, and bytes of memory. What
    /// processes share is counted once.
    pub(super) fn since(&mut self, seconds: f64) -> (Option<f64>, Option<f64>) {
        let now: u64 = self.ids.iter().map(|id| worked(*id)).sum();
        let worked = now.max(self.nanoseconds) - self.nanoseconds;
        self.nanoseconds = now;
        if self.ticks.is_multiple_of(MEMORY_EVERY) {
            let sizes = self.ids.iter().map(|id| read(*id, "smaps_rollup"));
            self.memory = Some(sizes.filter_map(|text| proportional(&text)).sum());
        }
        self.ticks = self.ticks.wrapping_add(1);
        ((seconds > 0.0).then(|| worked as f64 / 1e7 / seconds), self.memory.filter(|bytes| *bytes > 0.0))
    }
}

/// Nanoseconds that all threads of a process have worked; 0 for one that is gone.
pub(super) fn worked(id: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten();
    let of_task = |path: std::path::PathBuf| {
        let text = fs::read_to_string(path.join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    tasks.filter_map(|task| of_task(task.ok()?.path())).fold(0, u64::saturating_add)
}

fn read(id: u32, file: &str) -> String {
    fs::read_to_string(format!("/proc/{id}/{file}")).unwrap_or_default()
}

fn parent(id: u32) -> Option<u32> {
    super::process::ProcessStat::read(&read(id, "stat")).map(|stat| stat.parent)
}

fn is_agent(id: u32) -> bool {
    matches!(read(id, "comm").trim_end(), "banyan-agent" | "banyan-keeper")
}

/// Bytes, where what several processes share counts in part.
fn proportional(smaps: &str) -> Option<f64> {
    let size = smaps.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    size.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib as f64 * KIB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_and_memory_of_this_process_are_counted() {
        assert!(worked(std::process::id()) > 0);
        let (cpu, memory) = Cost::new().since(1.0);
        assert!(cpu.is_some_and(|share| share >= 0.0) && memory.is_some_and(|bytes| bytes > 4096.0));
        assert_eq!(worked(u32::MAX), 0);
    }

    #[test]
    fn what_is_shared_counts_in_part() {
        assert_eq!(proportional("55d0-7ffe [rollup]\nRss:    1624 kB\nPss:     100 kB\n"), Some(102_400.0));
        assert_eq!(proportional("Pss:\n"), None);
    }
}
