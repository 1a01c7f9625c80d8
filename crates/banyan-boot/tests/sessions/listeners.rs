//! The listeners of processes, as the kernel's tables show them.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};

use rustix::process::Pid;

/// The state of a TCP socket that listens, in the kernel's tables.
const LISTENS: &str = "0A";

/// Where a process listens by TCP, as it is reached from this machine.
pub(crate) fn tcp_listeners(pid: Pid) -> Vec<SocketAddr> {
    let own = inodes(pid);
    let tables = ["tcp", "tcp6"].map(|table| fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default());
    let lines = tables.iter().flat_map(|table| table.lines().skip(1));
    let port = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_listener = fields.get(3) == Some(&LISTENS) && own.iter().any(|inode| Some(&&**inode) == fields.get(9));
        let (_, port) = fields.get(1).filter(|_| is_listener)?.rsplit_once(':')?;
        u16::from_str_radix(port, 16).ok()
    };
    lines.filter_map(port).map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port))).collect()
}

/// The numbers by which the kernel's tables know the sockets of a process.
fn inodes(pid: Pid) -> Vec<String> {
    let descriptors = fs::read_dir(format!("/proc/{}/fd", pid.as_raw_pid())).into_iter().flatten().flatten();
    let targets = descriptors.filter_map(|entry| fs::read_link(entry.path()).ok()?.into_os_string().into_string().ok());
    let inode = |target: String| Some(target.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned());
    targets.filter_map(inode).collect()
}
