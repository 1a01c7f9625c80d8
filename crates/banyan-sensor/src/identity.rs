//! Who a process is: what its segment's header says, and whether it still runs.

use std::fs;
use std::io;
use std::path::PathBuf;

use rustix::process::{getpid, getuid};

/// A process that has a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// Its process id, in its pid namespace.
    pub pid: u32,
    /// When it started, in clock ticks since the boot. With the process id it names a process for ever.
    pub start_time: u64,
    /// The boot it started in.
    pub boot_id: [u8; 16],
    /// The inode of its pid namespace.
    pub pid_namespace: u64,
    /// Its user.
    pub uid: u32,
    /// Its rank, where the environment says it.
    pub rank: Option<u64>,
    /// How many ranks there are, where the environment says it.
    pub ranks: Option<u64>,
    /// Its job, where the environment says it: `slurm:4711.0`, for example.
    pub job: Option<String>,
    /// Its program.
    pub executable: String,
    /// Its host.
    pub host: String,
}

/// Variables that say a rank: Open MPI, PMIx, PMI, Slurm, PyTorch, `banyan run`.
const RANK: [&str; 6] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "RANK", "BANYAN_RANK"];

/// Variables that say how many ranks there are.
const RANKS: [&str; 5] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", "WORLD_SIZE", "BANYAN_SIZE"];

/// Variables that name a job, and whose they are.
const JOB: [(&str, &str); 5] = [
    ("PMIX_NAMESPACE", "pmix"),
    ("OMPI_MCA_ess_base_jobid", "ompi"),
    ("SLURM_JOB_ID", "slurm"),
    ("PMI_JOBID", "pmi"),
    ("TORCHELASTIC_RUN_ID", "torch"),
];

/// The longest text that is taken from the environment.
const LONGEST: usize = 4096;

impl Identity {
    /// This process.
    pub(crate) fn own() -> io::Result<Identity> {
        let pid = getpid().as_raw_nonzero().get() as u32;
        let mut executable = fs::read_link("/proc/self/exe").unwrap_or_else(|_| PathBuf::new()).display().to_string();
        executable.truncate(executable.floor_char_boundary(LONGEST));
        Ok(Identity {
            pid,
            start_time: start_time(pid).ok_or_else(|| io::Error::other("/proc/self/stat cannot be read"))?,
            boot_id: boot_id(),
            pid_namespace: pid_namespace(),
            uid: getuid().as_raw(),
            rank: number(&RANK),
            ranks: number(&RANKS),
            job: job(),
            executable,
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        })
    }

    /// Whether the process runs. `None` when this process cannot know: the other is in another pid namespace.
    pub fn is_running(&self) -> Option<bool> {
        if self.boot_id != boot_id() {
            return Some(false);
        }
        (self.pid_namespace == pid_namespace()).then(|| start_time(self.pid) == Some(self.start_time))
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty() && value.len() <= LONGEST)
}

fn number(names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| variable(name)?.parse().ok())
}

fn job() -> Option<String> {
    let (kind, name) = JOB.iter().find_map(|(name, kind)| Some((kind, variable(name)?)))?;
    let step = variable("SLURM_STEP_ID").filter(|_| *kind == "slurm");
    Some(step.map_or_else(|| format!("{kind}:{name}"), |step| format!("{kind}:{name}.{step}")))
}

/// When a process started, unless it has ended: a zombie has.
pub(crate) fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program is in parentheses and may contain anything.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    // Field 22; the state is field 3.
    let start = fields.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(start)
}

fn boot_id() -> [u8; 16] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    let mut id = [0; 16];
    for (byte, pair) in id.iter_mut().zip(digits.as_chunks::<2>().0) {
        *byte = pair[0] << 4 | pair[1];
    }
    id
}

fn pid_namespace() -> u64 {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self/ns/pid").map_or(0, |metadata| metadata.ino())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn this_process_runs_and_one_that_has_ended_does_not() {
        let own = Identity::own().unwrap();
        assert_eq!(own.is_running(), Some(true));
        assert_ne!(own.boot_id, [0; 16]);
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let ended = Identity { pid: child.id(), ..own.clone() };
        assert_eq!(ended.is_running(), Some(false));
        // The same number, another process.
        let other = Identity { start_time: own.start_time - 1, ..own.clone() };
        assert_eq!(other.is_running(), Some(false));
        let elsewhere = Identity { pid_namespace: 1, ..own };
        assert_eq!(elsewhere.is_running(), None);
    }
}
