//! `banyan records`: files of records, looked at from the outside.

mod choice;
mod convert;
mod diff;
mod dump;
mod foreign;
mod harm;
mod import;
mod memory;
mod reshape;
mod schema;
mod sink;
mod source;
mod stat;
mod unread;
mod walk;

pub(crate) use source::input;

use crate::failure::Outcome;

/// The verbs. A file is a Banyan record file, or a file or stream written by FFS or PBIO; `-` is standard input.
#[derive(clap::Subcommand)]
pub(crate) enum Records {
    Dump(dump::Dump),
    Schema(schema::Schema),
    Convert(convert::Convert),
    Stat(stat::Stat),
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
