//! Where functions begin that no symbol names: the entries of the unwinding tables, by the index that linkers make of them
//! (`.eh_frame_hdr`).

use super::elf::Section;

/// What an index begins with that is laid out as all linkers do it: version 1; a place of 4 bytes; a number of entries of 4
/// bytes; entries of two signed 4-byte distances from the index, sorted.
const USUAL: [u8; 4] = [1, 0x1b, 0x03, 0x3b];

/// Bytes before the entries: the above, the place of the tables, and the number of entries.
const HEAD: usize = 12;

/// Bytes of an entry: where code begins, and where its table is.
const ENTRY: usize = 8;

/// Where the last entry begins that does not begin behind an address; `None` if there is none, or the index is laid out in
/// another way.
pub(super) fn begin_of(index: &Section, address: u64) -> Option<u64> {
    let (place, bytes) = index;
    let head = bytes.get(..HEAD).filter(|head| head.starts_with(&USUAL))?;
    let count = u32::from_le_bytes(head[8..HEAD].try_into().ok()?) as usize;
    let entries = bytes.get(HEAD..)?.get(..count.checked_mul(ENTRY)?)?;
    let begin = |entry: usize| {
        let distance = entries.get(entry * ENTRY..)?.first_chunk::<4>()?;
        place.start.checked_add_signed(i32::from_le_bytes(*distance).into())
    };
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        if begin(middle)? <= address { low = middle + 1 } else { high = middle }
    }
    begin(low.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn index(place: u64, begins: &[i32]) -> Section {
        let entries = begins.iter().flat_map(|begin| [begin.to_le_bytes(), [9; 4]].concat());
        let count = (begins.len() as u32).to_le_bytes();
        let bytes: Vec<u8> = USUAL.into_iter().chain([0; 4]).chain(count).chain(entries).collect();
        (place..place + bytes.len() as u64, bytes.into())
    }

    #[test]
    fn an_address_belongs_to_the_last_entry_before_it() {
        let index = index(0x5000, &[-0x1000, -0x0f00, 0x100]);
        let begins = [0x3fff, 0x4000, 0x40ff, 0x4100, 0x50ff, 0x9000].map(|address| begin_of(&index, address));
        assert_eq!(begins, [None, Some(0x4000), Some(0x4000), Some(0x4100), Some(0x4100), Some(0x5100)]);
    }

    proptest! {
        #[test]
        fn no_index_panics(bytes in prop::collection::vec(any::<u8>(), 0..64), place in any::<u64>(), address in any::<u64>()) {
            let usual = [&USUAL[..], &bytes].concat();
            for bytes in [bytes, usual] {
                begin_of(&(place..place, bytes.into()), address);
            }
        }
    }
}
