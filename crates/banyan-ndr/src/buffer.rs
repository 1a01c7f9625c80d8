//! Aligned memory to receive into, so that records can be viewed where they arrive.

/// A growable run of bytes that starts at a multiple of [`Buffer::ALIGN`].
///
/// Like a `Vec<u8>`, but what is read into it can be viewed in place whatever its type.
#[derive(Debug, Clone, Default)]
pub struct Buffer {
    lines: Vec<Line>,
    len: usize,
}

#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; Buffer::ALIGN]);

impl Buffer {
    /// The alignment of the first byte.
    pub const ALIGN: usize = 64;

    /// An empty buffer.
    pub const fn new() -> Buffer {
        Buffer { lines: Vec::new(), len: 0 }
    }

    /// Copies bytes into a new buffer.
    pub fn from_slice(bytes: &[u8]) -> Buffer {
        let mut buffer = Buffer::new();
        buffer.extend_from_slice(bytes);
        buffer
    }

    /// Sets the length. New bytes are zero or left over from what the buffer held before; they are never
    /// uninitialised, and never shrink the memory.
    #[inline]
    pub fn set_len(&mut self, len: usize) {
        if !self.set_len_within(len) {
            self.grow(len);
        }
    }

    /// Sets the length, if there is memory for it.
    #[inline]
    pub(crate) fn set_len_within(&mut self, len: usize) -> bool {
        let within = len <= self.lines.len() * Self::ALIGN;
        if within {
            self.len = len;
        }
        within
    }

    #[cold]
    fn grow(&mut self, len: usize) {
        self.lines.resize(len.div_ceil(Self::ALIGN), Line([0; Self::ALIGN]));
        self.len = len;
    }

    /// Bytes that there is memory for.
    pub fn capacity(&self) -> usize {
        self.lines.capacity() * Self::ALIGN
    }

    /// Sets the length to 0; keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends bytes.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        let at = self.len;
        self.set_len(at + bytes.len());
        self[at..].copy_from_slice(bytes);
    }
}

impl std::ops::Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: a `Line` is 64 initialised bytes without padding, `len` never exceeds 64 times their number, and
        // `u8` has no alignment.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl std::ops::DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; the borrow of `self` is exclusive, and any byte is valid in a `Line`.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_aligned(buffer: &Buffer) {
        assert!(buffer.as_ptr().addr().is_multiple_of(Buffer::ALIGN));
    }

    #[test]
    fn a_buffer_holds_what_was_appended_however_it_was_cut() {
        let bytes: Vec<u8> = (0..=255).cycle().take(700).collect();
        for piece in [1, 7, 63, 64, 65, 700] {
            let mut buffer = Buffer::new();
            bytes.chunks(piece).for_each(|piece| buffer.extend_from_slice(piece));
            assert_eq!(&buffer[..], &bytes[..], "in pieces of {piece}");
            assert_aligned(&buffer);
        }
    }

    #[test]
    fn an_empty_buffer_is_aligned_and_has_no_bytes() {
        let mut buffer = Buffer::new();
        assert_aligned(&buffer);
        assert!(buffer.is_empty());
        buffer.extend_from_slice(&[]);
        buffer.set_len(0);
        assert!(buffer.iter_mut().next().is_none());
    }

    #[test]
    fn new_bytes_are_zero_and_old_ones_stay() {
        let mut buffer = Buffer::from_slice(&[1, 2, 3]);
        buffer.set_len(200);
        assert_eq!(buffer[..3], [1, 2, 3]);
        assert!(buffer[3..].iter().all(|byte| *byte == 0));
        buffer[199] = 9;
        buffer.set_len(2);
        assert_eq!(&buffer[..], [1, 2]);
        buffer.set_len(200);
        assert_eq!((buffer[2], buffer[199]), (3, 9));
    }

    #[test]
    fn clearing_keeps_the_memory() {
        let mut buffer = Buffer::from_slice(&[7; 1000]);
        let memory = buffer.as_ptr();
        buffer.clear();
        assert!(buffer.is_empty());
        buffer.extend_from_slice(&[8; 1000]);
        assert_eq!(buffer.as_ptr(), memory);
        assert_eq!(&buffer[..], [8; 1000]);
    }

    #[test]
    fn a_clone_has_its_own_memory() {
        let original = Buffer::from_slice(&[1; 65]);
        let mut copy = original.clone();
        copy[64] = 2;
        assert_eq!(original[64], 1);
        assert_aligned(&copy);
    }
}
