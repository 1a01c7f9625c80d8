//! What nodes of protocol 1 say to each other, recorded, and understood by the nodes of today.

mod conversation;
mod messages;

use std::path::{Path, PathBuf};

#[path = "../../../banyan-link/tests/support/recording.rs"]
mod recording;
#[path = "../../../banyan-link/tests/support/transmit.rs"]
mod transmit;

use banyan_link::Connection;
use recording::{Said, recorded};
use transmit::transmit;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/protocol-1").join(name)
}
