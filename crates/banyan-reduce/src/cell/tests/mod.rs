//! Tests of single cells against simple models.

mod exact;
mod sketches;
