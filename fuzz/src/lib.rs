//! What the fuzz targets share: record types that hold something of everything, and how the first bytes of an input
//! choose a format.
//!
//! `cargo run --manifest-path fuzz/Cargo.toml --example seeds` writes the seeds in `fuzz/corpus` anew.

#![forbid(unsafe_code)]

mod bytes;
mod records;

pub use bytes::Bytes;
pub use records::{Choice, Deep, Flat, Item, Numbers, Phase, deep, flat, numbers};

use banyan_ndr::{ByteOrder, CStruct, Format, Limits, Order, PointerWidth, Record};

/// How many formats [`built_in`] knows.
pub const BUILT_IN: u8 = 6;

/// A format of this crate, as this machine lays it out.
pub fn built_in(number: u8) -> Format {
    match number % BUILT_IN {
        0 => Deep::format().clone(),
        1 => Flat::format().clone(),
        2 => Numbers::format().clone(),
        3 => Item::format().clone(),
        4 => Choice::format().clone(),
        _ => mesh(),
    }
}

/// A format with what Rust types cannot say: wide truth values, pointers of C, units, arrays in Fortran's order.
pub fn mesh() -> Format {
    let pointer = size_of::<usize>() as u32;
    let mut mesh = CStruct::new("mesh", 8 * pointer + 32, 8)
        .int("rows", 0, 4)
        .uint("columns", 4, 2)
        .boolean("closed", 8, 8)
        .float("time", 16, 8)
        .cstring("name", 24)
        .pointer("next", 24 + pointer, CStruct::own_type())
        .sized_array("weights", 24 + 2 * pointer, CStruct::float_type(4), "rows")
        .sized_matrix("table", 24 + 3 * pointer, CStruct::int_type(2), &["rows", "columns"], Order::Column);
    let named = mesh.enumeration_type("phase", 4, &[("idle", -1), ("busy", 7)]);
    mesh = mesh.array("phases", 24 + 4 * pointer, named, &[2]);
    mesh.build().expect("a valid format")
}

/// A format from the first bytes of an input: one that was received, or one of this crate's in any byte order and
/// pointer width.
pub fn format(input: &mut Bytes<'_>) -> Option<Format> {
    let choice = input.byte();
    if choice == 0 {
        let length = usize::from(u16::from_le_bytes([input.byte(), input.byte()]));
        return Format::decode(input.take(length), &Limits::default()).ok();
    }
    let order = if choice & 0x80 == 0 { ByteOrder::Little } else { ByteOrder::Big };
    let pointer = if choice & 0x40 == 0 { PointerWidth::Four } else { PointerWidth::Eight };
    match choice & 0x20 {
        0 => Some(built_in(choice & 0x1f)),
        _ => Some(built_in(choice & 0x1f).relaid(order, pointer).expect("every layout of it is valid")),
    }
}
