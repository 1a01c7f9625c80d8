//! What inputs cost at worst: for each decoder of bytes or text from outside, and for families of structured inputs, work and
//! memory grow as the input does, and no faster.
//!
//! Counts decide, never time: bytes that are allocated, and instructions as valgrind counts them. Where valgrind is not
//! installed only the former are looked at. `cargo xtask worst` searches longer: it repeats pieces of inputs that a seed
//! chooses, and prints those whose cost grows fastest.

#![expect(clippy::print_stdout, reason = "whoever searches wants to see what was found")]

#[path = "../../../banyan-boot/tests/harness/mod.rs"]
mod harness;

mod families;
mod formats;
mod growth;
mod meter;
mod search;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["instructions", part] => growth::call_all(part),
        ["search", rounds, seed] => search::run(rounds, seed),
        _ => harness::run(TESTS, None, &[harness::ONE]),
    }
}

const TESTS: &[harness::Test] = tests![
    growth::memory_of_every_decoder_grows_as_its_input,
    growth::work_grows_as_the_input_in_part_0,
    growth::work_grows_as_the_input_in_part_1,
    growth::work_grows_as_the_input_in_part_2,
    growth::work_grows_as_the_input_in_part_3,
    growth::work_grows_as_the_input_in_part_4,
    growth::work_grows_as_the_input_in_part_5,
    growth::work_grows_as_the_input_in_part_6,
    growth::work_grows_as_the_input_in_part_7,
    growth::work_grows_as_the_input_in_part_8,
    growth::work_grows_as_the_input_in_part_9,
    growth::work_grows_as_the_input_in_part_10,
    growth::work_grows_as_the_input_in_part_11,
    growth::work_grows_as_the_input_in_part_12,
    growth::work_grows_as_the_input_in_part_13,
    growth::work_grows_as_the_input_in_part_14,
    growth::work_grows_as_the_input_in_part_15,
];
