//! Whether two formats lay the same things out in the same way, so that nothing needs converting.

use std::collections::HashSet;

use super::ConvertOptions;
use super::matching::{FieldsByName, case_name};
use super::numbers::same_numbering;
use crate::{DefId, Definition, Dim, Format, RecordDef, Type, VariantDef};

/// Compares the layouts of two formats.
pub(super) struct Layouts<'a> {
    source: &'a Format,
    target: &'a Format,
    options: &'a ConvertOptions,
    /// Pairs that are the same, or are being compared.
    same: HashSet<(DefId, DefId)>,
}

impl<'a> Layouts<'a> {
    pub(super) fn new(source: &'a Format, target: &'a Format, options: &'a ConvertOptions) -> Layouts<'a> {
        Layouts { source, target, options, same: HashSet::new() }
    }

    /// Whether every body of the source is one of the target, byte for byte.
    pub(super) fn same_bodies(&mut self) -> bool {
        self.source.has_references() == self.target.has_references()
            && self.same_types(&self.source.root_type(), &self.target.root_type())
    }

    /// Whether every value of `s` is a value of `d` as it lies. Definitions are compared with a work list, since
    /// chains of them may be long.
    pub(super) fn same_types(&mut self, s: &Type, d: &Type) -> bool {
        if (self.source.order(), self.source.pointer()) != (self.target.order(), self.target.pointer()) {
            return false;
        }
        let before = self.same.clone();
        let mut open = Vec::new();
        let mut same = self.compare(s, d, &mut open);
        while same && let Some((s, d)) = open.pop() {
            if self.same.insert((s, d)) {
                same = self.definitions(s, d, &mut open);
            }
        }
        if !same {
            self.same = before;
        }
        same
    }

    fn compare(&self, s: &Type, d: &Type, open: &mut Vec<(DefId, DefId)>) -> bool {
        match (s, d) {
            (Type::Record(s), Type::Record(d))
            | (Type::Variant(s), Type::Variant(d))
            | (Type::Enum(s), Type::Enum(d)) => {
                open.push((*s, *d));
                true
            }
            (
                Type::Optional { item: s, value_at: s_at, size: s_size },
                Type::Optional { item: d, value_at: d_at, size: d_size },
            ) => (s_at, s_size) == (d_at, d_size) && self.compare(s, d, open),
            (
                Type::Ref { item: s, nullable: s_null, shared: s_shared },
                Type::Ref { item: d, nullable: d_null, shared: d_shared },
            ) => s_null <= d_null && s_shared <= d_shared && self.compare(s, d, open),
            (
                Type::Array { item: s, dims: s_dims, order: s_order },
                Type::Array { item: d, dims: d_dims, order: d_order },
            ) => s_dims == d_dims && (s_order == d_order || s_dims.len() == 1) && self.compare(s, d, open),
            (Type::List { item: s }, Type::List { item: d }) => self.compare(s, d, open),
            // Their dimensions are compared with their records.
            (Type::Sized { item: s, order: s_order, dims }, Type::Sized { item: d, order: d_order, .. }) => {
                (s_order == d_order || dims.len() == 1) && self.compare(s, d, open)
            }
            _ => s.definition().is_none() && s.item().is_none() && s == d,
        }
    }

    fn definitions(&self, s: DefId, d: DefId, open: &mut Vec<(DefId, DefId)>) -> bool {
        let (from, to) = (self.source.definition(s), self.target.definition(d));
        if from.size() != to.size() || from.align() < to.align() {
            return false;
        }
        match (from, to) {
            (Definition::Record(s), Definition::Record(d)) => self.records(s, d, open),
            (Definition::Variant(from), Definition::Variant(to)) => self.variants(from, to, d, open),
            (Definition::Enumeration(from), Definition::Enumeration(to)) => {
                (from.width, from.signed) == (to.width, to.signed) && same_numbering(from, self.target, d)
            }
            _ => false,
        }
    }

    fn records(&self, s: &RecordDef, d: &RecordDef, open: &mut Vec<(DefId, DefId)>) -> bool {
        let fields = FieldsByName::new(s, self.options);
        let same_dims = |s_type: &Type, d_type: &Type| {
            let (Type::Sized { dims: s_dims, .. }, Type::Sized { dims: d_dims, .. }) = (s_type, d_type) else {
                return true;
            };
            s_dims.len() == d_dims.len()
                && s_dims.iter().zip(d_dims).all(|pair| match pair {
                    (Dim::Fixed(s), Dim::Fixed(d)) => s == d,
                    (Dim::Field(s_number), Dim::Field(d_number)) => {
                        s.fields[usize::from(*s_number)].offset == d.fields[usize::from(*d_number)].offset
                    }
                    _ => false,
                })
        };
        d.fields.iter().all(|field| {
            fields.get(&field.name).is_some_and(|from| {
                from.offset == field.offset && same_dims(&from.ty, &field.ty) && self.compare(&from.ty, &field.ty, open)
            })
        })
    }

    fn variants(&self, s: &VariantDef, d: &VariantDef, id: DefId, open: &mut Vec<(DefId, DefId)>) -> bool {
        (s.tag_width, s.payload_at) == (d.tag_width, d.payload_at)
            && s.cases.iter().all(|case| {
                let name = case_name(s, case, self.options);
                self.target.case_of(id, name).is_some_and(|other| {
                    case.tag == other.tag
                        && match (&case.payload, &other.payload) {
                            (Some(s), Some(d)) => self.compare(s, d, open),
                            (s, d) => s.is_none() && d.is_none(),
                        }
                })
            })
    }
}
