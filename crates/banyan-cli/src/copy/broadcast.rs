//! To every host: the files of this machine, part by part through the session's staging.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use banyan_boot::{
    Delivery, Event, ParcelTarget, Parcels, Problem, ProblemKind, ProcessDistribution, Reading, Session, StageError,
};
use serde_json::json;

use super::interrupt::CopyInterrupt;
use super::size::{files, hosts, size};
use super::skips::Skips;
use super::tell::{Amount, Tell};
use super::{Copy, check_names, goes_up, name_of, not_launched};
use crate::failure::{Failure, Outcome};
use crate::status;

/// Something to copy, and how much that is.
struct CopySource {
    path: PathBuf,
    name: OsString,
    reading: Reading,
    files: u64,
    bytes: u64,
    skips: Vec<Skips>,
}

/// What all sources go through, and for how long.
struct CopyWay {
    session: Arc<Session>,
    interrupt: CopyInterrupt,
    deadline: Option<Instant>,
}

/// How it goes with one source.
#[derive(Default)]
struct Course {
    amount: Amount,
    /// The most agents that failed with one part: of those below a lost one nothing else is known.
    most: u32,
    /// Hosts that failed with some part.
    failed: BTreeSet<String>,
}

pub(super) fn broadcast(copy: &Copy, begin: Instant, deadline: Option<Instant>) -> Outcome {
    let sources =
        copy.files.iter().map(|path| CopySource::look(path, copy.reading())).collect::<Result<Vec<_>, _>>()?;
    check_names(sources.iter().map(|source| &source.name))?;
    if goes_up(&copy.dest) {
        return Err(Failure::usage(format!("{}: a destination is written without ..", copy.dest.display())));
    }
    let is_directory = sources.len() > 1 || copy.dest.as_os_str().as_bytes().ends_with(b"/");
    let mut tell = Tell::new(copy.json, copy.partial, begin);
    // Agents store what comes; there is nothing for members to do.
    let (session, interrupt) = copy.launch(ProcessDistribution::new("true", [""; 0]), 0, &mut tell)?;
    let way = CopyWay { session, interrupt, deadline };
    let all = sources.iter().map(|source| source.bytes).sum();
    let mut done = 0;
    for source in &sources {
        for skips in &source.skips {
            tell.skipped(None, &source.path, skips.clone())?;
        }
        let place = source.place(copy, is_directory);
        if !source.send(&way, &place, (done, all), &mut tell)? {
            break;
        }
        done += source.bytes;
    }
    match way.interrupt.status() {
        Some(status) => tell.interrupted(status)?,
        None => {
            way.hear(&mut tell)?;
            tell.tell_problems()?;
            if let Some(error) = tell.missing().all_of(tell.hosts()) {
                return Err(not_launched(&error, &mut tell));
            }
        }
    }
    drop(way);
    Ok(ExitCode::from(tell.end()?))
}

impl CopyWay {
    /// Takes note of what went wrong at hosts.
    fn hear(&self, tell: &mut Tell) -> Result<(), Failure> {
        while let Ok(Some(event)) = self.session.try_recv_event() {
            if let Event::Problem(problem) = event {
                tell.problem(&problem)?;
            }
        }
        Ok(())
    }
}

/// Why nothing is copied at all.
fn unreadable(path: &Path, error: &StageError) -> Failure {
    let status = if error.is_forbidden() { status::NOT_PERMITTED } else { status::MEMBER_FAILED };
    Failure::with_status(format_args!("{error}; look with: ls -la {}", path.display()), status)
}

