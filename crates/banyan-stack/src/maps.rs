//! What lies where in the memory of a process: its file `maps`.

use std::fs;
use std::io;

/// How far below its mapping a stack may have grown since the mapping was read.
const GROWTH: u64 = 8 << 20;

/// Mappings of a process that are looked at, at most: the kernel's own default limit is a quarter of that.
const MAX_MAPS: usize = 1 << 18;

/// A range of memory with one purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Map {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) is_executable: bool,
    /// Where in its file it begins.
    pub(crate) offset: u64,
    pub(crate) file: FileId,
    /// The file, or a name in brackets, or nothing. A file that was removed has ` (deleted)` behind its name.
    pub(crate) path: String,
}

/// Which file, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct FileId {
    pub(crate) device: (u32, u32),
    pub(crate) inode: u64,
}

/// All ranges, ascending.
#[derive(Debug, Clone, Default)]
pub(crate) struct Maps(Vec<Map>);

impl Maps {
    pub(crate) fn read(process: u32) -> io::Result<Maps> {
        let bytes = fs::read(format!("/proc/{process}/maps"))?;
        Ok(Maps::parse(&String::from_utf8_lossy(&bytes)))
    }

    fn parse(text: &str) -> Maps {
        Maps(text.lines().filter_map(parse_line).take(MAX_MAPS).collect())
    }

    /// The ranges with code.
    pub(crate) fn code(&self) -> impl Iterator<Item = &Map> {
        self.0.iter().filter(|map| map.is_executable)
    }

    /// The range of the stack that reaches down to this address.
    pub(crate) fn stack_at(&self, address: u64) -> Option<&Map> {
        let map = self.0.get(self.0.partition_point(|map| map.end <= address))?;
        let lowest = if map.path == "[stack]" { map.start.saturating_sub(GROWTH) } else { map.start };
        (lowest <= address).then_some(map)
    }
}

/// `start-end rwxp offset major:minor inode path`
fn parse_line(line: &str) -> Option<Map> {
    let mut rest = line;
    let mut word = || {
        let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = behind.trim_start_matches(' ');
        word
    };
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = word().split_once('-')?;
    let access = word();
    let offset = word();
    let (major, minor) = word().split_once(':')?;
    let inode = word();
    let device = (u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?);
    let (start, end) = (hexadecimal(start)?, hexadecimal(end)?);
    (start < end).then_some(Map {
        start,
        end,
        is_executable: access.contains('x'),
        offset: hexadecimal(offset)?,
        file: FileId { device, inode: inode.parse().ok()? },
        path: rest.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
55d0c6a00000-55d0c6a01000 r-xp 00001000 fd:01 1234                       /opt/my solver (deleted)
7ffd5f600000-7ffd5f621000 rw-p 00000000 00:00 0                          [stack]
7ffd5f7c2000-7ffd5f7c4000 r-xp 00000000 00:00 0                          [vdso]
what is this
7-3 r-xp 0 0:0 0
";

    #[test]
    fn lines_become_ranges_and_nonsense_is_left_out() {
        let maps = Maps::parse(TEXT);
        let code: Vec<_> = maps.code().map(|map| (map.path.as_str(), map.offset, map.file.inode)).collect();
        assert_eq!(code, [("/opt/my solver (deleted)", 0x1000, 1234), ("[vdso]", 0, 0)]);
    }

    #[test]
    fn a_stack_may_have_grown_since_its_range_was_read() {
        let maps = Maps::parse(TEXT);
        assert_eq!(maps.stack_at(0x7ffd5f5ffff8).expect("the stack").path, "[stack]");
        assert_eq!(maps.stack_at(0x7ffd5f610000).expect("the stack").path, "[stack]");
        assert_eq!(maps.stack_at(0x10), None);
        assert_eq!(maps.stack_at(u64::MAX), None);
    }
}
