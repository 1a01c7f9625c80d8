//! The fuzz targets: a file each, whose function `target` takes any bytes.

mod cstruct;
mod ffs;
mod file;
mod format;
mod json;
mod link;
mod query;
mod record;
mod reduce;
mod schema;
mod shared;
mod topology;
mod wire;
mod xml;

/// What is run with any bytes, and must not panic.
pub(crate) type Target = fn(&[u8]);

/// All of them, by name.
pub(crate) const ALL: &[(&str, Target)] = &[
    ("cstruct", cstruct::target),
    ("ffs", ffs::target),
    ("file", file::target),
    ("format", format::target),
    ("json", json::target),
    ("link", link::target),
    ("query", query::target),
    ("record", record::target),
    ("reduce", reduce::target),
    ("schema", schema::target),
    ("shared", shared::target),
    ("topology", topology::target),
    ("wire", wire::target),
    ("xml", xml::target),
];
