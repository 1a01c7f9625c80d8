//! The command as its users run it: real processes, real files.

mod configuration;
mod convert;
mod copy;
mod diff;
mod doctor;
mod document;
mod dump;
mod fold;
mod manual;
mod measure;
mod permission;
mod pseudo_terminal;
mod refusals;
mod run;
mod schema;
mod screens;
mod sim;
mod speech;
mod stack;
mod stage;
mod stat;
mod study;
mod top;
mod topo;
mod workshop;
