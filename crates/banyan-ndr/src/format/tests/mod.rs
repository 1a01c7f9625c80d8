//! Tests of formats: their rules, their limits, their encoding.

mod encoding;
mod limits;
mod random;
mod rules;
mod sample;
