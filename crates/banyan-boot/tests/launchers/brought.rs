//! Nodes of Slurm that lack the agent program: it is brought to them.
//!
//! Hosts have a home and a `/tmp` of their own: a program in this machine's `/tmp` is on none of them.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::cluster::{PATIENCE, assert_clean, home, said, shared_memory, temporary};
use crate::programs::OWN_AGENT;
use crate::tests::{HOSTS, assert_all_in_order, assert_fails, front_end, in_allocation, this_program};

const NODES: [&str; 4] = ["h1", "h2", "h3", "h4"];

/// A program that no host has, nor its caches. They are emptied again when this is dropped.
struct OwnAgent(TempDir);

impl OwnAgent {
    fn new() -> OwnAgent {
        let own = OwnAgent(tempfile::Builder::new().prefix("own-agent").tempdir_in("/tmp").unwrap());
        fs::copy(this_program(), own.path()).unwrap();
        own.empty_caches();
        own
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("agent")
    }

    fn empty_caches(&self) {
        for place in NODES.iter().flat_map(|host| places(host)) {
            let _ = fs::remove_dir_all(&place).or_else(|_| fs::remove_file(&place));
        }
    }

    /// The front-end that has it.
    fn of(&self, mut front_end: Command) -> Command {
        // Slurm hands variables on to the nodes, which have a directory for temporary files of their own.
        front_end.env(OWN_AGENT, self.path()).env_remove("XDG_CACHE_HOME").env_remove("TMPDIR");
        front_end
    }
}

impl Drop for OwnAgent {
    fn drop(&mut self) {
        self.empty_caches();
    }
}

fn cache(host: &str) -> PathBuf {
    home(host).join(".cache/banyan")
}

/// What a host has in its cache, and where it keeps programs that have no room there.
fn places(host: &str) -> [PathBuf; 3] {
    let own = format!(".cache-banyan-{}", rustix::process::getuid());
    [cache(host), temporary(host).join(&own), shared_memory(host).join(&own)]
}

