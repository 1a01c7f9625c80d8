//! Launches on one host, this machine, and a network there.

use banyan_boot::{ProcessDistribution, Session};

use crate::network::Network;
use crate::setup::options;

/// Launches on one host.
pub(crate) fn launch(members: ProcessDistribution, count: u32) -> Session {
    Session::launch(&[members.on("localhost", count)], &options()).unwrap()
}

/// A network for its agents.
pub(crate) fn network() -> Network {
    Network::at(format!("banyan-test-{}", std::process::id()))
}
