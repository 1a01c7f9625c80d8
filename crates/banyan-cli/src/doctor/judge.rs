//! From what a machine says of itself to what that means for whoever runs sessions there.

use super::facts::{Facts, Space};
use super::finding::{Finding, Level};

/// Descriptors with which an agent can hold a thousand members.
const OPEN_FILES: u64 = 4096;

/// Processes that a session with a thousand members and their helpers may need.
const PROCESSES: u64 = 4096;

/// The smallest number of process ids that kernels set by themselves.
const PID_MAX: u64 = 32_768;

/// Connections that agents may find waiting when a thousand members attach at once.
const SOMAXCONN: u64 = 1024;

/// Space for the agent program, a few times.
const ROOM: u64 = 64 << 20;

/// Everything about one machine that can be told from its facts.
pub(super) fn judge(facts: &Facts, version: &str) -> Vec<Finding> {
    let all = [
        open_files(facts),
        processes(facts),
        pid_max(facts),
        somaxconn(facts),
        Some(tracing(facts)),
        Some(measuring(facts)),
        cache(facts),
        temporary(facts),
        sensors(facts),
        Some(installed(facts, version)),
    ];
    all.into_iter().flatten().collect()
}

fn open_files(facts: &Facts) -> Option<Finding> {
    let (soft, hard) = facts.open_files?;
    if soft >= OPEN_FILES {
        return Some(Finding::ok("open files", count(soft)));
    }
    let remedy = if hard >= OPEN_FILES {
        format!("ulimit -n {}", hard.min(1 << 20))
    } else {
        format!("as root: echo '* - nofile {OPEN_FILES}' > /etc/security/limits.d/banyan.conf, and log in anew")
    };
    let cause = "a member takes about four descriptors of its agent: a thousand members on a host will not start";
    Some(Finding::bad(Level::Warning, "open files", count(soft), cause, remedy))
}

fn processes(facts: &Facts) -> Option<Finding> {
    let (soft, hard) = facts.processes?;
    if soft >= PROCESSES {
        return Some(Finding::ok("processes", count(soft)));
    }
    let remedy = if hard >= PROCESSES {
        format!("ulimit -u {hard}")
    } else {
        format!("as root: echo '* - nproc {PROCESSES}' > /etc/security/limits.d/banyan.conf, and log in anew")
    };
    let cause = "all processes of a user count: large sessions will not start";
    Some(Finding::bad(Level::Warning, "processes", count(soft), cause, remedy))
}

fn pid_max(facts: &Facts) -> Option<Finding> {
    let pid_max = facts.pid_max?;
    if pid_max >= PID_MAX {
        return Some(Finding::ok("process ids", pid_max));
    }
    let cause = "the kernel has fewer process ids than large sessions have processes";
    let remedy = format!("as root: sysctl -w kernel.pid_max={PID_MAX}");
    Some(Finding::bad(Level::Warning, "process ids", pid_max, cause, remedy))
}

fn somaxconn(facts: &Facts) -> Option<Finding> {
    let waiting = facts.somaxconn?;
    if waiting >= SOMAXCONN {
        return Some(Finding::ok("waiting connections", waiting));
    }
    let cause = "members that attach to a session in great numbers at once will be refused for a moment";
    let remedy = format!("as root: sysctl -w net.core.somaxconn={SOMAXCONN}");
    Some(Finding::bad(Level::Warning, "waiting connections", waiting, cause, remedy))
}

/// Whether an attempt was permitted, and what Yama allows: 0 one's own processes, 1 those below oneself, 2 those with the capability, 3 nobody.
fn tracing(facts: &Facts) -> Finding {
    const NAME: &str = "tracing";
    if let (None | Some(..3), Some(why)) = (facts.ptrace_scope, &facts.trace_refused) {
        let (cause, remedy) = why.split_once("; ").unwrap_or((why, "run this as root"));
        return Finding::bad(Level::Warning, NAME, "not permitted", cause, remedy);
    }
    match (facts.ptrace_scope, facts.may_trace) {
        (Some(3..), _) => Finding::bad(
            Level::Warning,
            NAME,
            "kernel.yama.ptrace_scope is 3",
            "nobody may look at the stack of a process, and this cannot be changed while the machine runs",
            "set kernel.yama.ptrace_scope to 1 where it is set (/etc/sysctl.d), and restart the machine",
        ),
        (_, true) => Finding::ok(NAME, "all processes"),
        (None | Some(0), false) => Finding::ok(NAME, "one's own processes"),
        (Some(scope), false) => Finding::bad(
            Level::Warning,
            NAME,
            format!("kernel.yama.ptrace_scope is {scope}"),
            "stacks can be shown only of processes that the session itself started, not of a job that runs already",
            "as root: sysctl -w kernel.yama.ptrace_scope=0, or give the command the capability CAP_SYS_PTRACE",
        ),
    }
}

