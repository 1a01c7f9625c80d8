//! `banyan stack`: what all processes of a job are doing, as one tree.

mod form;
mod hosts;
mod interrupt;
mod member;
mod merge;
mod message;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use banyan_boot::{HostSet, Problem};
use banyan_stack::{Choice, Kind, MpiJob, Report, SamplerOptions, Target, number, pattern, take, take_while};
use clap::Args;

use crate::config::Config;
use crate::failure::{Failure, Outcome, warn};
use crate::hosts::{HEADING, HostChoice, time};
use crate::limit::end_after;
use crate::output::Output;
use crate::{speech, status};
use form::StackForm;
use hosts::Around;
use interrupt::StackInterrupt;
pub(crate) use merge::register;

/// What is kept of a time limit at most, to show what was seen.
const SHOWING: Duration = Duration::from_secs(1);

/// Show what all processes of a job are doing: their stacks, merged into one tree
///
/// Ranks with the same stack form one class, and the smallest classes come first. Each process is stopped for a
/// fraction of a millisecond. A process that was already stopped stays stopped. Without -w, only processes of this
/// machine are read and nothing is started.
#[derive(Args)]
#[command(after_help = "\
Ranks come from the environment of the processes: Open MPI, banyan run, PMIx, MPICH, Slurm or torchrun. If ranks are \
missing or not unique, the processes are numbered in order.

Exit status: 0 success; 1 a process could not be read; 2 wrong usage; 3 a host could not be reached or was lost; \
4 time limit; 5 the system does not permit tracing a process.

Examples:
  banyan stack --mpi $(pidof mpirun)
  banyan stack --mpi $(pidof mpirun) -w node[1-8]
  banyan stack --match './solver' --threads
  banyan stack --match train.py --python --samples 10 --every 100ms
  banyan stack -w node[1-8] --match ./solver --lines
  banyan stack --slurm 4711 --as svg -o stacks.svg
  banyan stack --pid 4711,4712 --json | jq .classes")]
pub(crate) struct Stack {
    #[command(flatten)]
    which: Which,
    /// Take N samples of each process, merged into one tree
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    samples: u32,
    /// Time between two samples, such as 100ms or 1s
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = time)]
    every: Duration,
    /// Show all threads of each process, not only the first; 4(16) then means 16 threads of 4 ranks
    #[arg(long)]
    threads: bool,
    /// Show Python functions instead of those of the interpreter; needs py-spy
    #[arg(long)]
    python: bool,
    /// Show source lines and inlined functions, for programs compiled with -g
    #[arg(long)]
    lines: bool,
    /// Show frames inside calls of MPI, NCCL and SHMEM, where stacks end otherwise
    #[arg(long)]
    all_frames: bool,
    /// The output format
    #[arg(long = "as", alias = "format", value_name = "FORM", default_value = "text")]
    form: StackForm,
    /// The same as --as json
    #[arg(long, conflicts_with = "form")]
    json: bool,
    /// The output file; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: String,
    #[command(flatten, next_help_heading = HEADING)]
    hosts: HostChoice,
    /// This is the process that a session has started on a host
    #[arg(long, hide = true)]
    member: bool,
}

/// Which processes.
#[derive(Args)]
#[group(multiple = false)]
struct Which {
    /// Processes by pid; may be given several times
    #[arg(long, value_name = "PID", value_delimiter = ',')]
    pid: Vec<u32>,
    /// Processes whose command line matches REGEX, such as './solver.*--grid'
    #[arg(long = "match", value_name = "REGEX", value_parser = |text: &str| pattern(text).map(|_| text.to_owned()))]
    matching: Option<String>,
    /// The ranks of a Slurm job, on its hosts unless -w names others
    #[arg(long, value_name = "JOB")]
    slurm: Option<String>,
    /// The ranks started by this mpirun or mpiexec; -w names their hosts if they are remote
    #[arg(long, value_name = "PID_OF_MPIRUN")]
    mpi: Option<u32>,
}

impl Stack {
    pub(crate) fn run(self) -> Outcome {
        if self.member {
            return member::run();
        }
        let (report, around) = match self.hosts_to_ask()? {
            Some(hosts) => hosts::look(&self, &hosts)?,
            None => self.look_here()?,
        };
        if report.cut_short {
            warn(
                "not all samples were taken: the time was over, or it was interrupted; this is what was seen until then",
            );
        }
        self.show(&report, around.left_out.problems())?;
        Ok(ExitCode::from(status_of(&report).max(around.status)))
    }

