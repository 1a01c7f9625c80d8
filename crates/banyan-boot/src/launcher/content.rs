//! What of an agent program travels to hosts that lack it: what the kernel loads of it, and no more.
//!
//! Most of a program with debug information is read by debuggers only. An executable in ELF form says which of its bytes
//! are loaded; what lies behind the last of these, and the table of sections that describes it, stays at home. Programs in
//! any other form travel whole.
//!
//! The content of what has travelled is itself again: an agent sends on what it was made from.

use std::fs::File;
use std::io::{self, Chain, Cursor, Read, Seek, SeekFrom, Take};
use std::path::Path;

/// Bytes of the header of a 64-bit executable.
const HEADER: usize = 64;

/// How such a header begins: the form, and 64 bits. The byte that follows tells the order of bytes.
const BEGINNING: [u8; 5] = *b"\x7fELF\x02";
const OWN_ORDER: u8 = if cfg!(target_endian = "little") { 1 } else { 2 };

/// Where the header tells of sections: the place of their table, then the size of its entries, their number, and which of
/// them holds the names. All zeros: there are none.
const SECTIONS: [std::ops::Range<usize>; 2] = [40..48, 58..64];

/// Bytes of an entry of the table of segments.
const SEGMENT: usize = 56;

/// Segments of a program at most; one with more travels whole.
const MAX_SEGMENTS: u16 = 256;

/// The bytes of a program that travel.
#[derive(Debug)]
pub(crate) struct Content(Chain<Cursor<Vec<u8>>, Take<File>>);

impl Content {
    /// Of the program in this file.
    pub(crate) fn of(path: &Path) -> io::Result<Content> {
        let mut file = File::open(path)?;
        let whole = file.metadata()?.len();
        let mut header = Vec::new();
        file.by_ref().take(HEADER as u64).read_to_end(&mut header)?;
        let loaded = loaded(&mut file, &header)?.filter(|loaded| (HEADER as u64..=whole).contains(loaded));
        if loaded.is_some() {
            SECTIONS.into_iter().for_each(|sections| header[sections].fill(0));
        }
        let length = loaded.unwrap_or(whole);
        file.seek(SeekFrom::Start(header.len() as u64))?;
        let rest = file.take(length.saturating_sub(header.len() as u64));
        Ok(Content(Cursor::new(header).chain(rest)))
    }
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

/// Where the last segment, or their table, ends in the file; `None` if this is no executable of this machine's form.
fn loaded(file: &mut File, header: &[u8]) -> io::Result<Option<u64>> {
    if header.len() < HEADER || header[..5] != BEGINNING || header[5] != OWN_ORDER {
        return Ok(None);
    }
    let (table, size, count) = (long(header, 32), short(header, 54), short(header, 56));
    if usize::from(size) != SEGMENT || count == 0 || count > MAX_SEGMENTS {
        return Ok(None);
    }
    let mut segments = Vec::new();
    file.seek(SeekFrom::Start(table))?;
    file.take(u64::from(size) * u64::from(count)).read_to_end(&mut segments)?;
    let mut end = table.checked_add(segments.len() as u64);
    for segment in segments.chunks_exact(SEGMENT) {
        let segment_end = long(segment, 8).checked_add(long(segment, 32));
        end = end.zip(segment_end).map(|(one, other)| one.max(other));
    }
    Ok(end.filter(|_| segments.len() == SEGMENT * usize::from(count)))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
}

fn short(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).and_then(|bytes| bytes.try_into().ok()).map_or(0, u16::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    fn read(path: &Path) -> Vec<u8> {
        let mut bytes = Vec::new();
        Content::of(path).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    fn written(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    #[test]
    fn a_program_runs_without_what_only_debuggers_read_and_travels_on_as_it_is() {
        let own = std::env::current_exe().unwrap();
        let bytes = read(&own);
        assert!((bytes.len() as u64) < own.metadata().unwrap().len(), "this test has debug information or symbols");
        let place = tempfile::TempDir::new().unwrap();
        let lean = place.path().join("lean");
        std::fs::write(&lean, &bytes).unwrap();
        std::fs::set_permissions(&lean, std::fs::Permissions::from_mode(0o700)).unwrap();
        let ran = Command::new(&lean).arg("--list").output().unwrap();
        assert!(ran.status.success() && !ran.stdout.is_empty());
        assert!(read(&lean) == bytes, "the content of a content is itself");
    }

    #[test]
    fn a_script_travels_whole() {
        let script = b"#!/bin/sh\nexec banyan \"$@\"\n";
        assert_eq!(read(written(script).path()), script);
    }

    proptest! {
        #[test]
        fn any_header_gives_bytes_that_are_there_and_the_same_again(
            fields in prop::collection::vec(any::<u8>(), 58),
            rest in prop::collection::vec(any::<u8>(), 0..400),
            count in 0u8..8,
        ) {
            let mut bytes = [&BEGINNING[..], &[OWN_ORDER], &fields, &rest].concat();
            // Often enough a table of segments that can be read.
            bytes[32..40].copy_from_slice(&64u64.to_ne_bytes());
            bytes[54..56].copy_from_slice(&(SEGMENT as u16).to_ne_bytes());
            bytes[56..58].copy_from_slice(&u16::from(count).to_ne_bytes());
            let content = read(written(&bytes).path());
            prop_assert!(content.len() <= bytes.len() && content[HEADER.min(content.len())..] == bytes[HEADER..content.len()]);
            prop_assert_eq!(read(written(&content).path()), content);
        }
    }
}
