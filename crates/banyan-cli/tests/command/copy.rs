//! `copy`: files to hosts that this machine acts out, and from them.

use std::fs;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use crate::fields::assert_documented;
use crate::workshop::{Ran, Workshop};

/// Nothing here takes so long.
const DEADLINE: Duration = Duration::from_secs(60);

/// Copies to or from four hosts, in a tree that has agents below agents. Each has a directory of its name.
fn copy(shop: &Workshop, arguments: &[&str]) -> Ran {
    shop.run(&[&["copy", "--launcher", "local", "--fanout", "2", "-w", "n[1-4]"], arguments].concat())
}

fn on_each(shop: &Workshop, name: &str) -> String {
    shop.path("{host}").join(name).display().to_string()
}

fn hosts() -> [&'static str; 4] {
    ["n1", "n2", "n3", "n4"]
}

/// The objects of such an event, and the summary.
fn events(ran: &Ran, event: &str) -> (Vec<Value>, Value) {
    let mut objects = ran.json();
    let summary = objects.pop().expect("a summary");
    assert_eq!((&summary["event"], &summary["exit_status"]), (&"summary".into(), &ran.status.into()));
    objects.retain(|object| object["event"] == event);
    (objects, summary)
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("it is there").permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

/// A directory with a program, an empty file, a link and an empty directory.
fn with_data() -> Workshop {
    let shop = Workshop::new();
    fs::create_dir_all(shop.path("data/bin")).expect("room");
    fs::create_dir(shop.path("data/none")).expect("room");
    shop.write("data/bin/program", "#!/bin/sh\n");
    shop.write("data/empty", "");
    shop.write("data/numbers", "1\n2\n3\n");
    symlink("../numbers", shop.path("data/bin/link")).expect("room");
    set_mode(&shop.path("data/bin/program"), 0o4755);
    set_mode(&shop.path("data/bin"), 0o555);
    shop
}

/// Every name below a directory.
fn names_below(directory: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        names.push(entry.path());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            names.extend(names_below(&entry.path()));
        }
    }
    names
}

fn temporary_names(directory: &Path) -> Vec<PathBuf> {
    let temporary =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".banyan-"));
    names_below(directory).into_iter().filter(temporary).collect()
}