    /// The processes of this machine.
    fn look_here(&self) -> Result<(Report, Around), Failure> {
        self.hosts.timeout()?.map_or(Ok(()), end_after)?;
        let choice = self.choice()?;
        if let Choice::Mpi(launcher) = choice {
            warn_of_other_hosts(launcher);
        }
        let found = choice.find().map_err(Failure::new)?;
        let ranks = number(&found);
        let targets: Vec<Target> =
            found.into_iter().zip(ranks).map(|(it, rank)| Target { pid: it.pid, rank, command: it.command }).collect();
        let failed = |error| Failure::new(format!("no thread can be started: {error}"));
        if self.samples == 1 {
            // ^C ends it, as nothing was seen yet.
            let report = take(&targets, &self.sampling()?).map_err(failed)?;
            return Ok((report, Around::default()));
        }
        let interrupt = StackInterrupt::watch().map_err(failed)?;
        let report = take_while(&targets, &self.sampling()?, || !interrupt.came()).map_err(failed)?;
        let status = interrupt.status().filter(|_| report.cut_short).unwrap_or(0);
        Ok((report, Around { status, ..Around::default() }))
    }

    fn show(&self, report: &Report, left_out: &[Problem]) -> Result<(), Failure> {
        let form = if self.json { StackForm::Json } else { self.form };
        let color = self.output == "-" && speech::paints(&std::io::stdout(), Config::get()?.defaults.color);
        let mut output = Output::create(&self.output)?;
        output.write_all(form.written(report, left_out, color).as_bytes())?;
        output.keep()?;
        if form != StackForm::Text && form != StackForm::Json {
            report.unread().for_each(|((_, pid), process, unread)| {
                warn(format!("rank {} (pid {pid}) was not read: {}", process.rank, unread.why));
            });
        }
        Ok(())
    }

    fn choice(&self) -> Result<Choice, Failure> {
        let Which { pid, matching, slurm, mpi } = &self.which;
        match (&pid[..], matching, slurm, mpi) {
            ([], Some(text), ..) => pattern(text).map_err(|error| Failure::usage(format!("--match: {error}"))),
            ([], None, Some(job), _) => Ok(Choice::SlurmJob(job.clone())),
            ([], None, None, Some(launcher)) => Ok(Choice::Mpi(*launcher)),
            ([], None, None, None) => {
                Err(Failure::usage("which processes? give --pid, --match, --slurm or --mpi; see: banyan stack --help"))
            }
            (pids, ..) => Ok(Choice::Pids(pids.to_vec())),
        }
    }

    fn sampling(&self) -> Result<SamplerOptions, Failure> {
        let all = self.hosts.timeout()?;
        let mut options = SamplerOptions::default()
            .threads(self.threads)
            .lines(self.lines)
            .python(self.python)
            .all_frames(self.all_frames)
            .samples(self.samples)
            .every(self.every);
        if let Some(all) = all {
            // One process that takes for ever is not to take the time of the others.
            options.patience = options.patience.min(all / 4);
            // The other half is for starting, and for what comes back.
            options.limit = Some(all / 2);
            // What is left is for the last sample, and to show what was seen.
            options.within = Some(all - (all / 10).min(SHOWING));
        }
        Ok(options)
    }
}

/// Says so if a job has ranks elsewhere that are not looked at.
fn warn_of_other_hosts(launcher: u32) {
    let Ok(job) = MpiJob::of(launcher) else { return };
    if !job.is_spread().unwrap_or(false) {
        return;
    }
    let hosts = job.hosts().ok().and_then(|names| HostSet::from_names(&names).ok()).filter(|hosts| !hosts.is_empty());
    let others = hosts.map_or_else(String::new, |hosts| format!(" ({hosts})"));
    warn(format_args!(
        "it has ranks on other hosts{others}, which are not looked at; name all its hosts with -w, this one too"
    ));
}

/// The exit status that a report deserves.
fn status_of(report: &Report) -> u8 {
    let worst = report.unread().map(|(_, _, unread)| match unread.kind {
        Kind::Forbidden => status::NOT_PERMITTED,
        Kind::OutOfTime => status::TIME_LIMIT,
        _ => status::MEMBER_FAILED,
    });
    let hurried = if report.cut_short { status::TIME_LIMIT } else { 0 };
    worst.max().unwrap_or(0).max(hurried)
}