fn measuring(facts: &Facts) -> Finding {
    const NAME: &str = "performance counters";
    match facts.perf_paranoid {
        Some(level @ 3..) if !facts.may_measure => Finding::bad(
            Level::Warning,
            NAME,
            format!("kernel.perf_event_paranoid is {level}"),
            "performance counters cannot be read, not even of one's own processes",
            "as root: sysctl -w kernel.perf_event_paranoid=2",
        ),
        Some(level) => Finding::ok(NAME, format!("kernel.perf_event_paranoid is {level}")),
        None => Finding::ok(NAME, "the kernel has none"),
    }
}

fn cache(facts: &Facts) -> Option<Finding> {
    const NAME: &str = "cache";
    let Some(space) = &facts.cache else {
        let cause = "neither XDG_CACHE_HOME nor HOME is set: the agent program and staged files have no place";
        return Some(Finding::bad(Level::Problem, NAME, "none", cause, "export XDG_CACHE_HOME=/some/directory"));
    };
    if !space.runs {
        let cause = "it is mounted noexec: the agent program cannot be run from there";
        let remedy = "export XDG_CACHE_HOME=DIRECTORY with one that is not; BANYAN_CACHE moves staged files only";
        return Some(Finding::bad(Level::Problem, NAME, &space.path, cause, remedy));
    }
    Some(space_finding(NAME, space, Level::Problem, "the agent program and staged files cannot be kept there"))
}

fn temporary(facts: &Facts) -> Option<Finding> {
    let space = facts.temporary.as_ref()?;
    Some(space_finding("temporary files", space, Level::Warning, "programs that keep files there will fail"))
}

/// Programs that have no segment go on, and nobody sees why they cannot be watched.
fn sensors(facts: &Facts) -> Option<Finding> {
    const NAME: &str = "sensors";
    let cause = "programs with sensors cannot be watched or steered here, and go on without";
    if let Some(why) = &facts.segments_refused {
        let remedy = "repair what is said, or export BANYAN_SENSOR_DIR=DIRECTORY of your own, mode 700";
        return Some(Finding::bad(Level::Warning, NAME, why, cause, remedy));
    }
    Some(space_finding(NAME, facts.segments.as_ref()?, Level::Warning, cause))
}

fn space_finding(name: &'static str, space: &Space, level: Level, cause: &str) -> Finding {
    let Space { path, free, writable, .. } = space;
    if !writable {
        return Finding::bad(level, name, format!("{path} cannot be written"), cause, format!("ls -ld {path}"));
    }
    let state = format!("{path}, {} free", bytes(*free));
    match free {
        0..ROOM => Finding::bad(level, name, state, cause, format!("make room: df -h {path}")),
        _ => Finding::ok(name, state),
    }
}

fn installed(facts: &Facts, version: &str) -> Finding {
    const NAME: &str = "version";
    match facts.installed.as_deref() {
        None => Finding::ok(NAME, format!("{version}, not in PATH; sessions bring it along")),
        Some(installed) if installed == version => Finding::ok(NAME, version),
        Some(other) => Finding::bad(
            Level::Warning,
            NAME,
            format!("{other} in PATH"),
            format!("this is {version}: sessions bring their own program, but people get another there"),
            "install the same version",
        ),
    }
}

fn count(number: u64) -> String {
    if number == u64::MAX { "unlimited".into() } else { number.to_string() }
}

