//! One process, read out of the texts of `/proc`.

/// What `/proc/ID/stat` tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProcessStat {
    pub(super) name: String,
    /// As the kernel writes it: `R` runs, `S` sleeps, `D` waits for a disk, `T` is stopped, …
    pub(super) state: char,
    pub(super) parent: u32,
    /// The process that leads its session.
    pub(super) session: u32,
    /// Processor time so far, in ticks.
    pub(super) ticks: u64,
    /// When it was started, in ticks since the machine was: tells it from a later one of the same id.
    pub(super) started: u64,
    /// Pages in memory.
    pub(super) pages: u64,
}

impl ProcessStat {
    /// Nothing if the text is not as the kernel writes it.
    pub(super) fn read(text: &str) -> Option<ProcessStat> {
        // The name stands in parentheses and may hold anything, also parentheses and line ends.
        let (before, after) = text.rsplit_once(')')?;
        let name = before.split_once('(')?.1.to_owned();
        let mut words = after.split_whitespace();
        let state = words.next()?.chars().next()?;
        let mut number = |skipped: usize| words.nth(skipped)?.parse::<u64>().ok();
        let parent = number(0)?.try_into().ok()?;
        let session = number(1)?.try_into().ok()?;
        let (user, system) = (number(7)?, number(0)?);
        let (started, pages) = (number(6)?, number(1)?);
        Some(ProcessStat { name, state, parent, session, ticks: user.saturating_add(system), started, pages })
    }
}

/// The Slurm job that a control group belongs to.
pub(super) fn slurm_job(cgroup: &str) -> Option<String> {
    parts(cgroup).find_map(|part| slurm(part.strip_prefix("job_")?))
}

/// The unit of systemd that a control group belongs to.
pub(super) fn unit(cgroup: &str) -> Option<String> {
    parts(cgroup).rfind(|part| part.ends_with(".service") || part.ends_with(".scope")).map(str::to_owned)
}

/// The Slurm job that an environment belongs to.
pub(super) fn job_of_environment(environment: &[u8]) -> Option<String> {
    let mut entries = environment.split(|byte| *byte == 0);
    entries.find_map(|entry| slurm(std::str::from_utf8(entry.strip_prefix(b"SLURM_JOB_ID=")?).ok()?))
}

fn parts(cgroup: &str) -> impl DoubleEndedIterator<Item = &str> {
    cgroup.lines().filter_map(|line| line.splitn(3, ':').nth(2)).flat_map(|path| path.split('/'))
}

fn slurm(number: &str) -> Option<String> {
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then(|| format!("slurm {number}"))
}

/// Users in the text of `/etc/passwd`: number and name.
pub(super) fn users(passwd: &str) -> impl Iterator<Item = (u32, &str)> {
    passwd.lines().filter_map(|line| {
        let mut parts = line.split(':');
        let name = parts.next()?;
        Some((parts.nth(1)?.parse().ok()?, name))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CAT: &str = "19205 (cat) R 19186 19186 28560 0 -1 4194304 102 0 0 0 7 5 0 0 20 0 1 0 5362468 3133440 383 \
                       18446744073709551615 94034191831040 94034191850921 140723324601328 0 0 0 0 0 0 0 0 0 17 0 0 0 0\n";

    #[test]
    fn a_process_is_read() {
        let cat = ProcessStat::read(CAT).expect("it is as the kernel writes it");
        let ProcessStat { name, state, parent, session, ticks, started, pages } = cat;
        assert_eq!(state, 'R');
        assert_eq!((name.as_str(), parent, session, ticks, started, pages), ("cat", 19186, 28560, 12, 5_362_468, 383));
    }

    #[test]
    fn names_may_look_like_the_rest() {
        let stat = ProcessStat::read(&CAT.replace("(cat)", "(a) R 1 (b)\n)")).expect("it is as the kernel writes it");
        assert_eq!((stat.name.as_str(), stat.parent), ("a) R 1 (b)\n", 19186));
    }

    #[test]
    fn half_a_text_is_nothing() {
        let before_the_pages = CAT.find("383 ").expect("they are there");
        assert!((0..=before_the_pages).all(|end| ProcessStat::read(&CAT[..end]).is_none()));
        assert_eq!(ProcessStat::read(")("), None);
    }

    #[test]
    fn jobs_are_those_of_slurm_or_units_of_systemd() {
        let scope = "0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0\n";
        assert_eq!(slurm_job(scope).as_deref(), Some("slurm 42"));
        assert_eq!(slurm_job("4:memory:/slurm/uid_0/job_7/step_batch\n0::/\n").as_deref(), Some("slurm 7"));
        assert_eq!(unit("0::/user.slice/user-0.slice/session-3.scope\n").as_deref(), Some("session-3.scope"));
        assert!(["0::/\n", "0::/job_x/job_\n"].iter().all(|text| slurm_job(text).or_else(|| unit(text)).is_none()));
        let environment = b"A=SLURM_JOB_ID=1\0SLURM_JOB_ID=42\0SLURM_JOB_ID_=3\0";
        assert_eq!(job_of_environment(environment).as_deref(), Some("slurm 42"));
        assert!(
            [&b""[..], b"SLURM_JOB_ID=", b"SLURM_JOB_ID=x", b"SLURM_JOB_ID=\xff\0"]
                .iter()
                .all(|text| job_of_environment(text).is_none())
        );
    }

    #[test]
    fn users_have_names() {
        let passwd = "root:x:0:0:root:/:/bin/sh\n# a comment\nana:x:1000:1000::/:/bin/sh\n";
        assert_eq!(users(passwd).collect::<Vec<_>>(), [(0, "root"), (1000, "ana")]);
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in "[()a-z0-9 :/_.\n-]{0,200}") {
            ProcessStat::read(&text);
            slurm_job(&text);
            unit(&text);
            job_of_environment(text.as_bytes());
            users(&text).count();
        }
    }
}
