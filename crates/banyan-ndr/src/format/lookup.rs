//! Finding a field, a case or a value by its name or number, whatever the size of the definition.
//!
//! Descriptions come from anyone and may have 65,536 names. A search from the first name to the last for every value
//! of a record would take the receiver seconds, so larger definitions are put into order once, when first asked.

use std::cmp::Ordering;
use std::sync::OnceLock;

use super::{Case, DefId, Definition, Field, Format};

/// Definitions up to this size are searched from the first to the last, which is faster.
const SHORT: usize = 12;

/// The parts of one definition in order; made when it is needed.
#[derive(Default)]
pub(super) struct Lookup {
    by_name: OnceLock<Box<[u16]>>,
    by_number: OnceLock<Box<[u16]>>,
}

/// The position among `len` parts for which `compare` is equal.
fn find(
    order: &OnceLock<Box<[u16]>>,
    len: usize,
    compare: impl Fn(usize) -> Ordering,
    between: impl Fn(usize, usize) -> Ordering,
) -> Option<usize> {
    if len <= SHORT {
        return (0..len).find(|&position| compare(position).is_eq());
    }
    let order = order.get_or_init(|| {
        // A definition has at most 65,536 parts (`check`).
        let mut positions: Box<[u16]> = (0..len).map(|position| position as u16).collect();
        positions.sort_unstable_by(|one, other| between(usize::from(*one), usize::from(*other)));
        positions
    });
    let found = order.binary_search_by(|position| compare(usize::from(*position))).ok()?;
    Some(usize::from(order[found]))
}

impl Lookup {
    fn named<T>(&self, parts: &[T], name: &str, name_of: impl Fn(&T) -> &str) -> Option<usize> {
        let at = |position: usize| name_of(&parts[position]);
        find(&self.by_name, parts.len(), |position| at(position).cmp(name), |one, other| at(one).cmp(at(other)))
    }

    fn numbered<T, N: Ord>(&self, parts: &[T], number: N, number_of: impl Fn(&T) -> N) -> Option<usize> {
        let at = |position: usize| number_of(&parts[position]);
        find(&self.by_number, parts.len(), |position| at(position).cmp(&number), |one, other| at(one).cmp(&at(other)))
    }
}

impl Format {
    fn lookup(&self, id: DefId) -> (&Definition, &Lookup) {
        (self.definition(id), &self.0.lookups[id.index()])
    }

    /// A field of a record by its name, and its position among the fields. `None` for other definitions.
    pub fn field_of(&self, id: DefId, name: &str) -> Option<(usize, &Field)> {
        let (Definition::Record(record), lookup) = self.lookup(id) else { return None };
        let position = lookup.named(&record.fields, name, |field| &field.name)?;
        Some((position, &record.fields[position]))
    }

    /// A case of a variant by its name. `None` for other definitions.
    pub fn case_of(&self, id: DefId, name: &str) -> Option<&Case> {
        let (Definition::Variant(variant), lookup) = self.lookup(id) else { return None };
        lookup.named(&variant.cases, name, |case| &case.name).map(|position| &variant.cases[position])
    }

    /// A case of a variant by its tag. `None` for other definitions.
    pub fn case_with_tag(&self, id: DefId, tag: u64) -> Option<&Case> {
        let (Definition::Variant(variant), lookup) = self.lookup(id) else { return None };
        lookup.numbered(&variant.cases, tag, |case| case.tag).map(|position| &variant.cases[position])
    }

    /// The name of an enumeration's value. `None` for other definitions.
    pub fn name_of(&self, id: DefId, value: i128) -> Option<&str> {
        let (Definition::Enumeration(enumeration), lookup) = self.lookup(id) else { return None };
        let position = lookup.numbered(&enumeration.names, value, |(_, value)| *value)?;
        Some(&enumeration.names[position].0)
    }

    /// The value that an enumeration has for a name. `None` for other definitions.
    pub fn value_of(&self, id: DefId, name: &str) -> Option<i128> {
        let (Definition::Enumeration(enumeration), lookup) = self.lookup(id) else { return None };
        let position = lookup.named(&enumeration.names, name, |(name, _)| name)?;
        Some(enumeration.names[position].1)
    }
}
