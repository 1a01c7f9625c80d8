//! Takes the stacks of processes, and takes them again.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use banyan_ndr::Record;
use banyan_ranks::RankSet;

use crate::allowance::Allowance;
use crate::frame::Frame;
use crate::library::cut_at_call;
use crate::python::PySpy;
use crate::report::{Process, Report, Unread};
use crate::trace;
use crate::tree::{StackTree, Threads};
use crate::unwind::{PatientUnwinder, Unwound};

/// A process whose stacks are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Record)]
pub struct Target {
    /// Its number.
    pub pid: u32,
    /// The rank under which it is shown.
    pub rank: u32,
    /// Its command line, for people.
    pub command: String,
}

/// What of a process is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SamplerOptions {
    /// The stacks of all threads, instead of the main one.
    pub threads: bool,
    /// The lines of the source, and functions that were inlined.
    pub lines: bool,
    /// The functions of Python instead of those of its interpreter, by `py-spy`.
    pub python: bool,
    /// What runs within calls of MPI, NCCL and SHMEM, too. Otherwise a stack ends with such a call.
    pub all_frames: bool,
    /// How often.
    pub samples: u32,
    /// The time between the beginnings of two samples.
    pub every: Duration,
    /// How long each process may take, once its stacks have been copied: to unwind them, and to be read by `py-spy`.
    pub patience: Duration,
    /// How long all of them together may take for that, in all samples; those that are left then are not read.
    pub limit: Option<Duration>,
    /// The time after which no further sample is begun.
    pub within: Option<Duration>,
}

banyan_ndr::setters!(SamplerOptions {
    threads: bool,
    lines: bool,
    python: bool,
    all_frames: bool,
    samples: u32,
    every: Duration,
    patience: Duration,
    limit: impl Into<Option<Duration>>,
    within: impl Into<Option<Duration>>,
});

/// How often to see whether to go on, between samples.
const GLANCE: Duration = Duration::from_millis(20);

/// What is enough for the first process with the largest of programs, and its files on a file server.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

impl Default for SamplerOptions {
    fn default() -> SamplerOptions {
        SamplerOptions {
            threads: false,
            lines: false,
            python: false,
            all_frames: false,
            samples: 1,
            every: Duration::from_millis(100),
            patience: PATIENCE,
            limit: None,
            within: None,
        }
    }
}

/// Takes the stacks of these processes of this machine. Processes that cannot be read are in the report, with the reason.
///
/// # Errors
///
/// If no thread can be started.
pub fn take(targets: &[Target], options: &SamplerOptions) -> io::Result<Report> {
    take_while(targets, options, || true)
}

/// The same, as long as whoever asked wants further samples. At least one is taken; a report with fewer than were asked
/// for says so.
///
/// # Errors
///
/// If no thread can be started.
pub fn take_while(targets: &[Target], options: &SamplerOptions, goes_on: impl Fn() -> bool) -> io::Result<Report> {
    let end = options.within.and_then(|time| Instant::now().checked_add(time));
    let goes_on = || goes_on() && end.is_none_or(|end| Instant::now() < end);
    let mut tools = Tools {
        unwinder: PatientUnwinder::new(options.lines),
        py_spy: PySpy::default(),
        left: Allowance::new(options),
        seen: HashMap::new(),
    };
    let mut report = Report::default();
    for target in targets {
        let process = Process { rank: target.rank, command: target.command.clone(), ..Process::default() };
        report.processes.insert((String::new(), target.pid), process);
    }
    for number in 1..=options.samples {
        let begin = Instant::now();
        sample(targets, options, &mut tools, &mut report)?;
        if number < options.samples && !waited(begin, options.every, goes_on) {
            report.cut_short = true;
            break;
        }
    }
    Ok(report)
}

/// Waits until this time has passed; whether to go on then.
fn waited(begin: Instant, time: Duration, goes_on: impl Fn() -> bool) -> bool {
    loop {
        let left = time.saturating_sub(begin.elapsed());
        match goes_on() {
            true if !left.is_zero() => std::thread::sleep(left.min(GLANCE)),
            goes_on => return goes_on,
        }
    }
}

/// What looks into processes in all samples, and the time that it has left.
struct Tools {
    unwinder: PatientUnwinder,
    py_spy: PySpy,
    left: Allowance,
    /// The threads of each process in the order in which they were seen, by which they are numbered: one has the same number in
    /// all samples.
    seen: HashMap<u32, Vec<u32>>,
}

