//! What front-ends, agents and members of protocol 1 say to each other in sessions, recorded, and understood by those of today.

mod conversation;
mod frames;

use std::path::{Path, PathBuf};

#[path = "../../../../banyan-link/tests/support/recording.rs"]
mod recording;

use recording::{Said, recorded};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/protocol-1").join(name)
}
