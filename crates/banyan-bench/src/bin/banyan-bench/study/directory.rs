//! The directory of a study: what belongs to which plan, and one file for each run that is over.
//!
//! ```text
//! study.json      the study's name and the plan's hash, written first
//! plan.toml       the plan as it was then
//! runs/0007.json  run 7: its command, environment and output, or why it failed
//! results.json, results.csv, results.records, report.html
//! ```
//!
//! A file is complete and on the disk before it has its name. One command at a time works in a directory: the lock goes
//! with the process that holds it, however that ends.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use banyan_bench::study::{Results, Run, Study, report};
use rustix::fs::{FlockOperation, flock};

use super::plan::{Plan, study_name};
use super::schedule::{Planned, Schedule};
use super::shown;
use banyan_cli::failure::{During, Failure, cause};

/// Bytes of one run's file: what the largest bench prints fits a hundred times.
const MAX_RUN_BYTES: u64 = 64 << 20;

/// Who works in a directory holds this.
const LOCK: &str = ".lock";

/// How files end that have not got their name yet.
const UNFINISHED: &str = ".unfinished";

/// A directory that this process alone works in.
pub(super) struct Directory {
    path: PathBuf,
    _lock: File,
}

impl Directory {
    /// Opens the directory of a study that was begun with the same plan, or begins it.
    pub(super) fn open(path: &Path, plan: &Plan, schedule: &Schedule) -> Result<Directory, Failure> {
        check(path, schedule)?;
        let made = |what: &Path| -> Result<(), Failure> {
            fs::create_dir_all(what).map_err(|error| Failure::system(shown(what), &error))
        };
        made(path)?;
        let directory = Directory { path: path.to_owned(), _lock: lock(path)? };
        // First of all, so that whatever comes next is known to be a study's.
        if !path.join("study.json").exists() {
            let study = serde_json::json!({ "study": plan.name, "plan": schedule.hash });
            directory.write("study.json", format!("{study:#}\n").as_bytes())?;
        }
        if !path.join("plan.toml").exists() {
            directory.write("plan.toml", plan.text.as_bytes())?;
        }
        made(&path.join("runs"))?;
        directory.remove_unfinished();
        Ok(directory)
    }

    /// The directory as a whole path, which jobs elsewhere need.
    pub(super) fn absolute(&self) -> Result<PathBuf, Failure> {
        self.path.canonicalize().map_err(|error| Failure::system(shown(&self.path), &error))
    }

    /// Writes a file that has its name only when it is complete, and on the disk: a run may have taken an hour.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.path.join(name);
        let unfinished = path.with_file_name(format!(".{}{UNFINISHED}", name.rsplit('/').next().unwrap_or(name)));
        let written = File::create(&unfinished).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&unfinished, &path)
        });
        written.map_err(|error| Failure::system(shown(&path), &error))
    }

    /// Keeps what a run left.
    pub(super) fn keep(&self, run: &Run) -> Result<(), Failure> {
        let text = serde_json::to_string(run).during(format_args!("run {}", run.run))?;
        self.write(&run_file(run.run), text.as_bytes())
    }

    /// A file that a running bench writes into; it goes when the run is over.
    pub(super) fn unfinished(&self, number: u32, what: &str) -> PathBuf {
        self.path.join(format!("runs/.{number:04}.{what}"))
    }

    /// What earlier runs were cut off in. What cannot be removed is in nobody's way.
    fn remove_unfinished(&self) {
        let entries = fs::read_dir(self.path.join("runs")).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| is_unfinished_run(&entry.file_name())) {
            let _ = fs::remove_file(entry.path());
        }
    }

    /// Results for programs and the page for people, from the runs that are over.
    pub(super) fn publish(&self, plan: &Plan, planned: usize, runs: &[Run]) -> Result<Results, Failure> {
        let results = Results::of(&plan.name, runs).during(shown(&self.path))?;
        self.write("results.json", results.to_json().as_bytes())?;
        let (mut csv, mut records) = (Vec::new(), Vec::new());
        results.write_csv(&mut csv).during("results.csv")?;
        self.write("results.csv", &csv)?;
        results.write_records(&mut records).during("results.records")?;
        self.write("results.records", &records)?;
        let page = report(&Study { planned, runs, results: &results, plan: &plan.text });
        self.write("report.html", page.as_bytes())?;
        Ok(results)
    }
}

/// The runs of a study that are over, by their numbers; none if nothing is there yet.
pub(super) fn finished(path: &Path, schedule: &Schedule) -> Result<BTreeMap<u32, Run>, Failure> {
    check(path, schedule)?;
    let mut runs = BTreeMap::new();
    for planned in &schedule.runs {
        let file = path.join(run_file(planned.number));
        if let Some(text) = read_up_to(&file, MAX_RUN_BYTES)? {
            let run = read_run(&text, planned);
            let remedy =
                |error| Failure::new(format!("{}: {error}; remove it, and the run is done again", shown(&file)));
            runs.insert(planned.number, run.map_err(remedy)?);
        }
    }
    Ok(runs)
}

