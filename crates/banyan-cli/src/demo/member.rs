//! The members of the demo: a small parallel program that could be anybody's, with a mistake.
//!
//! Its functions are not inlined, so that they stand in the stacks under their names.

use std::hint::black_box;
use std::process::exit;

use banyan_ndr::Record;
use banyan_tree::{BackEnd, StreamId, TreeError};

/// The first argument of a member.
pub(super) const ROLE: &str = "demo-member";

/// The rank that hangs.
pub(super) const LOST: u32 = 37;

/// Tag: say which process you are.
pub(super) const WHO: u32 = 1;
/// Tag: run a step of the job, then say who you are.
pub(super) const STEP: u32 = 2;
/// Tag: the message that the lost rank waits for, and with it everyone.
pub(super) const GO_ON: u32 = 3;
/// Tag: send so many residuals.
pub(super) const RESIDUALS: u32 = 4;

/// Tag: send so many numbered records, then one that says how many they were.
pub(super) const NUMBERED: u32 = 5;

/// The function in which the job begins.
pub(super) const FIRST: &str = "take_part";

/// The functions in which members wait while the job hangs.
pub(super) const WAITING: [&str; 2] = ["wait_for_lost_message", "wait_for_neighbour"];

/// How often to do something.
#[derive(Record)]
pub(super) struct Times {
    pub(super) times: u64,
}

/// Which process a member is, and who started it.
#[derive(Record)]
struct DemoMember {
    process: u32,
    agent: u32,
}

/// What a member sends in every wave.
#[derive(Record)]
struct Residual {
    cells: u64,
    residual: f64,
}

/// What a member sends in waves that are counted.
#[derive(Record)]
struct Numbered {
    cells: u64,
    wave: u64,
    /// In the last record those that were sent before it, otherwise none.
    sent: u64,
}

/// The cells of every member.
pub(super) const CELLS: u64 = 512;

/// The residual of a member in a wave: it falls with the waves, and is largest where something was lost.
fn residual(rank: u32, wave: u64) -> f64 {
    let own = f64::from(rank % 8 + 1) / 16.0 + if rank == LOST { 1.0 } else { 0.0 };
    own / (1.0 + wave as f64 / 1000.0)
}

/// Never returns in a process that an agent of the demo has started as member.
pub(crate) fn become_member_if_asked() {
    if std::env::args().nth(1).as_deref() == Some(ROLE) {
        // The end of the network is the end of a member.
        exit(i32::from(!matches!(take_part(), Err(TreeError::Ended))));
    }
}

#[inline(never)]
fn take_part() -> Result<(), TreeError> {
    let mut back_end = BackEnd::join()?;
    loop {
        let order = back_end.recv()?;
        match order.tag {
            WHO => tell_who(&mut back_end, order.stream)?,
            STEP => {
                time_step(&mut back_end)?;
                tell_who(&mut back_end, order.stream)?;
            }
            RESIDUALS => {
                let times = order.read::<Times>()?.times;
                send_residuals(&mut back_end, order.stream, times)?;
            }
            NUMBERED => {
                let times = order.read::<Times>()?.times;
                send_numbered(&mut back_end, order.stream, times)?;
            }
            _ => {}
        }
    }
}

fn tell_who(back_end: &mut BackEnd, stream: StreamId) -> Result<(), TreeError> {
    back_end.send(stream, &DemoMember { process: std::process::id(), agent: std::os::unix::process::parent_id() })?;
    Ok(())
}

fn send_residuals(back_end: &mut BackEnd, stream: StreamId, times: u64) -> Result<(), TreeError> {
    let rank = back_end.rank();
    for wave in 0..times {
        back_end.send(stream, &Residual { cells: CELLS, residual: residual(rank, wave) })?;
    }
    back_end.flush()
}

fn send_numbered(back_end: &mut BackEnd, stream: StreamId, times: u64) -> Result<(), TreeError> {
    let mut sent = 0;
    for wave in 0..times {
        back_end.send(stream, &Numbered { cells: CELLS, wave, sent: 0 })?;
        sent += 1;
    }
    back_end.send(stream, &Numbered { cells: 0, wave: times, sent })?;
    back_end.flush()
}

/// One step of the job: everybody refines its part of the mesh, then exchanges borders with its neighbours.
#[inline(never)]
fn time_step(back_end: &mut BackEnd) -> Result<(), TreeError> {
    let done = match back_end.rank() {
        LOST => refine_mesh(back_end),
        _ => exchange_borders(back_end),
    };
    black_box(done)
}

#[inline(never)]
fn refine_mesh(back_end: &mut BackEnd) -> Result<(), TreeError> {
    black_box(wait_for_lost_message(back_end))
}

#[inline(never)]
fn exchange_borders(back_end: &mut BackEnd) -> Result<(), TreeError> {
    black_box(wait_for_neighbour(back_end))
}

// The two that wait differ in a number that nobody uses, or the compiler would make one function of them.

#[inline(never)]
fn wait_for_lost_message(back_end: &mut BackEnd) -> Result<(), TreeError> {
    while black_box(back_end.recv())?.tag != GO_ON {}
    black_box(1);
    Ok(())
}

#[inline(never)]
fn wait_for_neighbour(back_end: &mut BackEnd) -> Result<(), TreeError> {
    while black_box(back_end.recv())?.tag != GO_ON {}
    black_box(2);
    Ok(())
}
