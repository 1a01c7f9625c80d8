//! Which types are plain memory: every byte a number, nothing to follow, nothing to check, no padding.

use crate::{ByteOrder, Definition, Format, PointerWidth, Type};

/// For each definition of a format, whether its values are plain memory.
pub(super) struct Plain(Vec<bool>);

impl Plain {
    pub(super) fn of(format: &Format) -> Plain {
        let mut plain = Plain(vec![false; format.definitions().len()]);
        // A record is plain once those in it are, so this ends after as many rounds as records nest in each other.
        loop {
            let next: Vec<bool> =
                format.definitions().iter().map(|definition| plain.is_plain_definition(format, definition)).collect();
            if next == plain.0 {
                return plain;
            }
            plain.0 = next;
        }
    }

    pub(super) fn is_plain(&self, ty: &Type) -> bool {
        match ty {
            Type::Int { .. } | Type::Float { .. } | Type::Char { width: 1 } => true,
            Type::Array { item, .. } => self.is_plain(item),
            Type::Record(id) => self.0[id.index()],
            _ => false,
        }
    }

    fn is_plain_definition(&self, format: &Format, definition: &Definition) -> bool {
        let Definition::Record(record) = definition else { return false };
        // Fields do not overlap, so they leave no gap when their sizes add up.
        let bytes: usize = record.fields.iter().map(|field| format.size_of(&field.ty)).sum();
        bytes == record.size as usize && record.fields.iter().all(|field| self.is_plain(&field.ty))
    }
}

/// Whether a format describes memory of this machine.
pub(super) fn is_native(format: &Format) -> bool {
    format.order() == ByteOrder::NATIVE && format.pointer() == PointerWidth::NATIVE
}
