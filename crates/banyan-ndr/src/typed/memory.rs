//! Values as bytes and bytes as values: the unsafe ground under `encode` and `view`, resting on the promises of
//! [`Wire`].

use super::Wire;
use crate::DecodeError;

/// Refuses, when the program is compiled, a type that is read in place but is not as long as it says: [`Wire`] can be
/// implemented by hand.
pub const fn measured<T: Wire>() {
    assert!(
        !T::IN_PLACE || (T::SIZE == size_of::<T>() && T::ALIGN.is_multiple_of(align_of::<T>())),
        "a type that is read in place must have the size and the alignment that it has in memory"
    );
}

/// The memory of a plain value.
///
/// # Panics
/// When `T` is not plain.
#[inline]
pub(super) fn bytes_of<T: Wire>(value: &T) -> &[u8] {
    slice_bytes(std::slice::from_ref(value))
}

/// The memory of plain values.
///
/// # Panics
/// When `T` is not plain.
#[inline]
pub(super) fn slice_bytes<T: Wire>(values: &[T]) -> &[u8] {
    const { measured::<T>() };
    assert!(T::PLAIN, "only plain values are sent as they lie");
    // SAFETY: by the promises of `Wire`, all bytes of a plain value are initialised and stay as they are while the
    // values are borrowed.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Checks `bytes` as values in the native layout, one behind the other.
#[inline]
pub(super) fn check_all<T: Wire>(bytes: &[u8]) -> Result<(), DecodeError> {
    const { measured::<T>() };
    assert!(T::IN_PLACE, "only values that are laid out as in memory can be viewed");
    if T::ANY_BITS {
        return Ok(());
    }
    for (index, item) in bytes.chunks_exact(T::SIZE).enumerate() {
        T::check(item).map_err(|error| error.within(&format!("[{index}]")))?;
    }
    Ok(())
}

/// The bytes as a value, where they lie. Only as many as the value has.
#[inline]
pub(super) fn view<T: Wire>(bytes: &[u8]) -> Result<&T, DecodeError> {
    const { measured::<T>() };
    assert!(T::IN_PLACE, "only values that are laid out as in memory can be viewed");
    if bytes.len() != T::SIZE {
        return Err(DecodeError::Size { found: bytes.len(), wanted: T::SIZE });
    }
    if !bytes.as_ptr().cast::<T>().is_aligned() {
        return Err(DecodeError::Misaligned { path: String::new(), align: align_of::<T>() });
    }
    if !T::ANY_BITS {
        T::check(bytes)?;
    }
    // SAFETY: length and alignment are checked, and by the promises of `Wire` bytes that pass `check` are a value.
    // The bytes are borrowed as long as the value, which does not change behind the borrow.
    Ok(unsafe { &*bytes.as_ptr().cast::<T>() })
}

/// The bytes as values, where they lie.
#[inline]
pub(super) fn view_slice<T: Wire>(bytes: &[u8]) -> Result<&[T], DecodeError> {
    if !bytes.as_ptr().cast::<T>().is_aligned() {
        return Err(DecodeError::Misaligned { path: String::new(), align: align_of::<T>() });
    }
    check_all::<T>(bytes)?;
    // SAFETY: as in `view`; the number of values is what the bytes suffice for.
    Ok(unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / T::SIZE) })
}

