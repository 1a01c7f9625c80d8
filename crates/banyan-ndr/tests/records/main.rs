//! Records without compiled types: conversion, decoding, reflection, editing.
//!
//! One program, because each links the code generator once more, on every architecture.

mod bombs;
mod decoder;
mod dynamic;
mod evolve;
mod limits;
mod morph;
mod plan;
mod plan_random;
mod senders;
#[path = "../support/mod.rs"]
mod support;
mod wide;
