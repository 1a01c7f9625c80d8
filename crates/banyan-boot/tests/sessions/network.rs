//! A tiny network for tests of extensions: every agent, and every guard, has a connection to the front-end and tells it what
//! happens by line. When the connection ends, it is over.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use banyan_boot::{AgentExtension, AgentInfo, ExtensionControl, GuardInfo, SecretBytes};

use crate::setup::PATIENCE;

/// In a note that makes guards fail.
pub(crate) const BROKEN: &str = "broken";

/// In a note that makes agents panic when a member has ended, …
pub(crate) const PANICS: &str = "panics";

/// … and in one that makes them exit then, as if all was well.
pub(crate) const EXITS: &str = "exits";

/// In a note of a network whose nodes open tunnels to those above them.
pub(crate) const TUNNELS: &str = "tunnels";

/// Tunnels of one agent, and what goes through each, there and back: more than may be under way.
const EACH: usize = 4;
const LENGTH: usize = 5 << 20;

/// Between two looks of a guard at who is left.
const LOOK: Duration = Duration::from_millis(20);

/// The front-end's side: dropping it ends the network.
pub(crate) struct Network {
    name: String,
    connections: Arc<Mutex<Vec<UnixStream>>>,
    said: Receiver<String>,
}

impl Network {
    /// With an abstract address, for this host; or with a path, for all that see it.
    pub(crate) fn at(name: String) -> Network {
        let listener = UnixListener::bind_addr(&address(&name)).unwrap();
        let (connections, (says, said)) = (Arc::<Mutex<Vec<UnixStream>>>::default(), channel());
        let kept = Arc::clone(&connections);
        // Both end with the process.
        std::thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                kept.lock().unwrap().push(connection.try_clone().unwrap());
                let says = says.clone();
                std::thread::spawn(move || listen(connection, &says));
            }
        });
        Network { name, connections, said }
    }

    /// The front-end's note.
    pub(crate) fn note(&self) -> Vec<u8> {
        format!("{} 0", self.name).into_bytes()
    }

    /// Says this to everyone who listens.
    pub(crate) fn ask(&self, what: &str) {
        for mut connection in self.connections.lock().unwrap().iter() {
            // Those of agents that are gone are closed.
            let _ = writeln!(connection, "{what}");
        }
    }

    /// What is said next.
    pub(crate) fn next(&self) -> String {
        self.said.recv_timeout(PATIENCE).expect("somebody should say something")
    }

    /// So many lines that begin like this, in order of the alphabet; others are passed over.
    pub(crate) fn lines(&self, beginning: &str, count: usize) -> Vec<String> {
        let deadline = Instant::now() + PATIENCE;
        let mut lines = Vec::new();
        while lines.len() < count {
            assert!(Instant::now() < deadline, "only {lines:?}");
            let line = self.next();
            if line.starts_with(beginning) {
                lines.push(line);
            }
        }
        lines.sort();
        lines
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for connection in self.connections.lock().unwrap().iter() {
            let _ = connection.shutdown(std::net::Shutdown::Both);
        }
        if self.name.starts_with('/') {
            let _ = std::fs::remove_file(&self.name);
        }
    }
}

fn listen(connection: UnixStream, says: &Sender<String>) {
    for line in BufReader::new(connection).lines().map_while(Result::ok) {
        if says.send(line).is_err() {
            return;
        }
    }
}

fn address(name: &str) -> SocketAddr {
    if name.starts_with('/') { SocketAddr::from_pathname(name) } else { SocketAddr::from_abstract_name(name) }.unwrap()
}

/// A connection to the front-end, as the note says.
pub(crate) fn connect(note: &[u8]) -> io::Result<UnixStream> {
    let note = str::from_utf8(note).map_err(io::Error::other)?;
    let (name, _) = note.split_once(' ').ok_or_else(|| io::Error::other("no name in the note"))?;
    UnixStream::connect_addr(&address(name))
}

/// An agent's side.
#[derive(Default)]
pub(crate) struct Extension {
    node: u32,
    note: Vec<u8>,
    connection: Option<Arc<UnixStream>>,
}

