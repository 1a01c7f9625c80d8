//! Studies: what came out of many runs of benches, as figures, summaries, comparisons and a report.
//!
//! A study is a directory of runs. This module knows what a run leaves behind ([`Run`]), takes the figures out of it
//! ([`Figure`]), says how sure they are ([`Interval`]), compares two studies ([`compare`]) and writes the page that shows
//! one ([`report`]). Nothing here starts a process or touches a file: that is the command's part.
//!
//! All statistics are by ranks. They assume that the runs of a configuration are independent and nothing about how their
//! times are distributed, which for times of processes is nothing one would know.

mod compare;
mod figure;
mod picture;
mod report;
mod run;
mod statistics;
mod summary;

pub use compare::{Comparison, Difference, Line, Verdict, compare};
pub use figure::{Figure, Results, WriteResultsError};
pub use report::{Study, report};
pub use run::{Outcome, OutputError, Run, shell};
pub use statistics::{CONFIDENCE, Interval, median, median_interval, quotient};
pub use summary::{Key, Summary, amount, summarize};
