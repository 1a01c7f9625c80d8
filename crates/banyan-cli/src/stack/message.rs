//! What front-end and members of `banyan stack` say to each other.

use std::time::Duration;

use banyan_ndr::Record;
use banyan_stack::{Choice, Found, MpiJob, SamplerOptions, Target, machine, pattern};

use crate::failure::Failure;

/// Asks for the processes of a host: a [`Search`]. The answer is an [`Answer`].
pub(super) const FIND: u32 = 1;
/// Asks for the stacks of processes: an [`StackRequest`]. The answer is a [`ReportRecord`](banyan_stack::ReportRecord).
pub(super) const TAKE: u32 = 2;

/// A choice of processes that every host understands.
#[derive(Debug, Record)]
pub(super) enum Search {
    Pids(Vec<u32>),
    /// A pattern of command lines.
    Matching(String),
    SlurmJob(String),
    MpiJob(MpiJob),
}

/// What a host has found.
#[derive(Debug, Record)]
pub(super) struct Answer {
    /// The machine it is on: hosts may share one, and its processes.
    pub(super) machine: String,
    pub(super) found: Vec<Found>,
}

/// What a member is to do: whose stacks to take, and how. Times are in microseconds.
#[derive(Debug, Clone, Record)]
pub(super) struct StackRequest {
    /// The host, as the front-end calls it.
    pub(super) host: String,
    pub(super) targets: Vec<Target>,
    threads: bool,
    lines: bool,
    python: bool,
    all_frames: bool,
    samples: u32,
    #[record(unit = "us")]
    every: u64,
    #[record(unit = "us")]
    patience: u64,
    #[record(unit = "us")]
    limit: Option<u64>,
    #[record(unit = "us")]
    within: Option<u64>,
}

impl Search {
    /// How hosts are asked for this choice.
    pub(super) fn of(choice: &Choice) -> Result<Search, Failure> {
        match choice {
            Choice::Pids(pids) => Ok(Search::Pids(pids.clone())),
            Choice::Matching(regex) => Ok(Search::Matching(regex.as_str().into())),
            Choice::SlurmJob(job) => Ok(Search::SlurmJob(job.clone())),
            Choice::MpiJob(job) => Ok(Search::MpiJob(job.clone())),
            _ => Err(Failure::new("this choice of processes means nothing on other hosts")),
        }
    }

    /// The choice, on a host.
    pub(super) fn choice(self) -> Result<Choice, Failure> {
        match self {
            Search::Pids(pids) => Ok(Choice::Pids(pids)),
            Search::Matching(regex) => pattern(&regex).map_err(Failure::new),
            Search::SlurmJob(job) => Ok(Choice::SlurmJob(job)),
            Search::MpiJob(job) => Ok(Choice::MpiJob(job)),
        }
    }
}

impl Answer {
    pub(super) fn new(found: Vec<Found>) -> Answer {
        Answer { machine: machine(), found }
    }
}

impl StackRequest {
    pub(super) fn new(host: String, options: SamplerOptions) -> StackRequest {
        let SamplerOptions { threads, lines, python, all_frames, samples, every, patience, limit, within, .. } =
            options;
        let micros = |time: Duration| time.as_micros() as u64;
        let (every, patience) = (micros(every), micros(patience));
        let (limit, within) = (limit.map(micros), within.map(micros));
        let targets = Vec::new();
        StackRequest { host, targets, threads, lines, python, all_frames, samples, every, patience, limit, within }
    }

    pub(super) fn options(&self) -> SamplerOptions {
        let &StackRequest { threads, lines, python, all_frames, samples, every, patience, limit, within, .. } = self;
        let [every, patience] = [every, patience].map(Duration::from_micros);
        let [limit, within] = [limit, within].map(|time| time.map(Duration::from_micros));
        SamplerOptions::default()
            .threads(threads)
            .lines(lines)
            .python(python)
            .all_frames(all_frames)
            .samples(samples)
            .every(every)
            .patience(patience)
            .limit(limit)
            .within(within)
    }
}
