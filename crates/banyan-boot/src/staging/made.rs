//! Directories that are made for what is to come, and go again if it does not.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Directories that were not there, the innermost first. Dropped, those are removed that hold nothing: whatever has arrived
/// keeps them.
#[derive(Debug, Default)]
pub struct MadeDirectories(Vec<PathBuf>);

impl MadeDirectories {
    /// Makes a directory, and those above it that are missing.
    ///
    /// # Errors
    /// When that is not possible; nothing is left then.
    pub fn make(directory: &Path) -> io::Result<MadeDirectories> {
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let made = MadeDirectories(directory.ancestors().take_while(is_missing).map(Path::to_owned).collect());
        DirBuilder::new().recursive(true).mode(0o777).create(directory)?;
        Ok(made)
    }
}

impl Drop for MadeDirectories {
    fn drop(&mut self) {
        for directory in &self.0 {
            // One that holds something stays, as do those above it.
            let _ = fs::remove_dir(directory);
        }
    }
}