fn entries(host: &str) -> Vec<PathBuf> {
    fs::read_dir(cache(host).join("agents")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// The one program in a host's cache, and nothing beside it.
fn kept(host: &str) -> PathBuf {
    let files = entries(host);
    let [file] = &files[..] else { panic!("{host} keeps {files:?}") };
    file.clone()
}

fn assert_whole(file: &Path) {
    let hash = blake3::hash(&fs::read(file).unwrap()).to_hex();
    assert_eq!(file.file_name().unwrap(), hash.as_str());
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o700);
}

/// All hosts of these have the program in their caches, whole, and nothing else.
fn assert_kept(hosts: &[&str]) {
    hosts.iter().for_each(|host| assert_whole(&kept(host)));
}

pub(crate) fn nodes_that_lack_the_agent_program_get_it() {
    let own = OwnAgent::new();
    // An allocation is made, and then another one; the first two hosts have it afterwards.
    let output = own.of(front_end(["slurm", "2", "h[1-2]", "meet"])).output().unwrap();
    assert!(output.status.success() && said(&output).contains("8 members in order: true"), "{}", said(&output));
    assert_kept(&NODES[..2]);
    let before = fs::metadata(kept("h1")).unwrap().modified().unwrap();
    assert!(!cache("h3").exists());
    // In a chain, the last two hosts have others below and above them that have it.
    assert_all_in_order(own.of(in_allocation(["auto", "1", HOSTS, "meet"])));
    assert_kept(&NODES);
    assert_all_in_order(own.of(in_allocation(["auto", "32", HOSTS, "meet"])));
    assert_eq!(fs::metadata(kept("h1")).unwrap().modified().unwrap(), before, "who had it kept it");
}

pub(crate) fn a_program_that_is_damaged_or_half_there_comes_anew() {
    let own = OwnAgent::new();
    assert_all_in_order(own.of(in_allocation(["auto", "32", HOSTS, "meet"])));
    let whole = fs::read(kept("h1")).unwrap();
    fs::write(kept("h1"), &whole[..whole.len() / 2]).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    fs::write(kept("h4"), &changed).unwrap();
    assert_all_in_order(own.of(in_allocation(["auto", "32", HOSTS, "meet"])));
    assert_kept(&NODES);
}

pub(crate) fn several_jobs_bring_it_at_once() {
    let own = OwnAgent::new();
    let jobs = [(); 3].map(|()| own.of(front_end(["slurm", "2", HOSTS, "meet"])));
    std::thread::scope(|scope| {
        for mut job in jobs {
            scope.spawn(move || {
                let output = job.output().unwrap();
                assert!(said(&output).contains("16 members in order: true"), "{}", said(&output));
            });
        }
    });
    assert_kept(&NODES);
    assert_clean();
}

pub(crate) fn what_a_killed_front_end_did_not_bring_is_not_started() {
    let own = OwnAgent::new();
    let mut child = own.of(front_end(["slurm", "2", HOSTS, "meet"])).spawn().unwrap();
    let agents = cache("h1").join("agents");
    let deadline = Instant::now() + PATIENCE;
    // As soon as it comes; whether all of it has come by then does not matter.
    while !fs::read_dir(&agents).is_ok_and(|mut entries| entries.next().is_some()) {
        assert!(Instant::now() < deadline, "nothing comes");
        std::thread::park_timeout(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_clean();
    assert_all_in_order(own.of(in_allocation(["auto", "32", HOSTS, "meet"])));
    // A part that Slurm killed the receiver of lies under another name until it is old.
    let is_program = |file: &PathBuf| !file.file_name().unwrap().to_string_lossy().starts_with('.');
    NODES.iter().flat_map(|host| entries(host)).filter(is_program).for_each(|file| assert_whole(&file));
}

/// Leaves no room in a host's home while it lives.
struct FullHome(PathBuf);

impl FullHome {
    fn of(host: &str) -> FullHome {
        let full = FullHome(home(host).join("filling"));
        let mut file = fs::File::create(&full.0).unwrap();
        while file.write_all(&[0; 1 << 16]).is_ok() {}
        full
    }
}

impl Drop for FullHome {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

pub(crate) fn a_node_whose_home_is_full_keeps_it_elsewhere() {
    let own = OwnAgent::new();
    let full = FullHome::of("h4");
    assert_all_in_order(own.of(in_allocation(["auto", "32", HOSTS, "meet"])));
    assert_kept(&NODES[..3]);
    let [_, temporary, _] = places("h4");
    let files: Vec<_> = fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("h4 keeps {files:?}") };
    assert_whole(file);
    let before = fs::metadata(file).unwrap().modified().unwrap();
    assert_all_in_order(own.of(in_allocation(["auto", "32", HOSTS, "meet"])));
    assert_eq!(fs::metadata(file).unwrap().modified().unwrap(), before, "it was there already");
    drop(full);
    assert_clean();
}

/// Makes all places for programs of the fourth host something that is no directory.
fn spoil() {
    for place in places("h4") {
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, "").unwrap();
    }
}

pub(crate) fn a_node_that_cannot_keep_it_is_named() {
    let own = OwnAgent::new();
    spoil();
    let parts = [
        "1 of 4 hosts",
        "host h4: no agent answered within ",
        "host h4: cannot keep the agent program in ",
        "/.cache/banyan/agents: mkdir: ",
        "Not a directory; /tmp/.cache-banyan-",
        "; /dev/shm/.cache-banyan-",
        "check with: srun ",
    ];
    assert_fails(own.of(front_end(["slurm", "32", HOSTS, "impatient"])), &parts);
}

pub(crate) fn a_node_that_cannot_keep_it_is_left_out() {
    let own = OwnAgent::new();
    spoil();
    let output = own.of(front_end(["slurm", "2", HOSTS, "enough"])).output().unwrap();
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("left out: host h4: ") && said.contains("12 members in order: true"), "{said}");
    assert_kept(&NODES[..3]);
    assert_clean();
}
