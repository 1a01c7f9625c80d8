//! `cargo xtask chaos` and `cargo xtask soak`: networks whose processes are killed, terminated, stopped and continued, from a
//! seed. The rounds themselves are the test program `chaos` of `banyan-tree`, a few of which run with the tests.

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

impl Chaos {
    pub(crate) fn run(&self, root: &Path) -> ExitCode {
        run(root, "chaos", [self.rounds, self.seed])
    }
}

impl Soak {
    pub(crate) fn run(&self, root: &Path) -> ExitCode {
        run(root, "soak", [self.seconds, self.seed])
    }
}

fn run(root: &Path, what: &str, numbers: [u64; 2]) -> ExitCode {
    let mut test = Command::new("cargo");
    test.current_dir(root).args(["test", "--quiet", "--package", "banyan-tree", "--test", "chaos", "--", what]);
    match test.args(numbers.map(|number| number.to_string())).status() {
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
