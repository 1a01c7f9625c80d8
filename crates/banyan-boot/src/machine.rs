//! The addresses of this machine, as the kernel tells them in `/proc/net`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses that are told to agents at most: a machine with more is a router, and has others among the first.
pub(crate) const ADDRESSES: usize = 16;

/// The addresses by which others may reach this machine, and last of all that by which it reaches itself.
pub fn local_addresses() -> Vec<IpAddr> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let mut found: Vec<IpAddr> = ipv4(&read("/proc/net/fib_trie")).into_iter().map(IpAddr::V4).collect();
    found.extend(ipv6(&read("/proc/net/if_inet6")).into_iter().map(IpAddr::V6));
    found.truncate(ADDRESSES);
    found.push(Ipv4Addr::LOCALHOST.into());
    found
}

/// Own addresses in the kernel's routing tree: each stands on the line before its `/32 host LOCAL`.
fn ipv4(tree: &str) -> Vec<Ipv4Addr> {
    let mut found: Vec<Ipv4Addr> = Vec::new();
    for (line, next) in tree.lines().zip(tree.lines().skip(1)) {
        let address = line.trim().strip_prefix("|-- ").and_then(|text| text.parse::<Ipv4Addr>().ok());
        if next.trim() == "/32 host LOCAL"
            && let Some(address) = address.filter(|address| !address.is_loopback())
            && !found.contains(&address)
        {
            found.push(address);
        }
    }
    found
}

/// Own addresses that are good beyond one cable.
fn ipv6(interfaces: &str) -> Vec<Ipv6Addr> {
    let addresses = interfaces.lines().filter_map(|line| line.split(' ').next());
    let addresses = addresses.filter_map(|text| u128::from_str_radix(text, 16).ok().map(Ipv6Addr::from_bits));
    addresses.filter(|address| !address.is_loopback() && !address.is_unicast_link_local()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_addresses_are_found_among_routes() {
        let tree = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     |-- 10.0.0.0\n        \
                    /24 link UNICAST\n     |-- 10.0.0.5\n        /32 host LOCAL\n     |-- 10.0.0.255\n        /32 link \
                    BROADCAST\n     |-- 127.0.0.1\n        /32 host LOCAL\nLocal:\n     |-- 10.0.0.5\n        /32 host \
                    LOCAL\n";
        assert_eq!(ipv4(tree), [Ipv4Addr::new(10, 0, 0, 5)]);
    }

    #[test]
    fn addresses_of_a_single_cable_are_left_out() {
        let interfaces = "00000000000000000000000000000001 01 80 10 80       lo\nfe80000000000000000000000000000a 02 40 \
                          20 80     eth0\n20010db8000000000000000000000005 02 40 00 80     eth0\n";
        assert_eq!(ipv6(interfaces), ["2001:db8::5".parse::<Ipv6Addr>().unwrap()]);
    }

    #[test]
    fn the_machine_reaches_itself() {
        assert_eq!(local_addresses().last(), Some(&IpAddr::V4(Ipv4Addr::LOCALHOST)));
    }
}
