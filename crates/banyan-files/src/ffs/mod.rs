//! Reading the record files and record streams of FFS and PBIO, Banyan's ancestors.
//!
//! A [`Reader`] yields what a file holds, block by block. Each foreign format description becomes a
//! [`Format`](banyan_ndr::Format) and each foreign record a body of that format, so everything that works on Banyan's own
//! records works on these: views, conversion, reflection, export. Description versions 0, 1 and 2 are understood, from
//! machines of either byte order and pointer width. What is known of the foreign layout stands in `docs/ffs-files.md`.
//!
//! ```no_run
//! use banyan_files::ffs::{Entry, Reader};
//!
//! for entry in Reader::open("simulation.ffs")? {
//!     if let Entry::Record(record) = entry? {
//!         println!("{}: {} bytes", record.format.name(), record.body.len());
//!     }
//! }
//! # Ok::<(), banyan_files::ffs::Error>(())
//! ```
//!
//! The bytes are not trusted: whatever they are, reading ends, allocates in proportion to them and reports each damage
//! with its offset. Damage inside one block costs that block only.
//!
//! The numbers that C calls `long double` become the nearest `f64`. Where a description does not say what their bytes
//! mean, the reader must be told ([`Reader::assume_long_doubles`]).
//!
//! Not done here: writing such files, asking a format server for descriptions that are not in the file, and the texts
//! attached to descriptions (XML templates).

mod attribute;
mod description;
mod error;
mod index;
mod layout;
mod long_double;
mod plan;
mod reader;
mod rewrite;
mod shape;

pub use attribute::{Attribute, AttributeValue};
pub use error::{Error, ErrorKind};
pub use index::{Index, IndexElement, Indexed};
pub use long_double::LongDouble;
pub use reader::{Entry, FfsRecord, Reader, is_ffs};

/// The name FFS gives a description: 8, 10 or 12 bytes that only it can make sense of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ForeignId(Box<[u8]>);

impl ForeignId {
    pub(crate) fn new(bytes: &[u8]) -> ForeignId {
        ForeignId(bytes.into())
    }

    /// How long the id is that starts with this byte, its version.
    pub(crate) fn len_of(version: u8) -> Option<usize> {
        [8, 10, 12].get(usize::from(version)).copied()
    }

    /// As bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Display for ForeignId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