#[test]
fn a_directory_reaches_every_host_with_its_modes_and_links() {
    let shop = with_data();
    let ran = copy(&shop, &["data", &on_each(&shop, "")]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert_eq!(ran.out, "data: 4 files, 26 B, on 4 hosts: 104 B delivered\n");
    for host in hosts() {
        let there = shop.path(host).join("data");
        assert_eq!(fs::read(there.join("bin/program")).expect("a file"), b"#!/bin/sh\n");
        assert_eq!(fs::read(there.join("empty")).expect("a file"), b"");
        assert_eq!(fs::read_link(there.join("bin/link")).expect("a link"), Path::new("../numbers"));
        assert!(there.join("none").is_dir());
        assert_eq!(mode(&there.join("bin/program")), 0o755, "the rights of its owner are nobody else's");
        assert_eq!(mode(&there.join("bin")), 0o555);
    }
    assert!(temporary_names(&shop.path("")).is_empty());
}

#[test]
fn what_is_there_is_skipped_and_what_is_damaged_is_sent_again() {
    let shop = with_data();
    shop.write("one", "the same length");
    let again = || copy(&shop, &["--json", "data", "one", &on_each(&shop, "")]);
    let (copied, summary) = events(&again(), "copied");
    assert_eq!((&copied[0]["hosts"], &copied[0]["files"]), (&4.into(), &4.into()));
    assert_eq!((&summary["delivered_bytes"], &summary["had_bytes"]), (&(4 * 41).into(), &0.into()));

    let (_, summary) = events(&again(), "copied");
    assert_eq!((&summary["delivered_bytes"], &summary["had_bytes"]), (&0.into(), &(4 * 41).into()));
    let ran = copy(&shop, &["one", &on_each(&shop, "")]);
    assert_eq!(ran.out, "one: 1 file, 15 B, on 4 hosts: nothing had to be sent\n");

    shop.write("n2/one", "THE same length");
    set_mode(&shop.path("n3/one"), 0o600);
    let (copied, summary) = events(&again(), "copied");
    assert_eq!((&copied[1]["delivered_bytes"], &copied[1]["had_bytes"]), (&30.into(), &30.into()));
    assert_eq!(summary["exit_status"], 0);
    assert_eq!(shop.read("n2/one"), b"the same length");
    assert_eq!(mode(&shop.path("n3/one")), mode(&shop.path("one")));
}

#[test]
fn a_directory_that_is_there_keeps_what_else_it_has() {
    let shop = with_data();
    copy(&shop, &["data", &on_each(&shop, "")]);
    shop.write("n1/data/own", "own");
    shop.write("data/numbers", "4\n");
    fs::write(shop.path("data/later"), "later").expect("room");
    let ran = copy(&shop, &["data", &on_each(&shop, "")]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert_eq!(shop.read("n1/data/own"), b"own");
    for host in hosts() {
        assert_eq!(shop.read(&format!("{host}/data/numbers")), b"4\n");
        assert_eq!(shop.read(&format!("{host}/data/later")), b"later");
        assert_eq!(mode(&shop.path(host).join("data/bin")), 0o555);
    }
    assert!(temporary_names(&shop.path("")).is_empty());
}

#[test]
fn a_file_gets_the_name_it_is_given_or_goes_into_a_directory_that_is_there() {
    let shop = Workshop::new();
    shop.write("one", "1");
    fs::create_dir_all(shop.path("n2/there")).expect("room");
    assert_eq!(copy(&shop, &["one", &on_each(&shop, "there")]).status, 0);
    assert_eq!((shop.read("n1/there"), shop.read("n2/there/one")), (b"1".to_vec(), b"1".to_vec()));
    shop.write("none", "");
    let ran = copy(&shop, &["none", &on_each(&shop, "new")]);
    assert_eq!(ran.out, "none: 1 file, 0 B, on 4 hosts: complete\n");
    assert_eq!(shop.read("n3/new"), b"");
}

#[test]
fn a_host_that_cannot_store_is_named_with_cause_and_remedy_and_the_others_get_it() {
    let shop = Workshop::new();
    shop.write("one", "1");
    shop.write("n2", "in the way");
    fs::create_dir_all(shop.path("n3/one")).expect("room");
    let ran = copy(&shop, &["one", &on_each(&shop, "")]);
    assert_eq!(ran.status, 1);
    assert_eq!(ran.out, "one: 1 file, 1 B, on 2 of 4 hosts: 2 B delivered\n");
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.err);
    let of = |host: &str| lines.iter().find(|line| line.contains(&format!("host {host}: "))).expect("a line");
    assert!(
        of("n2").contains("n2 exists and is not a directory; remove it first; look with: banyan run -w n2 -- ls -la ")
    );
    assert!(of("n3").contains("n3/one exists and is a directory, which is never replaced; remove it first"));
    assert_eq!((shop.read("n1/one"), shop.read("n4/one")), (b"1".to_vec(), b"1".to_vec()));

    let ran = copy(&shop, &["--json", "one", &on_each(&shop, "")]);
    let (problems, summary) = events(&ran, "problem");
    assert_eq!(problems.len(), 2);
    assert!(problems.iter().all(|problem| problem["kind"] == "Staging" && problem["remedy"] != ""));
    assert_eq!(summary["failed_hosts"], serde_json::json!(["n2", "n3"]));
}

#[test]
fn a_file_in_the_way_of_a_directory_is_named() {
    let shop = with_data();
    fs::create_dir_all(shop.path("n1/data")).expect("room");
    shop.write("n1/data/bin", "in the way");
    let ran = copy(&shop, &["data", &on_each(&shop, "")]);
    assert_eq!(ran.status, 1);
    assert!(ran.err.contains("n1/data/bin exists and is not a directory; remove it first"), "{}", ran.err);
    assert!(temporary_names(&shop.path("")).is_empty());
}

#[test]
fn a_pipe_is_not_replaced_on_hosts_or_here_whatever_leads_to_it() {
    let shop = Workshop::new();
    shop.write("one", "1");
    for directory in ["n1", "all/n1"] {
        fs::create_dir_all(shop.path(directory)).expect("room");
        let made = Command::new("mkfifo").arg(shop.path(directory).join("one")).status();
        assert!(made.expect("mkfifo").success());
    }
    let (pipe, directory, one) = (on_each(&shop, "one"), on_each(&shop, ""), shop.path("one").display().to_string());
    for arguments in [&["one", &*pipe][..], &["one", &directory], &["one", directory.trim_end_matches('/')]] {
        let ran = shop.run(&[&["copy", "--launcher", "local", "-w", "n1"], arguments].concat());
        assert_eq!(ran.status, 1, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains("n1/one is a FIFO, which a copy would replace"), "{arguments:?}: {}", ran.err);
    }
    let ran = shop.run(&["copy", "--launcher", "local", "-w", "n1", "--gather", &one, "all"]);
    assert!(ran.status == 1 && ran.err.contains("all/n1/one is a FIFO"), "{}", ran.err);
    for pipe in ["n1/one", "all/n1/one"] {
        assert!(fs::symlink_metadata(shop.path(pipe)).is_ok_and(|about| about.file_type().is_fifo()), "{pipe}");
    }
}

#[test]
fn no_link_of_a_host_is_followed_below_the_destination() {
    let shop = with_data();
    fs::create_dir_all(shop.path("n1/data")).expect("room");
    fs::create_dir(shop.path("elsewhere")).expect("room");
    symlink(shop.path("elsewhere"), shop.path("n1/data/bin")).expect("room");
    let ran = copy(&shop, &["data", &on_each(&shop, "")]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert!(names_below(&shop.path("elsewhere")).is_empty());
}

#[test]
fn no_link_at_the_top_of_the_destination_is_followed() {
    let shop = with_data();
    fs::create_dir_all(shop.path("n1")).expect("room");
    fs::create_dir(shop.path("elsewhere")).expect("room");
    symlink(shop.path("elsewhere"), shop.path("n1/data")).expect("room");
    let to = |what: &str, dest: &str| shop.run(&["copy", "--launcher", "local", "-w", "n1", what, dest]);
    for (what, dest) in [("data", "{host}/"), ("data", "{host}/data"), ("data/numbers", "{host}/data")] {
        let ran = to(what, &shop.path(dest).display().to_string());
        assert_eq!(ran.status, 1, "{what} {dest}: {}", ran.err);
        assert!(ran.err.contains("n1/data is a symbolic link, which is not followed"), "{}", ran.err);
    }
    assert!(names_below(&shop.path("elsewhere")).is_empty());
    // A link to a directory that the user names as a directory is the user's own.
    let ran = to("data", &shop.path("n1/data/").display().to_string());
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert!(shop.path("elsewhere/data/numbers").exists());
}

#[test]
fn what_is_gathered_does_not_go_through_a_link_with_the_name_of_its_host() {
    let shop = with_data();
    fs::create_dir(shop.path("all")).expect("room");
    fs::create_dir_all(shop.path("elsewhere/data")).expect("room");
    symlink(shop.path("elsewhere"), shop.path("all/n1")).expect("room");
    let data = shop.path("data").display().to_string();
    let gather = || shop.run(&["copy", "--launcher", "local", "-w", "n[1-2]", "--gather", &data, "all"]);
    let ran = gather();
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert!(ran.err.contains("all/n1 is a symbolic link, which is not followed"), "{}", ran.err);
    fs::remove_file(shop.path("all/n1")).expect("a link");
    fs::create_dir(shop.path("all/n1")).expect("room");
    symlink(shop.path("elsewhere/data"), shop.path("all/n1/data")).expect("room");
    let ran = gather();
    assert!(ran.err.contains("all/n1/data is a symbolic link, which is not followed"), "{}", ran.err);
    assert!(names_below(&shop.path("elsewhere/data")).is_empty());
    assert!(shop.path("all/n2/data/numbers").exists(), "the others are gathered");
}

#[test]
fn what_cannot_be_copied_is_known_before_anything_is() {
    let shop = with_data();
    let ran = copy(&shop, &["no-such-file", &on_each(&shop, "")]);
    assert!(
        ran.status == 1 && ran.err.contains("no-such-file cannot be read: no such file or directory; "),
        "{}",
        ran.err
    );
    assert!(!shop.path("n1").exists());
}

/// A directory with links of all kinds and a FIFO.
fn with_odd_things() -> Workshop {
    let shop = with_data();
    shop.write("outside", "outside");
    for (target, name) in [("/etc/passwd", "absolute"), ("../outside", "up"), ("none", "inside"), ("../data", "circle")]
    {
        symlink(target, shop.path("data").join(name)).expect("room");
    }
    let made = Command::new("mkfifo").arg(shop.path("data/pipe")).status();
    assert!(made.expect("mkfifo").success());
    shop
}

/// What a name is in the copy of a directory.
fn kind(path: &Path) -> &'static str {
    match fs::symlink_metadata(path).map(|about| about.file_type()) {
        Ok(kind) if kind.is_symlink() => "link",
        Ok(kind) if kind.is_dir() => "directory",
        Ok(kind) if kind.is_file() => "file",
        Ok(_) => "special",
        Err(_) => "nothing",
    }
}

#[test]
fn links_that_lead_out_and_special_files_are_skipped_and_counted() {
    let shop = with_odd_things();
    let names = ["absolute", "up", "inside", "circle", "pipe", "bin/link"];
    for (links, expected, told) in [
        (
            "keep",
            ["nothing", "nothing", "link", "nothing", "nothing", "link"],
            "3 symbolic links that lead out of it were skipped (absolute, circle, up); --links follow copies",
        ),
        (
            "follow",
            ["file", "file", "directory", "nothing", "nothing", "file"],
            "1 symbolic link that leads nowhere or in a circle was skipped (circle)",
        ),
        ("skip", ["nothing"; 6], "5 symbolic links were skipped (absolute, bin/link, circle, …)"),
    ] {
        let ran = copy(&shop, &["--links", links, "data", &on_each(&shop, links)]);
        assert_eq!(ran.status, 0, "{links}: {}", ran.err);
        assert!(ran.err.contains(&format!("banyan: data: {told}")), "{links}: {}", ran.err);
        assert!(ran.err.contains("banyan: data: 1 FIFO, socket or device was skipped (pipe)"), "{links}: {}", ran.err);
        for host in hosts() {
            let there = shop.path(host).join(links);
            assert_eq!(names.map(|name| kind(&there.join(name))), expected, "{links} on {host}");
            assert_eq!(fs::read(there.join("numbers")).expect("a file"), b"1\n2\n3\n");
        }
    }
    assert_eq!(shop.read("n1/follow/up"), b"outside");
    let again = copy(&shop, &["data", &on_each(&shop, "keep")]);
    assert!(again.out.contains("nothing had to be sent"), "{}", again.out);
    let (skipped, _) = events(&copy(&shop, &["--json", "data", &on_each(&shop, "keep")]), "skipped");
    let counts: Vec<(&Value, &Value)> = skipped.iter().map(|it| (&it["reason"], &it["count"])).collect();
    assert_eq!(counts, [(&"outside".into(), &3.into()), (&"special".into(), &1.into())]);
    assert_documented("command-copy.md", &skipped.into());
}

#[test]
fn what_hosts_skip_is_told_once_for_all_that_skip_the_same() {
    let shop = with_odd_things();
    let data = shop.path("data").display().to_string();
    let ran = copy(&shop, &["--gather", &data, "all"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let told: Vec<&str> = ran.err.lines().collect();
    assert_eq!(told.len(), 2, "{}", ran.err);
    assert!(told[0].starts_with(&format!("banyan: n[1-4]: {data}: 3 symbolic links")), "{}", ran.err);
    assert_eq!(kind(&shop.path("all/n2/data/inside")), "link");
    let ran = copy(&shop, &["--links", "follow", "--gather", &data, "all-of-it"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert_eq!(shop.read("all-of-it/n3/data/up"), b"outside");
}

#[test]
fn files_whose_length_is_not_known_before_they_are_read_are_copied() {
    let shop = Workshop::new();
    let ran = copy(&shop, &["/proc/meminfo", "/sys/kernel/mm/transparent_hugepage/enabled", &on_each(&shop, "")]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    let ran = copy(&shop, &["--gather", "/proc/meminfo", "all"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    for directory in ["n1", "n4", "all/n3"] {
        let text = String::from_utf8(shop.read(&format!("{directory}/meminfo"))).expect("text");
        assert!(text.starts_with("MemTotal:") && text.ends_with('\n'), "{directory}: {text}");
    }
}

#[test]
fn times_are_kept_if_that_is_wanted_and_holes_in_any_case() {
    let shop = Workshop::new();
    fs::create_dir(shop.path("data")).expect("room");
    // One goes as a whole, the other in slices; both end with a hole.
    for (name, length) in [("small", 8 << 20), ("large", 70 << 20)] {
        let file = fs::File::create(shop.path("data").join(name)).expect("room");
        file.set_len(length).expect("it takes no room");
        file.write_all_at(b"in the middle", length / 2 + 7).expect("room");
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_nanos(1_234_567_890_123_456_789))
            .expect("it is ours");
    }
    let to = |arguments: &[&str]| {
        let ran = shop.run(&[&["copy", "--launcher", "local", "-w", "n1", "--json"], arguments].concat());
        events(&ran, "copied").1
    };
    let (plain, kept) = (on_each(&shop, "plain"), on_each(&shop, "kept"));
    assert_eq!(
        (&to(&["data", &plain])["exit_status"], &to(&["-p", "data", &kept])["exit_status"]),
        (&0.into(), &0.into())
    );
    for name in ["small", "large"] {
        let about = |place: &str| fs::metadata(shop.path(place).join(name)).expect("it was copied");
        let (source, plain, kept) = (about("data"), about("n1/plain"), about("n1/kept"));
        assert_eq!((kept.modified().expect("a time"), kept.len()), (source.modified().expect("a time"), source.len()));
        assert_ne!(plain.modified().expect("a time"), source.modified().expect("a time"));
        assert!(shop.read(&format!("data/{name}")) == shop.read(&format!("n1/kept/{name}")));
        assert!(plain.blocks() <= 256 && kept.blocks() <= 256, "{} and {} blocks", plain.blocks(), kept.blocks());
    }
    assert_eq!(to(&["-p", "data", &kept])["delivered_bytes"], 0);
}

#[test]
fn a_full_disk_is_named_with_what_helps_once_for_all_hosts_and_no_part_stays() {
    let shop = Workshop::new();
    shop.write("big", vec![b'x'; 3 << 20]);
    let line = "mkdir full; unshare -rm sh -c 'mount -t tmpfs -o size=1m none full || exit 77
        banyan copy --launcher local -w n[1-3] big \"$PWD/full/{host}/\"; echo $? >status; find full -type f'";
    let ran = shop.shell(line);
    if ran.status == 77 || ran.err.contains("unshare:") {
        return; // Not every system lets users mount.
    }
    assert_eq!(
        (ran.out.as_str(), shop.read("status").as_slice()),
        ("big: 1 file, 3.1 MB, on 0 of 3 hosts: nothing was sent\n", &b"1\n"[..]),
        "{}",
        ran.err
    );
    let told: Vec<&str> = ran.err.lines().collect();
    assert_eq!(told.len(), 1, "{}", ran.err);
    assert!(told[0].starts_with("banyan: 3 hosts (n[1-3]), such as host n"), "{}", ran.err);
    assert!(told[0].contains("no space left on the device") && told[0].contains(" -- df -h "), "{}", ran.err);
}

#[test]
fn many_files_go_in_parts_and_only_parts_that_lack_something_are_sent_again() {
    let shop = Workshop::new();
    for directory in 0..12 {
        let directory = shop.path(&format!("many/d{directory}/deep"));
        fs::create_dir_all(&directory).expect("room");
        (0..100).for_each(|file| fs::write(directory.join(format!("f{file}")), format!("{file:04}")).expect("room"));
    }
    let first = copy(&shop, &["--json", "many", &on_each(&shop, "")]);
    let (copied, _) = events(&first, "copied");
    assert_eq!((&copied[0]["files"], &copied[0]["delivered_bytes"]), (&1200.into(), &(4 * 4800).into()));
    fs::remove_file(shop.path("n4/many/d7/deep/f3")).expect("it was copied");
    let second = copy(&shop, &["--json", "many", &on_each(&shop, "")]);
    let (copied, _) = events(&second, "copied");
    let (delivered, had) = (copied[0]["delivered_bytes"].as_u64(), copied[0]["had_bytes"].as_u64());
    let sum = delivered.zip(had).map(|(delivered, had)| delivered + had);
    assert_eq!(sum, Some(4 * 4800));
    assert!(delivered.is_some_and(|delivered| (4..=4096).contains(&delivered)), "{delivered:?}");
    for host in hosts() {
        assert_eq!(names_below(&shop.path(host)).len(), 1 + 12 * 102, "{host}");
    }
}

#[test]
fn all_parts_of_a_directory_go_under_the_same_new_name() {
    let shop = Workshop::new();
    fs::create_dir(shop.path("many")).expect("room");
    (0..1500).for_each(|file| fs::write(shop.path(&format!("many/f{file}")), "x").expect("room"));
    let (copied, _) = events(&copy(&shop, &["--json", "many", &on_each(&shop, "new")]), "copied");
    assert_eq!(copied[0]["files"], 1500);
    for host in hosts() {
        assert_eq!(names_below(&shop.path(host).join("new")).len(), 1500, "{host}");
    }
}

/// Files of which each goes by itself, so many that a copy of them can be cut.
fn with_many_parts() -> Workshop {
    let shop = Workshop::new();
    fs::create_dir(shop.path("many")).expect("room");
    for number in 0..12 {
        let file = fs::File::create(shop.path(&format!("many/{number:02}"))).expect("room");
        file.set_len(PART).expect("it takes no room");
        file.write_all_at(&[number], 0).expect("room");
    }
    shop
}

/// Two of them are more than goes together.
const PART: u64 = 20 << 20;

#[test]
fn a_copy_under_a_new_name_that_was_cut_goes_on_there() {
    let shop = with_many_parts();
    let arguments = ["copy", "--json", "--launcher", "local", "-w", "n[1-2]", "many", &on_each(&shop, "models")];
    let mut command = Command::new(env!("CARGO_BIN_EXE_banyan"));
    command.args(arguments).current_dir(shop.path("")).stdout(Stdio::null()).stdin(Stdio::null());
    let mut child = command.spawn().expect("the command was built");
    wait_until("something is there", &|| ["n1", "n2"].iter().all(|host| shop.path(host).join("models/01").exists()));
    let sent = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "it was to be cut");
    let (_, summary) = events(&shop.run(&arguments), "copied");
    let (all, had) = (2 * 12 * PART, summary["had_bytes"].as_u64().expect("a number"));
    assert!(had >= 2 * 2 * PART && had < all, "{had} of {all} were there");
    assert_eq!(summary["delivered_bytes"], all - had);
    let (_, summary) = events(&shop.run(&arguments), "copied");
    assert_eq!((&summary["delivered_bytes"], &summary["had_bytes"]), (&0.into(), &all.into()));
    for host in ["n1", "n2"] {
        let there = names_below(&shop.path(host));
        assert_eq!(there.len(), 1 + 12, "the directory and its files: {there:?}");
        (0..12).for_each(|number| {
            assert_eq!(shop.read(&format!("{host}/models/{number:02}"))[0], number);
        });
    }
}

#[test]
fn where_a_relative_destination_is_does_not_have_to_be_guessed() {
    let shop = with_data();
    for (dest, at) in [("there", "~/there"), ("./a/", "~/a/data"), (".", "~")] {
        let ran = shop.shell(&format!("HOME=$PWD/home banyan copy --launcher local -w n1 data {dest}"));
        assert_eq!((ran.status, ran.err.as_str()), (0, ""));
        assert_eq!(ran.out, format!("data: 4 files, 26 B, on 1 host, at {at}: 26 B delivered\n"));
    }
    assert!(["there", "a/data", "data"].iter().all(|name| shop.path("home").join(name).join("numbers").exists()));
}

#[test]
fn a_directory_goes_into_another_one_and_again_to_the_same_place() {
    let shop = with_data();
    let there = |name: &str| shop.path("n1").join(name);
    fs::create_dir_all(there("")).expect("room");
    for _ in 0..2 {
        shop.well(&["copy", "--launcher", "local", "-w", "n1", "data", &shop.path("n1").display().to_string()]);
        assert!(there("data/numbers").exists() && !there("numbers").exists() && !there("data/data").exists());
    }
    // Also with a name of its own, and when it has changed.
    shop.write("data/numbers", "4\n");
    shop.well(&["copy", "--launcher", "local", "-w", "n1", "data", &there("data").display().to_string()]);
    assert!(shop.read("n1/data/numbers") == b"4\n" && !there("data/data").exists());
}

#[test]
fn a_copy_that_is_killed_leaves_no_half_file() {
    let shop = Workshop::new();
    let long = fs::File::create(shop.path("long")).expect("room");
    long.set_len(1 << 30).expect("it takes no room");
    let mut command = Command::new(env!("CARGO_BIN_EXE_banyan"));
    command.args(["copy", "--launcher", "local", "-w", "n[1-2]", "long", &on_each(&shop, "")]);
    let mut child = command.current_dir(shop.path("")).stdout(Stdio::null()).spawn().expect("the command was built");
    wait_until("data comes", &|| !temporary_names(&shop.path("")).is_empty());
    child.kill().expect("it runs");
    child.wait().expect("it was killed");
    wait_until("nothing is left", &|| temporary_names(&shop.path("")).is_empty());
    assert!(hosts().iter().all(|host| !shop.path(host).join("long").exists()));
}

/// Waits until something holds.
fn wait_until(what: &str, holds: &dyn Fn() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// A gathering of long files that has begun: half files are here.
fn half_gathered(shop: &Workshop) -> Child {
    for host in ["n1", "n2"] {
        fs::create_dir_all(shop.path(host)).expect("room");
        let long = fs::File::create(shop.path(host).join("long")).expect("room");
        long.set_len(300 << 20).expect("it takes no room");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_banyan"));
    command.args(["copy", "--launcher", "local", "-w", "n[1-2]", "--gather", &on_each(shop, "long"), "all"]);
    command.current_dir(shop.path("")).stdout(Stdio::null()).stderr(Stdio::piped()).stdin(Stdio::null());
    let child = command.spawn().expect("the command was built");
    wait_until("data comes", &|| !temporary_names(&shop.path("all")).is_empty());
    child
}

#[test]
fn a_gathering_that_is_interrupted_leaves_no_half_file() {
    let shop = Workshop::new();
    let child = half_gathered(&shop);
    let sent = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!shop.path("all").exists(), "neither a half file nor a directory for it");
    assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted; start it again"));
}

#[test]
fn a_copy_that_is_interrupted_says_so_and_leaves_neither_half_files_nor_directories_for_them() {
    let shop = Workshop::new();
    let long = fs::File::create(shop.path("long")).expect("room");
    long.set_len(300 << 20).expect("it takes no room");
    let mut command = Command::new(env!("CARGO_BIN_EXE_banyan"));
    fs::create_dir(shop.path("n1")).expect("room");
    command.args(["copy", "--launcher", "local", "-w", "n[1-2]", "long", &on_each(&shop, "new/deeper/")]);
    command.current_dir(shop.path("")).stdout(Stdio::null()).stderr(Stdio::piped()).stdin(Stdio::null());
    let child = command.spawn().expect("the command was built");
    let comes = |host: &&str| !temporary_names(&shop.path(host).join("new/deeper")).is_empty();
    wait_until("data comes", &|| ["n1", "n2"].iter().any(comes));
    let sent = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stderr);
    let half = "half of a large file is kept with --partial only";
    assert_eq!(said, format!("banyan: interrupted; start it again: what is complete is skipped ({half})\n"));
    wait_until("what was made on the one is gone", &|| !shop.path("n1/new").exists());
    wait_until("all that was made on the other is gone", &|| !shop.path("n2").exists());
    assert!(shop.path("n1").exists(), "it was there before");
}

#[test]
fn what_a_killed_gathering_has_left_is_removed_by_the_next() {
    let shop = Workshop::new();
    let mut child = half_gathered(&shop);
    child.kill().expect("it runs");
    child.wait().expect("it was killed");
    assert!(!temporary_names(&shop.path("all")).is_empty());
    for host in ["n1", "n2"] {
        shop.write(&format!("{host}/long"), "short");
    }
    let arguments = ["copy", "--launcher", "local", "-w", "n[1-2]", "--gather", &on_each(&shop, "long"), "all"];
    assert_eq!(shop.well(&arguments), "n[1-2]: 1 file, 5 B each: 5 B came\n");
    assert_eq!(temporary_names(&shop.path("all")), Vec::<PathBuf>::new());
}

#[test]
fn a_gathering_whose_agent_is_killed_leaves_no_half_file() {
    let shop = Workshop::new();
    let child = half_gathered(&shop);
    let threads = fs::read_dir(format!("/proc/{}/task", child.id())).expect("it runs");
    let children = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let agents: Vec<String> =
        children.flat_map(|text| text.split(' ').map(str::to_owned).collect::<Vec<_>>()).collect();
    for agent in agents.iter().filter(|agent| !agent.is_empty()) {
        assert!(Command::new("kill").args(["-9", agent]).status().expect("kill").success());
    }
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(
        temporary_names(&shop.path("all")),
        Vec::<PathBuf>::new(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_file_system_that_is_mounted_below_the_destination_gets_its_files() {
    let shop = with_data();
    let again = "banyan copy --launcher local -w n1 data \"$PWD/{host}/\"";
    let mount = "mkdir -p n1/data/inner && mount -t tmpfs none n1/data/inner";
    fs::create_dir_all(shop.path("data/inner")).expect("room");
    shop.write("data/inner/file", "content");
    symlink("file", shop.path("data/inner/link")).expect("room");
    set_mode(&shop.path("data/inner/file"), 0o750);
    let show = "ls -A n1/data/inner; cat n1/data/inner/link; stat -c %a n1/data/inner/file";
    let ran = shop.shell(&format!("unshare -m sh -c '{mount} || exit 77; {again} && {show}'"));
    if ran.err.contains("unshare") || ran.status == 77 {
        return;
    }
    assert!(ran.out.ends_with("delivered\nfile\nlink\ncontent750\n"), "{}{}", ran.out, ran.err);
}

#[test]
fn the_name_of_the_host_may_stand_in_the_names_of_gathered_files() {
    let shop = Workshop::new();
    for host in hosts() {
        shop.write(&format!("{host}.log"), host);
    }
    let ran = copy(&shop, &["--gather", &shop.path("{host}.log").display().to_string(), "all"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert_eq!(shop.read("all/n3/n3.log"), b"n3");
    let twice = copy(&shop, &["--gather", "/a/{host}", "/b/n2", "all"]);
    assert!(twice.status == 2 && twice.err.contains("two of the files are called n2"), "{}", twice.err);
}

#[test]
fn wrong_usage_ends_with_status_2() {
    let shop = with_data();
    shop.write("data/data", "");
    for (arguments, says) in [
        (&["data"][..], "DEST"),
        (&["data", "data/data", "there/"], "two of the files are called data"),
        (&["data", "../there"], "a destination is written without .."),
        (&["--gather", "/a/x", "/b/x", "there"], "two of the files are called x"),
        (&["--gather", "/a/../x", "there"], "written without .."),
        (&["--gather", "/", "there"], "has no name"),
        (&["--fanout", "0", "data", "there"], "--fanout"),
    ] {
        let ran = shop.run(&[&["copy"], arguments].concat());
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(says), "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn hosts_out_of_reach_and_limits_of_time_have_statuses_of_their_own() {
    let shop = with_data();
    let nowhere = ["copy", "-w", "n1", "--launcher", "command:false {hosts} {agent}", "--host-timeout", "2s", "--json"];
    let ran = shop.run(&[&nowhere[..], &["data", "there"]].concat());
    let (_, summary) = events(&ran, "summary");
    assert_eq!((ran.status, &summary["problems"][0]["host"]), (3, &"n1".into()));
    let ran = copy(&shop, &["--timeout", "1ms", "data", &on_each(&shop, "")]);
    assert_eq!(ran.status, 4, "{}", ran.err);
}

/// With a file and a directory at each host.
fn with_files_of_hosts() -> Workshop {
    let shop = Workshop::new();
    for host in hosts() {
        fs::create_dir_all(shop.path(host).join("log/old")).expect("room");
        shop.write(&format!("{host}/name"), host);
        shop.write(&format!("{host}/log/old/day"), vec![b'\n'; 200_000]);
        symlink("old/day", shop.path(host).join("log/today")).expect("room");
        set_mode(&shop.path(host).join("log/old/day"), 0o640);
    }
    shop
}

#[test]
fn files_of_hosts_are_gathered_into_a_directory_for_each_and_only_once() {
    let shop = with_files_of_hosts();
    let again = || copy(&shop, &["--gather", &on_each(&shop, "name"), &on_each(&shop, "log"), "all"]);
    let ran = again();
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert_eq!(ran.out, "n[1-4]: 3 files, 200.0 kB each: 200.0 kB came\n");
    for host in hosts() {
        assert_eq!(shop.read(&format!("all/{host}/name")), host.as_bytes());
        assert_eq!(shop.read(&format!("all/{host}/log/old/day")), vec![b'\n'; 200_000]);
        assert_eq!(mode(&shop.path("all").join(host).join("log/old/day")), 0o640);
        assert_eq!(fs::read_link(shop.path("all").join(host).join("log/today")).expect("a link"), Path::new("old/day"));
    }
    assert_eq!(again().out, "n[1-4]: 3 files, 200.0 kB each: nothing had to be sent\n");

    shop.write("all/n3/name", "N3");
    let ran = copy(&shop, &["--json", "--gather", &on_each(&shop, "name"), "all"]);
    let (gathered, summary) = events(&ran, "gathered");
    assert_eq!((gathered.len(), &gathered[2]["host"], &gathered[2]["delivered_bytes"]), (4, &"n3".into(), &2.into()));
    assert_eq!((&summary["delivered_bytes"], &summary["had_bytes"]), (&2.into(), &6.into()));
    assert_eq!(shop.read("all/n3/name"), b"n3");
    assert!(temporary_names(&shop.path("all")).is_empty());
}

#[test]
fn a_host_without_the_file_is_named_and_the_others_are_gathered() {
    let shop = with_files_of_hosts();
    fs::remove_file(shop.path("n2/name")).expect("it was written");
    fs::create_dir_all(shop.path("all/n4/name")).expect("room");
    let ran = copy(&shop, &["--gather", &on_each(&shop, "name"), &on_each(&shop, "log"), "all"]);
    assert_eq!(ran.status, 1);
    assert!(ran.err.contains("n2/name cannot be read: no such file or directory; "), "{}", ran.err);
    assert!(ran.err.contains("all/n4/name exists and is a directory"), "{}", ran.err);
    assert!(!ran.err.contains("host n4"), "what is in the way is here: {}", ran.err);
    assert_eq!(shop.read("all/n1/name"), b"n1");
    assert_eq!(shop.read("all/n2/log/today").len(), 200_000, "its other files came");
}

#[test]
fn what_cannot_be_stored_here_is_a_problem_of_this_machine() {
    let shop = with_files_of_hosts();
    fs::create_dir_all(shop.path("all/n4/name")).expect("room");
    let ran = copy(&shop, &["--json", "--gather", &on_each(&shop, "name"), "all"]);
    let (problems, summary) = events(&ran, "problem");
    assert_eq!((problems.len(), &problems[0]["host"]), (1, &Value::Null), "{}", ran.out);
    let remedy = format!("look with: ls -la {}", shop.path("all/n4").canonicalize().expect("it is there").display());
    assert_eq!(problems[0]["remedy"], remedy);
    assert_eq!((&summary["failed_hosts"], ran.status), (&serde_json::json!(["n4"]), 1));
}

#[test]
fn quiet_still_says_why_something_was_not_copied() {
    let shop = Workshop::new();
    shop.write("one", "1");
    shop.write("file", "");
    let below = shop.path("file/two").display().to_string();
    let ran = shop.run(&["copy", "-q", "--launcher", "local", "-w", "n1", "one", &below]);
    assert!(ran.status == 1 && ran.err.contains("file exists and is not a directory"), "{} {}", ran.status, ran.err);
}

#[test]
fn what_the_system_refuses_is_said_in_words_without_a_number() {
    let shop = Workshop::new();
    shop.write("one", "1");
    shop.write("file", "");
    fs::create_dir_all(shop.path("all")).expect("room");
    shop.write("all/n1", "");
    let here = |name: &str| shop.path(name).display().to_string();
    for (arguments, says) in [
        (&["one/two", "there"][..], "one/two cannot be read: not a directory; look with: ls -la one/two"),
        (&["one", &here("file/two/three")], "file/two cannot be written: not a directory; look with: "),
        (&["one", &here("file/")], "file exists and is not a directory; remove it first; look with: "),
        (&["--gather", &here("one/two"), "all"], "one/two cannot be read: not a directory; look with: "),
        (&["--gather", &here("one"), "all"], "all/n1 exists and is not a directory; remove it first; look with: "),
        (&["--gather", &here("one"), "one"], "one: cannot be written: file exists"),
    ] {
        let ran = shop.run(&[&["copy", "--launcher", "local", "-w", "n1"], arguments].concat());
        assert_eq!(ran.status, 1, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(says) && !ran.err.contains("os error"), "{arguments:?}: {}", ran.err);
    }
}
