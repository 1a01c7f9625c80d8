//! Whether hosts can connect to this machine, as the agents of networks do, and what that means for `top` and `stack`.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use banyan_boot::local_addresses;
use serde_json::{Value, json};

use super::finding::{Finding, Level};
use crate::failure::cause;

/// What agents wait for a connection is shorter; a host that needs longer has no use for it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Addresses that are named; others are counted.
const SHOWN: usize = 2;

/// A port of this machine that hosts try to connect to.
pub(super) struct TestListener {
    port: u16,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl TestListener {
    /// Lets everyone in and sends them away, so that its queue is never full.
    pub(super) fn open() -> io::Result<TestListener> {
        let any = |address: IpAddr| TcpListener::bind(SocketAddr::new(address, 0));
        // A machine may have no IPv6.
        let listener = any(Ipv6Addr::UNSPECIFIED.into()).or_else(|_| any(Ipv4Addr::UNSPECIFIED.into()))?;
        let (port, is_over) = (listener.local_addr()?.port(), Arc::new(AtomicBool::new(false)));
        let until = Arc::clone(&is_over);
        let accept = move || listener.incoming().take_while(|_| !until.load(Ordering::Relaxed)).for_each(drop);
        let thread = std::thread::Builder::new().spawn(accept)?;
        Ok(TestListener { port, is_over, thread: Some(thread) })
    }

    /// Where hosts may find it.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        let outside = local_addresses().into_iter().filter(|address| !address.is_loopback());
        outside.map(|address| SocketAddr::new(address, self.port)).collect()
    }
}

impl Drop for TestListener {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let own = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        // Where the machine does not even reach itself, the thread ends with the process.
        if TcpStream::connect_timeout(&own, PATIENCE).is_ok() {
            let _ = self.thread.take().map(JoinHandle::join);
        }
    }
}

/// Whether a host can connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Connection {
    At(SocketAddr),
    /// What came of which address.
    Refused(String),
}

impl Connection {
    /// Tries all addresses at the same time.
    pub(super) fn to(addresses: &[SocketAddr]) -> Connection {
        let (tell, told) = channel();
        for address in addresses.iter().copied() {
            let tell = tell.clone();
            let try_it = move || {
                // Nobody listens any more once another one was there.
                let _ = tell.send((address, TcpStream::connect_timeout(&address, PATIENCE)));
            };
            if std::thread::Builder::new().spawn(try_it).is_err() {
                break;
            }
        }
        drop(tell);
        let mut refused = Vec::new();
        for (address, result) in told {
            match result {
                Ok(_) => return Connection::At(address),
                Err(error) => refused.push((error.kind() != io::ErrorKind::TimedOut, address, cause(&error))),
            }
        }
        // What did not answer says more than an address that means nothing there.
        refused.sort();
        let mut shown: Vec<String> =
            refused.iter().take(SHOWN).map(|(_, address, cause)| format!("{address}: {cause}")).collect();
        if refused.len() > SHOWN {
            shown.push(format!("{} others", refused.len() - SHOWN));
        }
        if shown.is_empty() {
            shown.push("it has no address for others".into());
        }
        Connection::Refused(shown.join("; "))
    }

    pub(super) fn to_json(&self) -> Value {
        match self {
            Connection::At(address) => json!({ "at": address.to_string() }),
            Connection::Refused(why) => json!({ "refused": why }),
        }
    }

    /// What a host said, if it said it.
    pub(super) fn from_json(value: &Value) -> Option<Connection> {
        let at = value["at"].as_str().and_then(|at| at.parse().ok()).map(Connection::At);
        at.or_else(|| value["refused"].as_str().map(|why| Connection::Refused(why.to_owned())))
    }

    /// Which way networks take to the host; the other way is that of the session.
    pub(super) fn finding(&self, is_ssh: bool) -> Finding {
        const NAME: &str = "networks";
        let Connection::Refused(why) = self else { return Finding::ok(NAME, "by TCP") };
        let (state, way) =
            if is_ssh { ("through ssh", "its ssh") } else { ("through the session's links", "the session's link") };
        let cause = format!(
            "it cannot connect to this machine ({why}), so top, stack and other networks go through {way}: they are no \
             faster than that, and a host whose agent dies is lost to them"
        );
        let remedy = "let hosts connect to this machine by TCP, to any port, in the firewalls between; or leave it so";
        Finding::bad(Level::Warning, NAME, state, cause, remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_found_while_it_is_open_and_not_after() {
        let listener = TestListener::open().unwrap();
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, listener.port));
        assert_eq!(Connection::to(&[here]), Connection::At(here));
        assert_eq!(Connection::to(&[here]).finding(true).level, Level::Ok);
        drop(listener);
        let refused = Connection::to(&[here]);
        let Connection::Refused(why) = &refused else { panic!("{refused:?}") };
        assert!(why.starts_with(&here.to_string()) && why.contains("refused"), "{why}");
        let finding = refused.finding(true);
        assert_eq!((finding.level, finding.state.as_str()), (Level::Warning, "through ssh"));
        assert!(finding.cause.contains(why.as_str()) && !finding.remedy.is_empty());
        assert!(matches!(Connection::to(&[]), Connection::Refused(_)));
    }

    #[test]
    fn what_a_host_said_comes_back_as_it_was() {
        let at = Connection::At("[::1]:7".parse().unwrap());
        for connection in [at, Connection::Refused("no".into())] {
            assert_eq!(Connection::from_json(&connection.to_json()), Some(connection));
        }
        assert_eq!(Connection::from_json(&json!({ "at": "nowhere" })), None);
        assert_eq!(Connection::from_json(&Value::Null), None);
    }
}
