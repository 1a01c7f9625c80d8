//! Exports and imports of records: what goes out comes back.

#[cfg(feature = "arrow")]
mod arrow;
mod csv;
#[path = "../text/generate.rs"]
mod generate;
mod json_lines;
mod samples;
