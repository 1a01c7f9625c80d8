//! What is found out once about the definitions of a format: which are plain memory, and which are recursive.
//!
//! Plain memory is all numbers: nothing to follow, nothing to check, no padding. A definition is recursive if it lies on a
//! cycle, so that the depth of its values is set by the data.

use super::Format;
use super::check::mentions;
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

/// For each definition, whether its values can contain others of their kind (or lie between two that can); empty when
/// none can. Takes time in proportion to the definitions.
pub(super) fn recursive(definitions: &[Definition]) -> Vec<bool> {
    let mentions: Vec<Vec<usize>> =
        definitions.iter().map(|definition| mentions(definition).map(|id| id.index()).collect()).collect();
    let mut mentioned_by = vec![Vec::new(); mentions.len()];
    for (definition, others) in mentions.iter().enumerate() {
        others.iter().for_each(|other| mentioned_by[*other].push(definition));
    }
    // What leads to no cycle falls away in the first pass, what no cycle leads to in the second.
    let mut left = vec![true; mentions.len()];
    peel(&mut left, &mentions, &mentioned_by);
    peel(&mut left, &mentioned_by, &mentions);
    if left.contains(&true) { left } else { Vec::new() }
}

impl Format {
    /// Whether a value of `ty` holds one of a recursive definition in its own place or behind references. Such values
    /// stand in the table of shared ones wherever they lie behind a reference, so that no chain of them nests.
    pub(crate) fn holds_recursive(&self, ty: &Type) -> bool {
        self.is_recursive() && ty.innermost().definition().is_some_and(|id| self.0.recursive[id.index()])
    }
}

/// Takes away, again and again, every definition without an edge in `out` to one that is left.
fn peel(left: &mut [bool], out: &[Vec<usize>], back: &[Vec<usize>]) {
    let mut edges: Vec<usize> = out.iter().map(|others| others.iter().filter(|other| left[**other]).count()).collect();
    let mut free: Vec<usize> = (0..left.len()).filter(|index| left[*index] && edges[*index] == 0).collect();
    while let Some(index) = free.pop() {
        left[index] = false;
        for other in back[index].iter().copied().filter(|other| left[*other]) {
            edges[other] -= 1;
            if edges[other] == 0 {
                free.push(other);
            }
        }
    }
}
