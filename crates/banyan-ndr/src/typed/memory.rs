//! Values as bytes and bytes as values: the unsafe ground under `encode` and `view`, resting on the promises of
//! [`Wire`].

use super::Wire;
use crate::DecodeError;

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
    assert!(T::PLAIN, "only plain values are sent as they lie");
    // SAFETY: by the promises of `Wire`, all bytes of a plain value are initialised and stay as they are while the
    // values are borrowed.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Checks `bytes` as values in the native layout, one behind the other.
#[inline]
pub(super) fn check_all<T: Wire>(bytes: &[u8]) -> Result<(), DecodeError> {
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
    assert!(T::IN_PLACE && bytes.len() == T::SIZE, "the bytes of one value");
    if !T::ANY_BITS {
        T::check(bytes)?;
    }
    // SAFETY: by the promises of `Wire` bytes that pass `check` are a value; their number is asserted.
    Ok(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

/// Alignments up to this cost no call to pad for.
const SHORT_PADDING: usize = 16;

/// Appends `count` zeros. Without a call where the count is known to the compiler, and small.
#[inline]
pub(super) fn append_zeros(out: &mut Vec<u8>, count: usize) {
    out.reserve(count);
    // SAFETY: `reserve` has made room for as many bytes, and all of them are written.
    unsafe {
        out.as_mut_ptr().add(out.len()).write_bytes(0, count);
        out.set_len(out.len() + count);
    }
}

/// Appends `padding` zeros, fewer than `align`, which is a power of two known to the compiler.
#[inline]
pub(super) fn append_padding(out: &mut Vec<u8>, padding: usize, align: usize) {
    if align == 1 || padding == 0 {
        return;
    }
    assert!(padding < align, "more padding than alignment needs");
    if align > SHORT_PADDING {
        return append_zeros(out, padding);
    }
    out.reserve(SHORT_PADDING);
    // SAFETY: `reserve` has made room for as many bytes; those that become part of the list are among them, because
    // there are fewer than `align`, which is no more.
    unsafe {
        out.as_mut_ptr().add(out.len()).write_bytes(0, SHORT_PADDING);
        out.set_len(out.len() + padding);
    }
}

/// Bytes that are appended without a call when there is room: most names and small lists.
const SHORT: usize = 64;

/// Appends `padding` zeros, fewer than `align`, and up to [`SHORT`] bytes, if that takes no more memory than there is
/// and no call. Otherwise nothing happens. `align` is a power of two known to the compiler.
#[inline]
pub(super) fn append_short(out: &mut Vec<u8>, padding: usize, align: usize, bytes: &[u8]) -> bool {
    let room = out.capacity() - out.len();
    if align > SHORT_PADDING || padding >= align || bytes.len() > SHORT || room < SHORT_PADDING + SHORT {
        return false;
    }
    // SAFETY: there is room for the longest padding and, behind it, for the most bytes. What becomes part of the list
    // is written: the padding is among the zeros, and the bytes follow it. They cannot overlap what is borrowed
    // exclusively.
    unsafe {
        let end = out.as_mut_ptr().add(out.len());
        if align > 1 {
            end.write_bytes(0, SHORT_PADDING);
        }
        copy_short(bytes, end.add(padding));
        out.set_len(out.len() + padding + bytes.len());
    }
    true
}

/// Appends any number of bytes, and makes room for more: those of the next record are then short ones.
pub(super) fn append_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len().saturating_add(SHORT_PADDING + SHORT));
    out.extend_from_slice(bytes);
}

/// Copies up to [`SHORT`] bytes.
///
/// # Safety
///
/// There must be no more, and as much memory to write to at `to`, that does not overlap them.
#[inline(always)]
unsafe fn copy_short(bytes: &[u8], to: *mut u8) {
    let len = bytes.len();
    // SAFETY: by this function's contract; each class has at least as many bytes as one end, and at most both.
    unsafe {
        if len > 32 {
            copy_ends::<32>(bytes, to);
        } else if len >= 16 {
            copy_ends::<16>(bytes, to);
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

    use super::{SHORT, SHORT_PADDING, append_padding, append_short, append_zeros};

    #[test]
    fn short_bytes_are_appended_behind_their_padding_where_there_is_room() {
        let bytes: Vec<u8> = (1..=65).collect();
        // Miri would take minutes for all of them.
        let lengths: &[usize] =
            if cfg!(miri) { &[0, 1, 8, 17, 64, 65] } else { &array::from_fn::<_, 66, _>(|length| length) };
        for align in [1, 2, 4, 8, 16, 32] {
            for (padding, &length) in (0..align).flat_map(|padding| lengths.iter().map(move |length| (padding, length)))
            {
                let mut out = vec![0xff; 200];
                out.truncate(3);
                let done = append_short(&mut out, padding, align, &bytes[..length]);
                assert_eq!(done, align <= SHORT_PADDING && length <= SHORT, "{length} bytes to {align}");
                let appended = if done { [&vec![0; padding], &bytes[..length]].concat() } else { Vec::new() };
                assert_eq!(out, [vec![0xff; 3], appended].concat());
            }
        }
    }

    #[test]
    fn short_bytes_are_left_alone_where_there_is_no_room() {
        let mut out = Vec::with_capacity(SHORT_PADDING + SHORT);
        out.resize(out.capacity() - SHORT_PADDING - SHORT + 1, 0xff);
        let before = out.clone();
        assert!(!append_short(&mut out, 0, 1, &[1]));
        assert_eq!(out, before);
    }

    #[test]
    fn padding_and_zeros_are_zero_in_memory_that_held_something_else() {
        for align in [1, 2, 4, 8, 16, 32, 64] {
            for padding in 0..align {
                let mut out = vec![0xff; 200];
                out.truncate(3);
                append_padding(&mut out, padding, align);
                append_zeros(&mut out, 5);
                assert_eq!(out, [vec![0xff; 3], vec![0; padding + 5]].concat());
            }
        }
    }
}
