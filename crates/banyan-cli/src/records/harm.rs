//! What is damaged in a file, whatever kind of file it is.

use std::fmt;

use banyan_files::{Damage, ffs};
use serde_json::json;

/// A damaged place.
#[derive(Debug, Clone)]
pub(crate) struct Harm {
    offset: u64,
    /// What the library says, with the place.
    text: String,
    reason: String,
    length: Option<u64>,
    records_lost: Option<u64>,
}

impl Harm {
    /// For programs.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        let Harm { offset, length, records_lost, reason, .. } = self;
        json!({ "offset": offset, "length": length, "records_lost": records_lost, "reason": reason })
    }
}

impl fmt::Display for Harm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Damage> for Harm {
    fn from(damage: Damage) -> Harm {
        Harm {
            offset: damage.offset,
            text: damage.to_string(),
            reason: damage.reason.to_string(),
            length: Some(damage.length),
            records_lost: damage.records_lost,
        }
    }
}

impl From<ffs::Error> for Harm {
    fn from(error: ffs::Error) -> Harm {
        let reason = error.kind.to_string();
        Harm {
            offset: error.offset,
            text: format!("{reason}, in the block at byte {}", error.offset),
            reason,
            length: None,
            records_lost: None,
        }
    }
}
