//! Which processes: by number, by command line, of a Slurm job, of an MPI job.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::os::unix::fs::MetadataExt;

use banyan_ndr::Record;
use regex_lite::Regex;

use crate::mpi::MpiJob;
use crate::process::Status;
use crate::processes::{all, ancestors, command, descendants, is_closed, shares_host_name, variable, variables};

/// Variables that say which rank a process has, the most telling first: Open MPI, PMIx, MPICH and its kin, Slurm, PyTorch,
/// `banyan run`.
const RANKS: [&str; 6] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "RANK", "BANYAN_RANK"];

/// From a rank up to the process whose starter said which it is, at most.
const MAX_STEPS: usize = 16;

/// The job of a process.
const SLURM_JOBS: [&str; 2] = ["SLURM_JOB_ID", "SLURM_JOBID"];

/// Programs that start ranks and inherit their variables, but are none.
const STARTERS: [&str; 20] = [
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "csh",
    "tcsh",
    "fish",
    "srun",
    "slurmstepd",
    "mpirun",
    "mpiexec",
    "mpiexec.hydra",
    "orterun",
    "orted",
    "prterun",
    "prted",
    "prte",
    "hydra_pmi_proxy",
    "time",
];

/// Command lines are cut behind this when they are shown.
const MAX_COMMAND: usize = 400;

/// Which processes are wanted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Choice {
    /// Those with these numbers, whatever they are.
    Pids(Vec<u32>),
    /// Those with a command line in which this occurs. Not this process, nor those that started it.
    Matching(Regex),
    /// The ranks of a Slurm job.
    SlurmJob(String),
    /// The ranks that were started by this process, an `mpirun` or the like.
    Mpi(u32),
    /// Those ranks of an MPI job that are on this machine, wherever its `mpirun` is.
    MpiJob(MpiJob),
}

/// A process that was found.
#[derive(Debug, Clone, PartialEq, Eq, Record)]
pub struct Found {
    /// Its number.
    pub pid: u32,
    /// Its rank, if it knows one.
    pub rank: Option<u32>,
    /// Its command line.
    pub command: String,
    /// It has the host name of whoever looks. One in a container has its own; where hosts share a machine, it is on another
    /// of them.
    pub on_this_host: bool,
}

/// Why no process was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// There is none.
    #[error("no process {0}")]
    Nothing(String),
    /// `/proc` cannot be read.
    #[error("/proc cannot be read: {0}; is it mounted?")]
    NoProc(#[from] io::Error),
}

/// A pattern for [`Choice::Matching`].
///
/// # Errors
///
/// Says where the pattern is wrong.
pub fn pattern(text: &str) -> Result<Choice, String> {
    Regex::new(text).map(Choice::Matching).map_err(|error| error.to_string())
}

impl Choice {
    /// The processes of this machine, ascending by rank, then by number; named ones as they were named.
    ///
    /// Of a job, a rank is one process: not the shell or the launcher that started it, nor what it has started itself. Of an
    /// `mpirun` whose processes do not show their ranks, since they are somebody else's, all of them.
    ///
    /// # Errors
    ///
    /// [`FindError`] if there is none.
    pub fn find(&self) -> Result<Vec<Found>, FindError> {
        let mut found = match self {
            Choice::Pids(pids) => {
                let mut seen = HashSet::new();
                pids.iter().filter(|pid| seen.insert(**pid)).map(|pid| found(*pid)).collect()
            }
            Choice::Matching(regex) => {
                let own = ancestors(std::process::id());
                let others = all()?.into_iter().filter(|pid| !own.contains(pid));
                let matching = others.filter(|pid| {
                    let command = command(*pid);
                    !command.is_empty() && regex.is_match(&command)
                });
                ranked_if_any(matching.map(found).collect())
            }
            Choice::SlurmJob(job) => {
                let of_job = |pid: &u32| SLURM_JOBS.iter().any(|name| variable(*pid, name).as_ref() == Some(job));
                ranks_of_job(all()?.into_iter().filter(of_job).collect())
            }
            Choice::Mpi(launcher) => {
                let below = descendants(*launcher)?;
                let ranks = ranks_of_job(below.clone());
                if ranks.is_empty() { closed(*launcher, below) } else { ranks }
            }
            Choice::MpiJob(job) => ranks_of_job(job.processes()?),
        };
        if found.is_empty() {
            return Err(FindError::Nothing(self.describe()));
        }
        if !matches!(self, Choice::Pids(_)) {
            found.sort_by_key(|it| (it.rank, it.pid));
        }
        Ok(found)
    }

    fn describe(&self) -> String {
        match self {
            Choice::Pids(_) => "was named; give at least one number with --pid".into(),
            Choice::Matching(regex) => {
                format!("of this machine has a command line that matches {:?}; look with: pgrep -af", regex.as_str())
            }
            Choice::SlurmJob(job) => {
                format!("of this machine belongs to job {job} and has a rank; look where it runs with: squeue -j {job}")
            }
            Choice::MpiJob(_) => "of this machine is a rank of that job".into(),
            Choice::Mpi(pid) => format!(
                "below process {pid} has a rank in its environment; is {pid} the mpirun? look with: pstree -p {pid}"
            ),
        }
    }
}

fn found(pid: u32) -> Found {
    let rank = rank(pid);
    let command = command(pid).chars().take(MAX_COMMAND).collect();
    Found { pid, rank, command, on_this_host: shares_host_name(pid) }
}