fn run_file(number: u32) -> String {
    format!("runs/{number:04}.json")
}

/// Output of a bench, what it said, and a run that is being written: `.0007.out`, `.0007.err`, `.0007.json.unfinished`.
fn is_unfinished_run(name: &OsStr) -> bool {
    let number_and_rest = name.to_str().and_then(|name| name.strip_prefix('.')?.split_once('.'));
    number_and_rest.is_some_and(|(number, rest)| {
        number.parse::<u32>().is_ok() && ["out", "err", "json.unfinished"].contains(&rest)
    })
}

/// The run that a file holds, if it is the one that was planned and has the figures of one.
fn read_run(text: &str, planned: &Planned) -> Result<Run, String> {
    let run: Run = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let (there, wanted) = ((run.run, &run.bench, run.repetition), (planned.number, &planned.bench, planned.repetition));
    if there != wanted || run.parameters != planned.parameters {
        return Err("is another run".to_owned());
    }
    run.figures("").map_err(|error| error.to_string())?;
    Ok(run)
}

/// The text of a file; nothing if it is not there.
pub(super) fn read_up_to(file: &Path, most: u64) -> Result<Option<String>, Failure> {
    let read = File::open(file).and_then(|open| {
        let mut text = String::new();
        io::Read::read_to_string(&mut io::Read::take(open, most + 1), &mut text)?;
        Ok(text)
    });
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::system(shown(file), &error)),
        Ok(text) if text.len() as u64 > most => {
            Err(Failure::new(format!("{}: is longer than {most} bytes", shown(file))))
        }
        Ok(text) => Ok(Some(text)),
    }
}

/// What `study.json` says, if it is there.
fn begun(path: &Path) -> Result<Option<serde_json::Value>, Failure> {
    if path.is_file() {
        return Err(Failure::usage(format!("{}: is a file; name a directory with --into", shown(path))));
    }
    let file = path.join("study.json");
    let text = read_up_to(&file, MAX_RUN_BYTES)?;
    text.map(|text| serde_json::from_str(&text)).transpose().during(shown(&file))
}

/// The name of a study that was begun: the plan may lie elsewhere by now, in a file of another name.
pub(super) fn name_of(path: &Path) -> Result<Option<String>, Failure> {
    let study = begun(path)?;
    let name = study.as_ref().and_then(|study| study["study"].as_str()).map(study_name);
    name.transpose().during(shown(&path.join("study.json")))
}

/// Refuses a directory of another plan, or of something else.
fn check(path: &Path, schedule: &Schedule) -> Result<(), Failure> {
    let Some(study) = begun(path)? else {
        // What a study leaves that was killed as it began.
        let is_own = |name: &OsStr| name == LOCK || name.as_encoded_bytes().ends_with(UNFINISHED.as_bytes());
        let is_empty = match fs::read_dir(path) {
            Ok(mut all) => all.all(|entry| entry.is_ok_and(|entry| is_own(&entry.file_name()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => return Err(Failure::system(shown(path), &error)),
        };
        return if is_empty {
            Ok(())
        } else {
            Err(Failure::usage(format!(
                "{}: has files that are not a study's; name another directory with --into",
                shown(path)
            )))
        };
    };
    let was = study["plan"].as_str().unwrap_or_default();
    if was == schedule.hash {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{0}: was begun with another plan ({was:?}, this one is {1:?}); keep it and name another directory with --into, go \
         on with the plan it was begun with ({0}/plan.toml --into {0}), or remove it",
        shown(path),
        schedule.hash
    )))
}

fn lock(path: &Path) -> Result<File, Failure> {
    let file = path.join(LOCK);
    let open = OpenOptions::new().create(true).truncate(false).write(true).open(&file);
    let open = open.map_err(|error| Failure::system(shown(&file), &error))?;
    match flock(&open, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(open),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Failure::new(format!(
            "{}: another banyan bench works on this study; wait for its end, or name another directory with --into",
            shown(path)
        ))),
        Err(error) => Err(Failure::new(format!(
            "{}: cannot be locked: {}; name a directory on a local disk with --into",
            shown(&file),
            cause(&error.into())
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_unfinished_runs_are_removed() {
        let is_ours = |name: &str| is_unfinished_run(OsStr::new(name));
        assert!([".0007.out", ".12345.err", ".0007.json.unfinished"].into_iter().all(is_ours));
        assert!(
            ![".nfs0001", ".0007", ".gitignore", "0007.out", ".x.out", "..out", ".0007.txt"].into_iter().any(is_ours)
        );
    }
}
