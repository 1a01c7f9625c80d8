//! How long stacks of many processes take, beside `eu-stack` on each of them, and merging the stacks of a million ranks.
//!
//! ```console
//! cargo run --release -p banyan-stack --example stack_speed
//! ```

#![expect(clippy::print_stdout, reason = "a program that shows what it measured")]

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use banyan_stack::{Frame, RankSet, SamplerOptions, StackTree, Target, take};
use rustix::time::{ClockId, clock_gettime};

/// Processes that are looked at.
const PROCESSES: u32 = 256;

/// Ranks that are merged, in so many classes, with stacks so deep, from hosts with so many.
const RANKS: u32 = 1_000_000;
const CLASSES: u32 = 16;
const DEPTH: u32 = 20;
const PER_HOST: u32 = 64;

/// How often each is done; the best counts.
const ROUNDS: u32 = 5;

fn main() -> std::io::Result<()> {
    let children: Vec<Child> = (0..PROCESSES)
        .map(|_| Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn())
        .collect::<Result<_, _>>()?;
    let ours = (0..ROUNDS).map(|_| look(&children)).min().unwrap_or_default();
    println!("{PROCESSES} processes, ours: {:.1} ms", millis(ours));
    match look_with_eu_stack(&children) {
        Some(theirs) => println!(
            "{PROCESSES} processes, eu-stack on each: {:.1} ms, {:.0} times as long",
            millis(theirs),
            theirs.as_secs_f64() / ours.as_secs_f64()
        ),
        None => println!("eu-stack is not installed (package elfutils)"),
    }
    for mut child in children {
        child.kill()?;
        child.wait()?;
    }
    for (order, class_of) in ORDERS {
        let (time, work) = (0..ROUNDS).map(|_| merge(class_of)).min().unwrap_or_default();
        println!(
            "{RANKS} ranks in {CLASSES} classes of {DEPTH} frames, {order}: {:.0} ms, {:.0} ms of them at work",
            millis(time),
            millis(work)
        );
    }
    Ok(())
}

/// How ranks are dealt out to classes: the name, and who is in which.
type Order = (&'static str, fn(u32) -> u32);

const ORDERS: [Order; 3] = [
    ("in turn", |rank| rank % CLASSES),
    ("in blocks", |rank| rank / (RANKS / CLASSES + 1)),
    ("at random", |rank| rank.wrapping_mul(2_654_435_769).rotate_left(11) % CLASSES),
];

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Looks at all of them, says how long they were stopped.
fn look(children: &[Child]) -> Duration {
    let targets: Vec<Target> = children
        .iter()
        .zip(0..)
        .map(|(child, rank)| Target { pid: child.id(), rank, command: String::new() })
        .collect();
    let begin = Instant::now();
    let Ok(report) = take(&targets, &SamplerOptions::default()) else { return Duration::MAX };
    let time = begin.elapsed();
    let mut stops: Vec<Duration> = report.processes.values().map(|process| process.stopped).collect();
    stops.sort_unstable();
    let depth = report.tree.stacks().iter().map(|(stack, ..)| stack.len()).max().unwrap_or(0);
    println!(
        "  {:.1} ms: {} read, {} classes, {depth} frames; stopped for {:.3} ms in the median, {:.3} ms at most",
        millis(time),
        report.processes.len() - report.unread().count(),
        report.tree.classes().len(),
        millis(stops[stops.len() / 2]),
        millis(stops[stops.len() - 1]),
    );
    time
}

fn look_with_eu_stack(children: &[Child]) -> Option<Duration> {
    let begin = Instant::now();
    for child in children {
        let mut command = Command::new("eu-stack");
        command.args(["-p", &child.id().to_string()]).stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    }
    Some(begin.elapsed())
}

/// The time that this thread was at work, whatever else the machine does.
fn work() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Merges the trees of all hosts, and finds the classes. Gives the time that passed, and that of work.
fn merge(class_of: fn(u32) -> u32) -> (Duration, Duration) {
    let stacks: Vec<Vec<Frame>> = (0..CLASSES).map(stack).collect();
    let hosts = (0..RANKS).step_by(PER_HOST as usize).map(|first| {
        let mut tree = StackTree::new();
        let ranks = first..RANKS.min(first + PER_HOST);
        for (class, stack) in (0..).zip(&stacks) {
            let ranks: RankSet = ranks.clone().filter(|rank| class_of(*rank) == class).collect();
            tree.add(&ranks, stack);
        }
        tree
    });
    let hosts: Vec<StackTree> = hosts.collect();
    let (begin, work_before) = (Instant::now(), work());
    let tree = StackTree::merged(hosts);
    let classes = tree.classes();
    let times = (begin.elapsed(), work() - work_before);
    assert_eq!((classes.len() as u32, tree.ranks().len() as u32), (CLASSES, RANKS));
    times
}

/// The stack of a class: each parts from the others a step later.
fn stack(class: u32) -> Vec<Frame> {
    let step = |depth| if depth < class { depth } else { 100 * (class + 1) + depth };
    (0..DEPTH)
        .map(|depth| Frame {
            function: format!("function_{}", step(depth)).into(),
            module: "solver".into(),
            line: None,
        })
        .collect()
}
