//! How networks come up: without hosts that cannot be reached.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use banyan_boot::ProcessDistribution;
use banyan_tree::{Network, NetworkOptions};

use crate::setup::{SUMS, expect_wave, options, order, this_program};

/// An agent program of which the first two fail, and the fourth takes a second: by then the third is in the tree.
fn agent_that_fails_twice(directory: &Path) -> PathBuf {
    let path = directory.join("agent");
    let script = format!(
        "#!/bin/sh\n\
         for start in first second third fourth later; do mkdir {marks}/$start 2>/dev/null && break; done\n\
         case $start in first|second) exit 5;; fourth) sleep 1;; esac\n\
         exec {agent} \"$@\"\n",
        marks = directory.display(),
        agent = this_program().display()
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

pub(crate) fn hosts_that_are_left_out_leave_a_network_of_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = NetworkOptions { topology: None, ..options("1") };
    options.session.agent = Some(agent_that_fails_twice(directory.path()));
    options.session.min_hosts = Some(2);
    // One after the other: the first two hosts fail, so that the others have other numbers in the second attempt.
    options.session.concurrency = 1;
    let program = ProcessDistribution::new(this_program(), ["member", "serve"]);
    let hosts = (0..4).fold(program, |program, host| program.on(format!("host{host}"), 1));
    let network = Network::launch(&hosts, &options).unwrap();
    assert_eq!(network.session().missing().len(), 2);
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 20, 0);
    for number in 0..20 {
        assert_eq!(expect_wave(&stream, number).members().to_string(), "0-1");
    }
}
