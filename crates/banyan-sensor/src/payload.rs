//! Records as words of a ring, and words as bytes.

use std::sync::atomic::{AtomicU64, Ordering};

use banyan_ndr::typed::Wire;
use banyan_ndr::{DecodeError, Record};

/// Stores a plain record as it lies in memory. There are enough words for it.
///
/// # Panics
/// When `T` is not plain.
#[inline]
pub(crate) fn store<T: Record>(record: &T, words: &[AtomicU64]) {
    assert!(T::PLAIN, "only plain records are stored as they lie");
    // SAFETY: by the promises of `Wire`, all bytes of a plain value are initialised and stay as they are while it is
    // borrowed.
    let bytes = unsafe { std::slice::from_raw_parts(std::ptr::from_ref(record).cast::<u8>(), size_of::<T>()) };
    store_bytes(bytes, words);
}

/// Stores bytes; the last word is filled with zeros.
#[inline]
pub(crate) fn store_bytes(bytes: &[u8], words: &[AtomicU64]) {
    let (whole, rest) = bytes.as_chunks::<8>();
    for (word, bytes) in words.iter().zip(whole) {
        word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
    }
    if let (false, Some(word)) = (rest.is_empty(), words.get(whole.len())) {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        word.store(u64::from_ne_bytes(last), Ordering::Relaxed);
    }
}

/// The value that lies in the first bytes of a word, if it is one.
///
/// # Panics
/// When `T` does not lie in memory as in a record, or is longer.
#[inline]
pub(crate) fn load<T: Wire>(word: u64) -> Result<T, DecodeError> {
    assert!(T::IN_PLACE && size_of::<T>() <= 8, "only values in place are loaded as they lie");
    let bytes = word.to_ne_bytes();
    T::check(&bytes[..size_of::<T>()])?;
    // SAFETY: there are as many bytes, all initialised. By the promises of `Wire`, bytes that pass `check` are a valid
    // value of a type in place; it borrows nothing, as nothing was lent to it.
    Ok(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

/// The first bytes of words.
pub(crate) fn bytes(words: &[u64], length: usize) -> &[u8] {
    assert!(length <= size_of_val(words), "as many bytes as there are");
    // SAFETY: the words are borrowed as long as the bytes, and have as many of them.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), length) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Record)]
    struct Odd {
        name: [u8; 3],
    }

    /// Padded on every machine.
    #[derive(Record)]
    struct Padded {
        level: u32,
        flag: u8,
    }

    fn words(count: usize) -> Vec<AtomicU64> {
        (0..count).map(|_| AtomicU64::new(u64::MAX)).collect()
    }

    #[test]
    fn bytes_come_back_as_they_were_stored() {
        for length in 0..40 {
            let source: Vec<u8> = (1..=length).collect();
            let memory = words(source.len().div_ceil(8));
            store_bytes(&source, &memory);
            let copied: Vec<u64> = memory.iter().map(|word| word.load(Ordering::Relaxed)).collect();
            assert_eq!(bytes(&copied, source.len()), source);
        }
    }

    #[test]
    fn a_plain_record_is_stored_as_it_lies() {
        let memory = words(1);
        store(&Odd { name: *b"abc" }, &memory);
        assert_eq!(memory[0].load(Ordering::Relaxed).to_ne_bytes(), *b"abc\0\0\0\0\0");
    }

    #[derive(Record, Debug, PartialEq)]
    #[repr(C)]
    struct Small {
        flag: bool,
        level: u16,
    }

    #[test]
    fn a_value_in_a_word_is_loaded_if_it_is_one() {
        assert_eq!(load::<f64>(0.5f64.to_bits()), Ok(0.5));
        let word = |bytes: [u8; 8]| u64::from_ne_bytes(bytes);
        let level = 7u16.to_ne_bytes();
        let small = word([1, 0xee, level[0], level[1], 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(load::<Small>(small), Ok(Small { flag: true, level: 7 }), "whatever lies in the padding");
        assert!(load::<Small>(word([2, 0, 0, 0, 0, 0, 0, 0])).is_err());
        assert!(load::<bool>(word([2, 0, 0, 0, 0, 0, 0, 0])).is_err());
    }

    #[test]
    #[should_panic(expected = "only plain records")]
    fn a_record_with_padding_is_not_stored_as_it_lies() {
        store(&Padded { level: 2, flag: 1 }, &words(1));
    }
}
