//! Queries as those use them who watch programs.

mod errors;
mod language;
mod rows;
mod steps;
mod windows;
