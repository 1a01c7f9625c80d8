//! Which processes an observer watches.

use std::fmt;
use std::str::FromStr;

use banyan_ndr::Record;
use banyan_sensor::Identity;
use regex_lite::Regex;

/// Bytes of the longest pattern: what it compiles to stays small.
const LONGEST_PATTERN: usize = 1024;

/// Ancestors of a process that are looked at.
const MOST_ANCESTORS: usize = 64;

/// The processes that an observer watches: those on its hosts, of its user, that have sensors. Each condition leaves fewer of
/// them. Processes that start later are watched, too.
///
/// ```
/// use banyan_monitor::Job;
///
/// let job = Job::all().slurm("4711").sensor("solver.step");
/// assert_eq!(job.to_string(), "slurm:4711 sensor:solver.step");
/// assert_eq!("slurm:4711 sensor:solver.step".parse::<Job>()?, job);
/// # Ok::<(), banyan_monitor::JobError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Job {
    choice: Choice,
}

/// A job as probes are told.
#[derive(Debug, Clone, PartialEq, Eq, Default, Record)]
pub(crate) struct Choice {
    slurm: Option<String>,
    /// A process and the boot of its machine.
    ancestor: Option<u32>,
    boot: String,
    sensor: Option<String>,
    executable: Option<String>,
}

/// A text that does not say which processes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// There is no such condition.
    #[error("{0:?} chooses no processes; write all, slurm:JOB, children:PID, sensor:NAME or executable:REGEX")]
    Unknown(String),
    /// The pattern for executables is not a regular expression.
    #[error("executable:{pattern}: {why}; write a regular expression of at most 1024 bytes")]
    Pattern {
        /// What was given.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
}

impl Job {
    /// All processes of this user.
    pub fn all() -> Job {
        Job::default()
    }

    /// Only processes of a Slurm job, such as `4711` or, for one step, `4711.0`.
    #[must_use]
    pub fn slurm(mut self, job: &str) -> Job {
        self.choice.slurm = Some(job.into());
        self
    }

    /// Only a process of this machine and what it has started, such as an `mpirun` and its ranks. Processes on other machines
    /// are not found by this: use [`slurm`](Self::slurm) or [`sensor`](Self::sensor).
    #[must_use]
    pub fn children_of(mut self, pid: u32) -> Job {
        self.choice.ancestor = Some(pid);
        self.choice.boot = boot();
        self
    }

    /// Only processes that have a sensor of this name.
    #[must_use]
    pub fn sensor(mut self, name: &str) -> Job {
        self.choice.sensor = Some(name.into());
        self
    }

    /// Only processes whose executable has a path that this regular expression matches.
    ///
    /// # Errors
    /// When it is not a regular expression, or too long.
    pub fn executable(mut self, pattern: &str) -> Result<Job, JobError> {
        compile(pattern)?;
        self.choice.executable = Some(pattern.into());
        Ok(self)
    }

    pub(crate) fn choice(&self) -> &Choice {
        &self.choice
    }
}

fn compile(pattern: &str) -> Result<Regex, JobError> {
    let refuse = |why: String| JobError::Pattern { pattern: pattern.into(), why };
    if pattern.len() > LONGEST_PATTERN {
        return Err(refuse("it is too long".into()));
    }
    Regex::new(pattern).map_err(|error| refuse(error.to_string()))
}

/// The words of [`Display`](fmt::Display), with spaces between them; `all` alone is all.
impl FromStr for Job {
    type Err = JobError;

