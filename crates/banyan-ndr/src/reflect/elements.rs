//! The items of an array, a list or a part of one, found by index whatever their number of dimensions and order.

use super::RecordView;
use crate::wire::{read_int, read_uint};
use crate::{DecodeError, Dim, Order, RecordDef, Type};

/// Lengths of the dimensions, outermost first. They are read where they lie: no list of them is made.
#[derive(Debug, Clone, Copy)]
pub(super) enum Dims<'a> {
    /// Said by the format.
    Fixed(&'a [u32]),
    /// Said by a span.
    Count(usize),
    /// Said by fields of the record at this place of the body.
    Fields(&'a [Dim], &'a RecordDef, usize),
}

/// Items side by side; all of them lie in the body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Elements<'a> {
    view: RecordView<'a>,
    pub(super) item: &'a Type,
    dims: Dims<'a>,
    order: Order,
    /// Place of the first item of the whole array.
    base: usize,
    /// How many of the dimensions have an index already.
    indexed: usize,
    /// Number of the first item with these indices, in memory.
    first: usize,
}

/// What an index leads to.
pub(super) enum Element<'a> {
    /// An item, at this place.
    Item(usize),
    /// All items with this index.
    Part(Elements<'a>),
}

impl<'a> Elements<'a> {
    /// Items in memory already known to lie in the body.
    pub(super) fn in_place(
        view: RecordView<'a>,
        item: &'a Type,
        dims: &'a [u32],
        order: Order,
        base: usize,
    ) -> Elements<'a> {
        Elements { view, item, dims: Dims::Fixed(dims), order, base, indexed: 0, first: 0 }
    }

    /// Items behind a reference, checked. `reference` is where it leads, if it is not null.
    pub(super) fn behind(
        view: RecordView<'a>,
        item: &'a Type,
        dims: Dims<'a>,
        order: Order,
        reference: Option<usize>,
        name: &str,
    ) -> Result<Elements<'a>, DecodeError> {
        let elements = Elements { view, item, dims, order, base: reference.unwrap_or(0), indexed: 0, first: 0 };
        let count = elements.count(name)?;
        if count == 0 {
            return Ok(elements);
        }
        let Some(target) = reference else {
            return Err(DecodeError::Invalid {
                path: name.into(),
                found: format!("null with {count} items"),
                wanted: "array",
            });
        };
        view.check_target(target, count, item, name)?;
        Ok(elements)
    }

    pub(super) fn rank(&self) -> usize {
        match self.dims {
            Dims::Fixed(dims) => dims.len(),
            Dims::Count(_) => 1,
            Dims::Fields(dims, ..) => dims.len(),
        }
    }

    /// The number of items in all that the indices so far leave; an error when it overflows.
    pub(super) fn count(&self, name: &str) -> Result<usize, DecodeError> {
        let mut count = Some(1usize);
        let mut empty = false;
        for position in self.indexed..self.rank() {
            let length = self.dim(position, name)?;
            empty |= length == 0;
            count = count.and_then(|count| count.checked_mul(length));
        }
        if empty {
            return Ok(0);
        }
        count.ok_or_else(|| self.view.outside(name, self.base, usize::MAX))
    }

    /// The length of the next dimension; 0 when there is no item at all, so that nobody walks along empty rows.
    pub(super) fn len(&self, name: &str) -> Result<usize, DecodeError> {
        if self.count(name)? == 0 { Ok(0) } else { self.dim(self.indexed, name) }
    }

    pub(super) fn dim(&self, position: usize, name: &str) -> Result<usize, DecodeError> {
        match self.dims {
            Dims::Fixed(dims) => Ok(dims[position] as usize),
            Dims::Count(count) => Ok(count),
            Dims::Fields(dims, record, at) => match dims[position] {
                Dim::Fixed(length) => Ok(length as usize),
                Dim::Field(index) => self.length_field(record, at, index, name),
            },
        }
    }

    fn length_field(&self, record: &RecordDef, at: usize, index: u16, name: &str) -> Result<usize, DecodeError> {
        let field = &record.fields[usize::from(index)];
        let Type::Int { width, signed } = field.ty else { unreachable!("length fields are integers") };
        let start = at + field.offset as usize;
        let bytes = &self.view.body()[start..start + usize::from(width)];
        let order = self.view.format().order();
        let length = read_uint(bytes, order);
        if signed && read_int(bytes, order) < 0 {
            return Err(DecodeError::Invalid {
                path: field.name.clone(),
                found: read_int(bytes, order).to_string(),
                wanted: "length",
            });
        }
        usize::try_from(length).map_err(|_| self.view.outside(name, self.base, usize::MAX))
    }

    /// How far apart in memory, in items, the items of a dimension lie. Never overflows where there are items.
    fn stride(&self, position: usize, name: &str) -> Result<usize, DecodeError> {
        let faster = match self.order {
            Order::Row => position + 1..self.rank(),
            Order::Column => 0..position,
        };
        faster.into_iter().try_fold(1usize, |stride, other| Ok(stride.saturating_mul(self.dim(other, name)?)))
    }

    /// What the index of the next dimension leads to. It must be less than [`Elements::len`].
    pub(super) fn at(&self, index: usize, name: &str) -> Result<Element<'a>, DecodeError> {
        let first = self.first + index * self.stride(self.indexed, name)?;
        if self.indexed + 1 == self.rank() {
            return Ok(Element::Item(self.base + first * self.view.format().size_of(self.item)));
        }
        Ok(Element::Part(Elements { indexed: self.indexed + 1, first, ..*self }))
    }

    /// Place of the first item of the whole array.
    pub(super) fn start(&self) -> usize {
        self.base
    }

    /// Bytes of all items.
    pub(super) fn bytes(&self, name: &str) -> Result<usize, DecodeError> {
        Ok(self.count(name)? * self.view.format().size_of(self.item))
    }
}
