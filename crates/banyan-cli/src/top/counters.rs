//! What the kernel counts, read out of the texts of `/proc`.
//!
//! Pure functions from a text to numbers. A text that is not as expected (another kernel, a file that is not there)
//! gives nothing for what is missing, never a wrong number and never a panic.

/// Bytes of a sector in `/proc/diskstats`, whatever the device's own are.
const SECTOR: u64 = 512;

/// Processor time of all cores together since the machine started, in ticks, and how many processes want to run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Processor {
    pub(super) busy: u64,
    pub(super) all: u64,
    pub(super) runnable: Option<u64>,
}

/// From `/proc/stat`.
pub(super) fn processor(stat: &str) -> Option<Processor> {
    let numbers: Vec<u64> = words(stat, "cpu ").map_while(|word| word.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user already.
    let [user, nice, system, idle, waiting, rest @ ..] = &numbers[..] else { return None };
    let add = |sum: u64, number: &u64| sum.saturating_add(*number);
    let busy = [user, nice, system].into_iter().chain(rest.iter().take(3)).fold(0, add);
    let all = [idle, waiting].into_iter().fold(busy, add);
    Some(Processor { busy, all, runnable: words(stat, "procs_running ").next().and_then(|word| word.parse().ok()) })
}

/// The share of memory in use, in percent, from `/proc/meminfo`.
pub(super) fn memory(meminfo: &str) -> Option<f64> {
    let size = |name: &str| words(meminfo, name).next().and_then(|word| word.parse::<u64>().ok());
    let (total, available) = (size("MemTotal:")?, size("MemAvailable:")?);
    (total > 0).then(|| 100.0 * total.saturating_sub(available) as f64 / total as f64)
}

/// How much of the last ten seconds some task waited, in percent, from a file of `/proc/pressure`.
pub(super) fn pressure(text: &str) -> Option<f64> {
    let share = words(text, "some ").find_map(|word| word.strip_prefix("avg10="))?.parse::<f64>().ok()?;
    share.is_finite().then_some(share)
}

/// Two counters of bytes: in and out, or read and written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Bytes {
    pub(super) taken: u64,
    pub(super) given: u64,
}

impl Bytes {
    fn add(self, taken: u64, given: u64) -> Bytes {
        Bytes { taken: self.taken.saturating_add(taken), given: self.given.saturating_add(given) }
    }
}

/// What a process has had read from disks and written to them, from `/proc/ID/io`: not what it found in memory, and without
/// what it wrote and threw away before it reached a disk.
pub(super) fn disk_of_process(io: &str) -> Option<Bytes> {
    let number = |name: &str| words(io, name).next()?.parse::<u64>().ok();
    let (read, written) = (number("read_bytes:")?, number("write_bytes:")?);
    Some(Bytes { taken: read, given: written.saturating_sub(number("cancelled_write_bytes:").unwrap_or(0)) })
}

/// What came in and went out over all devices but the loopback, from `/proc/net/dev`.
pub(super) fn network(dev: &str) -> Bytes {
    let device = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        let mut numbers = numbers.split_whitespace();
        let (received, sent) = (numbers.next()?.parse().ok()?, numbers.nth(7)?.parse().ok()?);
        (name.trim() != "lo").then_some((received, sent))
    };
    dev.lines().filter_map(device).fold(Bytes::default(), |sum, (received, sent)| sum.add(received, sent))
}

/// What whole disks have read and written, from `/proc/diskstats`. `is_disk` tells disks from their partitions and from
/// devices that only stand before others.
pub(super) fn disk(diskstats: &str, is_disk: impl Fn(&str) -> bool) -> Bytes {
    let device = |line: &str| {
        let mut words = line.split_whitespace().skip(2);
        let name = words.next()?;
        let (read, written): (u64, u64) = (words.nth(2)?.parse().ok()?, words.nth(3)?.parse().ok()?);
        is_disk(name).then(|| (read.saturating_mul(SECTOR), written.saturating_mul(SECTOR)))
    };
    diskstats.lines().filter_map(device).fold(Bytes::default(), |sum, (read, written)| sum.add(read, written))
}

