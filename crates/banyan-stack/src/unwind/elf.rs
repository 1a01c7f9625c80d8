//! What is needed of a program file: where its code lies, how to unwind it, its symbols.
//!
//! Files are read, never mapped: one that is cut while it is read gives an error, not a signal. They are whatever a
//! process has mapped, so nothing in them is believed: every place is checked against the length of the file.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable};
use object::{Endianness, ReadCache, ReadRef};

use super::compressed::{Unpackable, unpacked, unpacked_old};
use super::symbols::{MAX_NAME, Symbols, SymbolsBuilder};

/// A section that is read whole is at most this long; what is longer is as if it were not there. The unwinding tables of
/// the largest browsers have a tenth of this.
const MAX_SECTION: u64 = 1 << 30;

/// Sections of a file; those of compilers have dozens.
const MAX_SECTIONS: u32 = 1 << 16;

type Header = FileHeader64<Endianness>;

/// A section: where it is in memory, and its bytes.
pub(super) type Section = (Range<u64>, Arc<[u8]>);

/// A file of a program or a library.
#[derive(Debug)]
pub(super) enum Elf {
    /// On a disk.
    File(Box<ReadCache<File>>),
    /// In memory, such as what the kernel maps into every process.
    Bytes(Vec<u8>),
}

/// A part of a file that is mapped with the right to execute.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    address: u64,
    offset: u64,
    length: u64,
}

/// What unwinding needs.
#[derive(Debug, Default, Clone)]
pub(super) struct Unwinding {
    pub(super) segments: Vec<Segment>,
    pub(super) text: Option<Range<u64>>,
    pub(super) offsets: Option<Range<u64>>,
    pub(super) frames: Option<Section>,
    pub(super) index: Option<Section>,
    pub(super) debug_frames: Option<Arc<[u8]>>,
}

impl Elf {
    pub(super) fn open(file: File) -> Elf {
        Elf::File(Box::new(ReadCache::new(file)))
    }

    /// What unwinding needs; nothing of what is no ELF file.
    pub(super) fn unwinding(&self) -> Unwinding {
        match self {
            Elf::File(cache) => unwinding(&**cache),
            Elf::Bytes(bytes) => unwinding(&bytes[..]),
        }
        .unwrap_or_default()
    }

    /// The functions it names.
    pub(super) fn symbols(&self) -> Symbols {
        let mut builder = SymbolsBuilder::default();
        // What a damaged table gives before the damage is worth having.
        let _ = match self {
            Elf::File(cache) => add_symbols(&**cache, &mut builder),
            Elf::Bytes(bytes) => add_symbols(&bytes[..], &mut builder),
        };
        builder.finish()
    }

    /// The name under which systems keep the symbols that were stripped off.
    pub(super) fn build_id(&self) -> Option<Vec<u8>> {
        match self {
            Elf::File(cache) => build_id(&**cache),
            Elf::Bytes(bytes) => build_id(&bytes[..]),
        }
    }

    /// Whether there is a section for debuggers, such as `.debug_line`, compressed or not.
    pub(super) fn has_debug_section(&self, name: &str) -> bool {
        match self {
            Elf::File(cache) => has_debug_section(&**cache, name),
            Elf::Bytes(bytes) => has_debug_section(&bytes[..], name),
        }
    }

    /// Its bytes; `None` if there is none. What is read for it is taken off `left`, and no more is read than that.
    pub(super) fn debug_section(&self, name: &str, left: &mut u64) -> Result<Option<Arc<[u8]>>, Unpackable> {
        match self {
            Elf::File(cache) => debug_section(&**cache, name, left),
            Elf::Bytes(bytes) => debug_section(&bytes[..], name, left),
        }
    }
}

impl Segment {
    /// What to add to an address of the file to get one in memory, if it is this segment that was mapped from `offset` of
    /// the file to `start`.
    pub(super) fn bias(&self, start: u64, offset: u64, length: u64) -> Option<u64> {
        let begins_before = self.offset < offset.saturating_add(length);
        let ends_behind = offset < self.offset.saturating_add(self.length);
        let base = self.address.wrapping_sub(self.offset).wrapping_add(offset);
        (begins_before && ends_behind).then(|| start.wrapping_sub(base))
    }
}

