//! The agent program packed by `zstd` or `gzip`, for hosts that can unpack it: less than half of it travels.
//!
//! It is packed once by each of these, in a thread: a node that waits for it goes on with everything else.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use rustix::event::{EventfdFlags, eventfd};

use super::content::Content;
use super::program::in_path;

/// An agent with fewer children than this sends the program as it is. To pack it takes longer than to send what that saves, to
/// so few hosts of the same cluster.
const WORTH_PACKING: usize = 4;

/// Whether a node packs the program for its children. A front-end always does: its way to the first of them may be slow.
pub(crate) fn packs(is_front_end: bool, children: usize) -> bool {
    is_front_end || children >= WORTH_PACKING
}

/// What packs, and unpacks on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packer {
    /// Unpacks in a fifth of the time of the other one, and makes it smaller.
    Zstd,
    /// Which every host has.
    Gzip,
}

impl Packer {
    /// The better one first.
    pub(crate) const ALL: [Packer; 2] = [Packer::Zstd, Packer::Gzip];

    /// The name of the program, in the words of hosts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Packer::Zstd => "zstd",
            Packer::Gzip => "gzip",
        }
    }

    /// The best one of those with which a host unpacks that is on this machine, too.
    pub(crate) fn choose(unpackers: &[Packer]) -> Option<Packer> {
        Packer::ALL.into_iter().find(|packer| unpackers.contains(packer) && in_path(packer.name()).is_some())
    }

    /// The command that packs what comes by its standard input, to its standard output.
    fn command(self) -> Command {
        let mut command = Command::new(self.name());
        // More would take longer than it saves on the way to a few hosts.
        command.arg(match self {
            Packer::Zstd => "-q3c",
            Packer::Gzip => "-1c",
        });
        command
    }
}

/// A program that is being packed, or is.
#[derive(Debug)]
pub(crate) struct Packing {
    pub(crate) packer: Packer,
    /// With the line that says how it comes; nothing, if it cannot be packed.
    packed: Arc<OnceLock<Option<Bytes>>>,
    bell: Arc<OwnedFd>,
}

impl Packing {
    /// Begins to pack a program.
    pub(crate) fn start(packer: Packer, path: &Path) -> io::Result<Packing> {
        let packing = Packing {
            packer,
            packed: Arc::default(),
            bell: Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?),
        };
        let (packed, bell, path) = (Arc::clone(&packing.packed), Arc::clone(&packing.bell), path.to_owned());
        std::thread::Builder::new().name("packing".into()).spawn(move || {
            // Without it the program travels as it is.
            let _ = packed.set(pack(packer, path).ok());
            let _ = rustix::io::write(&*bell, &1u64.to_ne_bytes());
        })?;
        Ok(packing)
    }

    /// What tells that it is done.
    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// What came of it, when it is done.
    pub(crate) fn done(&self) -> Option<Option<Bytes>> {
        self.packed.get().cloned()
    }
}

fn pack(packer: Packer, path: PathBuf) -> io::Result<Bytes> {
    let mut content = Content::of(&path)?;
    let mut command = packer.command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut process = command.spawn()?;
    let (input, output) = (process.stdin.take(), process.stdout.take());
    let (Some(mut input), Some(mut output)) = (input, output) else { return Err(io::ErrorKind::BrokenPipe.into()) };
    let feed = std::thread::Builder::new().spawn(move || io::copy(&mut content, &mut input).map(drop))?;
    let mut packed = Vec::new();
    output.read_to_end(&mut packed)?;
    // An agent takes note of all its children that end, so of this one, too.
    let _ = process.wait();
    feed.join().map_err(|_| io::Error::other("the program cannot be read"))??;
    let mut text = Vec::new();
    writeln!(text, "{} {}", packer.name(), packed.len())?;
    text.append(&mut packed);
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_packs_nothing_for_one_child_and_a_front_end_does() {
        assert_eq!([packs(true, 1), packs(false, 1), packs(false, 32)], [true, false, true]);
    }

    #[test]
    fn of_what_hosts_unpack_with_the_best_is_chosen_and_nothing_where_they_have_nothing() {
        assert_eq!(Packer::choose(&[]), None);
        assert_eq!(Packer::choose(&[Packer::Gzip]), Some(Packer::Gzip));
        let best = if in_path("zstd").is_some() { Packer::Zstd } else { Packer::Gzip };
        assert_eq!(Packer::choose(&[Packer::Gzip, Packer::Zstd]), Some(best));
    }

    #[test]
    fn what_was_packed_is_the_content_behind_a_line_with_its_length() {
        let own = std::env::current_exe().unwrap();
        let mut whole = Vec::new();
        Content::of(&own).unwrap().read_to_end(&mut whole).unwrap();
        for packer in Packer::ALL.into_iter().filter(|packer| in_path(packer.name()).is_some()) {
            let packed = pack(packer, own.clone()).unwrap();
            let line = packed.iter().position(|byte| *byte == b'\n').unwrap();
            let length = packed.len() - line - 1;
            assert_eq!(packed[..line], *format!("{} {length}", packer.name()).as_bytes());
            assert!(length < whole.len() / 2, "{packer:?}: {length} of {}", whole.len());
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), &packed[line + 1..]).unwrap();
            let mut unpacker = Command::new(packer.name());
            let unpacked = unpacker.arg("-dc").stdin(file.reopen().unwrap()).output().unwrap();
            assert!(unpacked.stdout == whole, "{packer:?}");
        }
    }
}
