//! What these tests share with those of `banyan-ndr`: random records, demanding formats, how much of everything is tried.

#[path = "../../../banyan-ndr/tests/support/bombs.rs"]
pub(crate) mod bombs;
#[path = "../../../banyan-ndr/tests/support/choices.rs"]
mod choices;
#[path = "../../../banyan-ndr/tests/support/effort.rs"]
pub(crate) mod effort;
#[path = "../../../banyan-ndr/tests/support/records.rs"]
pub(crate) mod records;
#[path = "../../../banyan-ndr/tests/support/wide.rs"]
pub(crate) mod wide;

pub(crate) use choices::Choices;
