//! The agent program on its way to a host and in its cache there: the host is this machine, by a command in the place of
//! `ssh`.

#![expect(clippy::print_stdout, reason = "a front-end speaks to its test by its output")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use banyan_boot::{Launcher, Session, SshOptions};

use crate::setup::{assert_says, listen, options, shell, this_program};

/// Runs the command for the host here.
const SSH: &str = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nexec sh -c \"$3\"\n";

/// Runs a script on a host, and says what it wrote, or why it could not be run.
pub(crate) fn run(script: &str) -> ExitCode {
    let options = options().launcher(Launcher::Ssh(SshOptions::default()));
    match Session::launch(&[shell(script).on("host1", 1)], &options) {
        Ok(session) => println!("{}", listen(&session).text(0).trim()),
        Err(error) => println!("{error}"),
    }
    ExitCode::SUCCESS
}

/// What a script says on a host whose users live in this directory.
fn on_a_host(home: &Path, script: &str) -> String {
    let ssh = home.join("ssh");
    fs::write(&ssh, SSH).unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", home.display(), std::env::var("PATH").unwrap());
    let mut front_end = Command::new("sh");
    // One that the upload does not have by itself.
    front_end.args(["-c", "umask 0027; exec \"$0\" ssh-front-end \"$1\""]).arg(this_program()).arg(script);
    let output = front_end.env("PATH", path).env("HOME", home).env_remove("XDG_CACHE_HOME").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn cache(home: &Path) -> PathBuf {
    home.join(".cache/banyan/agents")
}

/// The program in the cache.
fn cached(home: &Path) -> PathBuf {
    let mut programs = fs::read_dir(cache(home)).unwrap();
    let program = programs.next().expect("a program is there").unwrap();
    assert!(programs.next().is_none(), "one program, and nothing else");
    program.path()
}

pub(crate) fn members_have_the_mask_of_the_login_whether_the_program_is_there_or_not() {
    let home = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        assert_eq!(on_a_host(home.path(), "umask"), "0027");
    }
}

pub(crate) fn a_program_that_was_damaged_in_its_cache_is_asked_for_anew() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(on_a_host(home.path(), "echo here"), "here");
    let program = cached(home.path());
    let whole = fs::read(&program).unwrap();
    let mut changed = whole.clone();
    // Somewhere in the middle, in what is loaded and never used: it would run.
    let at = whole.windows(MARK.len()).position(|bytes| bytes == MARK).expect("the mark is in the program");
    changed[at] ^= 1;
    for damaged in [&whole[..whole.len() / 2], &b""[..], &changed] {
        // Who runs has a program that must not be written to.
        fs::remove_file(&program).unwrap();
        fs::write(&program, damaged).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(on_a_host(home.path(), "echo here"), "here");
        assert!(fs::read(cached(home.path())).unwrap() == whole, "it came anew");
    }
}

/// Bytes of this program that nothing depends on.
static MARK: &[u8] = b"a mark that says nothing at all about uploads";

pub(crate) fn no_program_is_started_from_a_directory_that_others_may_write_to() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir_all(cache(home.path())).unwrap();
    for mode in [0o720, 0o702] {
        fs::set_permissions(cache(home.path()), fs::Permissions::from_mode(mode)).unwrap();
        let error = on_a_host(home.path(), "echo here");
        assert_says(&error, &["host host1", ".cache/banyan/agents", "others may write to it", "ssh itself works: "]);
    }
    fs::set_permissions(cache(home.path()), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(on_a_host(home.path(), "echo here"), "here");
}
