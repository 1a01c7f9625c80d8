//! Names the commit that a program is built from, for the figures that it measures: `BANYAN_COMMIT`, unless whoever builds has
//! set it. Builds for tests have none: they would be made anew with every commit, and their figures say little.
//!
//! And links the benches at fixed addresses, as the `banyan` command is: `docs/decisions/012-fixed-addresses.md`.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

/// What programs are built from, in the workspace.
const SOURCES: [&str; 3] = ["crates", "Cargo.toml", "Cargo.lock"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=BANYAN_COMMIT");
    let is = |what: &str, name: &str| env::var(what).is_ok_and(|value| value == name);
    if is("CARGO_CFG_TARGET_ARCH", "x86_64") && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu")
    {
        println!("cargo::rustc-link-arg-bin=banyan-bench=-no-pie");
    }
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if !is_release || env::var_os("BANYAN_COMMIT").is_some() {
        return;
    }
    let Some(commit) = env::var_os("CARGO_MANIFEST_DIR").and_then(|package| commit_of(Path::new(&package))) else {
        return;
    };
    println!("cargo::rustc-env=BANYAN_COMMIT={commit}");
    SOURCES.iter().for_each(|source| println!("cargo::rerun-if-changed=../../{source}"));
    // One is another branch, the other a commit more. One that is missing would be a change every time.
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(Path::new("."), &["rev-parse", "--git-path", name]);
        if let Some(path) = path.filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// The commit of the working tree that this package lies in, with `+` behind it if sources differ. None if there is no Git, or
/// the tree is somebody else's, who has a copy of the package in it.
pub(crate) fn commit_of(package: &Path) -> Option<String> {
    git(package, &["rev-parse", "--show-prefix"]).filter(|prefix| prefix == "crates/banyan-bench/")?;
    let commit = git(package, &["rev-parse", "--short=12", "HEAD"])?;
    let status = ["status", "--porcelain", "--untracked-files=no", "--"];
    let differs = git(&package.join("../.."), &[&status[..], &SOURCES[..]].concat())?;
    Some(if differs.is_empty() { commit } else { format!("{commit}+") })
}

fn git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    // Without locks: somebody may be committing just now.
    git.arg("--no-optional-locks").arg("-C").arg(directory).args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
    // Not the repository that a hook of Git is at work in.
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"].iter().for_each(|name| _ = git.env_remove(name));
    let output = git.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
