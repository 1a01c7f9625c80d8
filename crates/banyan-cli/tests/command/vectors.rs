//! Golden files.

use std::path::Path;

/// A golden file of FFS.
pub(crate) fn golden(name: &str) -> String {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../banyan-files/tests/vectors/ffs");
    vectors.join(format!("{name}.bin")).display().to_string()
}
