//! `banyan bench` as its users run it, and what documents say of all commands.

#[path = "../../../banyan-cli/tests/command/blocks.rs"]
mod blocks;
mod chapters;
mod environment;
#[path = "../../../banyan-cli/tests/command/fields.rs"]
mod fields;
mod help;
mod limit;
mod measure;
mod predict;
#[path = "../../../banyan-cli/tests/command/shape.rs"]
mod shape;
#[path = "../../../banyan-cli/tests/command/shown.rs"]
mod shown;
mod stage;
mod study;
mod tables;
#[path = "../../../banyan-cli/tests/command/workshop.rs"]
mod workshop;

use std::path::{Path, PathBuf};

/// Where the program with the benches lies.
fn directory() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_banyan-bench")).parent().expect("it lies in a directory")
}

/// The command, an example of this package. It finds the program with the benches in PATH.
fn banyan() -> PathBuf {
    let banyan = directory().join("examples/banyan");
    assert!(banyan.exists(), "{} was not built: cargo builds it where tests are run without --test", banyan.display());
    banyan
}

/// Where both lie.
fn directories() -> Vec<PathBuf> {
    vec![directory().join("examples"), directory().to_owned()]
}
