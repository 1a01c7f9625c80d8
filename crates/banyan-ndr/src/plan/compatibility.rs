//! Whether records of one format can become records of another, and at what price.

use super::ConvertOptions;
use super::build::{Purpose, build};
use super::findings::NamedFields;
use crate::Format;

/// What [`compatibility`] says of two formats. Fields are named by their paths in the record.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compatibility {
    /// They are the same format.
    Equal,
    /// Every record can be converted, and nothing of it is lost.
    Lossless,
    /// Records can be converted, but some values are dropped, or would not fit.
    Lossy {
        /// The fields, and what they can lose.
        fields: Vec<(String, String)>,
        /// How many more there are.
        more: usize,
    },
    /// Records cannot be converted.
    Incompatible {
        /// The fields that stand in the way, and why.
        fields: Vec<(String, String)>,
        /// How many more there are.
        more: usize,
    },
}

/// Compares two formats for a conversion with default options. A source field that the target does not have counts
/// as lost.
pub fn compatibility(source: &Format, target: &Format) -> Compatibility {
    if source == target {
        return Compatibility::Equal;
    }
    let findings = build(source, target, &ConvertOptions::default(), Purpose::Compare);
    if !findings.wrong.is_empty() || !findings.missing.is_empty() {
        let NamedFields { fields, more } = findings.into_wrong();
        return Compatibility::Incompatible { fields, more };
    }
    if findings.lossy.is_empty() {
        return Compatibility::Lossless;
    }
    let NamedFields { fields, more } = findings.lossy;
    Compatibility::Lossy { fields, more }
}
