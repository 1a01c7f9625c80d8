//! Records that are built, read and edited without a compiled type.
//!
//! A [`DynRecord`] is a tree of [`Value`]s and a table of shared ones. It writes bodies in its own format's layout,
//! whatever byte order, pointer width and offsets that has, so any machine can make any other machine's records.
//!
//! **The table.** [`Value::Shared`] stands for an entry of [`DynRecord::shared`]. Reading a record puts there:
//! - the target of every *shared* pointer, once;
//! - whatever lies behind a reference (or is the root) and belongs to a definition that can contain itself, so that a
//!   list of a million nodes is a million entries and not a million levels;
//! - a value that is itself a pointer, optional or C string, where it lies behind a pointer or in an optional: the two
//!   levels of null could not be told apart otherwise.
//!
//! Only shared pointers may use an entry more than once. [`DynRecord::get`] and [`DynRecord::set`] see through the
//! table; who walks [`DynRecord::root`] by hand uses [`DynRecord::resolve`].

mod edit;
pub mod fields;
mod fit;
mod initial;
pub(crate) mod number;
mod print;
mod read;
pub(crate) mod targets;
mod write;

pub use edit::contradiction;
pub(crate) use edit::fill_lengths;
pub(crate) use fit::Fitter;
pub(crate) use initial::Initial;

use crate::reflect::{Item, RecordView};
use crate::{Buffer, DecodeError, EncodeError, Format, Limits, Value};

/// A record held as values; see the [module](self) for the table of shared ones.
///
/// ```
/// # use banyan_ndr::{CStruct, DynRecord, Limits, Type, Value};
/// let format = CStruct::new("cell", 24, 8).float("pressure", 0, 8).field("names", 8, Type::List { item: Type::Str.into() });
/// let format = format.build()?;
/// let mut record = DynRecord::new(&format);
/// record.set("pressure", 101.3)?;
/// record.push("names", "inlet")?;
/// let body = record.to_body()?;
/// let again = DynRecord::from_body(&format, &body, &Limits::default())?;
/// assert_eq!(again.get("names[0]")?, &Value::from("inlet"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DynRecord {
    /// What the values are written as.
    pub format: Format,
    /// The record itself, or its entry in the table.
    pub root: Value,
    /// The table of shared values.
    pub shared: Vec<Value>,
}

impl DynRecord {
    /// A record of zeros, empty texts and lists, nulls, first cases, and the defaults that fields declare. Pointers
    /// that may not be null get a target, but for those to a definition that contains itself: these are null until
    /// they are set, and [`DynRecord::to_body`] asks for them. So is everything behind the first
    /// million values that a format asks for.
    pub fn new(format: &Format) -> DynRecord {
        initial::record(format)
    }

    /// Reads a body, keeping its sharing and cycles. The values take several times the memory of the body, at most
    /// [`Limits::value_bytes`].
    pub fn from_body(format: &Format, body: &[u8], limits: &Limits) -> Result<DynRecord, DecodeError> {
        DynRecord::measured(format, body, limits).map(|(record, _)| record)
    }

    /// [`from_body`](Self::from_body), and about how much memory the values take.
    #[doc(hidden)]
    pub fn measured(format: &Format, body: &[u8], limits: &Limits) -> Result<(DynRecord, usize), DecodeError> {
        read::record(RecordView::new(format, body)?, limits)
    }

    /// Writes the body in the layout of [`DynRecord::format`]: padding zero, targets aligned, each shared one once.
    pub fn to_body(&self) -> Result<Buffer, EncodeError> {
        write::body(self)
    }

    /// Goes through the table: the value that `value` stands for. A chain that never ends is null.
    pub fn resolve<'v>(&'v self, mut value: &'v Value) -> &'v Value {
        for _ in 0..=self.shared.len() {
            match value {
                Value::Shared(key) => value = self.shared.get(*key).unwrap_or(&Value::Null),
                _ => return value,
            }
        }
        &Value::Null
    }

    /// A part of a record as one value without table.
    pub(crate) fn value_of(item: Item<'_>, limits: &Limits) -> Result<Value, DecodeError> {
        read::value(item, limits)
    }
}
