//! Where a measurement was made, recorded beside its figures.

use std::fs;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

/// What the build script says, or whoever built this program.
const COMMIT: Option<&str> = option_env!("BANYAN_COMMIT");

/// The machine and the build.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Name of the host.
    pub host: String,
    /// Processor model.
    pub cpu: String,
    /// Processors this process may use.
    pub cores: usize,
    /// Kernel release.
    pub kernel: String,
    /// Target architecture.
    pub arch: String,
    /// One-minute load average when the measurement began.
    pub load_before: f64,
    /// And when it ended.
    pub load_after: f64,
    /// Version of Banyan.
    pub version: String,
    /// `release`, or `debug`, whose figures say little.
    pub build: String,
    /// The commit that the program was built from, with `+` behind it if sources differed; not known of builds for tests, nor of
    /// those outside of Git, unless `BANYAN_COMMIT` named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What [`checked_out`] said, where that is not known; only studies ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_out: Option<String>,
}

impl Environment {
    /// Looks around; call [`Environment::finish`] when the measurement has ended.
    pub fn observe() -> Environment {
        Environment {
            host: first_line("/proc/sys/kernel/hostname"),
            cpu: cpu_model(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: first_line("/proc/sys/kernel/osrelease"),
            arch: std::env::consts::ARCH.to_owned(),
            load_before: load(),
            load_after: 0.0,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            build: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
            commit: COMMIT.map(str::to_owned),
            checked_out: None,
        }
    }

    /// Notes the load at the end.
    pub fn finish(&mut self) {
        self.load_after = load();
    }

    /// The same machine and the same build, under whatever load.
    pub fn is_same_place(&self, other: &Environment) -> bool {
        self.facts() == other.facts()
    }

    /// Everything but the load, by name.
    pub fn facts(&self) -> [(&'static str, String); 7] {
        let commit = match (&self.commit, &self.checked_out) {
            (Some(commit), _) => commit.clone(),
            (None, Some(there)) => format!("not known; {there} was checked out where the program lies"),
            (None, None) => "not known".to_owned(),
        };
        [
            ("host", self.host.clone()),
            ("processor", self.cpu.clone()),
            ("cores", self.cores.to_string()),
            ("system", format!("Linux {}, {}", self.kernel, self.arch)),
            ("version", self.version.clone()),
            ("build", self.build.clone()),
            ("commit", commit),
        ]
    }
}

impl std::fmt::Display for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} ({} cores, {}), Linux {}, load {:.1} before and {:.1} after, Banyan {}",
            self.cpu, self.cores, self.arch, self.kernel, self.load_before, self.load_after, self.version
        )
    }
}

fn first_line(path: &str) -> String {
    fs::read_to_string(path).ok().and_then(|text| text.lines().next().map(str::to_owned)).unwrap_or_default()
}

fn load() -> f64 {
    first_line("/proc/loadavg").split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0)
}

fn cpu_model() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or_else(|| "unknown processor".into(), |(_, model)| model.trim().to_owned())
}

/// The commit that is checked out now in the working tree that this program lies in, with `+` behind it if files differ.
/// The program may have been built from another: nothing is said of one that knows its own commit, nor of one that was copied
/// into somebody else's tree.
pub fn checked_out() -> Option<String> {
    if COMMIT.is_some() {
        return None;
    }
    let program = std::env::current_exe().ok()?;
    let tree = program.ancestors().find(|directory| directory.join("crates/banyan-bench/Cargo.toml").is_file())?;
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        // Without locks: somebody may be committing just now.
        git.arg("--no-optional-locks").arg("-C").arg(tree).args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
        let output = git.output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let differs = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|files| !files.is_empty());
    Some(if differs { format!("{commit}+") } else { commit })
}

/// The build script, to be tested.
#[cfg(test)]
#[path = "../build.rs"]
#[expect(dead_code, clippy::print_stdout, reason = "its beginning speaks to Cargo")]
mod build;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Does something to a working tree; whether Git could.
    fn git(tree: &Path, arguments: &[&str]) -> bool {
        let own = ["user.name=n", "user.email=n@example.org", "commit.gpgsign=false", "core.hooksPath=/dev/null"];
        let mut git = Command::new("git");
        git.arg("-C").arg(tree).args(own.iter().flat_map(|setting| ["-c", setting])).args(arguments);
        // A hook of Git may be what runs this test: its repository is not to be touched.
        ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"].iter().for_each(|name| _ = git.env_remove(name));
        git.output().is_ok_and(|done| done.status.success())
    }

    #[test]
    fn a_program_knows_the_commit_it_is_built_from_and_whether_sources_differed() {
        let tree = tempfile::tempdir().expect("a directory");
        let package = tree.path().join("crates/banyan-bench");
        fs::create_dir_all(&package).expect("a directory");
        fs::write(package.join("lib.rs"), "one").expect("a file");
        fs::write(tree.path().join("README.md"), "one").expect("a file");
        fs::write(tree.path().join("Cargo.toml"), "one").expect("a file");
        fs::write(tree.path().join("Cargo.lock"), "one").expect("a file");
        assert_eq!(build::commit_of(&package), None, "there is no repository");
        if !git(tree.path(), &["init"]) {
            return;
        }
        assert_eq!(build::commit_of(&package), None, "there is no commit");
        assert!(git(tree.path(), &["add", "."]) && git(tree.path(), &["commit", "-m", "one"]));
        let commit = build::commit_of(&package).expect("a commit");
        assert!(commit.len() >= 12 && commit.chars().all(|char| char.is_ascii_hexdigit()), "{commit}");
        fs::write(tree.path().join("README.md"), "two").expect("a file");
        assert_eq!(build::commit_of(&package), Some(commit.clone()), "nothing is built from that");
        fs::write(package.join("lib.rs"), "two").expect("a file");
        assert_eq!(build::commit_of(&package), Some(format!("{commit}+")));
    }

    #[test]
    fn a_copy_in_the_tree_of_somebody_else_has_no_commit_of_theirs() {
        let tree = tempfile::tempdir().expect("a directory");
        let package = tree.path().join("vendor/crates/banyan-bench");
        fs::create_dir_all(&package).expect("a directory");
        fs::write(package.join("lib.rs"), "one").expect("a file");
        if git(tree.path(), &["init"]) {
            assert!(git(tree.path(), &["add", "."]) && git(tree.path(), &["commit", "-m", "one"]));
            assert_eq!(build::commit_of(&package), None);
        }
    }

    #[test]
    fn what_is_checked_out_is_told_where_the_commit_is_not_known() {
        let told = |commit: Option<&str>, checked_out: Option<&str>| {
            let [commit, checked_out] = [commit, checked_out].map(|text| text.map(str::to_owned));
            let environment = Environment { commit, checked_out, ..Environment::observe() };
            environment.facts().into_iter().find(|(name, _)| *name == "commit").map(|(_, fact)| fact)
        };
        assert_eq!(told(Some("0123"), Some("4567")).as_deref(), Some("0123"));
        assert_eq!(told(None, Some("4567")).as_deref(), Some("not known; 4567 was checked out where the program lies"));
        assert_eq!(told(None, None).as_deref(), Some("not known"));
    }
}
