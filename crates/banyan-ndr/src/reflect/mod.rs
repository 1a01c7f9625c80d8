//! Looking at records by their format alone: no compiled type, no copy, every byte checked when it is looked at.
//!
//! [`RecordView::get`] leads to any value by its path; [`Item`] is that value; [`RecordView::walk`] visits all of them.
//! A view of a forged body costs no more than one of an honest body: nothing is believed, and a walk visits each byte
//! at most once.

mod elements;
mod get;
mod item;
pub(crate) mod path;
mod walk;

pub use get::FromItem;
pub use item::Item;
pub(crate) use walk::Budget;

use path::PathSegment;

use crate::wire::Slots;
use crate::{DecodeError, DefId, Definition, Format, Type};

static ROOT_RECORD: Type = Type::Record(DefId::ROOT);
static ROOT_VARIANT: Type = Type::Variant(DefId::ROOT);

/// A body seen through its format.
///
/// ```
/// # use banyan_ndr::{CStruct, DynRecord, RecordView};
/// let format = CStruct::new("sample", 16, 8).uint("step", 0, 4).float("time", 8, 8).build()?;
/// let mut record = DynRecord::new(&format);
/// record.set("time", 0.5)?;
/// let body = record.to_body()?;
/// let view = RecordView::new(&format, &body)?;
/// assert_eq!(view.value::<f64>("time")?, 0.5);
/// assert_eq!(view.get("step")?.get::<i64>()?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct RecordView<'a> {
    format: &'a Format,
    body: &'a [u8],
}

impl<'a> RecordView<'a> {
    /// Checks only that the fixed part is there.
    pub fn new(format: &'a Format, body: &'a [u8]) -> Result<RecordView<'a>, DecodeError> {
        if !format.fits(body.len()) {
            return Err(DecodeError::Size { found: body.len(), wanted: format.size() });
        }
        Ok(RecordView { format, body })
    }

    /// The format of the record.
    pub fn format(&self) -> &'a Format {
        self.format
    }

    /// Its bytes.
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// The whole record.
    pub fn root(&self) -> Item<'a> {
        Item::new(*self, self.format.name(), 0, root_type(self.format))
    }

    /// The value at a path: `mesh.elems[3].temp`.
    pub fn get(&self, path: &str) -> Result<Item<'a>, DecodeError> {
        let segments =
            path::parse(path).map_err(|bad| DecodeError::Path { path: path.into(), reason: bad.to_string() })?;
        let mut item = self.root();
        for segment in segments {
            item = match segment {
                PathSegment::Name(name) => item.field(name),
                PathSegment::Index(index) => item.index(index),
            }
            .map_err(|error| at_path(error, path))?;
        }
        Ok(item)
    }

    /// The value at a path, as a Rust type.
    pub fn value<T: FromItem<'a>>(&self, path: &str) -> Result<T, DecodeError> {
        self.get(path)?.get().map_err(|error| at_path(error, path))
    }

    /// Where a part of the body begins in it.
    fn offset_of(&self, part: &[u8]) -> usize {
        part.as_ptr().addr() - self.body.as_ptr().addr()
    }

    fn slots(&self) -> Slots {
        Slots { order: self.format.order(), pointer: self.format.pointer() }
    }

    /// Whether `count` items lie at `target`, aligned.
    fn check_target(&self, target: usize, count: usize, item: &Type, name: &str) -> Result<(), DecodeError> {
        let bytes = count.checked_mul(self.format.size_of(item));
        let end = bytes.and_then(|bytes| target.checked_add(bytes));
        if end.is_none_or(|end| end > self.body.len()) {
            return Err(self.outside(name, target, bytes.unwrap_or(usize::MAX)));
        }
        if !target.is_multiple_of(self.format.align_of(item)) {
            return Err(DecodeError::Invalid {
                path: name.into(),
                found: format!("a reference to byte {target}"),
                wanted: "place aligned for what it leads to",
            });
        }
        Ok(())
    }

    fn outside(&self, name: &str, target: usize, count: usize) -> DecodeError {
        DecodeError::OutOfBounds {
            path: name.into(),
            target: target as u64,
            count: count as u64,
            body: self.body.len(),
        }
    }
}

/// The type of a format's root, to be kept as long as one likes.
pub(crate) fn root_type(format: &Format) -> &'static Type {
    match format.root() {
        Definition::Variant(_) => &ROOT_VARIANT,
        _ => &ROOT_RECORD,
    }
}

/// Replaces the name of the nearest field by the whole path that led there.
fn at_path(mut error: DecodeError, whole: &str) -> DecodeError {
    match &mut error {
        DecodeError::OutOfBounds { path, .. }
        | DecodeError::Invalid { path, .. }
        | DecodeError::OutOfRange { path, .. }
        | DecodeError::Absent { path }
        | DecodeError::Path { path, .. } => *path = whole.into(),
        _ => {}
    }
    error
}
