//! Which line of the source an address comes from, from the tables of the compiler; and which functions were inlined
//! there.
//!
//! Tables in files apart (`.dwo`) are not read.

use std::sync::Arc;

use addr2line::Context;
use gimli::{Dwarf, EndianArcSlice, NativeEndian, SectionId};

use super::compressed::Unpackable;
use super::elf::Elf;
use super::name::demangled;

type Reader = EndianArcSlice<NativeEndian>;

/// What is read of all tables of a file together, compressed and not; sections of a damaged file may lie on top of each
/// other. Those of the largest programs have as much.
const MAX_TABLES: u64 = 1 << 30;

/// The tables of one file.
pub(super) struct Lines(Context<Reader>);

/// A function, and where in the source it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    /// What the tables call it, if they do.
    pub(super) function: Option<String>,
    /// `file:line`, the file without its directories.
    pub(super) line: Option<String>,
}

impl Lines {
    /// `None` where the compiler has left no tables, or damaged ones.
    pub(super) fn of(elf: &Elf) -> Result<Option<Lines>, Unpackable> {
        if !elf.has_debug_section(".debug_line") {
            return Ok(None);
        }
        let mut left = MAX_TABLES;
        let load = |id: SectionId| {
            let bytes = elf.debug_section(id.name(), &mut left)?.unwrap_or_else(|| Arc::from([]));
            Ok(Reader::new(bytes, NativeEndian))
        };
        Ok(Context::from_dwarf(Dwarf::load(load)?).ok().map(Lines))
    }

    /// Where an address comes from: the inlined functions first, then the one they are in.
    pub(super) fn spots(&self, address: u64) -> Vec<Spot> {
        let Ok(mut frames) = self.0.find_frames(address).skip_all_loads() else { return Vec::new() };
        let mut spots = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let name =
                frame.function.as_ref().and_then(|function| function.raw_name().ok().map(|name| demangled(&name)));
            let line = frame.location.and_then(|place| {
                let file = place.file?.rsplit('/').next()?.to_owned();
                Some(place.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}")))
            });
            spots.push(Spot { function: name, line });
        }
        spots
    }
}
