//! The command as its users run it: real processes, real files.

mod convert;
mod diff;
mod document;
mod dump;
mod measure;
mod refusals;
mod run;
mod schema;
mod sim;
mod stack;
mod stat;
mod topo;
mod workshop;