    fn from_str(text: &str) -> Result<Job, JobError> {
        text.split_whitespace().try_fold(Job::all(), |job, word| {
            let unknown = || JobError::Unknown(word.into());
            match word.split_once(':').unwrap_or((word, "")) {
                ("all", "") => Ok(job),
                (_, "") => Err(unknown()),
                ("slurm", name) => Ok(job.slurm(name)),
                ("children", pid) => Ok(job.children_of(pid.parse().map_err(|_| unknown())?)),
                ("sensor", name) => Ok(job.sensor(name)),
                ("executable", pattern) => job.executable(pattern),
                _ => Err(unknown()),
            }
        })
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Choice { slurm, ancestor, sensor, executable, .. } = &self.choice;
        let words = [
            slurm.as_ref().map(|job| format!("slurm:{job}")),
            ancestor.map(|pid| format!("children:{pid}")),
            sensor.as_ref().map(|name| format!("sensor:{name}")),
            executable.as_ref().map(|pattern| format!("executable:{pattern}")),
        ];
        let words: Vec<String> = words.into_iter().flatten().collect();
        f.write_str(if words.is_empty() { "all" } else { "" })?;
        f.write_str(&words.join(" "))
    }
}

/// A job as a probe looks for it.
#[derive(Debug)]
pub(crate) struct Chooser {
    choice: Choice,
    executable: Option<Regex>,
    is_ancestor_here: bool,
}

impl Chooser {
    pub(crate) fn new(choice: Choice) -> Result<Chooser, JobError> {
        let executable = choice.executable.as_deref().map(compile).transpose()?;
        let is_ancestor_here = choice.boot == boot();
        Ok(Chooser { choice, executable, is_ancestor_here })
    }

    /// The sensor that processes must have.
    pub(crate) fn sensor(&self) -> Option<&str> {
        self.choice.sensor.as_deref()
    }

    /// Whether a process is wanted, if it has the sensor.
    pub(crate) fn wants(&self, identity: &Identity) -> bool {
        let is_of_job = |job: &String| is_of_slurm_job(identity, job);
        self.choice.slurm.as_ref().is_none_or(is_of_job)
            && self.executable.as_ref().is_none_or(|pattern| pattern.is_match(&identity.executable))
            && self.choice.ancestor.is_none_or(|pid| self.is_ancestor_here && descends(identity.pid, pid))
    }
}

/// Ranks of an MPI in a Slurm job may carry the MPI's own name of the job. Then their environment says which Slurm job it is.
fn is_of_slurm_job(identity: &Identity, job: &str) -> bool {
    let named = |of: &str| of == job || of.strip_prefix(job).is_some_and(|rest| rest.starts_with('.'));
    if let Some(of) = identity.job.as_deref().and_then(|of| of.strip_prefix("slurm:")) {
        return named(of);
    }
    let environment = std::fs::read(format!("/proc/{}/environ", identity.pid)).unwrap_or_default();
    let variable = |name: &[u8]| {
        let mut all = environment.split(|byte| *byte == 0);
        let value = all.find_map(|variable| variable.strip_prefix(name)?.strip_prefix(b"="));
        value.map(|value| String::from_utf8_lossy(value).into_owned())
    };
    let Some(id) = variable(b"SLURM_JOB_ID") else { return false };
    named(&id) || variable(b"SLURM_STEP_ID").is_some_and(|step| named(&format!("{id}.{step}")))
}

fn descends(pid: u32, ancestor: u32) -> bool {
    let mut line = std::iter::successors(Some(pid), |pid| parent(*pid)).take(MOST_ANCESTORS);
    line.any(|pid| pid == ancestor)
}

fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program is in parentheses and may contain anything. State and parent follow it.
    let parent = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()?;
    (parent > 0).then_some(parent)
}

/// The boot of this machine, which tells it from others.
fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_come_back_from_their_texts() {
        for text in ["all", "slurm:4711.0", "sensor:a.b executable:/opt/.*", "children:17"] {
            assert_eq!(text.parse::<Job>().unwrap().to_string(), text);
        }
        for text in ["slurm:", "children:x", "executable:(", "host:n1", "everything"] {
            assert!(text.parse::<Job>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_process_descends_from_itself_and_those_above_it() {
        let own = std::process::id();
        assert!(descends(own, own) && descends(own, parent(own).unwrap()));
        assert!(!descends(parent(own).unwrap(), own));
    }
}
