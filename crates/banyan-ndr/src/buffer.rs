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
    pub fn set_len(&mut self, len: usize) {
        let lines = len.div_ceil(Self::ALIGN);
        if lines > self.lines.len() {
            self.lines.resize(lines, Line([0; Self::ALIGN]));
        }
        self.len = len;
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

    fn deref(&self) -> &[u8] {
        // SAFETY: a `Line` is 64 initialised bytes without padding, `len` never exceeds 64 times their number, and
        // `u8` has no alignment.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl std::ops::DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; the borrow of `self` is exclusive, and any byte is valid in a `Line`.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}
