//! Members of a later protocol: whoever meets one says which numbers there are, where it is, and whom to update.

use std::time::{Duration, Instant};

use banyan_boot::ProcessDistribution;
use banyan_link::PROTOCOL_VERSION;
use banyan_tree::Network;

use crate::setup::{options, this_program};

/// What a process of the next protocol says first on a link, as `printf` takes it. Only where the number stands is the same in
/// every protocol.
fn hello() -> String {
    let mut hello = [0xee; 96];
    hello[..5].copy_from_slice(&[64, 0, 0, 0, 1]);
    hello[32..34].copy_from_slice(&(PROTOCOL_VERSION + 1).to_le_bytes());
    hello.iter().map(|byte| format!("\\\\{byte:03o}")).collect()
}

/// Why a network of members that run this script cannot be launched.
fn error_of(script: &str) -> String {
    let begin = Instant::now();
    let members = ProcessDistribution::new("/bin/sh", ["-c", script]);
    let error = Network::launch(&members, &options("2x1")).map(drop).unwrap_err().to_string();
    assert!(begin.elapsed() < Duration::from_secs(30), "it was waited for: {error}");
    error
}

pub(crate) fn a_member_of_a_later_protocol_is_named_with_its_host() {
    // It stays, though its agent does not listen any more.
    let error = error_of(&format!("printf \"{}\" >&4; exec sleep 1000", hello()));
    assert!(error.starts_with("member ") && error.contains(" on localhost was not let into the network"), "{error}");
    assert!(error.contains("its program speaks protocol 2 of Banyan, its agent protocol 1; "), "{error}");
    assert!(error.contains("update the network's program: build it with a release of Banyan that speaks protocol 2"));
}

pub(crate) fn a_member_is_told_that_its_network_speaks_a_later_protocol() {
    let program = this_program();
    let error = error_of(&format!("BANYAN_TREE=protocol:2,door:/somewhere exec {} member serve", program.display()));
    assert!(error.contains(" before it joined the network"), "{error}");
    assert!(
        error.contains("the agent speaks protocol 2 of Banyan, this program protocol 1; update this program"),
        "{error}"
    );
}
