//! Where results go: standard output or a file.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use crate::failure::{During, Failure};

/// Buffered standard output.
pub(crate) fn stdout() -> BufWriter<io::StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// A file, or standard output for `-`.
pub(crate) fn create(path: &str) -> Result<Box<dyn Write>, Failure> {
    if path == "-" {
        return Ok(Box::new(stdout()));
    }
    Ok(Box::new(BufWriter::with_capacity(1 << 16, File::create(path).during(path)?)))
}
