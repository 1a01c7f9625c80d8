//! Bodies turned into C memory: refused, or every pointer can be followed.

use std::ffi::CStr;

use banyan_fuzz::{Bytes, Deep, Flat, Item, mesh};
use banyan_ndr::{Buffer, CRecord, CStruct, Format, Record, encode_c};

pub(crate) fn target(bytes: &[u8]) {
    let mut input = Bytes(bytes);
    match input.byte() % 5 {
        0 => list(input.0),
        1 => written_again(&mesh(), input.0),
        2 => written_again(Deep::format(), input.0),
        3 => written_again(Flat::format(), input.0),
        _ => written_again(Item::format(), input.0),
    }
}

/// What was received as C memory can be sent from there.
fn written_again(format: &Format, body: &[u8]) {
    let Ok(record) = CRecord::new(format, Buffer::from_slice(body)) else { return };
    // SAFETY: the record was checked to be what the format describes.
    let _ = unsafe { encode_c(format, record.as_ptr(), &mut Buffer::new()) };
}

#[repr(C)]
struct Node {
    name: *const std::ffi::c_char,
    next: *const Node,
}

/// Follows a list as C code would; the body bounds its length, unless it is a ring.
fn list(body: &[u8]) {
    let pointer = size_of::<usize>() as u32;
    let format = CStruct::new("node", 2 * pointer, pointer)
        .cstring("name", 0)
        .pointer("next", pointer, CStruct::own_type())
        .build()
        .expect("a valid format");
    let Ok(record) = CRecord::new(&format, Buffer::from_slice(body)) else { return };
    let mut at = record.as_ptr().cast::<Node>();
    for _ in 0..body.len() {
        // SAFETY: the pointers of a record lead to nodes of it, or are null.
        let Some(node) = (unsafe { at.as_ref() }) else { return };
        if !node.name.is_null() {
            // SAFETY: texts of a record end within it.
            let _ = unsafe { CStr::from_ptr(node.name) }.to_bytes();
        }
        at = node.next;
    }
}
