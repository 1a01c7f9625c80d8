//! Where a measurement was made, recorded beside its figures.

use std::fs;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

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
    /// What `BANYAN_COMMIT` was when the program was built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What [`checked_out`] said; only studies ask.
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
            commit: option_env!("BANYAN_COMMIT").map(str::to_owned),
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
    pub fn facts(&self) -> [(&'static str, String); 8] {
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "not known".to_owned());
        [
            ("host", self.host.clone()),
            ("processor", self.cpu.clone()),
            ("cores", self.cores.to_string()),
            ("system", format!("Linux {}, {}", self.kernel, self.arch)),
            ("version", self.version.clone()),
            ("build", self.build.clone()),
            ("commit", known(&self.commit)),
            ("checked out", known(&self.checked_out)),
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
/// The program may have been built from another. One that was copied into somebody else's tree has nothing of it.
pub fn checked_out() -> Option<String> {
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