/// A stack that was found.
struct Stack {
    frames: Vec<Frame>,
    rank: u32,
    /// The number of its thread.
    thread: u32,
}

impl Tools {
    /// The numbers of these threads of a process.
    fn numbers(&mut self, process: u32, threads: &[trace::Copy]) -> Vec<u32> {
        let seen = self.seen.entry(process).or_default();
        let mut number = |thread: u32| {
            let at = seen.iter().position(|other| *other == thread).unwrap_or(seen.len());
            if at == seen.len() {
                seen.push(thread);
            }
            at as u32
        };
        threads.iter().map(|copy| number(copy.thread)).collect()
    }

    /// Does something that takes time, with what is left of it.
    fn spend<T>(&mut self, work: impl FnOnce(&mut Tools, Allowance) -> T) -> T {
        let begin = Instant::now();
        let done = work(self, self.left);
        self.left = self.left.after(begin.elapsed());
        done
    }
}

fn sample(targets: &[Target], options: &SamplerOptions, tools: &mut Tools, report: &mut Report) -> io::Result<()> {
    let pids: Vec<u32> = targets.iter().map(|target| target.pid).collect();
    let python = if options.python {
        tools.spend(|tools, left| tools.py_spy.stacks(&pids, options, left))
    } else {
        pids.iter().map(|_| Ok(None)).collect()
    };
    let copies = trace::copy_all(&pids, options.threads)?;
    let mut stacks: Vec<Stack> = Vec::new();
    for ((target, copied), python) in targets.iter().zip(copies).zip(python) {
        let Some(process) = report.processes.get_mut(&(String::new(), target.pid)) else { continue };
        if let Err(why) = &python {
            process.note = Some(why.clone());
        }
        process.stopped = process.stopped.max(copied.as_ref().map_or(Duration::ZERO, longest_stop));
        let mut numbers = copied.as_ref().map_or(Vec::new(), |copied| tools.numbers(target.pid, &copied.threads));
        if matches!(python, Ok(Some(_))) {
            numbers.clear();
        }
        let found = match (python, copied) {
            (Ok(Some(stacks)), _) => Ok(Unwound { stacks, note: None }),
            (_, Ok(copied)) => tools.spend(|tools, left| tools.unwinder.stacks(target.pid, copied, left))?,
            (_, Err(why)) => Err(why),
        };
        match found {
            Ok(Unwound { stacks: mut found, note }) => {
                if !options.all_frames {
                    found.iter_mut().for_each(cut_at_call);
                }
                process.stacks += found.len() as u64;
                process.note = process.note.take().or(note);
                let numbers = numbers.into_iter().chain(0..);
                stacks.extend(found.into_iter().zip(numbers).map(|(frames, thread)| Stack {
                    frames,
                    rank: target.rank,
                    thread,
                }));
            }
            Err(why) => {
                process.unread = Some(Unread::of(target.pid, &why));
                report.tree.add(&RankSet::from_iter([target.rank]), &[]);
            }
        }
    }
    report.tree.merge(gather(stacks, options.threads));
    Ok(())
}

fn longest_stop(copied: &trace::Copied) -> Duration {
    copied.threads.iter().map(|thread| thread.stopped).max().unwrap_or_default()
}

/// One tree of all stacks, with their threads or without; equal stacks are put together before they are put into the tree.
fn gather(mut stacks: Vec<Stack>, threads: bool) -> StackTree {
    stacks.sort_by(|one, other| {
        one.frames.cmp(&other.frames).then((one.thread, one.rank).cmp(&(other.thread, other.rank)))
    });
    let mut tree = StackTree::new();
    for same in stacks.chunk_by(|one, other| one.frames == other.frames) {
        let Some(Stack { frames, .. }) = same.first() else { continue };
        if !threads {
            tree.add(&same.iter().map(|stack| stack.rank).collect(), frames);
            continue;
        }
        let mut all = Threads::default();
        for of_one in same.chunk_by(|one, other| one.thread == other.thread) {
            all.add(of_one[0].thread, &of_one.iter().map(|stack| stack.rank).collect());
        }
        tree.add_threads(&all, frames);
    }
    tree
}
