//! The table of shared values as it is written: which of them can be reached, as what, and under which number.

use std::collections::VecDeque;

use banyan_ndr::internals::position_of;
use banyan_ndr::{Format, Type, Value};

/// What a [`Value::Shared`] at a place of this type leads to.
pub(super) fn target(ty: &Type) -> &Type {
    match ty {
        Type::Optional { item, .. } | Type::Ref { item, .. } => item,
        _ => ty,
    }
}

/// The shared values that the root reaches. They keep their order; those it does not reach are left out.
pub(super) struct Sharing<'a> {
    /// By key: the number in the text.
    numbers: Vec<Option<usize>>,
    /// By number: what is to be written, and as what.
    entries: Vec<(&'a Type, &'a Value)>,
}

impl<'a> Sharing<'a> {
    /// Finds them. A key that leads nowhere is left without number, and noticed when it is written.
    pub(super) fn of(format: &'a Format, root_type: &'a Type, root: &'a Value, shared: &'a [Value]) -> Sharing<'a> {
        let mut types: Vec<Option<&'a Type>> = vec![None; shared.len()];
        let mut open = VecDeque::new();
        if !shared.is_empty() {
            let mut walk = vec![(root_type, root)];
            while let Some((ty, value)) = walk.pop().or_else(|| open.pop_front()) {
                match value {
                    Value::Shared(key) => {
                        if let Some(slot @ None) = types.get_mut(*key) {
                            *slot = Some(target(ty));
                            open.push_back((target(ty), &shared[*key]));
                        }
                    }
                    _ => inner(format, ty, value, &mut walk),
                }
            }
        }
        let mut numbers = vec![None; shared.len()];
        let mut entries = Vec::new();
        for (key, ty) in types.iter().enumerate() {
            if let Some(ty) = ty {
                numbers[key] = Some(entries.len());
                entries.push((*ty, &shared[key]));
            }
        }
        Sharing { numbers, entries }
    }

    /// The number of a key.
    pub(super) fn number(&self, key: usize) -> Option<usize> {
        self.numbers.get(key).copied().flatten()
    }

    /// The table, in order of the numbers.
    pub(super) fn entries(&self) -> &[(&'a Type, &'a Value)] {
        &self.entries
    }
}

/// What lies directly within a value. What does not fit its type is passed over: the writer will say so.
fn inner<'a>(format: &'a Format, ty: &'a Type, value: &'a Value, out: &mut Vec<(&'a Type, &'a Value)>) {
    match (ty, value) {
        (Type::Optional { item, .. } | Type::Ref { item, .. }, _) => out.push((item, value)),
        // The items of an array of several dimensions are lists within lists, all of the array's own type.
        (Type::Array { item, .. } | Type::List { item } | Type::Sized { item, .. }, Value::List(items)) => {
            let rank = match ty {
                Type::Array { dims, .. } => dims.len(),
                Type::Sized { dims, .. } => dims.len(),
                _ => 1,
            };
            push_items(item, items, rank, out);
        }
        (Type::Record(id), Value::Record(values)) => {
            for (position, (name, value)) in values.iter().enumerate() {
                if let Some(position) = position_of(format, *id, position, name) {
                    out.push((&format.record(*id).fields[position].ty, value));
                }
            }
        }
        (Type::Variant(id), Value::Case(name, Some(payload))) => {
            if let Some(ty) = format.case_of(*id, name).and_then(|case| case.payload.as_ref()) {
                out.push((ty, payload));
            }
        }
        _ => {}
    }
}

fn push_items<'a>(item: &'a Type, items: &'a [Value], rank: usize, out: &mut Vec<(&'a Type, &'a Value)>) {
    for value in items {
        match value {
            Value::List(items) if rank > 1 => push_items(item, items, rank - 1, out),
            _ => out.push((item, value)),
        }
    }
}
