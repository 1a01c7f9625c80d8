//! Writes FFS streams, to test what the golden files do not hold.

use banyan_ndr::ByteOrder;
use banyan_ndr::wire::write_uint;

/// The machine and library that write.
#[derive(Clone, Copy)]
pub(crate) struct Machine {
    pub(crate) order: ByteOrder,
    pub(crate) pointer: u8,
    pub(crate) version: u8,
    /// 1 big-endian, 2 little-endian, 3 mixed.
    pub(crate) floats: u16,
    pub(crate) column: bool,
}

pub(crate) const LITTLE: Machine =
    Machine { order: ByteOrder::Little, pointer: 8, version: 2, floats: 2, column: false };
pub(crate) const BIG: Machine = Machine { order: ByteOrder::Big, pointer: 4, version: 1, floats: 1, column: false };

/// A record: name, size and fields (name, type, size, offset).
pub(crate) type Record<'a> = (&'a str, u32, &'a [(&'a str, &'a str, u32, u32)]);

impl Machine {
    pub(crate) fn number(self, width: usize, value: i64) -> Vec<u8> {
        let mut bytes = vec![0; width];
        write_uint(&mut bytes, value as u128, self.order);
        bytes
    }

    pub(crate) fn reference(self, target: usize) -> Vec<u8> {
        self.number(self.pointer.into(), target as i64)
    }

    /// A stream of one format and one record of it, whose contents are given.
    pub(crate) fn stream(self, records: &[Record<'_>], contents: &[u8]) -> Vec<u8> {
        let mut stream = self.format(records);
        stream.extend(self.record(records, contents));
        stream
    }

    pub(crate) fn format(self, records: &[Record<'_>]) -> Vec<u8> {
        let description = self.description(records);
        let mut block = vec![2, 0, 0, 12];
        block.extend((description.len() as u32).to_be_bytes());
        block.extend(ID);
        block.extend(description);
        block
    }

    pub(crate) fn record(self, records: &[Record<'_>], contents: &[u8]) -> Vec<u8> {
        let fields = records.iter().flat_map(|record| record.2);
        let counted = |ty: &str| ty.split('[').skip(1).any(|dim| !dim.starts_with(|c: char| c.is_ascii_digit()));
        let has_references =
            fields.into_iter().any(|field| field.1.contains("string") || field.1.contains('*') || counted(field.1));
        let mut bytes = ID.to_vec();
        if has_references {
            bytes.extend(self.number(if self.version == 2 { 8 } else { 4 }, contents.len() as i64));
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes.extend(contents);
        let mut block = (0x0300_0000 | bytes.len() as u32).to_be_bytes().to_vec();
        block.extend(bytes);
        block
    }

    fn description(self, records: &[Record<'_>]) -> Vec<u8> {
        let mut all: Vec<u8> = records.iter().flat_map(|record| self.record_description(record)).collect();
        let len = all.len() as u32 + 8;
        let (high, low) = ((len >> 16) as u16, len as u16);
        let big = u8::from(self.order == ByteOrder::Big);
        let mut head = low.to_be_bytes().to_vec();
        head.extend([big, self.version, records.len() as u8 - 1, 0]);
        head.extend(high.to_be_bytes());
        head.append(&mut all);
        head
    }

    fn record_description(self, (name, size, fields): &Record<'_>) -> Vec<u8> {
        let (head, entry, wide) = if self.version == 0 { (20, 12, 2) } else { (28, 16, 4) };
        let mut texts = format!("{name}\0").into_bytes();
        let base = head + entry * fields.len();
        let mut table = Vec::new();
        for (name, ty, size, offset) in *fields {
            for text in [name, ty] {
                table.extend(self.number(wide, (base + texts.len()) as i64));
                texts.extend(format!("{text}\0").bytes());
            }
            table.extend(self.number(4, i64::from(*size)));
            table.extend(self.number(4, i64::from(*offset)));
        }
        let len = (base + texts.len()) as u16;
        let big = u8::from(self.order == ByteOrder::Big);
        let mut bytes = len.to_be_bytes().to_vec();
        bytes.extend([self.version, big]);
        if self.version == 0 {
            bytes.extend([self.pointer, 20]);
            bytes.extend([base, fields.len()].into_iter().flat_map(|number| self.number(2, number as i64)));
            bytes.extend(self.number(2, i64::from(self.floats)));
            bytes.extend(self.number(4, i64::from(*size)));
            bytes.extend([0, 0, u8::from(self.column), self.pointer]);
        } else {
            bytes.extend([base, fields.len()].into_iter().flat_map(|number| self.number(4, number as i64)));
            bytes.extend(self.number(4, i64::from(*size)));
            bytes.extend([self.pointer, 28]);
            bytes.extend(self.number(2, i64::from(self.floats)));
            bytes.extend([0, 0, u8::from(self.column), self.pointer, 0, 0, 0, 0]);
        }
        assert_eq!(bytes.len(), head);
        bytes.extend(table);
        bytes.extend(texts);
        bytes
    }
}

const ID: [u8; 12] = [2, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
