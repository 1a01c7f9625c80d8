//! Where agents that were started together listen for their children.
//!
//! Nobody tells a child its parent's port: both compute it from the secret. If somebody else has that port already, the
//! parent takes the next of a few, and the child tries them all; a stranger behind one of them fails the handshake, which
//! changes nothing. Who does not know the secret cannot know the ports.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use banyan_link::{Address, LinkOptions, Listener, Secret};

/// Ports an agent may use. If all of them are taken something is wrong with the host.
pub(crate) const ATTEMPTS: u32 = 4;

/// The lowest port.
const FIRST_PORT: u16 = 20_000;

/// So many, which ends below those that the system gives to whoever dials (from 32,768).
const PORTS: u16 = 12_000;

/// The port of an agent at an attempt.
pub(crate) fn port(secret: &Secret, agent: u32, attempt: u32) -> u16 {
    let secret = secret.derive("port", agent).derive("attempt", attempt);
    let [low, high, ..] = *secret.expose();
    FIRST_PORT + u16::from_le_bytes([low, high]) % PORTS
}

/// Listens at the first port of an agent that is free.
pub(crate) fn listen(secret: &Secret, agent: u32, options: &LinkOptions) -> io::Result<Listener> {
    let mut last = io::ErrorKind::AddrInUse.into();
    for attempt in 0..ATTEMPTS {
        match listen_at(port(secret, agent, attempt), options) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = error,
            other => return other,
        }
    }
    Err(last)
}

/// Listens at a port of all addresses of this machine; 0 is any port.
///
/// # Errors
/// When the port is taken, or the system refuses.
pub fn listen_at(port: u16, options: &LinkOptions) -> io::Result<Listener> {
    let both = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    match Listener::bind(&Address::Tcp(both), options) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
        // A machine without IPv6.
        Err(_) => Listener::bind(&Address::Tcp(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))), options),
        listener => listener,
    }
}

/// The port a listener got.
pub(crate) fn port_of(listener: &Listener) -> u16 {
    match listener.address() {
        Address::Tcp(address) => address.port(),
        Address::Unix(_) | Address::Abstract(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_depend_on_secret_agent_and_attempt_and_stay_in_their_range() {
        let (one, other) = (Secret::from_bytes([1; 32]), Secret::from_bytes([2; 32]));
        let ports = |secret: &Secret| -> Vec<u16> {
            (0..50).flat_map(|agent| (0..ATTEMPTS).map(move |attempt| port(secret, agent, attempt))).collect()
        };
        assert_eq!(ports(&one), ports(&one));
        assert_ne!(ports(&one), ports(&other));
        assert!(ports(&one).iter().all(|port| (FIRST_PORT..FIRST_PORT + PORTS).contains(port)));
        let mut different = ports(&one);
        different.sort_unstable();
        different.dedup();
        assert!(different.len() > 190, "{} of 200 differ", different.len());
    }

    #[test]
    fn a_port_that_is_taken_makes_the_agent_take_the_next() {
        let secret = Secret::random().unwrap();
        let options = LinkOptions::default();
        let listeners: Vec<Listener> = (0..2).map(|_| listen(&secret, 7, &options).unwrap()).collect();
        assert_ne!(port_of(&listeners[0]), port_of(&listeners[1]));
        let expected: Vec<u16> = (0..ATTEMPTS).map(|attempt| port(&secret, 7, attempt)).collect();
        assert!(listeners.iter().all(|listener| expected.contains(&port_of(listener))));
    }
}
