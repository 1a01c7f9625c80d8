//! What a machine says of itself: limits, settings of its kernel, room on its disks. Read where it is, judged elsewhere.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use banyan_stack::{Kind, SamplerOptions, Target, take};
use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
use serde_json::{Value, json};

use super::time::Time;
use crate::ask::ask;

/// The capability to trace any process, by its number.
const CAP_SYS_PTRACE: u32 = 19;

/// The capability to read performance counters of any process.
const CAP_PERFMON: u32 = 38;

/// The command's own version should come at once.
const PATIENCE: Duration = Duration::from_secs(5);

/// Everything that is known of a machine. What it did not say is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Facts {
    /// The version of the `banyan` in `PATH`.
    pub(super) installed: Option<String>,
    /// Soft limit and hard limit.
    pub(super) open_files: Option<(u64, u64)>,
    pub(super) processes: Option<(u64, u64)>,
    pub(super) pid_max: Option<u64>,
    pub(super) somaxconn: Option<u64>,
    pub(super) ptrace_scope: Option<u64>,
    pub(super) may_trace: bool,
    /// Why a process that was started to be traced could not be; a cause and a remedy.
    pub(super) trace_refused: Option<String>,
    pub(super) perf_paranoid: Option<i64>,
    pub(super) may_measure: bool,
    pub(super) cache: Option<Space>,
    pub(super) temporary: Option<Space>,
    /// Where programs with sensors put their segments; nothing if they could not.
    pub(super) segments: Option<Space>,
    /// Why they could not.
    pub(super) segments_refused: Option<String>,
}

/// A directory, and what is there for us.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Space {
    pub(super) path: String,
    pub(super) free: u64,
    pub(super) writable: bool,
    /// Programs may be run from there.
    pub(super) runs: bool,
}

impl Facts {
    /// Those of this machine, within a time.
    pub(super) fn here(time: Time) -> Facts {
        let capabilities = capabilities();
        let segments = banyan_sensor::observe::where_segments_go();
        let has = |number: u32| capabilities.is_some_and(|set| set >> number & 1 == 1);
        Facts {
            installed: installed(time),
            open_files: limit("Max open files"),
            processes: limit("Max processes"),
            pid_max: setting("kernel/pid_max"),
            somaxconn: setting("net/core/somaxconn"),
            ptrace_scope: setting("kernel/yama/ptrace_scope"),
            may_trace: has(CAP_SYS_PTRACE),
            trace_refused: trace_refused(),
            perf_paranoid: setting("kernel/perf_event_paranoid"),
            may_measure: has(CAP_PERFMON),
            cache: cache().and_then(|path| Space::at(&path)),
            temporary: Space::in_place(&env::temp_dir()),
            segments: segments.as_ref().ok().and_then(|path| Space::at(path)),
            segments_refused: segments.err().map(|error| error.to_string()),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let space = |space: &Option<Space>| {
            space.as_ref().map(
                |space| json!({ "path": space.path, "free": space.free, "writable": space.writable, "runs": space.runs }),
            )
        };
        json!({
            "installed": self.installed,
            "open_files": self.open_files.map(|(soft, hard)| [soft, hard]),
            "processes": self.processes.map(|(soft, hard)| [soft, hard]),
            "pid_max": self.pid_max,
            "somaxconn": self.somaxconn,
            "ptrace_scope": self.ptrace_scope,
            "may_trace": self.may_trace,
            "trace_refused": self.trace_refused,
            "perf_paranoid": self.perf_paranoid,
            "may_measure": self.may_measure,
            "cache": space(&self.cache),
            "temporary": space(&self.temporary),
            "segments": space(&self.segments),
            "segments_refused": self.segments_refused,
        })
    }

    /// What another machine said. It may say what it likes: what is not understood was not said.
    pub(super) fn from_json(value: &Value) -> Facts {
        let number = |name: &str| value[name].as_u64();
        let pair = |name: &str| Some((value[name][0].as_u64()?, value[name][1].as_u64()?));
        let is = |name: &str| value[name].as_bool().unwrap_or(false);
        let space = |value: &Value| {
            Some(Space {
                path: value["path"].as_str()?.to_owned(),
                free: value["free"].as_u64()?,
                writable: value["writable"].as_bool()?,
                runs: value["runs"].as_bool()?,
            })
        };
        Facts {
            installed: value["installed"].as_str().map(str::to_owned),
            open_files: pair("open_files"),
            processes: pair("processes"),
            pid_max: number("pid_max"),
            somaxconn: number("somaxconn"),
            ptrace_scope: number("ptrace_scope"),
            may_trace: is("may_trace"),
            trace_refused: value["trace_refused"].as_str().map(str::to_owned),
            perf_paranoid: value["perf_paranoid"].as_i64(),
            may_measure: is("may_measure"),
            cache: space(&value["cache"]),
            temporary: space(&value["temporary"]),
            segments: space(&value["segments"]),
            segments_refused: value["segments_refused"].as_str().map(str::to_owned),
        }
    }
}

impl Space {
    /// The space of a directory that nobody makes: one that is not there cannot be written.
    fn in_place(path: &Path) -> Option<Space> {
        let space = Space::at(path)?;
        Some(Space { writable: space.writable && path.is_dir(), ..space })
    }

