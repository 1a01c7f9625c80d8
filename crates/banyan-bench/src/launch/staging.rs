//! How fast a file reaches many agents of this machine, against bytes that are only copied: one process writes them into
//! as many sockets, and whoever is at the other end reads them, and forgets them or writes them to a file.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use banyan_boot::{Launcher, ProcessDistribution, Session, SessionOptions, Stage};

use super::LaunchBenchError;
use super::floor::Meeting;
use super::program::Program;
use super::rows::{self, LaunchRow};

/// The file's length.
const BYTES: usize = 100_000_000;

/// How many get it.
const AGENTS: u32 = 16;

/// Each is measured so often, in turn; the best counts.
const ROUNDS: u8 = 5;

/// What the copying process writes at once: as much as a frame of the session carries.
const PIECE: usize = 128 * 1024;

/// Where file and caches lie: in memory, so that no disk is measured.
const MEMORY: &str = "/dev/shm";

/// The time of Banyan and of copying.
pub(super) fn rows(program: &Program, progress: &mut dyn FnMut(&str)) -> Result<Vec<LaunchRow>, LaunchBenchError> {
    let failed = |error: &dyn std::fmt::Display| LaunchBenchError::Staging(error.to_string());
    let place = ScratchDirectory::new().map_err(|error| failed(&error))?;
    let session = launch(&place.0).map_err(|error| failed(&error))?;
    let [mut staged, mut copied, mut written] = [Duration::MAX; 3];
    for round in 0..ROUNDS {
        // Another content each time: nobody has it yet.
        let content: Vec<u8> = (0..BYTES).map(|at| (at.wrapping_mul(2_654_435_761) >> 11) as u8 ^ round).collect();
        let file = place.0.join("file");
        fs::write(&file, &content).map_err(|error| failed(&error))?;
        progress(&format!("banyan, 100 MB to {AGENTS} agents"));
        let begin = Instant::now();
        let report = session.stage(&file, &Stage::Cache).map_err(|error| failed(&error))?;
        if report.stored != AGENTS {
            return Err(LaunchBenchError::Staging(format!("{} of {AGENTS} agents have the file", report.stored)));
        }
        staged = staged.min(begin.elapsed());
        place.empty();
        progress(&format!("copying 100 MB to {AGENTS} processes"));
        copied = copied.min(copy(program, &content, None).map_err(|error| failed(&error))?);
        written = written.min(copy(program, &content, Some(&place)).map_err(|error| failed(&error))?);
        place.empty();
    }
    session.kill().map_err(|error| failed(&error))?;
    let row = |system, program, took: Duration| {
        let rate = BYTES as f64 * f64::from(AGENTS) / took.as_secs_f64() / 1e9;
        LaunchRow::figure(system, "100 MB to agents, delivered", program, AGENTS, (rate, "GB/s"))
    };
    let mut rows = vec![row("banyan", "checked files", staged), row("copy", "nothing kept", copied)];
    rows.push(row("copy to files", "files", written));
    rows::compare(&mut rows, "copy");
    Ok(rows)
}

fn launch(place: &Path) -> Result<Session, banyan_boot::LaunchError> {
    let nobody = ProcessDistribution::new("true", [""; 0]);
    let nobody = (0..AGENTS).fold(nobody, |all, host| all.on(format!("n{host}"), 0));
    let cache = place.join("{host}");
    Session::launch(&[nobody], &SessionOptions::default().launcher(Launcher::Local).cache(cache))
}

/// Writes the same bytes to so many processes, piece by piece, until all have read them, and written them if they are told
/// where.
fn copy(program: &Program, content: &[u8], to: Option<&ScratchDirectory>) -> io::Result<Duration> {
    let meeting = Meeting::new()?;
    let start = |reader: u32| {
        let mut command = program.command();
        command.args(["sink", &content.len().to_string(), &meeting.name]);
        command.args(to.map(|place| place.0.join(format!("n{reader}")))).stdin(Stdio::null()).spawn()
    };
    let mut readers = (0..AGENTS).map(start).collect::<io::Result<Vec<Child>>>()?;
    let mut streams = (0..AGENTS).map(|_| meeting.accept()).collect::<io::Result<Vec<_>>>()?;
    streams.iter_mut().try_for_each(|stream| stream.read_exact(&mut [0]))?;
    let begin = Instant::now();
    for piece in content.chunks(PIECE) {
        streams.iter_mut().try_for_each(|stream| stream.write_all(piece))?;
    }
    streams.iter_mut().try_for_each(|stream| stream.read_exact(&mut [0]))?;
    let took = begin.elapsed();
    readers.iter_mut().try_for_each(|reader| reader.wait().map(drop))?;
    Ok(took)
}

/// A directory that is removed with all that is in it.
struct ScratchDirectory(PathBuf);

impl ScratchDirectory {
    fn new() -> io::Result<ScratchDirectory> {
        let path = Path::new(MEMORY).join(format!("banyan-bench-{}", std::process::id()));
        let mut places = places();
        fs::create_dir(&path)?;
        places.push(path.clone());
        Ok(ScratchDirectory(path))
    }

    /// Removes what those have who were brought something, so that everyone finds memory that is free again.
    fn empty(&self) {
        for path in (0..AGENTS).map(|reader| self.0.join(format!("n{reader}"))) {
            // It is a directory or a file; what stays is removed in the end.
            let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
        }
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        // What cannot be removed lies in memory, under a name that says whose it is.
        let _ = fs::remove_dir_all(&self.0);
        places().retain(|other| *other != self.0);
    }
}

/// All places there are.
static PLACES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn places() -> MutexGuard<'static, Vec<PathBuf>> {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes what a bench that is at work in another thread has written: this process is about to end.
pub fn discard_places() {
    for place in places().iter() {
        let _ = fs::remove_dir_all(place);
    }
}