/// A size with two digits, which is all that matters here.
fn bytes(count: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB")];
    let unit = UNITS.iter().find(|(size, _)| count >= *size);
    let (size, name) = unit.copied().unwrap_or((1 << 10, "KiB"));
    match count / size {
        0..10 => format!("{:.1} {name}", count as f64 / size as f64),
        whole => format!("{whole} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn healthy() -> Facts {
        let space = Space { path: "/c".into(), free: 1 << 40, writable: true, runs: true };
        Facts {
            installed: Some("1.0".into()),
            open_files: Some((20_000, 20_000)),
            processes: Some((u64::MAX, u64::MAX)),
            pid_max: Some(PID_MAX),
            somaxconn: Some(4096),
            ptrace_scope: Some(0),
            may_trace: false,
            trace_refused: None,
            perf_paranoid: Some(2),
            may_measure: false,
            cache: Some(space.clone()),
            temporary: Some(space.clone()),
            segments: Some(space),
            segments_refused: None,
        }
    }

    fn wrong(facts: &Facts) -> Vec<(&'static str, Level)> {
        let findings = judge(facts, "1.0");
        findings
            .iter()
            .filter(|finding| finding.level > Level::Ok)
            .map(|finding| (finding.name, finding.level))
            .collect()
    }

    #[test]
    fn a_healthy_machine_has_nothing_to_repair() {
        assert_eq!(wrong(&healthy()), []);
    }

    #[test]
    fn each_thing_that_is_wrong_is_named_with_cause_and_remedy() {
        let change = |change: fn(&mut Facts)| {
            let mut facts = healthy();
            change(&mut facts);
            let findings = judge(&facts, "1.0");
            let bad = findings.iter().filter(|finding| finding.level > Level::Ok);
            assert!(bad.clone().all(|finding| !finding.cause.is_empty() && !finding.remedy.is_empty()));
            wrong(&facts)
        };
        let warning = |name| vec![(name, Level::Warning)];
        assert_eq!(change(|facts| facts.open_files = Some((1024, 4096))), warning("open files"));
        assert_eq!(change(|facts| facts.processes = Some((100, 100))), warning("processes"));
        assert_eq!(change(|facts| facts.pid_max = Some(100)), warning("process ids"));
        assert_eq!(change(|facts| facts.somaxconn = Some(128)), warning("waiting connections"));
        assert_eq!(change(|facts| facts.ptrace_scope = Some(1)), warning("tracing"));
        assert_eq!(change(|facts| facts.trace_refused = Some("a filter; a remedy".into())), warning("tracing"));
        assert_eq!(change(|facts| facts.perf_paranoid = Some(4)), warning("performance counters"));
        assert_eq!(change(|facts| facts.installed = Some("0.9".into())), warning("version"));
        assert_eq!(change(|facts| facts.cache = None), [("cache", Level::Problem)]);
        assert_eq!(
            change(|facts| facts.cache.iter_mut().for_each(|space| space.runs = false)),
            [("cache", Level::Problem)]
        );
        assert_eq!(
            change(|facts| facts.cache.iter_mut().for_each(|space| space.free = 1)),
            [("cache", Level::Problem)]
        );
        assert_eq!(
            change(|facts| facts.temporary.iter_mut().for_each(|space| space.writable = false)),
            warning("temporary files")
        );
        let refused = |facts: &mut Facts| facts.segments_refused = Some("/dev/shm: others can enter it".into());
        assert_eq!(change(refused), warning("sensors"));
        assert_eq!(change(|facts| facts.segments.iter_mut().for_each(|space| space.free = 1)), warning("sensors"));
    }

    #[test]
    fn who_may_trace_everything_minds_the_scope_only_if_nobody_may() {
        let scoped = |scope| Facts { ptrace_scope: Some(scope), may_trace: true, ..healthy() };
        assert_eq!(wrong(&scoped(2)), []);
        assert_eq!(wrong(&scoped(3)), [("tracing", Level::Warning)]);
    }

    #[test]
    fn sizes_have_as_many_digits_as_matter() {
        assert_eq!([bytes(5000), bytes(3 << 29), bytes(100 << 30)], ["4.9 KiB", "1.5 GiB", "100 GiB"]);
    }
}