/// A value made of bytes, aligned or not.
#[inline]
pub(super) fn value<T: Wire>(bytes: &[u8]) -> Result<T, DecodeError> {
    const { measured::<T>() };
    assert!(T::IN_PLACE && bytes.len() == T::SIZE, "the bytes of one value");
    if !T::ANY_BITS {
        T::check(bytes)?;
    }
    // SAFETY: by the promises of `Wire` bytes that pass `check` are a value; their number is asserted.
    Ok(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

/// Alignments up to this are padded by one store.
const SHORT_PADDING: usize = 16;

/// Bytes that are copied without a call: most names and small lists.
const SHORT: usize = 64;

/// Makes room for the most padding that [`append_within`] wants room for behind what it appends.
pub(super) fn make_room_for_padding(out: &mut Vec<u8>) {
    out.reserve(SHORT_PADDING);
}

/// Appends `count` zeros.
pub(super) fn append_zeros(out: &mut Vec<u8>, count: usize) {
    out.resize(out.len() + count, 0);
}

/// Appends `padding` zeros, fewer than `align`, and bytes, if there is memory for the bytes and the most padding.
/// Otherwise nothing happens. `align` is a power of two known to the compiler.
#[inline]
pub(super) fn append_within(out: &mut Vec<u8>, padding: usize, align: usize, bytes: &[u8]) -> bool {
    let Some(end) = pad_within(out, padding, align, bytes.len()) else { return false };
    // SAFETY: `pad_within` found room for the bytes at `end`. They cannot overlap what is borrowed exclusively.
    unsafe { copy(bytes, end) };
    // SAFETY: `pad_within` has written the padding, and the bytes follow it.
    unsafe { lengthen(out, padding, bytes.len()) };
    true
}

/// [`append_within`] for zeros. Without a call where `count` is known to the compiler, and small.
#[inline]
pub(super) fn append_zeros_within(out: &mut Vec<u8>, padding: usize, align: usize, count: usize) -> bool {
    let Some(end) = pad_within(out, padding, align, count) else { return false };
    // SAFETY: `pad_within` found room for as many bytes at `end`.
    unsafe { end.write_bytes(0, count) };
    // SAFETY: `pad_within` has written the padding, and the zeros follow it.
    unsafe { lengthen(out, padding, count) };
    true
}

/// Writes `padding` zeros behind the end, if there is memory for the most padding and for `count` bytes. Returns where
/// those go.
#[inline]
fn pad_within(out: &mut Vec<u8>, padding: usize, align: usize, count: usize) -> Option<*mut u8> {
    let needed = count.checked_add(SHORT_PADDING)?;
    if align > SHORT_PADDING || padding >= align || out.capacity() - out.len() < needed {
        return None;
    }
    // SAFETY: there is room for the longest padding, and behind any padding for `count` bytes.
    unsafe {
        let end = out.as_mut_ptr().add(out.len());
        if align > 1 {
            end.write_bytes(0, SHORT_PADDING);
        }
        Some(end.add(padding))
    }
}

/// Makes the list longer by padding and what is behind it.
///
/// # Safety
///
/// Both are written, within the capacity.
#[inline]
unsafe fn lengthen(out: &mut Vec<u8>, padding: usize, count: usize) {
    // SAFETY: by this function's contract; no capacity is so large that the sum overflows.
    unsafe { out.set_len(out.len().unchecked_add(padding).unchecked_add(count)) };
}

/// Copies bytes, up to [`SHORT`] of them without a call.
///
/// # Safety
///
/// There must be as much memory to write to at `to`, that does not overlap them.
#[inline(always)]
unsafe fn copy(bytes: &[u8], to: *mut u8) {
    let len = bytes.len();
    // SAFETY: by this function's contract; each class has at least as many bytes as one end, and at most both.
    unsafe {
        if len >= 16 {
            if len <= 32 {
                copy_ends::<16>(bytes, to);
            } else if len <= SHORT {
                copy_ends::<32>(bytes, to);
            } else {
                to.copy_from_nonoverlapping(bytes.as_ptr(), len);
            }
        } else if len >= 8 {
            copy_ends::<8>(bytes, to);
        } else if len >= 4 {
            copy_ends::<4>(bytes, to);
        } else if len > 0 {
            // First, middle and last are all of up to three.
            to.write(bytes[0]);
            to.add(len / 2).write(bytes[len / 2]);
            to.add(len - 1).write(bytes[len - 1]);
        }
    }
}

/// Copies the first and the last `N` bytes: all, of `N` to twice as many.
///
/// # Safety
///
/// There must be at least `N` bytes, and as much memory to write to at `to`.
#[inline(always)]
unsafe fn copy_ends<const N: usize>(bytes: &[u8], to: *mut u8) {
    // SAFETY: by this function's contract, the ends of source and target lie within them.
    unsafe {
        let last = bytes.len() - N;
        to.copy_from_nonoverlapping(bytes.as_ptr(), N);
        to.add(last).copy_from_nonoverlapping(bytes.as_ptr().add(last), N);
    }
}

/// Appends values made of bytes, aligned or not.
#[inline]
pub(super) fn extend<T: Wire>(values: &mut Vec<T>, bytes: &[u8]) -> Result<(), DecodeError> {
    check_all::<T>(bytes)?;
    let count = bytes.len() / T::SIZE;
    values.reserve(count);
    // SAFETY: `reserve` has made room for `count` values, behind those that are there; the bytes cannot overlap what
    // is borrowed exclusively. By the promises of `Wire` bytes that pass `check` are values.
    unsafe {
        let end = values.as_mut_ptr().add(values.len());
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), end.cast::<u8>(), count * T::SIZE);
        values.set_len(values.len() + count);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::array;

    use super::{SHORT_PADDING, append_within, append_zeros_within};

    #[test]
    fn bytes_are_appended_behind_their_padding_where_there_is_room() {
        let bytes: Vec<u8> = (1..=100).collect();
        // Miri would take minutes for all of them.
        let lengths: &[usize] =
            if cfg!(miri) { &[0, 1, 8, 17, 64, 65] } else { &array::from_fn::<_, 101, _>(|length| length) };
        for align in [1, 2, 4, 8, 16, 32] {
            for (padding, &length) in (0..align).flat_map(|padding| lengths.iter().map(move |length| (padding, length)))
            {
                let mut out = vec![0xff; 200];
                out.truncate(3);
                let done = append_within(&mut out, padding, align, &bytes[..length]);
                assert_eq!(done, align <= SHORT_PADDING, "{length} bytes to {align}");
                let appended = if done { [&vec![0; padding], &bytes[..length]].concat() } else { Vec::new() };
                assert_eq!(out, [vec![0xff; 3], appended].concat());
            }
        }
    }

    #[test]
    fn bytes_are_left_alone_where_there_is_no_room() {
        for length in [0, 1, 17, 64, 65, 1000] {
            let bytes = vec![1; length];
            let mut out = Vec::with_capacity(SHORT_PADDING + length);
            out.resize(out.capacity() - SHORT_PADDING - length + 1, 0xff);
            let before = out.clone();
            assert!(!append_within(&mut out, 0, 1, &bytes), "{length} bytes");
            assert_eq!(out, before);
        }
    }

    #[test]
    fn padding_and_zeros_are_zero_in_memory_that_held_something_else() {
        for align in [1, 2, 4, 8, 16, 32] {
            for padding in 0..align {
                let mut out = vec![0xff; 200];
                out.truncate(3);
                let done = append_zeros_within(&mut out, padding, align, 5);
                assert_eq!(done, align <= SHORT_PADDING);
                let appended = if done { padding + 5 } else { 0 };
                assert_eq!(out, [vec![0xff; 3], vec![0; appended]].concat());
            }
        }
    }

    #[test]
    fn zeros_are_left_away_where_there_is_no_room() {
        let mut out = Vec::with_capacity(64);
        let room = out.capacity();
        assert!(!append_zeros_within(&mut out, 0, 1, usize::MAX));
        assert!(!append_zeros_within(&mut out, 0, 1, room - SHORT_PADDING + 1));
        assert!(out.is_empty());
        assert!(append_zeros_within(&mut out, 0, 1, room - SHORT_PADDING));
    }
}
