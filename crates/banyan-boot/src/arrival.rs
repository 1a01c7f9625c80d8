//! How an agent that was started together with all others arrives: it reads the roster, opens its own listener if it will
//! have children, and finds its parent.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use banyan_link::{Link, Listener, Secret, SecretBytes};
use rustix::fs::{Mode, OFlags};

use crate::launcher::together::RosterFile;
use crate::listening;
use crate::roster::{Identity, ROSTER_BYTES, Roster};
use crate::search::find_parent;
use crate::ticket::read_secret;

/// An agent that has arrived.
pub(crate) struct Arrival {
    /// The link to its parent.
    pub(crate) link: Link,
    /// Where its children come; `None` if it has none.
    pub(crate) listener: Option<Listener>,
    /// The session's secret.
    pub(crate) secret: Secret,
    /// The roster, which goes with this agent if it is still there.
    pub(crate) roster: Option<RosterFile>,
}

impl Arrival {
    /// By the roster in this file; `-` is standard input. The error says what went wrong and on which host.
    pub(crate) fn by_roster(path: &OsStr) -> Result<Arrival, String> {
        let who = Identity::own();
        let host = who.node.clone().unwrap_or_else(|| who.host.clone());
        arrive(path, &who).map_err(|why| format!("host {host}: {why}"))
    }
}

fn arrive(path: &OsStr, who: &Identity) -> Result<Arrival, String> {
    let text = read(path).map_err(|error| format!("the roster {} cannot be read: {error}", path.display()))?;
    let text = text.expose_text().ok_or_else(|| format!("the roster {} is not text", path.display()))?;
    let roster = Roster::parse(text).map_err(|error| error.to_string())?;
    let index = roster.index_of(who).map_err(|error| error.to_string())?;
    let options = roster.link_options();
    // Before it looks for its own parent: its children look for it already.
    let listener = (roster.agents[index].below > 0)
        .then(|| listening::listen(&roster.secret, index as u32, &options))
        .transpose()
        .map_err(|error| format!("no port to listen at: {error}"))?;
    // Not before: other agents may still have to read it. Once a parent was waited for in vain they have, or never will.
    let file = RosterFile::given(path, roster.session);
    let link = find_parent(&roster, index, &options).map_err(|error| error.to_string())?;
    Ok(Arrival { link, listener, secret: roster.secret, roster: file })
}

/// The roster's text. Standard streams lead nowhere afterwards, but for standard error.
fn read(path: &OsStr) -> io::Result<SecretBytes> {
    let text = if path == "-" {
        // Not through the buffer of standard input, which nobody clears.
        read_secret(File::from(io::stdin().as_fd().try_clone_to_owned()?), ROSTER_BYTES)?
    } else {
        read_secret(File::open(path)?, ROSTER_BYTES)?
    };
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(text)
}
