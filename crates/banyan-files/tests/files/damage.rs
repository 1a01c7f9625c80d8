//! Truncated at every byte, flipped in every bit: exactly the undamaged records, and the loss by place and number.

use banyan_files::{Damage, DamageReason, ReadError, Reader};

use super::oracle::{self, Block};
use super::samples::{Sample, all, all_of_stream, numbered, open, small_file};
use crate::effort::share;

/// The records that are left when the bytes of one block cannot be used.
fn survivors(samples: &[Sample], blocks: &[Block], hit: &Block, format_is_lost: bool) -> Vec<(u64, Sample)> {
    let lost = |number: u64| {
        let block = blocks.iter().find(|block| block.records.contains(&number)).unwrap();
        let format = block.formats[(number - block.records.start) as usize];
        hit.records.contains(&number) || (format_is_lost && format == hit.bytes.start as u64)
    };
    numbered(samples).into_iter().filter(|(number, _)| !lost(*number)).collect()
}

fn covers(damage: &[Damage], byte: usize) -> bool {
    damage.iter().any(|damage| (damage.offset..damage.offset + damage.length).contains(&(byte as u64)))
}

fn lost(damage: &[Damage]) -> Option<u64> {
    damage.iter().map(|damage| damage.records_lost).sum()
}

/// Of the places in a file, every how many-th to damage: each of them, or fewer where every step is slow. Odd, so that
/// no place in a word is left out.
fn every() -> usize {
    (8 / share(8) as usize) | 1
}

/// Flips every bit of every block, or one bit each of fewer bytes where that is slow. `check` gets the place, the damaged
/// file, the block, and what is left of the records.
fn flips(
    file: &[u8],
    left: impl Fn(&Block) -> Vec<(u64, Sample)>,
    check: impl Fn(usize, &[u8], &Block, &[(u64, Sample)]),
) {
    let mut damaged = file.to_vec();
    for block in oracle::blocks(file) {
        let left = left(&block);
        for byte in block.bytes.clone().step_by(every()) {
            for bit in (0..8).filter(|bit| every() == 1 || *bit == byte % 8) {
                damaged[byte] ^= 1 << bit;
                check(byte, &damaged, &block, &left);
                damaged[byte] ^= 1 << bit;
            }
        }
    }
}

#[test]
fn a_flipped_bit_costs_the_records_of_its_block_and_no_other() {
    let (file, samples) = small_file();
    let blocks = oracle::blocks(&file);
    assert!(blocks.iter().filter(|block| block.kind == oracle::RECORDS).count() > 5, "a test of many blocks");
    // The index repeats the formats: damage to a description costs nothing.
    let left = |block: &Block| survivors(&samples, &blocks, block, false);
    flips(&file, left, |byte, damaged, block, left| {
        let reader = open(damaged);
        assert_eq!(all(&reader), left, "byte {byte}");
        let damage = reader.verify();
        assert!(covers(&damage, byte), "byte {byte}: {damage:?}");
        if block.kind != oracle::INDEX {
            assert_eq!(lost(&damage), Some((samples.len() - left.len()) as u64), "byte {byte}");
            assert_eq!(reader.len(), samples.len() as u64);
        }
    });
}

#[test]
fn a_flipped_bit_in_a_file_without_index_costs_its_block_and_what_it_describes() {
    let (file, samples) = small_file();
    let file = oracle::without_index(&file);
    let blocks = oracle::blocks(file);
    let left = |block: &Block| survivors(&samples, &blocks, block, block.kind == oracle::FORMAT);
    flips(file, left, |byte, damaged, _, left| {
        let reader = open(damaged);
        assert_eq!(all(&reader), left, "byte {byte}");
        assert!(covers(&reader.verify(), byte), "byte {byte}");
        let (records, damage) = all_of_stream(damaged);
        assert_eq!(records, left, "stream, byte {byte}");
        assert_eq!(damage, reader.damage(), "byte {byte}");
    });
}

#[test]
fn a_flipped_bit_in_the_file_header_costs_no_record() {
    let (file, samples) = small_file();
    for bit in 0..32 * 8 {
        let mut damaged = file.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let reader = open(&damaged);
        assert_eq!(all(&reader), numbered(&samples));
        assert_eq!(reader.verify()[0].reason, DamageReason::FileHeader);
        assert_eq!(all_of_stream(&damaged), (numbered(&samples), reader.damage()));
    }
}

