//! Strangers at the listeners of a network that is at work.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

use banyan_tree::Network;
use rustix::process::{Pid, getpid};

use crate::relatives::{others, wait_until};
use crate::setup::{SUMS, deadline, expect_wave, is_only_tcp, network, order};

/// The state of a TCP socket that listens, in the kernel's table.
const LISTENS: &str = "0A";

/// Strangers of each kind at each listener.
const EACH: u64 = 20;

pub(crate) fn strangers_who_connect_to_a_network_are_counted_and_change_nothing() {
    let network = network("2x4", "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    let listeners = listeners();
    assert_eq!(listeners.len(), 3, "{listeners:?}");
    assert!(
        listeners.iter().all(|listener| matches!(listener, TestListener::Tcp(_)) == is_only_tcp()),
        "{listeners:?}"
    );
    let waves = 500;
    order(&stream, 0, waves, 1);
    let mut silent = Vec::new();
    for number in 0..waves {
        if number == 100 {
            listeners.iter().for_each(|listener| silent.extend(visit(listener)));
        }
        assert_eq!(expect_wave(&stream, number).members().len(), 8, "wave {number}");
    }
    let expected = 2 * EACH * listeners.len() as u64;
    wait_until("all are counted", deadline().unwrap(), || (refused(&network) >= expected).then_some(()));
    drop(silent);
}

/// Where a node listens.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TestListener {
    /// The name of an abstract socket.
    Unix(String),
    /// A port of this machine.
    Tcp(u16),
}

/// Somebody who has connected. What it says may be for nobody: it may be sent away before.
trait Stranger: Write {}

impl<W: Write> Stranger for W {}

impl TestListener {
    fn connect(&self) -> Box<dyn Stranger> {
        match self {
            TestListener::Unix(name) => {
                let address = SocketAddr::from_abstract_name(name).unwrap();
                Box::new(UnixStream::connect_addr(&address).unwrap())
            }
            TestListener::Tcp(port) => Box::new(TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).unwrap()),
        }
    }
}

/// Some who speak another language, some who look who is there and go, and some who say nothing at all.
fn visit(listener: &TestListener) -> Vec<Box<dyn Stranger>> {
    for _ in 0..EACH {
        // It may be sent away before it has said all.
        let _ = listener.connect().write_all(&[b'G'; 200]);
        drop(listener.connect());
    }
    (0..EACH).map(|_| listener.connect()).collect()
}

/// Those whom nodes have refused; those who say nothing have five seconds.
fn refused(network: &Network) -> u64 {
    let figures = network.figures(deadline().unwrap()).unwrap();
    let refused = figures.values().map(|figures| figures.links.refused).sum::<u64>();
    assert!(refused <= 3 * EACH * 3, "{refused}");
    refused
}

/// Where front-end and agents of this test listen for their network.
fn listeners() -> BTreeSet<TestListener> {
    let own: BTreeSet<String> = others().into_iter().chain([getpid()]).flat_map(sockets).collect();
    let table = |name: &str| std::fs::read_to_string(format!("/proc/net/{name}")).unwrap();
    let unix = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [.., inode, name] = words[..] else { return None };
        let name = name.strip_prefix("@banyan-").filter(|_| own.contains(inode))?;
        // The network and the node.
        let (network, node) = name.split_once('-')?;
        (network.len() == 32 && node.parse::<u32>().is_ok()).then(|| TestListener::Unix(format!("banyan-{name}")))
    };
    let tcp = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (address, state, inode) = (words.get(1)?, words.get(3)?, words.get(9)?);
        let port = u16::from_str_radix(address.split_once(':')?.1, 16).ok()?;
        (*state == LISTENS && own.contains(*inode)).then_some(TestListener::Tcp(port))
    };
    table("unix").lines().filter_map(unix).chain(table("tcp").lines().filter_map(tcp)).collect()
}

/// The numbers of a process's sockets.
pub(crate) fn sockets(pid: Pid) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{}/fd", pid.as_raw_pid())) else { return Vec::new() };
    let links = entries.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let number =
        |link: std::path::PathBuf| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned());
    links.filter_map(number).collect()
}
