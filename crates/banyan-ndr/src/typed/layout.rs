//! Layouts of types with references, computed by the compiler: fields in order, each at its alignment, as in C.

/// Where `N` fields lie, and what they take together.
#[derive(Debug, Clone, Copy)]
pub struct Layout<const N: usize> {
    /// Where each field begins.
    pub offsets: [usize; N],
    /// Bytes in all; at least 1.
    pub size: usize,
    /// The largest alignment.
    pub align: usize,
}

/// Lays out fields of given size and alignment one behind the other.
pub const fn in_order<const N: usize>(fields: [(usize, usize); N]) -> Layout<N> {
    let mut layout = Layout { offsets: [0; N], size: 0, align: 1 };
    let mut index = 0;
    while index < N {
        let (size, align) = fields[index];
        let offset = align_up(layout.size, align);
        layout.offsets[index] = offset;
        layout.size = offset + size;
        if align > layout.align {
            layout.align = align;
        }
        index += 1;
    }
    // A format has no definitions of size 0.
    layout.size = if layout.size == 0 { 1 } else { align_up(layout.size, layout.align) };
    layout
}

/// The next multiple of a power of two.
pub const fn align_up(at: usize, align: usize) -> usize {
    (at + align - 1) & !(align - 1)
}

/// The largest of some numbers, or `least`.
pub const fn fold_max(least: usize, numbers: &[usize]) -> usize {
    let mut largest = least;
    let mut index = 0;
    while index < numbers.len() {
        if numbers[index] > largest {
            largest = numbers[index];
        }
        index += 1;
    }
    largest
}

/// A size or offset as formats hold it.
///
/// # Panics
/// From 4 GiB on.
pub fn narrow(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("the fixed part of a record is smaller than 4 GiB")
}
