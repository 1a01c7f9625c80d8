//! Sending a C struct as it lies: its fields are copied to where they stand, its pointers are followed and become
//! references.
//!
//! Iterative: what a pointer leads to gets its place at the end of the body and waits in a queue. Padding is never
//! read. What several shared pointers lead to is sent once.

use std::collections::VecDeque;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};

use crate::dynamic::targets::TypeKeys;
use crate::wire::{Slots, read_int, read_uint, write_uint};
use crate::{Buffer, ByteOrder, Dim, EncodeError, Format, RecordDef, Type, reflect};

/// Writes the struct at `base` and everything it leads to as a body into `out`, which is cleared first.
///
/// `char *` fields lead to NUL-terminated strings, pointers to one item each, arrays sized by fields to as many items
/// as those say. Strings, blobs and lists lie in memory as a pointer and a `size_t` count. Any of them may be null
/// where there is nothing. A bool that is neither 0 nor 1 is sent as 1.
///
/// # Errors
/// When the format describes another machine's struct, a pointer that may not be null is, a value is none of its type,
/// or a pointer that is not shared leads to what was sent already.
///
/// # Safety
/// - `base` leads to a struct laid out as `format` says, with every field initialised.
/// - Every pointer in it, and in what it leads to, is null or leads to initialised memory of the type that the format
///   says, for as many items as its length fields say; C strings end with a NUL.
/// - None of this memory changes during the call.
pub unsafe fn encode_c(format: &Format, base: *const u8, out: &mut Buffer) -> Result<(), EncodeError> {
    if !format.is_native() {
        return Err(refuse(format.name(), "the format describes another machine's struct"));
    }
    out.clear();
    let mut encoder = Encoder {
        format,
        slots: Slots { order: format.order(), pointer: format.pointer() },
        out,
        types: TypeKeys::default(),
        shared: HashMap::new(),
        owned: HashSet::new(),
        waiting: VecDeque::new(),
    };
    let ty = reflect::root_type(format);
    let at = encoder.reserve(format.align(), format.size(), 1)?;
    let key = encoder.types.key(ty);
    encoder.shared.insert((base.addr(), key), at);
    encoder.waiting.push_back(DeferredItems { source: base, at, item: ty, count: 1, name: format.name() });
    while let Some(waiting) = encoder.waiting.pop_front() {
        // SAFETY: the caller vouches for `base`, and for all that pointers in valid structs lead to.
        unsafe { encoder.run(&waiting)? };
    }
    Ok(())
}

/// The bytes of a struct without pointers, padding or values to check, by reference: they are its body. `None` when
/// the format is not of that kind, or describes another machine's struct.
///
/// # Safety
/// `base` leads to a struct laid out as `format` says, which stays there unchanged for `'a`.
pub unsafe fn plain_c<'a>(format: &Format, base: *const u8) -> Option<&'a [u8]> {
    if !format.is_native() || !format.is_plain(reflect::root_type(format)) {
        return None;
    }
    // SAFETY: the caller vouches for the struct; it has no padding, so all of its bytes are initialised.
    Some(unsafe { std::slice::from_raw_parts(base, format.size()) })
}

/// Items in memory whose place in the body is kept free.
struct DeferredItems<'f> {
    source: *const u8,
    at: usize,
    item: &'f Type,
    count: usize,
    name: &'f str,
}

struct Encoder<'f, 'o> {
    format: &'f Format,
    slots: Slots,
    out: &'o mut Buffer,
    types: TypeKeys<'f>,
    /// Where the targets of shared pointers lie in the body, by address and type.
    shared: HashMap<(usize, usize), usize>,
    /// Targets of pointers that are not shared, where a cycle of them could go on for ever.
    owned: HashSet<(usize, usize)>,
    waiting: VecDeque<DeferredItems<'f>>,
}

