//! `#[derive(Record)]` for `banyan-ndr`.