    /// The space of a directory, or in the one in which it would be made.
    fn at(path: &Path) -> Option<Space> {
        let there = path.ancestors().find(|path| path.is_dir())?;
        let system = statvfs(there).ok()?;
        Some(Space {
            path: path.display().to_string(),
            free: system.f_bavail.saturating_mul(system.f_frsize),
            writable: access(there, Access::WRITE_OK | Access::EXEC_OK).is_ok(),
            runs: !system.f_flag.contains(StatVfsMountFlags::NOEXEC),
        })
    }
}

/// Nanoseconds since the beginning of 1970, as this machine believes.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos().try_into().unwrap_or(i64::MAX)
}

/// Soft and hard limit of this process; unlimited is the largest number.
fn limit(name: &str) -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/self/limits").ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let mut numbers = rest.split_whitespace().map(|word| match word {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    });
    Some((numbers.next()??, numbers.next()??))
}

fn setting<N: std::str::FromStr>(name: &str) -> Option<N> {
    fs::read_to_string(Path::new("/proc/sys").join(name)).ok()?.trim().parse().ok()
}

/// The effective capabilities of this process, as bits.
fn capabilities() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(set.trim(), 16).ok()
}

/// Looks at the stack of a process made for it. Nothing if that works, or fails for another reason than permission.
fn trace_refused() -> Option<String> {
    let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().ok()?;
    let target = Target { pid: child.id(), rank: 0, command: String::new() };
    let report = take(&[target], &SamplerOptions::default());
    // It ends with its input.
    drop(child.stdin.take());
    child.wait().ok()?;
    let report = report.ok()?;
    report.unread().find(|(_, _, unread)| unread.kind == Kind::Forbidden).map(|(_, _, unread)| unread.why.clone())
}

/// Where sessions keep the agent program that they bring along; staged files, too, unless `BANYAN_CACHE` moves them.
fn cache() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("banyan"))
}

/// The version of the command that a user of this machine gets.
fn installed(time: Time) -> Option<String> {
    let answer = ask(Command::new("banyan").arg("--version"), time.at_most(PATIENCE)).ok()?;
    answer.split_whitespace().nth(1).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_back_from_another_machine_as_they_were() {
        let space = Space { path: "/c".into(), free: 7, writable: true, runs: false };
        let facts =
            Facts { cache: Some(space), pid_max: Some(3), perf_paranoid: Some(-1), ..Facts::here(Time::default()) };
        assert_eq!(Facts::from_json(&facts.to_json()), facts);
        assert_eq!(Facts::from_json(&json!("nonsense")), Facts::default());
    }

    #[test]
    fn this_machine_says_what_every_linux_says() {
        let facts = Facts::here(Time::default());
        assert!(facts.open_files.is_some() && facts.pid_max.is_some() && facts.temporary.is_some(), "{facts:?}");
    }
}