impl<'f> Encoder<'f, '_> {
    /// Zeros for `count` items at the end of the body.
    fn reserve(&mut self, align: usize, size: usize, count: usize) -> Result<usize, EncodeError> {
        let at = self.out.len().next_multiple_of(align);
        let end = size.checked_mul(count).and_then(|bytes| at.checked_add(bytes));
        let end = end.filter(|end| *end <= self.slots.most()).ok_or(EncodeError::TooLong(end.unwrap_or(usize::MAX)))?;
        let before = self.out.len();
        self.out.set_len(end);
        self.out[before..].fill(0);
        Ok(at)
    }

    /// # Safety
    /// As many items as said lie at the source, valid as [`encode_c`] asks for.
    unsafe fn run(&mut self, waiting: &DeferredItems<'f>) -> Result<(), EncodeError> {
        let DeferredItems { source, at, item, count, name } = *waiting;
        let size = self.format.size_of(item);
        if self.format.is_plain(item) {
            // SAFETY: the items are initialised and without padding.
            unsafe { self.copy(source, at, size * count) };
            return Ok(());
        }
        for index in 0..count {
            // SAFETY: the item lies within the run.
            unsafe { self.value(source.add(index * size), at + index * size, item, name)? };
        }
        Ok(())
    }

    /// # Safety
    /// `len` initialised bytes lie at `source`.
    unsafe fn copy(&mut self, source: *const u8, at: usize, len: usize) {
        // SAFETY: the caller vouches for the bytes; the buffer is other memory.
        self.out[at..at + len].copy_from_slice(unsafe { std::slice::from_raw_parts(source, len) });
    }

    /// # Safety
    /// A value of the type lies at `source`, valid as [`encode_c`] asks for.
    unsafe fn value(&mut self, source: *const u8, at: usize, ty: &'f Type, name: &'f str) -> Result<(), EncodeError> {
        let size = self.format.size_of(ty);
        match ty {
            Type::Int { .. } | Type::Float { .. } | Type::Bool { .. } | Type::Char { .. } | Type::Enum(_) => {
                // SAFETY: the bytes of the number are initialised.
                unsafe { self.copy(source, at, size) };
                self.check(at, ty, name)
            }
            Type::Array { item, dims, .. } => {
                let count = dims.iter().map(|dim| *dim as usize).product();
                // SAFETY: the items lie in the array.
                unsafe { self.run(&DeferredItems { source, at, item, count, name }) }
            }
            Type::Record(id) => {
                let record = self.format.record(*id);
                for field in &record.fields {
                    let (from, to) = (field.offset as usize, at + field.offset as usize);
                    // SAFETY: the field lies in the record at its offset.
                    let from = unsafe { source.add(from) };
                    match &field.ty {
                        // SAFETY: as above; the length fields lie in the record.
                        Type::Sized { item, dims, .. } => unsafe {
                            let count = self.count(source, record, dims, &field.name)?;
                            self.items(pointer_at(from), to, item, count, false, &field.name)?;
                        },
                        // SAFETY: as above.
                        ty => unsafe { self.value(from, to, ty, &field.name)? },
                    }
                }
                Ok(())
            }
            // SAFETY: the parts lie in the value where the format says.
            Type::Variant(_) => unsafe { self.variant(source, at, ty, name) },
            Type::Optional { item, value_at, .. } => {
                // SAFETY: the flag is the first byte, the value lies behind it where there is one.
                unsafe {
                    if source.read() == 0 {
                        return Ok(());
                    }
                    self.out[at] = 1;
                    self.value(source.add(*value_at as usize), at + *value_at as usize, item, name)
                }
            }
            Type::Ref { item, nullable, shared } => {
                // SAFETY: a pointer lies here.
                let target = unsafe { pointer_at(source) };
                if target.is_null() {
                    return if *nullable {
                        Ok(())
                    } else {
                        Err(refuse(name, "null, but the pointer must lead somewhere"))
                    };
                }
                self.pointer(target, at, item, *shared, name)
            }
            Type::CStr => {
                // SAFETY: a pointer lies here, and leads to a NUL-terminated string if anywhere.
                unsafe { self.c_string(pointer_at(source), at) }
            }
            Type::Str | Type::Bytes => {
                // SAFETY: a pointer and a count lie here.
                unsafe {
                    let (target, count) = span_at(source);
                    self.items(target, at, &BYTE, count, true, name)?;
                    if matches!(ty, Type::Str) && count > 0 {
                        let bytes = std::slice::from_raw_parts(target, count);
                        std::str::from_utf8(bytes).map_err(|error| refuse(name, error.to_string()))?;
                    }
                }
                Ok(())
            }
            Type::List { item } => {
                // SAFETY: a pointer and a count lie here.
                let (target, count) = unsafe { span_at(source) };
                self.items(target, at, item, count, true, name)
            }
            Type::Sized { .. } => unreachable!("an array sized by fields is a field"),
        }
    }

    /// Makes a bool 0 or 1, and refuses characters and enumeration values that are none.
    fn check(&mut self, at: usize, ty: &Type, name: &str) -> Result<(), EncodeError> {
        if matches!(ty, Type::Int { .. } | Type::Float { .. } | Type::Char { width: 1 }) {
            return Ok(());
        }
        let place = &mut self.out[at..at + self.format.size_of(ty)];
        let bits = read_uint(place, ByteOrder::NATIVE);
        if let Type::Bool { .. } = ty {
            write_uint(place, u128::from(bits != 0), ByteOrder::NATIVE);
            return Ok(());
        }
        let known = crate::dynamic::number::from_bits(self.format, ty, bits);
        known.map(drop).map_err(|wanted| refuse(name, format!("{bits} is no {wanted}")))
    }

    /// # Safety
    /// As for [`Encoder::value`].
    unsafe fn variant(&mut self, source: *const u8, at: usize, ty: &'f Type, name: &'f str) -> Result<(), EncodeError> {
        let Type::Variant(id) = ty else { unreachable!("asked for a variant") };
        let variant = self.format.variant(*id);
        let width = usize::from(variant.tag_width);
        // SAFETY: the tag is the first field of a variant.
        unsafe { self.copy(source, at, width) };
        let tag = read_uint(&self.out[at..at + width], ByteOrder::NATIVE);
        let case = u64::try_from(tag).ok().and_then(|tag| self.format.case_with_tag(*id, tag));
        let case = case.ok_or_else(|| refuse(name, format!("{tag} is no case of {}", variant.name)))?;
        let payload_at = variant.payload_at as usize;
        match &case.payload {
            None => Ok(()),
            // SAFETY: the payload of the case that the tag says lies there.
            Some(payload) => unsafe { self.value(source.add(payload_at), at + payload_at, payload, name) },
        }
    }

    /// The number of items that length fields say.
    ///
    /// # Safety
    /// A valid `record` lies at `source`.
    unsafe fn count(
        &self,
        source: *const u8,
        record: &RecordDef,
        dims: &[Dim],
        name: &str,
    ) -> Result<usize, EncodeError> {
        let mut count = Some(1usize);
        for dim in dims {
            let length = match dim {
                Dim::Fixed(length) => u128::from(*length),
                Dim::Field(index) => {
                    let field = &record.fields[usize::from(*index)];
                    let Type::Int { width, signed } = field.ty else { unreachable!("length fields are integers") };
                    // SAFETY: the field lies in the record at its offset, and is initialised.
                    let bytes =
                        unsafe { std::slice::from_raw_parts(source.add(field.offset as usize), usize::from(width)) };
                    if signed && read_int(bytes, ByteOrder::NATIVE) < 0 {
                        let length = read_int(bytes, ByteOrder::NATIVE);
                        return Err(refuse(name, format!("its length field {} is {length}", field.name)));
                    }
                    read_uint(bytes, ByteOrder::NATIVE)
                }
            };
            if length == 0 {
                return Ok(0);
            }
            count = count.zip(usize::try_from(length).ok()).and_then(|(count, length)| count.checked_mul(length));
        }
        count.ok_or(EncodeError::TooLong(usize::MAX))
    }

    /// Refers to one target, which is sent once if it is shared.
    fn pointer(
        &mut self,
        target: *const u8,
        at: usize,
        item: &'f Type,
        shared: bool,
        name: &'f str,
    ) -> Result<(), EncodeError> {
        let key = (target.addr(), self.types.key(item));
        if shared && let Some(known) = self.shared.get(&key) {
            self.slots.set_reference(&mut self.out[at..], Some(*known));
            return Ok(());
        }
        if !shared {
            self.own(key, item, name)?;
        }
        let place = self.reserve(self.format.align_of(item), self.format.size_of(item), 1)?;
        if shared {
            self.shared.insert(key, place);
        }
        self.slots.set_reference(&mut self.out[at..], Some(place));
        self.waiting.push_back(DeferredItems { source: target, at: place, item, count: 1, name });
        Ok(())
    }

    /// Refers to a run of items, by a span or by a reference alone.
    fn items(
        &mut self,
        target: *const u8,
        at: usize,
        item: &'f Type,
        count: usize,
        span: bool,
        name: &'f str,
    ) -> Result<(), EncodeError> {
        if count == 0 {
            return Ok(());
        }
        if target.is_null() {
            return Err(refuse(name, format!("null, but its length is {count}")));
        }
        let key = (target.addr(), self.types.key(item));
        self.own(key, item, name)?;
        let place = self.reserve(self.format.align_of(item), self.format.size_of(item), count)?;
        if span {
            self.slots.set_span(&mut self.out[at..], place, count);
        } else {
            self.slots.set_reference(&mut self.out[at..], Some(place));
        }
        self.waiting.push_back(DeferredItems { source: target, at: place, item, count, name });
        Ok(())
    }

    /// Notes a target that is not shared. A second way to it is a cycle, or sharing that the format does not allow,
    /// wherever targets of this type can contain each other.
    fn own(&mut self, key: (usize, usize), item: &Type, name: &str) -> Result<(), EncodeError> {
        if self.format.holds_recursive(item) && !self.owned.insert(key) {
            return Err(refuse(name, "leads to what was sent already, but is not shared"));
        }
        Ok(())
    }

    /// # Safety
    /// `target` is null or leads to a NUL-terminated string.
    unsafe fn c_string(&mut self, target: *const u8, at: usize) -> Result<(), EncodeError> {
        if target.is_null() {
            return Ok(());
        }
        // SAFETY: the caller vouches for the string.
        let bytes = unsafe { std::ffi::CStr::from_ptr(target.cast()) }.to_bytes_with_nul();
        let place = self.reserve(1, 1, bytes.len())?;
        self.out[place..].copy_from_slice(bytes);
        self.slots.set_reference(&mut self.out[at..], Some(place));
        Ok(())
    }
}

static BYTE: Type = Type::Int { width: 1, signed: false };

/// # Safety
/// An initialised pointer lies at `source`, aligned or not.
unsafe fn pointer_at(source: *const u8) -> *const u8 {
    // SAFETY: the caller vouches for it.
    unsafe { source.cast::<*const u8>().read_unaligned() }
}

/// # Safety
/// An initialised pointer and count lie at `source`, aligned or not.
unsafe fn span_at(source: *const u8) -> (*const u8, usize) {
    // SAFETY: the caller vouches for both.
    unsafe { (pointer_at(source), source.add(size_of::<*const u8>()).cast::<usize>().read_unaligned()) }
}

fn refuse(path: &str, reason: impl Into<String>) -> EncodeError {
    EncodeError::Value { path: path.into(), reason: reason.into() }
}
