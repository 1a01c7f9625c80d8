//! Telling types apart by number, so that "the same target" means the same place and the same type.

use foldhash::HashMap;

use crate::Type;

/// Gives equal types equal numbers.
#[derive(Default)]
pub(crate) struct TypeKeys<'a> {
    /// By the place of the type, for speed: the same field's type comes again and again.
    known: HashMap<*const Type, usize>,
    distinct: HashMap<&'a Type, usize>,
}

impl<'a> TypeKeys<'a> {
    /// The number of a type.
    pub(crate) fn key(&mut self, ty: &'a Type) -> usize {
        if let Some(key) = self.known.get(&std::ptr::from_ref(ty)) {
            return *key;
        }
        let next = self.distinct.len();
        let key = *self.distinct.entry(ty).or_insert(next);
        self.known.insert(ty, key);
        key
    }
}
