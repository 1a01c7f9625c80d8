//! Records without compiled types, and all that is done with them: conversion, decoding, text, files, export.
//!
//! One program, because each links the code generator once more, on every architecture.

mod bombs;
mod decoder;
mod dynamic;
mod evolve;
mod export;
mod ffs;
mod limits;
mod morph;
mod plan;
mod plan_random;
mod record_files;
mod senders;
#[path = "../support/mod.rs"]
mod support;
mod text;
mod wide;
