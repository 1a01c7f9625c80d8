//! The command as its users run it: real processes, real files.

mod bench;
mod blocks;
mod chapters;
mod clock;
mod configuration;
mod confined;
mod convert;
mod copy;
mod damage;
mod demo;
mod diff;
mod doctor;
mod document;
mod dump;
mod fields;
mod fold;
mod interrupted;
mod jobs;
mod limit;
mod look;
mod manual;
mod objects;
mod permission;
mod private;
mod pseudo_terminal;
mod query;
mod refusals;
mod resume;
mod run;
mod schema;
mod screens;
mod shape;
mod shown;
mod sim;
mod speech;
mod stack;
mod stat;
mod told;
mod top;
mod topo;
mod vectors;
mod within;
mod workshop;

use std::path::{Path, PathBuf};

/// The command.
fn banyan() -> PathBuf {
    env!("CARGO_BIN_EXE_banyan").into()
}

/// Where it lies.
fn directories() -> Vec<PathBuf> {
    vec![banyan().parent().map(Path::to_owned).expect("it lies in a directory")]
}
