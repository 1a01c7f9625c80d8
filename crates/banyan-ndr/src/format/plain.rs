//! Which types are plain memory: every byte a number, nothing to follow, nothing to check, no padding.

use super::Format;
use super::types::{ByteOrder, Definition, PointerWidth, Type};

impl Format {
    /// Whether it describes memory of this machine.
    pub(crate) fn is_native(&self) -> bool {
        self.order() == ByteOrder::NATIVE && self.pointer() == PointerWidth::NATIVE
    }

    /// Whether values of a type are plain memory. Found out when first asked.
    pub(crate) fn is_plain(&self, ty: &Type) -> bool {
        is_plain(ty, self.0.plain.get_or_init(|| plain_definitions(self)))
    }
}

fn plain_definitions(format: &Format) -> Vec<bool> {
    let mut plain = vec![false; format.definitions().len()];
    // A record is plain once those in it are, so this ends after as many rounds as records nest in each other.
    loop {
        let next: Vec<bool> =
            format.definitions().iter().map(|definition| is_plain_definition(format, definition, &plain)).collect();
        if next == plain {
            return plain;
        }
        plain = next;
    }
}

fn is_plain_definition(format: &Format, definition: &Definition, plain: &[bool]) -> bool {
    let Definition::Record(record) = definition else { return false };
    // Fields do not overlap, so they leave no gap when their sizes add up.
    let bytes: usize = record.fields.iter().map(|field| format.size_of(&field.ty)).sum();
    bytes == record.size as usize && record.fields.iter().all(|field| is_plain(&field.ty, plain))
}

fn is_plain(ty: &Type, definitions: &[bool]) -> bool {
    match ty {
        Type::Int { .. } | Type::Float { .. } | Type::Char { width: 1 } => true,
        Type::Array { item, .. } => is_plain(item, definitions),
        Type::Record(id) => definitions[id.index()],
        _ => false,
    }
}
