//! What a copy of a directory went on without, for people and for programs.

use std::path::{Path, PathBuf};

use banyan_boot::{Skip, Skipped};
use serde_json::{Value, json};

/// Things in a directory that were skipped for one reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Skips {
    reason: Skip,
    count: u64,
    /// Some of their names.
    names: Vec<String>,
}

impl Skips {
    pub(super) fn of(skipped: &Skipped) -> Vec<Skips> {
        let name = |path: &PathBuf| path.to_string_lossy().into_owned();
        let skips = |(reason, count, names): (Skip, u64, &[PathBuf])| {
            let names = names.iter().map(name).collect();
            Skips { reason, count, names }
        };
        skipped.iter().map(skips).collect()
    }

    /// What a host said of itself; `None` if it makes no sense.
    pub(super) fn read(message: &Value) -> Option<Skips> {
        let names = message["names"].as_array()?.iter().map(|name| name.as_str().map(str::to_owned));
        let reason = Skip::of_word(message["reason"].as_str()?)?;
        Some(Skips { reason, count: message["count"].as_u64()?, names: names.collect::<Option<_>>()? })
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "reason": self.reason.word(), "count": self.count, "names": self.names })
    }

    /// How many of what were skipped in a directory, and what may be done about it.
    pub(super) fn describe(&self, source: &Path) -> String {
        let (one, many, remedy) = match self.reason {
            Skip::Outside => (
                "symbolic link that leads out of it",
                "symbolic links that lead out of it",
                "; --links follow copies what they lead to",
            ),
            Skip::Nowhere => (
                "symbolic link that leads nowhere or in a circle",
                "symbolic links that lead nowhere or in a circle",
                "",
            ),
            Skip::Link => ("symbolic link", "symbolic links", ""),
            // The others are no files.
            _ => ("FIFO, socket or device", "FIFOs, sockets and devices", ""),
        };
        let (what, was) = if self.count == 1 { (one, "was") } else { (many, "were") };
        let more = if self.count > self.names.len() as u64 { ", …" } else { "" };
        let names = self.names.join(", ");
        format!("{}: {} {what} {was} skipped ({names}{more}){remedy}", source.display(), self.count)
    }
}
