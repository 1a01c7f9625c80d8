//! The agent program packed by `gzip`, for hosts that can unpack it: less than half of it travels.
//!
//! It is packed once, by the quickest means, in a thread: a node that waits for it goes on with everything else.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use rustix::event::{EventfdFlags, eventfd};

use super::content::Content;

/// An agent with fewer children than this sends the program as it is. To pack it takes longer than to send what that saves, to
/// so few hosts of the same cluster.
const WORTH_PACKING: usize = 4;

/// Whether a node packs the program for its children. A front-end always does: its way to the first of them may be slow.
pub(crate) fn packs(is_front_end: bool, children: usize) -> bool {
    is_front_end || children >= WORTH_PACKING
}

/// A program that is being packed, or is.
#[derive(Debug)]
pub(crate) struct Packing {
    /// With the line that says how it comes; nothing, if it cannot be packed.
    packed: Arc<OnceLock<Option<Bytes>>>,
    bell: Arc<OwnedFd>,
}

impl Packing {
    /// Begins to pack a program.
    pub(crate) fn start(path: &Path) -> io::Result<Packing> {
        let packing = Packing {
            packed: Arc::default(),
            bell: Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?),
        };
        let (packed, bell, path) = (Arc::clone(&packing.packed), Arc::clone(&packing.bell), path.to_owned());
        std::thread::Builder::new().name("packing".into()).spawn(move || {
            // Without it the program travels as it is.
            let _ = packed.set(pack(path).ok());
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

fn pack(path: PathBuf) -> io::Result<Bytes> {
    let mut content = Content::of(&path)?;
    let mut gzip = Command::new("gzip");
    gzip.args(["-1", "-c"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut gzip = gzip.spawn()?;
    let (input, output) = (gzip.stdin.take(), gzip.stdout.take());
    let (Some(mut input), Some(mut output)) = (input, output) else { return Err(io::ErrorKind::BrokenPipe.into()) };
    let feed = std::thread::spawn(move || io::copy(&mut content, &mut input).map(drop));
    let mut packed = Vec::new();
    output.read_to_end(&mut packed)?;
    // An agent takes note of all its children that end, so of this one, too.
    let _ = gzip.wait();
    feed.join().map_err(|_| io::Error::other("the program cannot be read"))??;
    let mut text = Vec::new();
    writeln!(text, "gzip {}", packed.len())?;
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
    fn what_was_packed_is_the_content_behind_a_line_with_its_length() {
        let own = std::env::current_exe().unwrap();
        let packed = pack(own.clone()).unwrap();
        let line = packed.iter().position(|byte| *byte == b'\n').unwrap();
        let length = packed.len() - line - 1;
        assert_eq!(packed[..line], *format!("gzip {length}").as_bytes());
        let mut whole = Vec::new();
        Content::of(&own).unwrap().read_to_end(&mut whole).unwrap();
        assert!(length < whole.len() / 2, "{length} of {}", whole.len());
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &packed[line + 1..]).unwrap();
        let unpacked = Command::new("gzip").arg("-dc").stdin(file.reopen().unwrap()).output().unwrap();
        assert!(unpacked.stdout == whole);
    }
}
