//! What a writer must know of a file to continue it.

use std::fs::File;
use std::sync::Mutex;

use super::damage::Damage;
use super::error::WriteError;
use super::layout::{BlockHeader, FileId, Kind};
use super::reader::Reader;
use super::store::Store;
use banyan_ndr::{Format, Limits};

/// The state of a file behind its last complete block. Its torn tail is cut off.
#[derive(Debug)]
pub(super) struct Recovered {
    /// `None` when there is not even a file header: the file is to be started.
    pub(super) file: Option<FileId>,
    pub(super) end: u64,
    pub(super) sequence: u64,
    pub(super) records: u64,
    /// The blocks behind the last index.
    pub(super) unlisted: Vec<BlockHeader>,
    pub(super) last_index: Option<u64>,
    pub(super) formats: Vec<(u64, Format)>,
    pub(super) tail: Option<Damage>,
}

impl Recovered {
    /// Reads the file's blocks and cuts off what is torn.
    pub(super) fn from(file: &File) -> Result<Recovered, WriteError> {
        let store = Store::File(Mutex::new(file.try_clone()?));
        let reader = Reader::from_store(store, Limits::default())?;
        let end = reader.scanner.as_ref().map_or(0, |scanner| scanner.at);
        if reader.tail.is_some() {
            file.set_len(end)?;
        }
        let headers = || reader.blocks.iter().map(|block| &block.header);
        let last_index = headers().rfind(|header| header.kind == Kind::Index).map(|header| header.offset);
        Ok(Recovered {
            file: reader.scanner.as_ref().and_then(|scanner| scanner.file()),
            end,
            sequence: reader.scanner.as_ref().map_or(0, |scanner| scanner.next_sequence),
            records: reader.len(),
            unlisted: headers().filter(|header| last_index.is_none_or(|at| header.offset > at)).cloned().collect(),
            last_index,
            formats: reader.catalog.formats().map(|(at, format)| (at, format.clone())).collect(),
            tail: reader.tail.clone(),
        })
    }
}
