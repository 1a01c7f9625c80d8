//! Where a measurement was made, recorded beside its figures.

use std::fs;

use serde::Serialize;

/// The machine and the build.
#[derive(Debug, Clone, Serialize)]
pub struct Environment {
    /// Processor model.
    pub cpu: String,
    /// Processors this process may use.
    pub cores: usize,
    /// Kernel release.
    pub kernel: String,
    /// Target architecture.
    pub arch: &'static str,
    /// One-minute load average when the measurement began.
    pub load_before: f64,
    /// And when it ended.
    pub load_after: f64,
    /// Version of Banyan.
    pub version: &'static str,
}

impl Environment {
    /// Looks around; call [`Environment::finish`] when the measurement has ended.
    pub fn observe() -> Environment {
        Environment {
            cpu: cpu_model(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: first_line("/proc/sys/kernel/osrelease"),
            arch: std::env::consts::ARCH,
            load_before: load(),
            load_after: 0.0,
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// Notes the load at the end.
    pub fn finish(&mut self) {
        self.load_after = load();
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
