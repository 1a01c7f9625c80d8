//! `copy --partial`: what was cut in the middle of a large file goes on there, whatever has cut it.

use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::workshop::Workshop;

/// Nothing here takes so long.
const DEADLINE: Duration = Duration::from_secs(120);

/// Bytes that are asked for, sent and checked together.
const SLICE: u64 = 32 << 20;

/// Six slices, of which the last is short.
const LENGTH: u64 = 5 * SLICE + 4321;

const HOSTS: [&str; 2] = ["n1", "n2"];

/// A file of which no two slices are the same.
fn write_large(path: &Path) {
    fs::create_dir_all(path.parent().expect("a directory")).expect("room");
    let file = fs::File::create(path).expect("room");
    file.set_len(LENGTH).expect("it takes no room");
    (0..LENGTH).step_by(1 << 20).for_each(|at| file.write_all_at(&at.to_le_bytes(), at).expect("room"));
}

fn with_large_file() -> Workshop {
    let shop = Workshop::new();
    write_large(&shop.path("large"));
    shop
}

/// The arguments that copy it to a directory for each host.
fn copy(shop: &Workshop, options: &[&str]) -> Vec<String> {
    let dest = shop.path("{host}/").display().to_string();
    let fixed = ["copy", "--launcher", "local", "-w", "n[1-2]", "--json"];
    fixed.iter().chain(options).map(|text| (*text).to_owned()).chain(["large".to_owned(), dest]).collect()
}

fn begin(shop: &Workshop, arguments: &[String]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_banyan"));
    command.args(arguments).current_dir(shop.path("")).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null()).spawn().expect("the command was built")
}

/// Waits until something holds.
fn wait_until(what: &str, holds: &dyn Fn() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// Hidden files in a directory.
fn hidden(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with('.')).map(|entry| entry.path()).collect()
}

/// Waits until more than a slice has come to each of the directories.
fn wait_for_a_slice(directories: &[PathBuf]) {
    let long = |path: &PathBuf| fs::metadata(path).is_ok_and(|about| about.len() > SLICE);
    wait_until("more than a slice has come", &|| {
        directories.iter().all(|directory| hidden(directory).first().is_some_and(long))
    });
}

fn signal(name: &str, process: &str) {
    assert!(Command::new("kill").args(["-s", name, process]).status().expect("kill").success());
}

/// Bytes of the slices that a directory lacks: its one kept file has other bytes there, or none.
fn lacking(source: &Path, directory: &Path) -> u64 {
    let (source, kept) = (fs::read(source).expect("it was written"), hidden(directory));
    let [kept] = &kept[..] else { panic!("one file is kept: {kept:?}") };
    assert!(kept.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".banyan-partial-")), "{kept:?}");
    let kept = fs::read(kept).expect("it is ours");
    let slices = source.chunks(SLICE as usize).zip(0..);
    let there =
        |number: usize, slice: &[u8]| kept.get(number * SLICE as usize..).is_some_and(|at| at.starts_with(slice));
    slices.filter(|(slice, number)| !there(*number, slice)).map(|(slice, _)| slice.len() as u64).sum()
}

/// Nobody works on what is kept any more.
fn wait_for_the_end_of_agents(directories: &[PathBuf]) {
    wait_until("agents have ended", &|| {
        directories.iter().flat_map(|directory| hidden(directory)).all(|kept| {
            Command::new("flock")
                .args(["-n", &kept.display().to_string(), "true"])
                .status()
                .is_ok_and(|it| it.success())
        })
    });
}

/// Copies the rest: exactly what is lacking is sent, and nothing is left.
fn copy_the_rest(shop: &Workshop, arguments: &[String], directories: &[PathBuf], source: &dyn Fn(usize) -> PathBuf) {
    let lacks: u64 = directories.iter().enumerate().map(|(host, at)| lacking(&source(host), at)).sum();
    assert!(lacks < directories.len() as u64 * LENGTH, "something was kept");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ran = shop.run(&arguments);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{}", ran.out);
    let summary: Value = ran.json().pop().expect("a summary");
    assert_eq!(summary["delivered_bytes"], lacks);
    assert_eq!(summary["had_bytes"], directories.len() as u64 * LENGTH - lacks);
    for (host, directory) in directories.iter().enumerate() {
        let same =
            fs::read(directory.join("large")).expect("a file") == fs::read(source(host)).expect("it was written");
        assert!(same && hidden(directory).is_empty(), "{}", directory.display());
    }
}

fn directories(shop: &Workshop) -> Vec<PathBuf> {
    HOSTS.iter().map(|host| shop.path(host)).collect()
}

