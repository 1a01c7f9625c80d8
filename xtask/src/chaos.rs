//! `cargo xtask chaos`, `soak` and `worst`: searches from a seed that go on for longer than the tests. The rounds of `chaos` and
//! `soak`, networks whose processes are killed, terminated, stopped and continued, are the test program `chaos` of
//! `banyan-tree`; those of `worst` are the test program `worst` of `banyan`. A few of each run with the tests.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::report;

/// Run networks on this machine while their processes are killed, terminated, stopped and continued
///
/// Each round has a plan that follows from its seed: the shape of the tree, its links, and which processes are disturbed
/// when. After a round nothing may be left. A round that fails prints the command that repeats it.
#[derive(clap::Args)]
pub(crate) struct Chaos {
    /// How many rounds
    #[arg(long, value_name = "N", default_value_t = 20)]
    rounds: u64,
    /// The seed of the first round; the next one has the next seed
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Disturb all networks in this phase: while they are launched, while waves flow, while they end, or their front-end; any
    /// lets the seed choose
    #[arg(long, default_value = "any", value_parser = ["any", "launch", "waves", "end", "front-end"])]
    phase: String,
}

/// Run rounds of chaos with waves in one front-end for a long time, and look whether it grows
///
/// Its memory and descriptors may not grow beyond what the first rounds needed.
#[derive(clap::Args)]
pub(crate) struct Soak {
    /// How long, as 90s, 20m or 1h
    #[arg(long = "for", value_name = "TIME", default_value = "10m", value_parser = seconds)]
    seconds: u64,
    /// The seed of the first round
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
}

/// Search for inputs whose cost grows faster than they do
///
/// Prints first what known families of inputs cost each decoder for each byte, in bytes allocated and in instructions, and
/// how fast that grows: 1 is linear, 2 quadratic. Instructions are counted by valgrind, where it is installed. Then each
/// round repeats pieces of an input, and the ten whose cost grew fastest are printed.
#[derive(clap::Args)]
pub(crate) struct Worst {
    /// How many rounds
    #[arg(long, value_name = "N", default_value_t = 2000)]
    rounds: u64,
    /// What the pieces follow from
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
}

impl Chaos {
    pub(crate) fn run(&self, root: &Path) -> ExitCode {
        run(root, CHAOS, &["chaos", &self.rounds.to_string(), &self.seed.to_string(), &self.phase])
    }
}

impl Soak {
    pub(crate) fn run(&self, root: &Path) -> ExitCode {
        run(root, CHAOS, &["soak", &self.seconds.to_string(), &self.seed.to_string()])
    }
}

impl Worst {
    pub(crate) fn run(&self, root: &Path) -> ExitCode {
        run(root, ["banyan", "worst"], &["search", &self.rounds.to_string(), &self.seed.to_string()])
    }
}

/// A package and its test program.
const CHAOS: [&str; 2] = ["banyan-tree", "chaos"];

fn run(root: &Path, [package, test]: [&str; 2], arguments: &[&str]) -> ExitCode {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(root).args(["test", "--quiet", "--package", package, "--test", test, "--"]);
    match cargo.args(arguments).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => report::refuse(&format!("cargo cannot be started: {error}")),
    }
}

/// Seconds of a time such as `90s`, `20m` or `1h`.
fn seconds(text: &str) -> Result<u64, String> {
    let units = [('s', 1), ('m', 60), ('h', 3600)];
    let of = |(unit, seconds): (char, u64)| text.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(seconds);
    units.into_iter().find_map(of).ok_or(format!("{text} is not a time such as 90s, 20m or 1h"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        assert_eq!([seconds("90s"), seconds("20m"), seconds("1h")], [Ok(90), Ok(1200), Ok(3600)]);
        assert!(["", "5", "1.5h", "-1s", "99999999999999999999h"].into_iter().all(|text| seconds(text).is_err()));
    }
}
