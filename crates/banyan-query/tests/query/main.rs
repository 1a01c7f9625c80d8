//! Queries as those use them who watch programs.

mod aggregates;
mod errors;
mod generate;
mod hostile;
mod language;
mod model;
mod oracle;
mod rows;
mod steps;
mod windows;
