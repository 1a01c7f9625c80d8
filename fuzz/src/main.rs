//! All fuzz targets in one program; the environment variable [`CHOICE`] names the one that runs.
//!
//! One program, because each would be linked with all that they share once more.

#![no_main]

mod targets;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

/// The variable that names the target.
const CHOICE: &str = "FUZZ_TARGET";

/// The target that runs.
static TARGET: OnceLock<targets::Target> = OnceLock::new();

fuzz_target!(init: choose(), |bytes: &[u8]| {
    let target = TARGET.get().expect("libFuzzer starts with `init`");
    target(bytes);
});

fn choose() {
    let name = std::env::var(CHOICE).unwrap_or_default();
    let Some((_, target)) = targets::ALL.iter().find(|(known, _)| *known == name) else {
        let known: Vec<_> = targets::ALL.iter().map(|(known, _)| *known).collect();
        eprintln!("{CHOICE}={name} is no target: set it to one of {}", known.join(", "));
        std::process::exit(2);
    };
    TARGET.get_or_init(|| *target);
}
