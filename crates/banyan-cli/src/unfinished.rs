//! A file that has its name only once it is complete. Until then it has a temporary one beside it, and goes when the work
//! fails, when its time is over, or when a signal ends this process.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::signals::{self, heeded};

/// A file under a temporary name. Dropped before [`keep`](Unfinished::keep), it leaves nothing behind, and what had its
/// name before is untouched.
pub(crate) struct Unfinished {
    file: BufWriter<File>,
    temporary: PathBuf,
    /// `None` once it has its final name.
    path: Option<PathBuf>,
}

/// The temporary names of all files that are being written.
struct All {
    names: Vec<PathBuf>,
    /// Whether signals are watched for.
    is_watched: bool,
}

static ALL: Mutex<All> = Mutex::new(All { names: Vec::new(), is_watched: false });

fn all() -> MutexGuard<'static, All> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Unfinished {
    /// Begins a file that is to have this name.
    pub(crate) fn create(path: PathBuf, buffer: usize) -> io::Result<Unfinished> {
        let temporary = beside(&path);
        // Under one lock: who discards finds all there are.
        let mut all = all();
        if !all.is_watched {
            watch()?;
            all.is_watched = true;
        }
        let file = BufWriter::with_capacity(buffer, File::create(&temporary)?);
        all.names.push(temporary.clone());
        Ok(Unfinished { file, temporary, path: Some(path) })
    }

    /// Hands everything over, and gives it its name.
    pub(crate) fn keep(mut self) -> io::Result<()> {
        self.file.flush()?;
        if let Some(path) = &self.path {
            let mut all = all();
            fs::rename(&self.temporary, path)?;
            all.names.retain(|other| *other != self.temporary);
            self.path = None;
        }
        Ok(())
    }
}

/// A name in the same directory, so that renaming is one step.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{}.unfinished", std::process::id()))
}

impl Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.path.is_some() {
            // It failed already; a file that cannot be removed either has a name that says what it is.
            let _ = fs::remove_file(&self.temporary);
            all().names.retain(|other| *other != self.temporary);
        }
    }
}

/// Removes the files that are being written, and lets nobody begin or complete one from now on: this process is about to
/// end.
pub(crate) fn discard_unfinished() {
    let all = all();
    for temporary in &all.names {
        // As where one is dropped.
        let _ = fs::remove_file(temporary);
    }
    std::mem::forget(all);
}

/// From now on signals that end this process end it without leaving such files behind.
fn watch() -> io::Result<()> {
    let mut came = Signals::new(heeded([SIGHUP, SIGINT, SIGTERM]))?;
    signals::take();
    let watching = move || {
        for signal in came.forever() {
            discard_unfinished();
            // It dies of the signal, so that whoever started it sees why.
            let _ = emulate_default_handler(signal);
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(watching).map(drop)
}