fn unwinding<'d, R: ReadRef<'d>>(data: R) -> Option<Unwinding> {
    let (header, endian, sections) = open(data)?;
    let programs = header.program_headers(endian, data).ok()?;
    let is_code = |part: &&elf::ProgramHeader64<Endianness>| {
        part.p_type(endian) == elf::PT_LOAD && part.p_flags(endian).0 & elf::PF_X.0 != 0
    };
    let segments = programs.iter().filter(is_code).map(|part| Segment {
        address: part.p_vaddr(endian),
        offset: part.p_offset(endian),
        length: part.p_filesz(endian),
    });
    let find = |name: &str| section(data, endian, &sections, name);
    let place = |name: &str| {
        let (_, section) = sections.section_by_name(endian, name.as_bytes())?;
        Some(range(endian, section))
    };
    let frames = find(".eh_frame");
    // Tables that debuggers use are larger, and not sorted: only where there is nothing else.
    let debug_frames = if frames.is_none() { find(".debug_frame").map(|(_, bytes)| bytes) } else { None };
    Some(Unwinding {
        segments: segments.collect(),
        text: place(".text"),
        offsets: place(".got"),
        frames,
        index: find(".eh_frame_hdr"),
        debug_frames,
    })
}

type Opened<'d, R> = (&'d Header, Endianness, SectionTable<'d, Header, R>);

fn open<'d, R: ReadRef<'d>>(data: R) -> Option<Opened<'d, R>> {
    let header = Header::parse(data).ok()?;
    let endian = header.endian().ok()?;
    if header.shnum(endian, data).ok()? > MAX_SECTIONS {
        return None;
    }
    let sections = header.sections(endian, data).ok()?;
    Some((header, endian, sections))
}

fn section_by_name<'d, R: ReadRef<'d>>(data: R, name: &str) -> Option<Section> {
    let (_, endian, sections) = open(data)?;
    section(data, endian, &sections, name)
}

fn has_debug_section<'d, R: ReadRef<'d>>(data: R, name: &str) -> bool {
    open(data).is_some_and(|(_, endian, sections)| {
        let is_there = |name: &str| {
            let found = sections.section_by_name(endian, name.as_bytes());
            found.is_some_and(|(_, section)| bytes_in_file(endian, section) > 0)
        };
        is_there(name) || is_there(&old_name(name))
    })
}

fn debug_section<'d, R: ReadRef<'d>>(data: R, name: &str, left: &mut u64) -> Result<Option<Arc<[u8]>>, Unpackable> {
    let Some((_, endian, sections)) = open(data) else { return Ok(None) };
    // What is read stays in memory, and what is unpacked comes on top of it.
    let mut spend = |bytes: u64| -> Result<u64, Unpackable> {
        *left = left.checked_sub(bytes).ok_or(Unpackable::Damaged)?;
        Ok(*left)
    };
    let bytes = if let Some((_, found)) = sections.section_by_name(endian, name.as_bytes()) {
        let left = spend(bytes_in_file(endian, found))?;
        match unpacked(data, endian, found, left) {
            Some(unpacked) => unpacked?,
            None => return Ok(section(data, endian, &sections, name).map(|(_, bytes)| bytes)),
        }
    } else if let Some((_, found)) = sections.section_by_name(endian, old_name(name).as_bytes()) {
        let left = spend(bytes_in_file(endian, found))?;
        match section(data, endian, &sections, &old_name(name)) {
            Some((_, bytes)) => unpacked_old(&bytes, left)?,
            None => return Ok(None),
        }
    } else {
        return Ok(None);
    };
    spend(bytes.len() as u64)?;
    Ok(Some(bytes))
}

/// What old compilers call a section that is compressed.
fn old_name(name: &str) -> String {
    name.replacen(".debug_", ".zdebug_", 1)
}

/// How much of the file a section says that it takes.
fn bytes_in_file(endian: Endianness, section: &elf::SectionHeader64<Endianness>) -> u64 {
    section.file_range(endian).map_or(0, |(_, length)| length)
}

/// A section that is not compressed.
fn section<'d, R: ReadRef<'d>>(
    data: R,
    endian: Endianness,
    sections: &SectionTable<'d, Header, R>,
    name: &str,
) -> Option<Section> {
    let (_, section) = sections.section_by_name(endian, name.as_bytes())?;
    let compressed = section.sh_flags(endian).0 & elf::SHF_COMPRESSED.0 != 0;
    if compressed || section.sh_size(endian) > MAX_SECTION {
        return None;
    }
    let bytes = section.data(endian, data).ok().filter(|bytes| !bytes.is_empty())?;
    Some((range(endian, section), bytes.into()))
}

fn range(endian: Endianness, section: &elf::SectionHeader64<Endianness>) -> Range<u64> {
    let start = section.sh_addr(endian);
    start..start.saturating_add(section.sh_size(endian))
}

