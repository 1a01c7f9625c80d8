//! Host files: sets of hosts over several lines, with comments.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::error::{HostSetError, Position};
use super::limits::MAX_TEXT_BYTES;
use super::names::Names;
use super::parse::{Comments, Groups, parse};

/// Windows editors begin files with it.
const BYTE_ORDER_MARK: &str = "\u{feff}";

pub(super) fn read(path: &Path, groups: Option<Groups<'_>>) -> Result<Names, HostSetError> {
    let mut text = String::new();
    let limit = MAX_TEXT_BYTES as u64;
    let read = File::open(path).and_then(|file| file.take(limit + 1).read_to_string(&mut text));
    match read {
        // A file cut within a character is too long before it is anything else.
        Err(source) if source.kind() == io::ErrorKind::InvalidData && is_longer(path, limit) => {
            return Err(HostSetError::FileTooLong { path: path.into() });
        }
        Err(source) => return Err(HostSetError::File { path: path.into(), source }),
        Ok(bytes) if bytes > MAX_TEXT_BYTES => return Err(HostSetError::FileTooLong { path: path.into() }),
        Ok(_) => {}
    }
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
    parse(text, Comments::Allowed, groups).map_err(|(offset, problem)| HostSetError::FileText {
        path: path.into(),
        at: Position::of(text, offset),
        problem,
    })
}

fn is_longer(path: &Path, limit: u64) -> bool {
    path.metadata().is_ok_and(|file| file.len() > limit)
}
