//! Staging with real agents: what they get, what they refuse, and what is left when it goes wrong.
//!
//! This program is its own agent, so it has no usual test harness.

#![expect(clippy::print_stdout, reason = "a test that cannot run says so")]

#[path = "harness/mod.rs"]
mod harness;

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use banyan_boot::{
    Event, Launcher, Output, ParcelTarget, Parcels, ProcessDistribution, Session, SessionOptions, Stage, StageError,
    become_agent_if_asked,
};
use tempfile::TempDir;

/// Nothing here takes so long.
const DEADLINE: Duration = Duration::from_secs(60);

/// Long enough that its transfer is still under way when somebody looks.
const LONG: u64 = 300 << 20;

/// Set in the front-end that is killed: the directory it works in.
const ROLE: &str = "BANYAN_TEST_STAGE";

fn main() -> ExitCode {
    become_agent_if_asked();
    if let Some(place) = std::env::var_os(ROLE) {
        let place = PathBuf::from(place);
        let _ = session(&place, 2).stage(&place.join("long"), &Stage::Cache);
        return ExitCode::SUCCESS;
    }
    harness::run(TESTS, None, &[harness::ONE])
}

const TESTS: &[harness::Test] = &[
    ("a_file_reaches_every_agent_of_a_deep_tree_once", a_file_reaches_every_agent_of_a_deep_tree_once),
    ("an_empty_file_and_a_directory_arrive", an_empty_file_and_a_directory_arrive),
    ("data_goes_only_to_those_who_lack_it", data_goes_only_to_those_who_lack_it),
    ("a_file_replaces_another_at_a_path", a_file_replaces_another_at_a_path),
    ("a_staged_program_runs_from_the_cache", a_staged_program_runs_from_the_cache),
    ("a_host_that_cannot_store_is_named_and_the_others_get_it", a_host_that_cannot_store_is_named),
    ("a_file_cut_while_it_is_read_leaves_nothing", a_file_cut_while_it_is_read_leaves_nothing),
    ("a_front_end_killed_in_the_middle_leaves_nothing", a_front_end_killed_in_the_middle_leaves_nothing),
    ("a_large_file_that_a_deadline_has_cut_goes_on_in_the_middle", a_large_file_that_a_deadline_has_cut_goes_on),
    ("a_full_disk_is_named_with_its_free_space", a_full_disk_is_named_with_its_free_space),
];

/// A session of agents without members, each with a cache of its own in `place`.
fn session(place: &Path, agents: usize) -> Session {
    let nobody = ProcessDistribution::new("true", [""; 0]);
    let nobody = (0..agents).fold(nobody, |all, host| all.on(format!("n{host}"), 0));
    Session::launch(&[nobody], &options(place)).unwrap()
}

fn options(place: &Path) -> SessionOptions {
    let cache = place.join("caches/{host}");
    SessionOptions::default().launcher(Launcher::Local).fanout(2).cache(cache)
}

fn deadline() -> Option<Instant> {
    Some(Instant::now() + DEADLINE)
}