/// The words behind the beginning of a line.
fn words<'t>(text: &'t str, beginning: &str) -> impl Iterator<Item = &'t str> {
    text.lines().find_map(|line| line.strip_prefix(beginning)).unwrap_or_default().split_whitespace()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STAT: &str = "cpu  700 30 200 1000 50 0 10 7 0 0\ncpu0 700 30 200 1000 50 0 10 7 0 0\nintr 5 0\nctxt 12\n\
                        btime 1794776322\nprocs_running 3\nprocs_blocked 0\n";
    const NET: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 937606     34    0    0    0     0          0         0   937606      34    0    0    0     0       0          0
  eth0: 776177     38    0    0    0     0          0         0     2199      22    0    0    0     0       0          0
  ib0:1000       1    0    0    0     0          0         0     2000      22    0    0    0     0       0          0
";
    const DISKS: &str = "   7       0 loop0 9 0 9 0 9 0 9 0 0 0 0 0 0 0 0 0 0
 254       0 vda 100 0 2000 10 50 0 4000 20 0 30 30 0 0 0 0 0 0
 254       1 vda1 90 0 1999 10 50 0 4000 20 0 30 30 0 0 0 0 0 0\n";

    const IO: &str =
        "rchar: 9\nwchar: 9\nsyscr: 9\nsyscw: 9\nread_bytes: 1024\nwrite_bytes: 4096\ncancelled_write_bytes: 1024\n";

    #[test]
    fn the_texts_of_a_kernel_are_read() {
        assert_eq!(processor(STAT), Some(Processor { busy: 947, all: 1997, runnable: Some(3) }));
        assert_eq!(memory("MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable:    250 kB\n"), Some(75.0));
        assert_eq!(
            pressure("some avg10=95.60 avg60=95.24 avg300=93.24 total=1\nfull avg10=1.00 total=0\n"),
            Some(95.6)
        );
        assert_eq!(network(NET), Bytes { taken: 777_177, given: 4199 });
        assert_eq!(disk(DISKS, |name| name == "vda"), Bytes { taken: 2000 * 512, given: 4000 * 512 });
        assert_eq!(disk_of_process(IO), Some(Bytes { taken: 1024, given: 3072 }));
    }

    #[test]
    fn old_kernels_have_fewer_numbers() {
        let old = processor("cpu  1 2 3 4 5\n");
        assert_eq!(old, Some(Processor { busy: 6, all: 15, runnable: None }));
        assert_eq!(memory("MemTotal: 1000 kB\nMemFree: 1 kB\n"), None);
    }

    #[test]
    fn what_is_no_number_is_nothing() {
        assert_eq!(processor("cpu  1 2 x 4 5\n"), None);
        assert_eq!(processor(""), None);
        assert_eq!(memory("MemTotal: 0 kB\nMemAvailable: 5 kB\n"), None);
        assert_eq!(pressure("some avg10=nan total=5\n"), None);
        assert_eq!((disk_of_process(""), disk_of_process("read_bytes: 1\nwrite_bytes: x\n")), (None, None));
        assert_eq!(network("eth0: 1 2 3\nno colon\n: \n"), Bytes::default());
        let largest = u64::MAX;
        assert_eq!(disk(&format!("1 1 a 1 1 {largest} 1 1 1 {largest}\n"), |_| true).taken, largest);
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in "(cpu |some |MemTotal:|MemAvailable:|eth0:|[ :=a-z0-9.\n-]){0,60}") {
            processor(&text);
            let used = memory(&text);
            prop_assert!(used.is_none_or(|used| (0.0..=100.0).contains(&used)));
            prop_assert!(pressure(&text).is_none_or(f64::is_finite));
            network(&text);
            disk(&text, |_| true);
            disk_of_process(&text);
        }
    }
}
