//! `banyan records`: files of records, looked at from the outside.

mod convert;
mod diff;
mod dump;
mod import;
mod schema;
mod sink;
mod source;
mod stat;

use crate::failure::Outcome;

/// The verbs. A file is a Banyan record file, or a file or stream written by FFS or PBIO; `-` is standard input.
#[derive(clap::Subcommand)]
pub(crate) enum Records {
    /// Show records
    Dump(dump::Dump),
    /// Show the formats in a file
    Schema(schema::Schema),
    /// Write records into another file, format or layout
    Convert(convert::Convert),
    /// Count what is in a file, and say what is damaged
    Stat(stat::Stat),
    /// Compare the records of two files by value, whatever machines wrote them
    Diff(diff::Diff),
}

impl Records {
    pub(crate) fn run(self) -> Outcome {
        match self {
            Records::Dump(dump) => dump.run(),
            Records::Schema(schema) => schema.run(),
            Records::Convert(convert) => convert.run(),
            Records::Stat(stat) => stat.run(),
            Records::Diff(diff) => diff.run(),
        }
    }
}
