//! A process of a small parallel program that hangs, to look at: `ranks RANK HANGING [THREADS]`.
//!
//! Every rank computes and then waits in a barrier; the one that hangs waits for a neighbour that never answers. Each
//! says `ready` when it is where it will stay. With threads, each of them waits for work.

#![expect(clippy::print_stdout, reason = "it tells the test that it is where it will stay")]

use std::io::Read;
use std::process::exit;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u32>().unwrap_or(u32::MAX));
    let (Some(rank), Some(hanging)) = (numbers.next(), numbers.next()) else { exit(2) };
    for _ in 0..numbers.next().unwrap_or(0) {
        std::thread::spawn(|| wait_for_work());
    }
    println!("ready");
    step(rank, rank == hanging);
}

#[inline(never)]
fn step(rank: u32, hangs: bool) {
    if hangs {
        exchange_with_neighbour(rank);
    } else {
        solve(rank);
    }
    // So that the call above is no jump.
    std::hint::black_box(rank);
}

#[inline(never)]
fn solve(rank: u32) {
    wait_in_barrier();
    std::hint::black_box(rank);
}

#[inline(never)]
fn exchange_with_neighbour(rank: u32) {
    wait_for_neighbour();
    std::hint::black_box(rank);
}

/// Standard input ends when the test does.
#[inline(never)]
fn wait_in_barrier() {
    let _ = std::io::stdin().read(&mut [0; 1]);
    std::hint::black_box(());
}

#[inline(never)]
fn wait_for_neighbour() {
    let _ = std::io::stdin().read(&mut [0; 1]);
    std::hint::black_box(());
}

#[inline(never)]
fn wait_for_work() {
    loop {
        std::thread::park();
    }
}
