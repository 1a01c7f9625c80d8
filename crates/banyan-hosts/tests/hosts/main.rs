//! Sets of hosts: examples, properties, errors, files, and ClusterShell's opinion where it is installed.

mod clustershell;
mod errors;
mod examples;
mod files;
mod groups;
mod properties;
mod slurm;

use banyan_hosts::HostSet;

/// A set that must parse.
fn set(text: &str) -> HostSet {
    HostSet::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// The names of a set in its order, with spaces between.
fn names(text: &str) -> String {
    set(text).iter().collect::<Vec<_>>().join(" ")
}