#[test]
fn a_copy_whose_front_end_is_killed_goes_on_in_the_middle_of_a_file() {
    for name in ["KILL", "INT"] {
        let shop = with_large_file();
        let mut child = begin(&shop, &copy(&shop, &["--partial"]));
        wait_for_a_slice(&directories(&shop));
        signal(name, &child.id().to_string());
        assert!(!child.wait().expect("it ends").success(), "it was to be cut, and is complete");
        wait_for_the_end_of_agents(&directories(&shop));
        // Nobody has to ask for it: what was kept is found.
        copy_the_rest(&shop, &copy(&shop, &[]), &directories(&shop), &|_| shop.path("large"));
    }
}

#[test]
fn a_copy_whose_agents_die_in_the_middle_goes_on_there() {
    let shop = with_large_file();
    let quoted: Vec<String> = copy(&shop, &["--partial"]).iter().map(|word| format!("'{word}'")).collect();
    // The kernel ends whoever writes more than 48 MiB to a file (or 96 MiB: shells disagree about the unit).
    let ran = shop.shell(&format!("ulimit -f 98304; exec banyan {}", quoted.join(" ")));
    assert_eq!(ran.status, 3, "{}{}", ran.out, ran.err);
    wait_for_the_end_of_agents(&directories(&shop));
    copy_the_rest(&shop, &copy(&shop, &[]), &directories(&shop), &|_| shop.path("large"));
}

#[test]
fn what_was_damaged_since_is_sent_again_and_links_are_not_followed() {
    let shop = with_large_file();
    let mut child = begin(&shop, &copy(&shop, &["-P"]));
    wait_for_a_slice(&directories(&shop));
    child.kill().expect("it runs");
    child.wait().expect("it was killed");
    wait_for_the_end_of_agents(&directories(&shop));
    let before: Vec<u64> = directories(&shop).iter().map(|at| lacking(&shop.path("large"), at)).collect();
    let kept = hidden(&shop.path("n1")).remove(0);
    let file = fs::OpenOptions::new().write(true).open(&kept).expect("it is ours");
    file.write_all_at(b"damage", 77).expect("room");
    file.set_len(2 * LENGTH).expect("it takes no room");
    assert_eq!(lacking(&shop.path("large"), &shop.path("n1")), before[0] + SLICE);
    // A link where the other host has kept its part; what it leads to would do.
    let linked = hidden(&shop.path("n2")).remove(0);
    fs::rename(&linked, shop.path("precious")).expect("it is ours");
    symlink(shop.path("precious"), &linked).expect("room");
    let precious = shop.read("precious");
    let arguments = copy(&shop, &["--partial"]);
    let ran = shop.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
    assert_eq!(ran.json().pop().expect("a summary")["delivered_bytes"], before[0] + SLICE + LENGTH);
    assert!(fs::symlink_metadata(&linked).is_ok_and(|about| about.is_symlink()));
    assert!(shop.read("precious") == precious, "nothing was written through the link");
    assert!(HOSTS.iter().all(|host| shop.read(&format!("{host}/large")) == shop.read("large")));
    assert!(hidden(&shop.path("n1")).is_empty());
}

#[test]
fn a_copy_that_is_cut_without_the_option_leaves_nothing() {
    let shop = with_large_file();
    let mut child = begin(&shop, &copy(&shop, &[]));
    wait_for_a_slice(&directories(&shop));
    child.kill().expect("it runs");
    child.wait().expect("it was killed");
    wait_until("nothing is left", &|| directories(&shop).iter().all(|directory| hidden(directory).is_empty()));
    assert!(HOSTS.iter().all(|host| !shop.path(host).join("large").exists()));
}

#[test]
fn a_gathering_that_is_cut_goes_on_in_the_middle_of_a_file() {
    let shop = Workshop::new();
    HOSTS.iter().for_each(|host| write_large(&shop.path(host).join("large")));
    let files = shop.path("{host}/large").display().to_string();
    let gather = |options: &[&str]| -> Vec<String> {
        let fixed = ["copy", "--launcher", "local", "-w", "n[1-2]", "--json", "--gather"];
        fixed.iter().chain(options).chain(&[&*files, "all"]).map(|text| (*text).to_owned()).collect()
    };
    let directories: Vec<PathBuf> = HOSTS.iter().map(|host| shop.path("all").join(host)).collect();
    for name in ["KILL", "INT"] {
        let _ = fs::remove_dir_all(shop.path("all"));
        let mut child = begin(&shop, &gather(&["--partial"]));
        wait_for_a_slice(&directories);
        signal(name, &child.id().to_string());
        assert!(!child.wait().expect("it ends").success(), "it was to be cut, and is complete");
        copy_the_rest(&shop, &gather(&[]), &directories, &|host| shop.path(HOSTS[host]).join("large"));
    }
}
