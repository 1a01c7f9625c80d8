//! What it costs to start members and to let all of them pass a barrier, and what collectives cost afterwards.
//!
//! In one run, with the same member program: Banyan; the floor, which is as fast as this machine starts processes that
//! connect and say hello, without any protocol; one after another from one process; and the starters that are installed.
//! On demand the same over hosts, by ssh and by Slurm, and how fast a file reaches many agents.
//! Only wall-clock time counts here, so each system runs several times where that is quick, and the best run counts.

mod floor;
mod hosts;
mod member;
mod memory;
mod order;
mod program;
mod rivals;
mod rows;
mod staging;
mod starter;
mod tree;
mod wake;
mod woken;

use std::time::{Duration, Instant};

use floor::LaunchFloor;
use tree::LaunchedTree;
use wake::Wake;

pub use hosts::Hosts;
pub use member::{be_member, become_process_if_asked};
pub use program::{MissingProgram, Program};
pub use rows::{LaunchFigures, LaunchRow, LeftOut, Ratio, draw, launch_json, launch_table};
pub use staging::discard_places;

/// Sizes of the paper's figures.
pub const SIZES: [u32; 6] = [1, 8, 64, 256, 1024, 2800];
/// Sizes for a first look.
pub const QUICK_SIZES: [u32; 3] = [1, 64, 512];

/// How long any single start may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// One after another from one process is measured up to this size: beyond, it only takes long.
const SEQUENTIAL_AT_MOST: u32 = 2800;

/// Starts are repeated until so much time was spent on a size, and this often at most.
const REPEAT_WITHIN: Duration = Duration::from_secs(3);
const REPEAT_AT_MOST: u32 = 5;

/// Collectives are repeated until they took this long together, and this often at most.
const ROUNDS_WITHIN: Duration = Duration::from_millis(500);
const ROUNDS_AT_MOST: u8 = 50;

/// Why a bench could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchBenchError {
    /// The session could not be launched.
    #[error("banyan, {members} members: {source}")]
    Launch {
        /// How many.
        members: u32,
        /// Why.
        source: banyan_boot::LaunchError,
    },
    /// The session did not do what it should.
    #[error("banyan, {members} members: {source}")]
    Session {
        /// How many.
        members: u32,
        /// Why.
        source: banyan_boot::SessionError,
    },
    /// A member of the floor did not come or did not answer.
    #[error("the floor, {members} members: {source}; look at `ulimit -n` and `ulimit -u`")]
    Floor {
        /// How many.
        members: u32,
        /// Why.
        source: std::io::Error,
    },
    /// The file for the agents could not be written, or did not reach them.
    #[error("staging: {0}")]
    Staging(String),
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct LaunchPlan {
    /// Numbers of members.
    pub sizes: Vec<u32>,
    /// Member programs: the same, built in several ways.
    pub programs: Vec<Program>,
    /// Whether to run the starters that are installed.
    pub rivals: bool,
    /// Other hosts to launch on, with the first of the programs.
    pub hosts: Vec<Hosts>,
    /// Whether to bring a file to many agents.
    pub staging: bool,
}

/// Launches: rows in milliseconds, and memory at the largest size.
///
/// # Errors
/// If Banyan or the floor do not work here; a rival that does not is left out, with the reason.
pub fn launch(plan: &LaunchPlan, progress: &mut dyn FnMut(&str)) -> Result<LaunchFigures, LaunchBenchError> {
    allow_descriptors();
    let mut figures = LaunchFigures { rows: on_this_machine(plan, progress)?, left_out: Vec::new() };
    if plan.rivals {
        figures.add(rivals::figures(&plan.sizes, progress));
    }
    rows::compare(&mut figures.rows, "floor");
    // How the member is linked is nothing beside what it costs to reach a host.
    let Some(program) = plan.programs.first() else { return Ok(figures) };
    for hosts in &plan.hosts {
        figures.add(hosts::figures(hosts, program, progress)?);
    }
    if plan.staging {
        figures.rows.extend(staging::rows(program, progress)?);
    }
    Ok(figures)
}

