//! Where a record's text can refer to a shared value by number instead of holding it.

use std::collections::HashSet;

use banyan_ndr::{Format, Type};

/// Whether a place of this type can hold a reference: pointers, what has two levels of null, and, in formats whose
/// records can contain others of their kind, every record and variant.
pub(super) fn may_refer(format: &Format, ty: &Type) -> bool {
    match ty {
        Type::Ref { .. } => true,
        Type::Optional { item, .. } => item.is_indirect() || may_refer(format, item),
        Type::Record(_) | Type::Variant(_) => format.is_recursive(),
        _ => false,
    }
}

/// Whether a place of this type holds a reference or null, and never the value itself.
pub(super) fn only_refers(ty: &Type) -> bool {
    match ty {
        Type::Ref { item, shared, .. } => *shared || item.is_indirect(),
        Type::Optional { item, .. } => item.is_indirect(),
        _ => false,
    }
}

/// All types that a shared value of a record of this format can have, each once.
pub(super) fn shared_types(format: &Format) -> Vec<Type> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    let mut add = |ty: &Type| {
        if seen.insert(ty.clone()) {
            found.push(ty.clone());
        }
    };
    if may_refer(format, &format.root_type()) {
        add(&format.root_type());
    }
    for definition in format.definitions() {
        definition.types().for_each(|ty| collect(format, ty, &mut add));
    }
    found
}

fn collect(format: &Format, ty: &Type, add: &mut impl FnMut(&Type)) {
    if may_refer(format, ty) {
        match ty {
            Type::Ref { item, .. } => add(item),
            Type::Optional { item, .. } if item.is_indirect() => add(item),
            _ => add(ty),
        }
    }
    if let Some(item) = ty.item() {
        collect(format, item, add);
    }
}
