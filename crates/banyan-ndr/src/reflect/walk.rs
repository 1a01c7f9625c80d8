//! Visiting all values of a record.

use std::fmt::Write;

use foldhash::{HashSet, HashSetExt};

use super::path::push_name;
use super::{Item, RecordView};
use crate::dynamic::targets::TypeKeys;
use crate::{DecodeError, Limits, Type};

impl<'a> RecordView<'a> {
    /// Calls `visit` with path and value of every leaf: numbers, texts, bytes, names, nulls, empty lists and cases that
    /// carry nothing. What is shared is visited once, where it is met first. Fails as soon as a value is invalid, lies
    /// deeper than [`Limits::nesting`], or the parts overlap.
    pub fn walk(
        &self,
        limits: &Limits,
        visit: &mut dyn FnMut(&str, Item<'a>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let mut walk = Walk {
            budget: Budget::new(self.body.len()),
            types: TypeKeys::default(),
            seen: HashSet::new(),
            nesting: limits.nesting,
            path: String::new(),
            visit,
        };
        walk.budget.take(self.format.size(), self.format.name())?;
        walk.seen.insert((0, walk.types.key(self.root().ty())));
        walk.item(self.root(), 0)
    }
}

/// The bytes that may still be visited. It starts as the length of the body, and each byte is paid for once, so that
/// no forged reference makes a record larger than what was sent.
pub(crate) struct Budget {
    left: usize,
    body: usize,
}

impl Budget {
    pub(crate) fn new(body: usize) -> Budget {
        Budget { left: body, body }
    }

    /// Pays for `bytes` behind the field called `name`.
    pub(crate) fn take(&mut self, bytes: usize, name: &str) -> Result<(), DecodeError> {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => return Err(DecodeError::Overlap { path: name.into(), body: self.body }),
        }
        Ok(())
    }
}

struct Walk<'w, 'a> {
    budget: Budget,
    types: TypeKeys<'a>,
    /// Shared targets that were visited.
    seen: HashSet<(usize, usize)>,
    nesting: usize,
    path: String,
    visit: &'w mut dyn FnMut(&str, Item<'a>) -> Result<(), DecodeError>,
}

impl<'a> Walk<'_, 'a> {
    fn item(&mut self, item: Item<'a>, depth: usize) -> Result<(), DecodeError> {
        if depth > self.nesting {
            let (found, limit) = (depth as u64, self.nesting as u64);
            return Err(DecodeError::Limit { path: self.path.clone(), found, limit, name: "nesting" });
        }
        self.pay(&item)?;
        match item.ty() {
            Type::Record(_) if !item.is_part() => {
                for (name, field) in item.fields()? {
                    self.below(|path| push_name(path, name), field, depth)?;
                }
                Ok(())
            }
            Type::Variant(_) => match item.case()? {
                Some((name, Some(payload))) => self.below(|path| push_name(path, name), payload, depth),
                _ => (self.visit)(&self.path, item),
            },
            Type::Ref { shared, .. } => match item.target()? {
                None => (self.visit)(&self.path, item),
                Some(target) => {
                    let key = (target.offset(), self.types.key(target.ty()));
                    if *shared && !self.seen.insert(key) {
                        return Ok(());
                    }
                    self.budget.take(item.format().size_of(target.ty()), item.name)?;
                    self.item(target, depth + 1)
                }
            },
            Type::Optional { .. } => match item.target()? {
                None => (self.visit)(&self.path, item),
                Some(target) => self.item(target, depth + 1),
            },
            Type::Array { .. } | Type::List { .. } | Type::Sized { .. } => self.items(item, depth),
            _ => {
                item.scalar()?;
                item.text_for_check()?;
                (self.visit)(&self.path, item)
            }
        }
    }

    /// Pays for what lies behind the item's own reference, pointers excepted.
    fn pay(&mut self, item: &Item<'a>) -> Result<(), DecodeError> {
        let bytes = item.bytes_behind()?;
        self.budget.take(bytes, item.name)
    }

    fn items(&mut self, item: Item<'a>, depth: usize) -> Result<(), DecodeError> {
        if item.is_empty()? {
            return (self.visit)(&self.path, item);
        }
        for (index, element) in item.iter()?.enumerate() {
            let write = |path: &mut String| write!(path, "[{index}]").expect("a string can be written to");
            self.below(write, element?, depth)?;
        }
        Ok(())
    }

    fn below(&mut self, extend: impl FnOnce(&mut String), item: Item<'a>, depth: usize) -> Result<(), DecodeError> {
        let len = self.path.len();
        extend(&mut self.path);
        let result = self.item(item, depth + 1);
        self.path.truncate(len);
        result
    }
}

impl Item<'_> {
    /// Bytes behind the reference of a string, blob, list or array sized by fields; 0 for a part of one, which is paid
    /// for with the whole.
    pub(crate) fn bytes_behind(&self) -> Result<usize, DecodeError> {
        match self.ty() {
            Type::Str | Type::Bytes => Ok(self.text_bytes()?.map_or(0, <[u8]>::len)),
            Type::CStr => Ok(self.text_bytes()?.map_or(0, |bytes| bytes.len() + 1)),
            Type::List { .. } | Type::Sized { .. } if !self.is_part() => {
                self.elements()?.map_or(Ok(0), |elements| elements.bytes(self.name))
            }
            _ => Ok(0),
        }
    }

    /// Where the bytes of [`Item::bytes_behind`] begin and how many they are, if there are any.
    pub(crate) fn run_behind(&self) -> Result<Option<(usize, usize)>, DecodeError> {
        let start = match self.ty() {
            Type::Str | Type::Bytes | Type::CStr => self.text_bytes()?.map(|bytes| self.view.offset_of(bytes)),
            Type::List { .. } | Type::Sized { .. } => self.elements()?.map(|elements| elements.start()),
            _ => None,
        };
        let bytes = self.bytes_behind()?;
        Ok(start.map(|start| (start, bytes)).filter(|(_, bytes)| *bytes > 0))
    }

    fn text_for_check(&self) -> Result<(), DecodeError> {
        if matches!(self.ty(), Type::Str) { self.text().map(drop) } else { Ok(()) }
    }
}