impl CopySource {
    /// Looks through all of it, so that what cannot be copied is known before anything is.
    fn look(path: &Path, reading: Reading) -> Result<CopySource, Failure> {
        // What is called `.` or `data/..` has a name, too.
        let name = match path.file_name() {
            Some(name) => name.to_owned(),
            None => name_of(&fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))?,
        };
        let mut source = CopySource { path: path.to_owned(), name, reading, files: 0, bytes: 0, skips: Vec::new() };
        let mut parcels = Parcels::of(path, reading);
        for parcel in parcels.by_ref() {
            let parcel = parcel.map_err(|error| unreadable(path, &error))?;
            source.files += parcel.files();
            source.bytes += parcel.bytes();
        }
        source.skips = Skips::of(parcels.skipped());
        Ok(source)
    }

    fn place(&self, copy: &Copy, is_directory: bool) -> ParcelTarget {
        let partial = copy.partial;
        if is_directory {
            ParcelTarget { path: copy.dest.join(&self.name), name: None, partial }
        } else {
            ParcelTarget { path: copy.dest.clone(), name: Some(self.name.clone()), partial }
        }
    }

    /// Sends all of it; false if it makes no sense to go on.
    fn send(
        &self,
        way: &CopyWay,
        place: &ParcelTarget,
        (before, all): (u64, u64),
        tell: &mut Tell,
    ) -> Result<bool, Failure> {
        let (mut done, mut course) = (before, Course::default());
        for parcel in Parcels::of(&self.path, self.reading) {
            let delivered = parcel.and_then(|parcel| {
                let bytes = parcel.bytes();
                let progress = |sent: u64| tell.progress(done + sent.min(bytes), Some(all));
                Ok((bytes, way.session.stage_parcel_timeout(&parcel, place, way.deadline, progress)?))
            });
            if way.interrupt.status().is_some() {
                // What did not arrive because of that is no news.
                tell.add(course.amount);
                return Ok(false);
            }
            match delivered {
                Ok((bytes, delivery)) => {
                    done += bytes;
                    tell.progress(done, Some(all));
                    course.note(&delivery);
                    for problem in &delivery.problems {
                        tell.problem(&with_remedy(problem, &place.path))?;
                    }
                    tell.tell_problems()?;
                    if delivery.failed as usize >= tell.hosts() {
                        break;
                    }
                }
                Err(StageError::TimedOut(_)) => {
                    tell.timed_out();
                    tell.add(course.amount);
                    return Ok(false);
                }
                Err(StageError::Over) => {
                    tell.session_lost();
                    tell.add(course.amount);
                    return Ok(false);
                }
                Err(error) => {
                    let remedy = format!("look with: ls -la {}", self.path.display());
                    let forbidden = error.is_forbidden();
                    let kind = if forbidden { ProblemKind::NotPermitted } else { ProblemKind::Staging };
                    tell.failed_here(kind, &error.to_string(), &remedy)?;
                    return Ok(true);
                }
            }
        }
        way.hear(tell)?;
        if tell.missing().count() < tell.hosts() {
            self.report(&course, &place.path, tell)?;
        }
        Ok(course.failed() < tell.hosts())
    }

    fn report(&self, course: &Course, place: &Path, tell: &mut Tell) -> Result<(), Failure> {
        tell.add(course.amount);
        let Amount { delivered, had } = course.amount;
        let failed = course.failed();
        let complete = tell.hosts().saturating_sub(failed);
        if tell.is_json() {
            return tell.object(&json!({
                "event": "copied",
                "source": self.path.to_string_lossy(),
                "files": self.files,
                "bytes": self.bytes,
                "hosts": complete,
                "failed": failed,
                "delivered_bytes": delivered,
                "had_bytes": had,
            }));
        }
        let whom = if failed == 0 { hosts(complete) } else { format!("{complete} of {}", hosts(tell.hosts())) };
        let how = match (delivered, had) {
            (0, 0) if complete > 0 => "complete".into(),
            (0, 0) => "nothing was sent".into(),
            (0, _) => "nothing had to be sent".into(),
            (_, 0) => format!("{} delivered", size(delivered)),
            _ => format!("{} delivered, {} were there", size(delivered), size(had)),
        };
        // Whoever names no whole path should not have to look for it.
        let at: PathBuf = Path::new("~").join(place).components().collect();
        let place = if place.is_relative() { format!(", at {}", at.display()) } else { String::new() };
        let what = format!("{}: {}, {}", self.path.display(), files(self.files), size(self.bytes));
        tell.line(&format!("{what}, on {whom}{place}: {how}"))
    }
}

impl Course {
    /// What became of a part.
    fn note(&mut self, delivery: &Delivery) {
        self.amount.add(Amount { delivered: delivery.delivered, had: delivery.had_bytes });
        self.most = self.most.max(delivery.failed);
        self.failed.extend(delivery.problems.iter().map(|problem| problem.host.clone()));
    }

    /// How many hosts have not got everything.
    fn failed(&self) -> usize {
        self.failed.len().max(self.most as usize)
    }
}

/// The problem, with how to look at it.
fn with_remedy(problem: &Problem, path: &Path) -> Problem {
    let mut problem = problem.clone();
    if problem.remedy.is_empty() {
        let there = path.to_string_lossy().replace("{host}", &problem.host);
        let directory = Path::new(&there).parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new(".")).display().to_string();
        problem.remedy = match problem.kind {
            ProblemKind::NoSpace => {
                format!("make room there; look with: banyan run -w {} -- df -h {directory}", problem.host)
            }
            _ => format!("look with: banyan run -w {} -- ls -la {directory}", problem.host),
        };
    }
    problem
}