/// The rank that a process was started with, or the nearest of those that led to it. A starter may have a rank itself, as the agents
/// of `banyan run` have where Slurm has started them: what a process has from its parent was said of somebody else.
fn rank(pid: u32) -> Option<u32> {
    let mut pid = pid;
    let mut own = variables(pid, RANKS);
    let inherited = own.iter().find_map(|value| value.as_ref()?.parse().ok());
    for _ in 0..MAX_STEPS {
        let parent = Status::read(pid).ok().map_or(0, |status| status.parent);
        let theirs = if parent == 0 { Default::default() } else { variables(parent, RANKS) };
        let mut said =
            own.iter().zip(&theirs).filter(|(own, theirs)| own != theirs).filter_map(|(own, _)| own.as_ref());
        if let Some(rank) = said.find_map(|value| value.parse().ok()) {
            return Some(rank);
        }
        if own.iter().all(Option::is_none) {
            break;
        }
        (pid, own) = (parent, theirs);
    }
    inherited
}

/// Where some have ranks, those without are launchers or something else of the same name.
fn ranked_if_any(mut found: Vec<Found>) -> Vec<Found> {
    if found.iter().any(|it| it.rank.is_some()) {
        found.retain(|it| it.rank.is_some() && !is_starter(it.pid));
    }
    found
}

/// One process a rank.
fn ranks_of_job(pids: Vec<u32>) -> Vec<Found> {
    let ranked: Vec<Found> =
        pids.into_iter().map(found).filter(|it| it.rank.is_some() && !is_starter(it.pid)).collect();
    let chosen: BTreeMap<u32, u32> = ranked.iter().filter_map(|it| Some((it.pid, it.rank?))).collect();
    // What a rank has started inherits its variables.
    let is_helper =
        |it: &Found| ancestors(it.pid).iter().any(|above| *above != it.pid && chosen.get(above) == it.rank.as_ref());
    ranked.iter().filter(|it| !is_helper(it)).cloned().collect()
}

/// Of an `mpirun` and all below it, those whose environment may not be read, so that nobody can know which rank they are.
/// They cannot be looked at either, which is told when it is tried. Starters only if there is nothing else.
fn closed(launcher: u32, below: Vec<u32>) -> Vec<Found> {
    let all = std::iter::once(launcher).chain(below).filter(|pid| is_closed(*pid));
    let (starters, others): (Vec<u32>, Vec<u32>) = all.partition(|pid| is_starter(*pid));
    let told = if others.is_empty() { starters } else { others };
    told.into_iter().map(found).collect()
}

fn is_starter(pid: u32) -> bool {
    Status::read(pid).is_ok_and(|status| STARTERS.contains(&status.name.as_str())) || is_own(pid)
}

/// Whether a process runs this program: agents do, which start ranks, and whoever looks at them.
fn is_own(pid: u32) -> bool {
    let program = |path: String| std::fs::metadata(path).ok().map(|about| (about.dev(), about.ino()));
    let theirs = program(format!("/proc/{pid}/exe"));
    theirs.is_some() && theirs == program("/proc/self/exe".into())
}

/// Gives every process a rank: its own where all have one and no two the same; their order otherwise.
pub fn number(found: &[Found]) -> Vec<u32> {
    let own: Option<Vec<u32>> = found.iter().map(|it| it.rank).collect();
    let mut seen = HashSet::new();
    match own {
        Some(ranks) if ranks.iter().all(|rank| seen.insert(*rank)) => ranks,
        _ => (0..).take(found.len()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    /// A shell with these variables that starts `sleep` with others; both are gone with its input. Gives their ranks.
    fn ranks_of(variables: &[(&str, &str)], others: &str) -> [Option<u32>; 2] {
        let line = format!("{others} sleep 1000 & echo $!; read line; kill $!");
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).envs(variables.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = shell.spawn().expect("a shell");
        let mut said = String::new();
        BufReader::new(shell.stdout.take().expect("a pipe")).read_line(&mut said).expect("text");
        let sleeper: u32 = said.trim().parse().expect("a number");
        // Until then it is a shell.
        while !command(sleeper).starts_with("sleep") {
            std::thread::yield_now();
        }
        let ranks = [rank(shell.id()), rank(sleeper)];
        drop(shell.stdin.take());
        shell.wait().expect("it is our child");
        ranks
    }

    #[test]
    fn what_runs_this_program_starts_ranks_and_is_none() {
        let mut sleeper = Command::new("sleep").arg("1000").spawn().expect("sleep");
        let (own, other) = (is_starter(std::process::id()), is_own(sleeper.id()));
        sleeper.kill().expect("it is our child");
        sleeper.wait().expect("it is our child");
        assert!(own && !other);
    }

    #[test]
    fn what_was_said_of_a_starter_is_no_rank_of_those_that_it_starts() {
        // An agent that Slurm has started, and a member of it.
        assert_eq!(ranks_of(&[("SLURM_PROCID", "7")], "BANYAN_RANK=3"), [Some(7), Some(3)]);
        // An MPI job within a member.
        assert_eq!(ranks_of(&[("BANYAN_RANK", "0")], "PMI_RANK=2"), [Some(0), Some(2)]);
        // A rank that is a shell, of which nobody said anything else.
        assert_eq!(ranks_of(&[("SLURM_PROCID", "7"), ("BANYAN_RANK", "7")], ""), [Some(7), Some(7)]);
    }
}
