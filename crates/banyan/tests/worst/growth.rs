//! How fast the cost of a family of inputs grows.

use std::process::{Command, ExitCode, Stdio};

use crate::families::{FAMILIES, Family};
use crate::meter;

/// Bytes of the smallest of three inputs, each twice as long as the one before. Shorter ones are within limits beyond which longer
/// ones are refused, and cost more than these.
const SMALLEST: usize = 4 << 10;

/// What the third input costs beyond the second, over what the second costs beyond the first, both for each byte: 1 is linear,
/// 2 quadratic. Memory that doubles when it is full, and sorting, are a little above 1.
const MOST: f64 = 1.4;

/// What a byte more costs is no growth below this part of what all of them cost each: tables are hashed with another key in
/// every run.
const NOISE: f64 = 0.05;

/// What an input of some bytes costs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) bytes: usize,
    pub(crate) count: u64,
}

/// See [`MOST`].
pub(crate) fn growth([first, second, third]: [Cost; 3]) -> f64 {
    let slope = |from: Cost, to: Cost| (to.count as f64 - from.count as f64) / (to.bytes - from.bytes).max(1) as f64;
    let noise = (NOISE * third.count as f64 / third.bytes as f64).max(1.0);
    let (before, after) = (slope(first, second).max(noise), slope(second, third).max(noise));
    after / before
}

fn inputs(family: &Family) -> [Vec<u8>; 3] {
    [1, 2, 4].map(|times| (family.input)(times * SMALLEST))
}

fn measure_all(families: &[&'static Family], mut count: impl FnMut(fn(&[u8]), &[u8]) -> u64) -> Costs {
    let cost = |family: &'static Family| {
        let costs = inputs(family).map(|input| Cost { bytes: input.len(), count: count(family.decode, &input) });
        (family, costs)
    };
    families.iter().copied().map(cost).collect()
}

type Costs = Vec<(&'static Family, [Cost; 3])>;

fn assert_linear(what: &str, costs: &Costs) {
    let steep: Vec<_> = costs.iter().filter(|(_, costs)| growth(*costs) > MOST).collect();
    let named = steep.iter().map(|(family, costs)| format!("\n{}: {:.2}, {costs:?}", family.name, growth(*costs)));
    assert!(steep.is_empty(), "{what} grow faster than the input, at most by {MOST}: {}", named.collect::<String>());
}

fn memory() -> Costs {
    let families: Vec<_> = FAMILIES.iter().collect();
    prepare(&families);
    measure_all(&families, meter::allocated)
}

/// `None` where valgrind is not installed, or cannot run this program: the test command emulates other machines.
fn work(part: usize) -> Option<Costs> {
    let mut version = Command::new("valgrind");
    version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    if !cfg!(target_arch = "x86_64") || !version.status().is_ok_and(|status| status.success()) {
        println!("instructions are not counted here: that takes valgrind, on x86-64");
        return None;
    }
    let directory = tempfile::tempdir().expect("there is a place for temporary files");
    let output = meter::under_valgrind(directory.path())
        .args(["instructions", &part.to_string()])
        .output()
        .expect("valgrind can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut calls = 0;
    Some(measure_all(&families_of(part), |_, _| {
        calls += 1;
        meter::instructions(directory.path(), calls)
    }))
}

/// Every decoder is run once before it is measured: it may set something up for good.
fn prepare(families: &[&'static Family]) {
    for family in families {
        (family.decode)(&(family.input)(SMALLEST));
    }
}

pub(crate) fn memory_of_every_decoder_grows_as_its_input() {
    assert_linear("bytes allocated", &memory());
}

/// Valgrind takes a hundred times as long as the decoders do, so there is a test for each part of the families. None takes a
/// tenth of the harness's limit on an idle machine.
const PARTS: usize = 16;

fn families_of(part: usize) -> Vec<&'static Family> {
    FAMILIES.iter().skip(part).step_by(PARTS).collect()
}

fn assert_work(part: usize) {
    work(part).into_iter().for_each(|costs| assert_linear("instructions", &costs));
}

pub(crate) fn work_grows_as_the_input_in_part_0() {
    assert_work(0);
}

pub(crate) fn work_grows_as_the_input_in_part_1() {
    assert_work(1);
}

pub(crate) fn work_grows_as_the_input_in_part_2() {
    assert_work(2);
}

pub(crate) fn work_grows_as_the_input_in_part_3() {
    assert_work(3);
}

pub(crate) fn work_grows_as_the_input_in_part_4() {
    assert_work(4);
}

pub(crate) fn work_grows_as_the_input_in_part_5() {
    assert_work(5);
}

pub(crate) fn work_grows_as_the_input_in_part_6() {
    assert_work(6);
}

pub(crate) fn work_grows_as_the_input_in_part_7() {
    assert_work(7);
}

pub(crate) fn work_grows_as_the_input_in_part_8() {
    assert_work(8);
}

pub(crate) fn work_grows_as_the_input_in_part_9() {
    assert_work(9);
}

pub(crate) fn work_grows_as_the_input_in_part_10() {
    assert_work(10);
}

pub(crate) fn work_grows_as_the_input_in_part_11() {
    assert_work(11);
}

pub(crate) fn work_grows_as_the_input_in_part_12() {
    assert_work(12);
}

pub(crate) fn work_grows_as_the_input_in_part_13() {
    assert_work(13);
}

pub(crate) fn work_grows_as_the_input_in_part_14() {
    assert_work(14);
}

pub(crate) fn work_grows_as_the_input_in_part_15() {
    assert_work(15);
}

/// What each byte of the longest inputs costs.
pub(crate) fn print_counts() {
    for (what, costs) in
        [("bytes allocated", memory()), ("instructions", (0..PARTS).flat_map(work).flatten().collect())]
    {
        for (family, costs) in costs {
            let each = costs[2].count as f64 / costs[2].bytes as f64;
            println!("{:38} {each:9.0} {what} a byte, growth {:.2}", family.name, growth(costs));
        }
    }
}

/// Under valgrind: calls every decoder with every input, in the order in which they are looked at then.
pub(crate) fn call_all(part: &str) -> ExitCode {
    let Ok(part) = part.parse() else { return ExitCode::FAILURE };
    let families = families_of(part);
    prepare(&families);
    measure_all(&families, |decode, input| {
        meter::measured(decode, input);
        0
    });
    ExitCode::SUCCESS
}