#[test]
fn a_file_cut_anywhere_keeps_every_record_of_its_complete_blocks() {
    let (file, samples) = small_file();
    let blocks = oracle::blocks(&file);
    for len in (0..=file.len()).step_by(every()) {
        let cut = &file[..len];
        let complete = blocks.iter().take_while(|block| block.bytes.end <= len).last();
        let records = complete.map_or(0, |block| block.records.end as usize);
        let reader = open(cut);
        assert_eq!(all(&reader), numbered(&samples[..records]), "cut at {len}");

        let end = complete.map_or(if len < 32 { 0 } else { 32 }, |block| block.bytes.end);
        let damage = reader.verify();
        if end == len {
            assert_eq!(damage, [], "cut at {len}");
            assert_eq!(reader.is_finished(), len == file.len());
        } else {
            let [torn] = &damage[..] else { panic!("cut at {len}: {damage:?}") };
            assert_eq!((torn.offset, torn.length), (end as u64, (len - end) as u64), "cut at {len}");
            assert_eq!(torn.reason, DamageReason::TornTail);
        }
        assert_eq!(all_of_stream(cut), (numbered(&samples[..records]), damage), "cut at {len}");
    }
}

#[test]
fn a_lost_record_is_named_with_the_damage_that_took_it() {
    let (mut file, samples) = small_file();
    let block = oracle::blocks(&file).into_iter().filter(|block| block.kind == oracle::RECORDS).nth(2).unwrap();
    file[block.bytes.start + 100] ^= 0x10;
    let reader = open(&file);
    for number in 0..samples.len() as u64 {
        match reader.record(number) {
            Ok(record) => assert_eq!(Sample::from(record), samples[number as usize]),
            Err(ReadError::Lost { number, damage: Some(damage) }) => {
                assert!(block.records.contains(&number));
                assert_eq!(damage.offset, block.bytes.start as u64);
                assert_eq!(damage.reason, DamageReason::Checksum);
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn zeroed_pages_cost_the_blocks_they_touch() {
    let (file, samples) = small_file();
    let blocks = oracle::blocks(&file);
    for from in (32..file.len() - 300).step_by(16) {
        let mut damaged = oracle::without_index(&file).to_vec();
        let to = (from + 300).min(damaged.len());
        if from >= to {
            break;
        }
        damaged[from..to].fill(0);
        let hit: Vec<&Block> = blocks.iter().filter(|b| b.bytes.start < to && from < b.bytes.end).collect();
        let mut left = numbered(&samples);
        for block in &hit {
            let kept = survivors(&samples, &blocks, block, block.kind == oracle::FORMAT);
            left.retain(|row| kept.contains(row));
        }
        assert_eq!(all(&open(&damaged)), left, "zeros from {from}");
    }
}

#[test]
fn a_record_file_within_a_record_is_not_mistaken_for_blocks() {
    use banyan_files::{Writer, WriterOptions};
    let (inner, _) = small_file();
    let sample = super::samples::blob_at(0.0, &inner);
    let mut writer = Writer::stream(Vec::new(), WriterOptions::default()).unwrap();
    writer.write_body(&sample.format, &sample.body).unwrap();
    let mut file = writer.finish().unwrap();
    let block = oracle::blocks(&file).into_iter().find(|block| block.kind == oracle::RECORDS).unwrap();
    file[block.bytes.start + 20] ^= 1;
    let reader = open(&file);
    assert_eq!(all(&reader), []);
    assert_eq!(lost(&reader.verify()), Some(1));
}

#[test]
fn other_files_are_refused() {
    for bytes in [&b"time,value\n1,2\n"[..], &[0; 5000], &[0x89]] {
        let refused = Reader::from_bytes(banyan_ndr::Buffer::from_slice(bytes));
        match bytes {
            [0x89] => assert!(refused.unwrap().is_empty()),
            _ => assert!(matches!(refused, Err(ReadError::NotARecordFile { .. }))),
        }
    }
}
