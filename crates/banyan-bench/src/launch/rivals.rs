//! The starters that are installed, each with `/bin/true`: they do less than Banyan here, as nobody joins anything.

use std::time::Duration;

use super::rows::{LaunchFigures, LaunchRow};
use super::starter::{limited, runs, says, time};

/// A starter that took longer than this is not asked for more members.
const ENOUGH: Duration = Duration::from_secs(4);

/// A starter that fails is tried so often: Open MPI's often hangs when processes end at once.
const ATTEMPTS: u32 = 3;

struct LaunchRival {
    name: &'static str,
    command: fn(u32) -> Vec<String>,
    /// More members than this it does not start on one machine.
    at_most: u32,
    /// If not: why.
    is_there: fn() -> Result<(), String>,
}

const RIVALS: [LaunchRival; 5] = [
    LaunchRival {
        name: "mpiexec (hydra)",
        // Where Open MPI is installed too, `mpiexec` is often its.
        command: |members| words(&format!("mpiexec.hydra -n {members} /bin/true")),
        at_most: 2800,
        is_there: || says("mpiexec.hydra", "HYDRA"),
    },
    LaunchRival {
        name: "mpirun (Open MPI)",
        command: |members| words(&format!("mpirun --oversubscribe -n {members} /bin/true")),
        at_most: 1024,
        is_there: || says("mpirun", "Open MPI"),
    },
    LaunchRival {
        name: "srun",
        command: |members| words(&format!("srun -n {members} /bin/true")),
        at_most: 2800,
        is_there: || says("srun", "slurm").and_then(|()| has_cluster()),
    },
    LaunchRival {
        name: "pdsh",
        command: |members| words(&format!("pdsh -R exec -f 64 -w n[1-{members}] /bin/true")),
        at_most: 2800,
        is_there: || runs("pdsh", "-V"),
    },
    LaunchRival {
        name: "clush",
        command: |members| words(&format!("clush --worker=exec -f 64 -w n[1-{members}] /bin/true")),
        at_most: 2800,
        is_there: || runs("clush", "--version"),
    },
];

/// Figures of all rivals that are there and work, and of the others why there are none.
pub(super) fn figures(sizes: &[u32], progress: &mut dyn FnMut(&str)) -> LaunchFigures {
    let mut figures = LaunchFigures::default();
    for rival in &RIVALS {
        match (rival.is_there)() {
            Ok(()) => rival.measure(sizes, &mut figures, progress),
            Err(why) => figures.leave_out(rival.name, why),
        }
    }
    figures
}

impl LaunchRival {
    fn measure(&self, sizes: &[u32], figures: &mut LaunchFigures, progress: &mut dyn FnMut(&str)) {
        for (index, &members) in sizes.iter().enumerate() {
            if members > self.at_most {
                figures.leave_out(self.name, format!("{members} members are more than it starts on one machine"));
                continue;
            }
            progress(&format!("{}, {members} members", self.name));
            match self.start(members) {
                Ok(took) => {
                    figures.rows.push(LaunchRow::time(self.name, "launch", "/bin/true", members, took));
                    let has_more = index + 1 < sizes.len();
                    if took > ENOUGH && has_more {
                        let why = format!("not asked for the sizes behind {members}, which took it {took:.1?}");
                        return figures.leave_out(self.name, why);
                    }
                }
                Err(why) => return figures.leave_out(self.name, format!("with {}: {why}", counted(members))),
            }
        }
    }

    /// How long it takes to start so many, or why it did not in the last attempt.
    fn start(&self, members: u32) -> Result<Duration, String> {
        let attempt = || time(&mut limited(&(self.command)(members)));
        (1..ATTEMPTS).fold(attempt(), |last, _| last.or_else(|_| attempt()))
    }
}

fn counted(members: u32) -> String {
    if members == 1 { "1 member".into() } else { format!("{members} members") }
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// Whether there is a cluster for `srun`.
fn has_cluster() -> Result<(), String> {
    let named = std::env::var_os("SLURM_CONF");
    named.map(|_| ()).ok_or_else(|| "there is no cluster: SLURM_CONF names no configuration".into())
}