/// Banyan, the floor and one after another, and what their processes hold.
fn on_this_machine(plan: &LaunchPlan, progress: &mut dyn FnMut(&str)) -> Result<Vec<LaunchRow>, LaunchBenchError> {
    let mut rows = Vec::new();
    for program in &plan.programs {
        for &members in &plan.sizes {
            let ms = |system: &str, best: Duration| LaunchRow::time(system, "launch", &program.label, members, best);
            progress(&format!("floor, {members} members ({})", program.label));
            rows.push(ms("floor", best_of(|| Ok(LaunchFloor::start(program, members)?.took))?));
            progress(&format!("banyan, {members} members ({})", program.label));
            rows.push(ms("banyan", best_of(|| LaunchedTree::start(program, members)?.ended())?));
            if members <= SEQUENTIAL_AT_MOST {
                progress(&format!("one after another, {members} members ({})", program.label));
                rows.push(ms("sequential", floor::sequential(program, members)?));
            }
        }
        if let Some(&largest) = plan.sizes.iter().max() {
            progress(&format!("memory, {largest} members ({})", program.label));
            rows.extend(memory::rows(program, largest)?);
        }
    }
    Ok(rows)
}

/// Collectives: 128 B to and from every member, by the tree and point to point from one process, and what it costs only to
/// wake as many.
///
/// # Errors
/// As [`launch`].
pub fn collectives(plan: &LaunchPlan, progress: &mut dyn FnMut(&str)) -> Result<LaunchFigures, LaunchBenchError> {
    allow_descriptors();
    let mut rows = Vec::new();
    for program in &plan.programs {
        for &members in &plan.sizes {
            let mut row = |system: &str, op, time| {
                rows.push(LaunchRow::time(system, op, &program.label, members, time));
            };
            progress(&format!("point to point, {members} members ({})", program.label));
            let mut floor = LaunchFloor::start(program, members)?;
            row("point-to-point", "broadcast+barrier", round_of(|rounds| floor.rounds(order::BROADCAST, rounds))?);
            row("point-to-point", "scatter+gather", round_of(|rounds| floor.rounds(order::SCATTER, rounds))?);
            drop(floor);
            progress(&format!("wake, {members} members ({})", program.label));
            let mut wake = Wake::start(program, members)?;
            row("wake", "broadcast+barrier", round_of(|rounds| wake.rounds(order::BROADCAST, rounds))?);
            row("wake", "scatter+gather", round_of(|rounds| wake.rounds(order::SCATTER, rounds))?);
            drop(wake);
            progress(&format!("banyan, {members} members ({})", program.label));
            let tree = LaunchedTree::start(program, members)?;
            row("banyan", "broadcast+barrier", round_of(|rounds| tree.rounds(order::BROADCAST, rounds))?);
            row("banyan", "scatter+gather", round_of(|rounds| tree.rounds(order::SCATTER, rounds))?);
            tree.ended()?;
        }
    }
    rows::compare(&mut rows, "point-to-point");
    rows::compare_with_ceiling(&mut rows, "banyan", "wake");
    Ok(LaunchFigures { rows, left_out: Vec::new() })
}

/// The best of a few runs, fewer if they take long.
fn best_of(mut run: impl FnMut() -> Result<Duration, LaunchBenchError>) -> Result<Duration, LaunchBenchError> {
    let begin = Instant::now();
    let mut best = run()?;
    for _ in 1..REPEAT_AT_MOST {
        if begin.elapsed() > REPEAT_WITHIN {
            break;
        }
        best = best.min(run()?);
    }
    Ok(best)
}

/// The time of one round, from as many as fit.
fn round_of(mut run: impl FnMut(u8) -> Result<Duration, LaunchBenchError>) -> Result<Duration, LaunchBenchError> {
    let one = run(1)?;
    let fit = ROUNDS_WITHIN.as_secs_f64() / one.as_secs_f64().max(1e-6);
    let rounds = fit.clamp(1.0, f64::from(ROUNDS_AT_MOST)) as u8;
    Ok(run(rounds)? / u32::from(rounds))
}

/// The floor's process holds a descriptor for each member.
fn allow_descriptors() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If it stays low, the floor says so.
    let _ = setrlimit(Resource::Nofile, limit);
}
