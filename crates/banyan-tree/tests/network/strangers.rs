//! Strangers at the doors of a network that is at work.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

use banyan_tree::Network;
use rustix::process::{Pid, getpid};

use crate::relatives::{others, wait_until};
use crate::setup::{SUMS, deadline, expect_wave, network, order};

/// Strangers of each kind at each door.
const EACH: u64 = 20;

pub(crate) fn strangers_at_the_doors_of_a_network_are_counted_and_change_nothing() {
    let network = network("2x4", "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    let doors = doors();
    assert_eq!(doors.len(), 3, "{doors:?}");
    let waves = 500;
    order(&stream, 0, waves, 1);
    let mut silent = Vec::new();
    for number in 0..waves {
        if number == 100 {
            doors.iter().for_each(|door| silent.extend(visit(door)));
        }
        assert_eq!(expect_wave(&stream, number).members().len(), 8, "wave {number}");
    }
    let expected = 2 * EACH * doors.len() as u64;
    wait_until("all are counted", deadline().unwrap(), || (refused(&network) >= expected).then_some(()));
    drop(silent);
}

/// Some who speak another language, some who look who is there and go, and some who say nothing at all.
fn visit(door: &str) -> Vec<UnixStream> {
    let address = SocketAddr::from_abstract_name(door).unwrap();
    let connect = || UnixStream::connect_addr(&address).unwrap();
    for _ in 0..EACH {
        let mut stranger = connect();
        // It may be sent away before it has said all.
        let _ = stranger.write_all(&[b'G'; 200]);
        drop(connect());
    }
    (0..EACH).map(|_| connect()).collect()
}

/// Those whom nodes have refused; those who say nothing have five seconds.
fn refused(network: &Network) -> u64 {
    let figures = network.figures(deadline().unwrap()).unwrap();
    let refused = figures.values().map(|figures| figures.links.refused).sum::<u64>();
    assert!(refused <= 3 * EACH * 3, "{refused}");
    refused
}

/// The names of the sockets at which front-end and agents of this test listen.
pub(crate) fn doors() -> BTreeSet<String> {
    let own: BTreeSet<String> = others().into_iter().chain([getpid()]).flat_map(sockets).collect();
    let table = std::fs::read_to_string("/proc/net/unix").unwrap();
    let door = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [.., inode, name] = words[..] else { return None };
        let name = name.strip_prefix("@banyan-").filter(|_| own.contains(inode))?;
        // The network and the node.
        let (network, node) = name.split_once('-')?;
        (network.len() == 32 && node.parse::<u32>().is_ok()).then(|| format!("banyan-{name}"))
    };
    table.lines().filter_map(door).collect()
}

/// The numbers of a process's sockets.
pub(crate) fn sockets(pid: Pid) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{}/fd", pid.as_raw_pid())) else { return Vec::new() };
    let links = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let number =
        |link: std::path::PathBuf| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned());
    links.filter_map(number).collect()
}