fn add_symbols<'d, R: ReadRef<'d>>(data: R, builder: &mut SymbolsBuilder) -> Option<()> {
    use object::read::elf::Sym;
    let (_, endian, sections) = open(data)?;
    for kind in [elf::SHT_SYMTAB, elf::SHT_DYNSYM] {
        if sections.iter().any(|section| section.sh_type(endian) == kind && section.sh_size(endian) > MAX_SECTION) {
            continue;
        }
        let Ok(table) = sections.symbols(endian, data, kind) else { continue };
        if table.is_empty() {
            continue;
        }
        // All names in one piece: asked for one by one, each would be a read of its own.
        let strings = sections.section(table.string_section()).ok()?;
        if strings.sh_size(endian) > MAX_SECTION {
            continue;
        }
        let strings = strings.data(endian, data).ok()?;
        for symbol in table.iter() {
            let is_function = matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_GNU_IFUNC | elf::STT_NOTYPE);
            if !is_function || symbol.st_shndx(endian) == elf::SHN_UNDEF || symbol.st_value(endian) == 0 {
                continue;
            }
            let tail = strings.get(symbol.st_name(endian) as usize..).unwrap_or_default();
            // Longer ones are cut anyway, and some tables have no end.
            let name = tail.get(..MAX_NAME).unwrap_or(tail).split(|byte| *byte == 0).next().unwrap_or_default();
            let is_local = symbol.st_bind() == elf::STB_LOCAL;
            let is_typed = symbol.st_type() != elf::STT_NOTYPE;
            builder.add(symbol.st_value(endian), symbol.st_size(endian), name, is_local, is_typed);
        }
        // The table for the linker is a part of the other one.
        break;
    }
    Some(())
}

fn build_id<'d, R: ReadRef<'d>>(data: R) -> Option<Vec<u8>> {
    let (_, bytes) = section_by_name(data, ".note.gnu.build-id")?;
    // Length of the name, length of the content, kind; then "GNU\0" and the content.
    bytes.get(16..).filter(|id| (4..=64).contains(&id.len())).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file with two sections for debuggers that lie on the same bytes.
    fn overlapping(length: u64) -> Elf {
        let names = b"\0.debug_line\0.debug_info\0";
        let (header, heads) = (64u64, 4 * 64u64);
        let names_at = header + heads;
        let content_at = names_at + names.len() as u64;
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(16, 0);
        let short = |bytes: &mut Vec<u8>, number: u16| bytes.extend(number.to_le_bytes());
        let word = |bytes: &mut Vec<u8>, number: u32| bytes.extend(number.to_le_bytes());
        let long = |bytes: &mut Vec<u8>, number: u64| bytes.extend(number.to_le_bytes());
        [3, 62].into_iter().for_each(|number| short(&mut bytes, number));
        word(&mut bytes, 1);
        [0, 0, header].into_iter().for_each(|number| long(&mut bytes, number));
        word(&mut bytes, 0);
        [64, 56, 0, 64, 4, 3].into_iter().for_each(|number| short(&mut bytes, number));
        bytes.resize((header + 64) as usize, 0);
        let sections = [(1, 1, content_at, length), (13, 1, content_at, length), (0, 3, names_at, names.len() as u64)];
        for (name, kind, offset, size) in sections {
            [name, kind].into_iter().for_each(|number| word(&mut bytes, number));
            [0, 0, offset, size].into_iter().for_each(|number| long(&mut bytes, number));
            [0, 0].into_iter().for_each(|number| word(&mut bytes, number));
            [1, 0].into_iter().for_each(|number| long(&mut bytes, number));
        }
        bytes.extend(names);
        bytes.resize((content_at + length) as usize, 7);
        Elf::Bytes(bytes)
    }

    #[test]
    fn sections_on_the_same_bytes_are_read_only_as_far_as_all_may_be() {
        let elf = overlapping(1000);
        let mut left = 1999;
        assert!(elf.has_debug_section(".debug_line") && !elf.has_debug_section(".debug_str"));
        assert_eq!(elf.debug_section(".debug_line", &mut left).map(|found| found.map(|it| it.len())), Ok(Some(1000)));
        assert_eq!(elf.debug_section(".debug_str", &mut left), Ok(None));
        assert_eq!(elf.debug_section(".debug_info", &mut left), Err(Unpackable::Damaged));
        assert!(elf.debug_section(".debug_info", &mut 1000).is_ok_and(|found| found.is_some()));
    }
}
