//! Launches on one host, this machine.

use banyan_boot::{ProcessDistribution, Session};

use crate::setup::options;

/// Launches on one host.
pub(crate) fn launch(members: ProcessDistribution, count: u32) -> Session {
    Session::launch(&[members.on("localhost", count)], &options()).unwrap()
}
