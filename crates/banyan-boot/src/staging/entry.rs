//! The entries of a staged stream: files, directories and symbolic links, and which names they may have.
//!
//! An entry is a head of 32 bytes (kind, whether it has a time, length of the name in 16 bits, mode in 32, length of the
//! content in 64, the time in seconds in 64 and nanoseconds in 32, 0 in 32; little-endian), the name, and the content: the
//! bytes of a file, the target of a link, nothing for a directory. The first entry has no name and is what was staged
//! itself; all others are paths from there, each after its directory.

use std::path::{Component, Path, PathBuf};

/// Bytes of an entry before its name.
pub(crate) const HEAD_BYTES: usize = 32;

/// Bytes of the longest name and of the longest target of a link: what Linux takes as a path.
pub(crate) const MAX_NAME: usize = 4096;

/// Permissions that are kept. Whatever gives a file the rights of its owner is not.
pub(crate) const MODE_MASK: u32 = 0o777;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Directory,
    Link,
}

/// When a file was last written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileTime {
    /// Since the beginning of 1970.
    pub(crate) seconds: i64,
    /// Less than a second.
    pub(crate) nanoseconds: u32,
}

/// Nanoseconds that are less than a second.
const SECOND: u32 = 1_000_000_000;

/// The head of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) kind: EntryKind,
    pub(crate) mode: u32,
    pub(crate) name: u16,
    pub(crate) length: u64,
    /// Of a file, if it is to be kept.
    pub(crate) time: Option<FileTime>,
}

impl Head {
    pub(crate) fn encode(self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[0] = match self.kind {
            EntryKind::File => b'f',
            EntryKind::Directory => b'd',
            EntryKind::Link => b'l',
        };
        bytes[2..4].copy_from_slice(&self.name.to_le_bytes());
        bytes[4..8].copy_from_slice(&(self.mode & MODE_MASK).to_le_bytes());
        bytes[8..16].copy_from_slice(&self.length.to_le_bytes());
        if let Some(time) = self.time {
            bytes[1] = 1;
            bytes[16..24].copy_from_slice(&time.seconds.to_le_bytes());
            bytes[24..28].copy_from_slice(&time.nanoseconds.to_le_bytes());
        }
        bytes
    }

    /// `None` if it is no head.
    pub(crate) fn decode(bytes: &[u8; HEAD_BYTES]) -> Option<Head> {
        let [kind, timed, n0, n1, m0, m1, m2, m3, rest @ ..] = *bytes;
        let (length, rest) = rest.split_first_chunk::<8>()?;
        let (seconds, rest) = rest.split_first_chunk::<8>()?;
        let (nanoseconds, zeros) = rest.split_first_chunk::<4>()?;
        let time = FileTime { seconds: i64::from_le_bytes(*seconds), nanoseconds: u32::from_le_bytes(*nanoseconds) };
        let head = Head {
            kind: match kind {
                b'f' => EntryKind::File,
                b'd' => EntryKind::Directory,
                b'l' => EntryKind::Link,
                _ => return None,
            },
            mode: u32::from_le_bytes([m0, m1, m2, m3]),
            name: u16::from_le_bytes([n0, n1]),
            length: u64::from_le_bytes(*length),
            time: (timed == 1).then_some(time),
        };
        let is_time_sound = match timed {
            0 => time == FileTime { seconds: 0, nanoseconds: 0 },
            1 => head.kind == EntryKind::File && time.nanoseconds < SECOND,
            _ => false,
        };
        let fits = match head.kind {
            EntryKind::File => true,
            EntryKind::Directory => head.length == 0,
            EntryKind::Link => head.length > 0 && head.length <= MAX_NAME as u64,
        };
        let sound = zeros == [0; 4] && head.mode & !MODE_MASK == 0 && usize::from(head.name) <= MAX_NAME;
        (fits && is_time_sound && sound).then_some(head)
    }
}

/// Whether a name stays below the directory it is used in: plain components only, written in the one usual way.
pub(crate) fn is_sound_name(name: &Path) -> bool {
    let plain: Option<PathBuf> = name
        .components()
        .map(|component| match component {
            Component::Normal(part) => Some(part),
            _ => None,
        })
        .collect();
    let text = name.as_os_str().as_encoded_bytes();
    plain.is_some_and(|plain| !text.is_empty() && plain.as_os_str() == name.as_os_str()) && !text.contains(&0)
}

/// Whether a link at `name` that points to `target` stays inside. `..` counts only at the beginning of the target: behind
/// another component it could lead anywhere, if that is a link too.
pub(crate) fn stays_inside(name: &Path, target: &Path) -> bool {
    let depth = name.components().count().saturating_sub(1);
    let ups = target.components().take_while(|component| *component == Component::ParentDir).count();
    let mut rest = target.components().skip(ups);
    let plain = rest.all(|component| matches!(component, Component::Normal(_) | Component::CurDir));
    let text = target.as_os_str().as_encoded_bytes();
    ups <= depth && plain && !text.is_empty() && !text.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_that_lead_elsewhere_are_not_sound() {
        for name in ["", "/", "/etc/passwd", "..", "../x", "a/../b", "a/..", "./a", "a//b", "a/", "a\0b", "."] {
            assert!(!is_sound_name(Path::new(name)), "{name:?}");
        }
        for name in ["a", "a/b", "..a", "a..", "...", "a/.hidden"] {
            assert!(is_sound_name(Path::new(name)), "{name:?}");
        }
    }

    #[test]
    fn a_link_may_point_up_no_further_than_the_directory_that_is_staged() {
        let inside = [("l", "a"), ("d/l", "../a"), ("d/e/l", "../../a/b"), ("d/l", ".."), ("l", "./a")];
        for (name, target) in inside {
            assert!(stays_inside(Path::new(name), Path::new(target)), "{name} -> {target}");
        }
        let outside =
            [("l", "/etc"), ("l", ".."), ("d/l", "../../a"), ("l", "a/../../b"), ("l", "d/up/../x"), ("l", "")];
        for (name, target) in outside {
            assert!(!stays_inside(Path::new(name), Path::new(target)), "{name} -> {target}");
        }
    }

    proptest! {
        #[test]
        fn a_head_comes_back_from_its_bytes_and_no_bytes_panic(bytes in any::<[u8; HEAD_BYTES]>()) {
            if let Some(head) = Head::decode(&bytes) {
                prop_assert_eq!(head.encode(), bytes);
            }
        }
    }
}
