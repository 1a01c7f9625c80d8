//! The starters that are installed, each with `/bin/true`: they do less than Banyan here, as nobody joins anything.

use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::rows::LaunchRow;

/// A starter is given up after this many seconds.
const LIMIT: &str = "20";

/// A starter that took longer than this is not asked for more members.
const ENOUGH: Duration = Duration::from_secs(4);

/// A starter that fails is tried so often: Open MPI's often hangs when processes end at once.
const ATTEMPTS: u32 = 3;

struct Rival {
    name: &'static str,
    command: fn(u32) -> Vec<String>,
    /// More members than this it does not start on one machine.
    at_most: u32,
    is_there: fn() -> bool,
}

const RIVALS: [Rival; 5] = [
    Rival {
        name: "mpiexec (hydra)",
        // Where Open MPI is installed too, `mpiexec` is often its.
        command: |members| words(&format!("mpiexec.hydra -n {members} /bin/true")),
        at_most: 2800,
        is_there: || says("mpiexec.hydra", "HYDRA"),
    },
    Rival {
        name: "mpirun (Open MPI)",
        command: |members| words(&format!("mpirun --oversubscribe -n {members} /bin/true")),
        at_most: 1024,
        is_there: || says("mpirun", "Open MPI"),
    },
    Rival {
        name: "srun",
        command: |members| words(&format!("srun -n {members} /bin/true")),
        at_most: 2800,
        is_there: || std::env::var_os("SLURM_CONF").is_some() && says("srun", "slurm"),
    },
    Rival {
        name: "pdsh",
        command: |members| words(&format!("pdsh -R exec -f 64 -w n[1-{members}] /bin/true")),
        at_most: 2800,
        is_there: || runs("pdsh", "-V"),
    },
    Rival {
        name: "clush",
        command: |members| words(&format!("clush --worker=exec -f 64 -w n[1-{members}] /bin/true")),
        at_most: 2800,
        is_there: || runs("clush", "--version"),
    },
];

/// Rows of all rivals that are there and work.
pub(super) fn rows(sizes: &[u32], progress: &mut dyn FnMut(&str)) -> Vec<LaunchRow> {
    let mut rows = Vec::new();
    for rival in RIVALS.iter().filter(|rival| (rival.is_there)()) {
        for &members in sizes.iter().filter(|members| **members <= rival.at_most) {
            progress(&format!("{}, {members} members", rival.name));
            let attempt = |_| time(&mut limited(&(rival.command)(members)));
            let Some(took) = (0..ATTEMPTS).find_map(attempt) else { break };
            rows.push(LaunchRow::time(rival.name, "launch", "/bin/true", members, took));
            if took > ENOUGH {
                break;
            }
        }
    }
    rows
}

/// A command that is given up when it takes too long.
pub(super) fn limited(words: &[impl AsRef<OsStr>]) -> Command {
    // `timeout` ends the starter with everything in its group.
    let mut command = Command::new("timeout");
    command.args(["--kill-after=2", LIMIT]).args(words);
    // Open MPI refuses to work for root unless it is told twice.
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// How long a command takes; `None` if it fails.
pub(super) fn time(command: &mut Command) -> Option<Duration> {
    let begin = Instant::now();
    command.status().is_ok_and(|status| status.success()).then(|| begin.elapsed())
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// Whether the version that a program tells has this word in it.
fn says(program: &str, word: &str) -> bool {
    let told = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    told.is_ok_and(|told| String::from_utf8_lossy(&told.stdout).contains(word))
}

/// Whether a program is there.
pub(super) fn runs(program: &str, flag: &str) -> bool {
    let ran = Command::new(program).arg(flag).stdin(Stdio::null()).output();
    ran.is_ok_and(|ran| ran.status.success())
}
