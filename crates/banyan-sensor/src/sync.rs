//! The atomics that the ring's protocol uses. The model in `tests/ring_model.rs` has others in their place.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};
