//! An allocation of Slurm's for this command: as many nodes as it wants, for as long as it runs.
//!
//! `salloc` makes it, under a name of its own, and a shell takes it back at the end of a pipe from here: so it ends with this
//! process, however that goes, and also while it queues. `salloc` runs no command in it: one that is told to end just when its
//! command has ended waits for that for ever.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use banyan_boot::HostSet;

use crate::failure::{Failure, warn};
use crate::speech::note;
use crate::status::{TIME_LIMIT, UNREACHABLE};

/// `$1`: how many nodes; `$2`: what the allocation is called.
const HOLD: &str = "exec 3<&0 </dev/null
(
    salloc --no-shell --nodes=\"$1\" --job-name=\"$2\" & salloc=$!
    trap 'kill $salloc; wait $salloc; exit 1' TERM
    wait $salloc && squeue --noheader --name=\"$2\" --format='%i %N'
) & job=$!
exec >/dev/null
cat <&3
kill $job 2>/dev/null
wait $job
scancel --quiet --name=\"$2\"";

/// How long Slurm may take to take the allocation back.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// Between two looks whether it has.
const LOOK: Duration = Duration::from_millis(5);

/// What `salloc` says when it takes longer, or will never do.
const OF_INTEREST: [&str; 2] = ["queued and waiting", "not available"];

/// See the module. Dropping it gives the nodes back.
pub(super) struct Allocation {
    holder: Child,
    job: String,
    hosts: HostSet,
    waited: Duration,
}

impl Allocation {
    /// So many nodes; waits for them until the deadline.
    pub(super) fn of(nodes: u32, within: Option<Duration>) -> Result<Allocation, Failure> {
        let begun = Instant::now();
        let mut command = Command::new("sh");
        // A group of its own: what is typed at a terminal is for this command, and not for salloc.
        command.args(["-c", HOLD, "sh", &nodes.to_string(), &name()]).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut holder = command.spawn().map_err(|error| Failure::system("salloc", &error))?;
        let (output, errors) = (holder.stdout.take(), holder.stderr.take());
        let mut allocation =
            Allocation { holder, job: String::new(), hosts: HostSet::default(), waited: Duration::ZERO };
        let (says, said) = channel();
        let refused = |error| Failure::system("no thread can be started", &error);
        let reader = thread::Builder::new().spawn(move || {
            let mut line = String::new();
            // No line: it says on standard error why.
            let _ = output.map(|output| BufReader::new(output).read_line(&mut line));
            says.send(line)
        });
        reader.map_err(refused)?;
        let pass_on = |errors| thread::Builder::new().spawn(move || pass_on(errors)).map_err(refused);
        let complaints = errors.map(pass_on).transpose()?;
        let line = match within {
            Some(within) => said.recv_timeout(within),
            None => said.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let check = "check with: sinfo, squeue";
        let Ok(line) = line else {
            let waited = within.unwrap_or_default().as_secs_f64();
            let cause = format!("Slurm gave no {nodes} nodes within {waited} s (--timeout); {check}");
            return Err(Failure::with_status(cause, TIME_LIMIT));
        };
        match line.trim().split_once(' ') {
            Some((job, hosts)) => {
                allocation.hosts = HostSet::parse(hosts).map_err(|error| Failure::new(format!("salloc: {error}")))?;
                job.clone_into(&mut allocation.job);
                allocation.waited = begun.elapsed();
                Ok(allocation)
            }
            None => {
                drop(allocation);
                let why = complaints.and_then(|complaints| complaints.join().ok()).unwrap_or_default();
                Err(Failure::with_status(
                    format!("Slurm gives no {nodes} nodes: {}; {check}", why.join("; ")),
                    UNREACHABLE,
                ))
            }
        }
    }

    /// Its nodes.
    pub(super) fn hosts(&self) -> &HostSet {
        &self.hosts
    }

    /// How long it was waited for.
    pub(super) fn waited(&self) -> Duration {
        self.waited
    }

    /// What makes a step of `srun` one of this allocation.
    pub(super) fn argument(&self) -> String {
        format!("--jobid={}", self.job)
    }
}

/// What no other allocation is called at the same time.
fn name() -> String {
    let host = rustix::system::uname();
    format!("banyan-{}-{}", host.nodename().to_string_lossy(), std::process::id())
}

/// Tells what `salloc` says; all of it in the end.
fn pass_on(errors: impl Read) -> Vec<String> {
    let mut all = Vec::new();
    for line in BufReader::new(errors).lines().map_while(Result::ok) {
        if OF_INTEREST.iter().any(|part| line.contains(part)) {
            warn(&line)
        } else {
            note(&line)
        }
        all.push(line);
    }
    all
}

impl Drop for Allocation {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let end = Instant::now() + ENDS_WITHIN;
        while Instant::now() < end && matches!(self.holder.try_wait(), Ok(None)) {
            thread::park_timeout(LOOK);
        }
    }
}
