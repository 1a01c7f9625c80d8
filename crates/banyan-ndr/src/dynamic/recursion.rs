//! Which definitions of a format lie on a cycle, so that the depth of their values is set by the data.

use crate::{Definition, Format, Type};

/// For each definition, whether its values can contain others of their kind (or lie between two that can). Values of
/// these stand in the table of shared values wherever they lie behind a reference, so that no chain of them nests.
pub(crate) struct Recursion(Vec<bool>);

impl Recursion {
    /// In one pass over the format, and none at all when it is not recursive.
    pub(crate) fn of(format: &Format) -> Recursion {
        if !format.is_recursive() {
            return Recursion(Vec::new());
        }
        let mentions: Vec<Vec<usize>> = format.definitions().iter().map(mentions).collect();
        let mut mentioned_by = vec![Vec::new(); mentions.len()];
        for (definition, others) in mentions.iter().enumerate() {
            others.iter().for_each(|other| mentioned_by[*other].push(definition));
        }
        // What leads to no cycle falls away in the first pass, what no cycle leads to in the second.
        let mut left = vec![true; mentions.len()];
        peel(&mut left, &mentions, &mentioned_by);
        peel(&mut left, &mentioned_by, &mentions);
        Recursion(left)
    }

    /// Whether a value of `ty` contains one of a recursive definition in its own place or behind references.
    pub(crate) fn holds(&self, ty: &Type) -> bool {
        innermost(ty).definition().is_some_and(|id| self.0.get(id.index()).copied().unwrap_or(false))
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

fn mentions(definition: &Definition) -> Vec<usize> {
    definition.types().filter_map(|ty| innermost(ty).definition()).map(|id| id.index()).collect()
}

fn innermost(mut ty: &Type) -> &Type {
    while let Some(item) = ty.item() {
        ty = item;
    }
    ty
}

/// Whether a value of this type is itself a pointer or may be null. Behind another pointer or in an optional such a
/// value always stands in the table of shared values: the two levels could not be told apart otherwise.
pub(crate) fn is_indirect(ty: &Type) -> bool {
    matches!(ty, Type::Optional { .. } | Type::Ref { .. } | Type::CStr)
}