/// Everything in the caches, as paths from there.
fn cached(place: &Path) -> Vec<PathBuf> {
    let hosts = fs::read_dir(place.join("caches")).into_iter().flatten().flatten();
    let files = hosts.flat_map(|host| fs::read_dir(host.path()).into_iter().flatten().flatten());
    files.map(|file| file.path().strip_prefix(place.join("caches")).unwrap().to_owned()).collect()
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

fn a_file_reaches_every_agent_of_a_deep_tree_once() {
    let place = TempDir::new().unwrap();
    let file = place.path().join("file");
    let content: Vec<u8> = (0..3_000_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    fs::write(&file, &content).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let session = session(place.path(), 11);
    let report = session.stage_timeout(&file, &Stage::Cache, deadline()).unwrap();
    assert_eq!((report.stored, report.had), (11, 0));
    assert!(report.pieces >= 6);
    for host in 0..11 {
        let stored = place.path().join(format!("caches/n{host}/{}", report.hash));
        assert_eq!(fs::read(&stored).unwrap(), content);
        assert_eq!(stored.metadata().unwrap().permissions().mode() & 0o7777, 0o640);
    }
    let again = session.stage_timeout(&file, &Stage::Cache, deadline()).unwrap();
    assert_eq!((again.stored, again.had, again.pieces), (0, 11, 0));
    assert_eq!(again.path, report.path);
    assert_eq!(cached(place.path()).len(), 11, "no temporary file is left");
    session.kill().unwrap();
}

fn an_empty_file_and_a_directory_arrive() {
    let place = TempDir::new().unwrap();
    let directory = place.path().join("directory");
    fs::create_dir_all(directory.join("a/b")).unwrap();
    fs::write(directory.join("a/b/file"), "deep").unwrap();
    std::os::unix::fs::symlink("b/file", directory.join("a/link")).unwrap();
    fs::write(place.path().join("empty"), "").unwrap();
    let session = session(place.path(), 3);
    let empty = session.stage_timeout(&place.path().join("empty"), &Stage::Cache, deadline()).unwrap();
    let whole = session.stage_timeout(&directory, &Stage::Cache, deadline()).unwrap();
    for host in 0..3 {
        let cache = place.path().join(format!("caches/n{host}"));
        assert_eq!(fs::read(cache.join(&empty.hash)).unwrap(), b"");
        assert_eq!(fs::read(cache.join(&whole.hash).join("a/link")).unwrap(), b"deep");
    }
    let to = place.path().join("new/place");
    let one =
        Session::launch(&[ProcessDistribution::new("true", [""; 0]).on("n0", 0)], &options(place.path())).unwrap();
    one.stage_timeout(&directory, &Stage::Path(to.clone()), deadline()).unwrap();
    assert_eq!(fs::read(to.join("a/b/file")).unwrap(), b"deep");
    let error = one.stage_timeout(&directory, &Stage::Path(to), deadline()).unwrap_err();
    assert!(error.to_string().contains("remove it first"), "{error}");
}

fn data_goes_only_to_those_who_lack_it() {
    let place = TempDir::new().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "content").unwrap();
    session(place.path(), 2).stage_timeout(&file, &Stage::Cache, deadline()).unwrap();
    let report = session(place.path(), 5).stage_timeout(&file, &Stage::Cache, deadline()).unwrap();
    assert_eq!((report.stored, report.had), (3, 2));
    assert_eq!(cached(place.path()).len(), 5);
}

fn a_file_replaces_another_at_a_path() {
    let place = TempDir::new().unwrap();
    let (file, to) = (place.path().join("file"), place.path().join("to/program"));
    fs::create_dir(place.path().join("to")).unwrap();
    fs::write(&to, "old").unwrap();
    fs::write(&file, "new").unwrap();
    let session = session(place.path(), 4);
    let report = session.stage_timeout(&file, &Stage::Path(to.clone()), deadline()).unwrap();
    assert_eq!(report.path, to);
    assert_eq!(fs::read(&to).unwrap(), b"new");
    assert_eq!(fs::read_dir(place.path().join("to")).unwrap().count(), 1);
    let error = session.stage_timeout(&file, &Stage::Path("a/../b".into()), deadline()).unwrap_err();
    assert!(matches!(error, StageError::Destination(_)));
    let error = session.stage_timeout(&place.path().join("missing"), &Stage::Cache, deadline()).unwrap_err();
    assert!(matches!(error, StageError::Read { .. }));
}

fn a_staged_program_runs_from_the_cache() {
    let place = TempDir::new().unwrap();
    let program = place.path().join("program");
    fs::write(&program, "#!/bin/sh\necho $0 $BANYAN_CACHE\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    let report = session(place.path(), 2).stage_timeout(&program, &Stage::Cache, deadline()).unwrap();
    let members = ProcessDistribution::new(report.path, [""; 0]).output(Output::Forward).on("n0", 1).on("n1", 1);
    let session = Session::launch(&[members], &options(place.path())).unwrap();
    let mut said = Vec::new();
    while let Ok(event) = session.recv_event_timeout(deadline()) {
        if let Event::Output(lines) = event {
            said.push(String::from_utf8(lines.bytes.to_vec()).unwrap());
        }
    }
    said.sort();
    let line = |host: &str| {
        let cache = place.path().join("caches").join(host);
        format!("{} {}\n", cache.join(&report.hash).display(), cache.display())
    };
    assert_eq!(said, [line("n0"), line("n1")]);
}

fn a_host_that_cannot_store_is_named() {
    let place = TempDir::new().unwrap();
    fs::create_dir(place.path().join("caches")).unwrap();
    fs::write(place.path().join("caches/n3"), "in the way").unwrap();
    fs::write(place.path().join("file"), vec![1; 2_000_000]).unwrap();
    let error =
        session(place.path(), 6).stage_timeout(&place.path().join("file"), &Stage::Cache, deadline()).unwrap_err();
    let StageError::Hosts { failed: 1, agents: 6, problems, .. } = &error else { panic!("{error}") };
    assert_eq!(problems.iter().map(|problem| &problem.host).collect::<Vec<_>>(), ["n3"]);
    assert!(error.to_string().contains("caches/n3 exists and is not a directory; remove it first"), "{error}");
    assert_eq!(cached(place.path()).len(), 5);
}

/// A file of many zeros, and the session that stages it.
fn long_file(place: &Path) -> PathBuf {
    let path = place.join("long");
    File::create(&path).unwrap().set_len(LONG).unwrap();
    path
}

fn a_file_cut_while_it_is_read_leaves_nothing() {
    let place = TempDir::new().unwrap();
    let long = long_file(place.path());
    let session = session(place.path(), 3);
    let error = std::thread::scope(|scope| {
        let staging = scope.spawn(|| session.stage_timeout(&long, &Stage::Cache, deadline()));
        wait_until("a temporary file is written", || !cached(place.path()).is_empty());
        File::options().write(true).open(&long).unwrap().set_len(0).unwrap();
        staging.join().unwrap().unwrap_err()
    });
    assert!(matches!(error, StageError::Changed(_)), "{error}");
    wait_until("no temporary file is left", || cached(place.path()).is_empty());
    fs::write(&long, "short").unwrap();
    assert_eq!(session.stage_timeout(&long, &Stage::Cache, deadline()).unwrap().stored, 3, "the session goes on");
}

/// Bytes of a large file that are asked for, sent and checked together.
const SLICE: u64 = 32 << 20;

fn a_large_file_that_a_deadline_has_cut_goes_on() {
    let place = TempDir::new().unwrap();
    let (path, bytes) = (place.path().join("large"), 3 * SLICE + 5000);
    let large = File::create(&path).unwrap();
    large.set_len(bytes).unwrap();
    (0..bytes).step_by(1 << 20).for_each(|at| large.write_all_at(&at.to_le_bytes(), at).unwrap());
    let session = session(place.path(), 2);
    let to = ParcelTarget { path: place.path().join("to/{host}/large"), name: None, partial: true };
    let parcel = Parcels::of(&path, banyan_boot::Reading::default()).next().unwrap().unwrap();
    // The limit passes while the second slice is read, however long it took to come so far.
    let limit = Instant::now() + Duration::from_secs(20);
    let until_late = |sent: u64| {
        while sent > SLICE && Instant::now() < limit {
            std::thread::park_timeout(limit - Instant::now());
        }
    };
    let cut = session.stage_parcel_timeout(&parcel, &to, limit, until_late).unwrap_err();
    assert!(matches!(cut, StageError::TimedOut(_)), "{cut}");
    let rest = session.stage_parcel_timeout(&parcel, &to, deadline(), |_| ()).unwrap();
    assert_eq!((rest.stored, rest.failed, rest.delivered + rest.had_bytes), (2, 0, 2 * bytes), "{rest:?}");
    assert_eq!(rest.had_bytes, 2 * SLICE, "each had the first slice");
    for host in ["n0", "n1"] {
        let there = place.path().join("to").join(host);
        assert!(fs::read(there.join("large")).unwrap() == fs::read(&path).unwrap());
        assert_eq!(fs::read_dir(there).unwrap().count(), 1, "nothing else is left");
    }
}

fn a_front_end_killed_in_the_middle_leaves_nothing() {
    let place = TempDir::new().unwrap();
    long_file(place.path());
    let program = std::env::current_exe().unwrap();
    let mut front_end = Command::new(program).env(ROLE, place.path()).spawn().unwrap();
    wait_until("a temporary file is written", || !cached(place.path()).is_empty());
    front_end.kill().unwrap();
    front_end.wait().unwrap();
    wait_until("no temporary file is left", || {
        cached(place.path()).iter().all(|file| !file.to_string_lossy().contains(".banyan-"))
    });
    assert_eq!(cached(place.path()), [] as [PathBuf; 0], "it was not complete");
}

/// A file system of its own, unmounted at the end.
struct Mount(TempDir);

impl Mount {
    /// `None` where it is not allowed.
    fn new(megabytes: u32) -> Option<Mount> {
        let place = TempDir::new().unwrap();
        let size = format!("size={megabytes}m,mode=700");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "none"]).arg(place.path()).output();
        mounted.is_ok_and(|mounted| mounted.status.success()).then(|| Mount(place))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

fn a_full_disk_is_named_with_its_free_space() {
    let Some(mount) = Mount::new(6) else {
        return println!("skipped, since only root may mount a small file system:");
    };
    let place = TempDir::new().unwrap();
    fs::write(place.path().join("file"), vec![1; 4 << 20]).unwrap();
    // One of them fits, two do not.
    let options = options(place.path()).cache(mount.0.path().join("caches/{host}"));
    let nobody = ProcessDistribution::new("true", [""; 0]).on("n0", 0).on("n1", 0);
    let session = Session::launch(&[nobody], &options).unwrap();
    let error = session.stage_timeout(&place.path().join("file"), &Stage::Cache, deadline()).unwrap_err();
    let StageError::Hosts { problems, .. } = &error else { panic!("{error}") };
    for problem in problems {
        let cause = &problem.cause;
        assert!(cause.contains("no space left") && cause.contains("bytes free"), "{cause}");
        assert!(cause.contains(&format!("caches/{}/", problem.host)), "{cause}");
    }
    let left = cached(mount.0.path());
    assert!(left.len() < 2 && left.iter().all(|file| !file.to_string_lossy().contains(".banyan-")), "{left:?}");
    session.kill().unwrap();
}