impl Extension {
    fn say(&self, what: &str) {
        if let Some(connection) = &self.connection {
            // One write a line: lines of several threads do not mix.
            let _ = (&**connection).write_all(format!("{what}\n").as_bytes());
        }
    }
}

/// A port where everything comes back.
pub(crate) fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || io::copy(&mut &stream, &mut &stream));
        }
    });
    port
}

impl Extension {
    /// Sends something through a tunnel, and says whether it comes back.
    fn try_tunnel(&self, control: &ExtensionControl) -> io::Result<()> {
        let tunnel = UnixStream::from(control.tunnel()?);
        tunnel.set_nonblocking(false)?;
        let (node, connection, mut to) = (self.node, self.connection.clone(), tunnel.try_clone()?);
        let bytes: Vec<u8> = (0..LENGTH).map(|at| (at % 251) as u8).collect();
        let mut heard = vec![0; LENGTH];
        std::thread::spawn(move || {
            let sent = bytes.clone();
            std::thread::spawn(move || to.write_all(&sent));
            let came = (&tunnel).read_exact(&mut heard).is_ok() && heard == bytes;
            let line = format!("tunnel of {node}: {came}\n");
            connection.iter().for_each(|connection| _ = (&**connection).write_all(line.as_bytes()));
        });
        Ok(())
    }
}

impl AgentExtension for Extension {
    fn begin(&mut self, agent: &AgentInfo, control: ExtensionControl) -> io::Result<SecretBytes> {
        let connection = Arc::new(connect(&agent.note)?);
        self.node = agent.node;
        self.connection = Some(Arc::clone(&connection));
        let AgentInfo { node, level, agents, size, host, is_one_host, note, .. } = agent;
        let note = String::from_utf8_lossy(note);
        let path = note.split_once(' ').map_or("", |(_, path)| path);
        self.say(&format!("agent {node} level {level} of {agents} and {size} on {host} {is_one_host} below {path}"));
        let is_over = control.clone();
        std::thread::spawn(move || {
            let _ = io::copy(&mut &*connection, &mut io::sink());
            is_over.over();
        });
        if note.contains(TUNNELS) {
            control.listen(echo());
            (0..EACH).try_for_each(|_| self.try_tunnel(&control))?;
            assert_eq!(control.tunnel().unwrap_err().kind(), io::ErrorKind::ResourceBusy);
        }
        self.note = format!("{note}.{node}").into_bytes();
        Ok(self.note.clone().into())
    }

    fn note_for_member(&mut self, _rank: u32, _attaches: bool) -> SecretBytes {
        self.note.clone().into()
    }

    fn member_started(&mut self, rank: u32, _process: u32, socket: OwnedFd) {
        let mut socket = UnixStream::from(socket);
        socket.set_nonblocking(false).unwrap();
        writeln!(socket, "hello {rank} from {}", self.node).unwrap();
        let connection = self.connection.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(socket).lines().map_while(Result::ok) {
                let line = format!("member {rank} says {line}\n");
                connection.iter().for_each(|connection| _ = (&**connection).write_all(line.as_bytes()));
            }
        });
    }

    fn member_ended(&mut self, rank: u32) {
        let note = String::from_utf8_lossy(&self.note);
        assert!(!note.contains(PANICS), "an agent that fails");
        if note.contains(EXITS) {
            std::process::exit(0);
        }
        self.say(&format!("member {rank} ended"));
    }

    fn end(&mut self) {
        self.say(&format!("agent {} ends", self.node));
    }
}

/// The guard of a killed agent.
pub(crate) fn guard(info: &GuardInfo) {
    let AgentInfo { node, note, .. } = &info.agent;
    assert!(!String::from_utf8_lossy(note).contains(BROKEN), "a guard that fails");
    let Ok(mut connection) = connect(note) else { return };
    let _ = writeln!(connection, "guard {node}");
    connection.set_read_timeout(Some(LOOK)).unwrap();
    let mut heard = [0; 64];
    while info.look().1 {
        match connection.read(&mut heard) {
            Ok(0) => return,
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
            // Questions for members.
            _ => {}
        }
    }
    let _ = writeln!(connection, "guard {node} is alone");
}
