//! A second, naive reading of the byte layout in `docs/record-files.md`, to compare with.

use std::ops::Range;

/// A block of an undamaged file.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) bytes: Range<usize>,
    pub(crate) kind: u8,
    pub(crate) records: Range<u64>,
    /// Where the formats of its records are described, record by record.
    pub(crate) formats: Vec<u64>,
}

pub(crate) const RECORDS: u8 = 1;
pub(crate) const FORMAT: u8 = 2;
pub(crate) const INDEX: u8 = 5;

fn number(file: &[u8], at: usize, bytes: usize) -> u64 {
    (0..bytes).map(|i| u64::from(file[at + i]) << (8 * i)).sum()
}

pub(crate) fn blocks(file: &[u8]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut at = 32;
    while at < file.len() {
        let first = number(file, at + 32, 8);
        let end = at + 80 + number(file, at + 40, 8) as usize;
        let mut block = Block {
            bytes: at..end,
            kind: file[at + 68],
            records: first..first + number(file, at + 64, 4),
            formats: Vec::new(),
        };
        if block.kind == RECORDS {
            for run in 0..number(file, at + 80, 4) as usize {
                let run = at + 88 + 24 * run;
                block.formats.extend(vec![number(file, run + 8, 8); number(file, run + 16, 4) as usize]);
            }
            assert_eq!(block.formats.len() as u64, number(file, at + 64, 4));
        }
        blocks.push(block);
        at = end;
    }
    assert_eq!(at, file.len());
    blocks
}

/// The file before its index was written.
pub(crate) fn without_index(file: &[u8]) -> &[u8] {
    let last = blocks(file).pop().unwrap();
    assert_eq!(last.kind, INDEX);
    &file[..last.bytes.start]
}
