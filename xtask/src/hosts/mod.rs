//! `cargo xtask hosts`: test hosts on this machine, each a network namespace with its own address, name, home directory
//! and `sshd`, and on demand a Slurm cluster on them. `docs/test-hosts.md` is for those who use it.
//!
//! Read in this order: [`request`] what is asked for, [`plan`] what follows from it, [`journal`] how it is written down,
//! [`up`] and [`down`]; then [`network`], [`enter`], [`ssh`] and [`slurm`], which [`up`] puts together.
//!
//! Promises: several clusters stand side by side; what was made is removed by `down` after any crash, and nothing else
//! is; `down` says so if anything is left.

mod down;
mod enter;
mod journal;
mod leftovers;
mod list;
mod network;
mod plan;
mod process;
mod request;
mod slurm;
mod ssh;
mod up;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use crate::report::{self, Problem};
use crate::run::Runner;
use journal::Record;
use plan::Name;
use request::Request;

pub(crate) use plan::CLUSTERS;
pub(crate) use request::Hosts;
pub(crate) use up::possible;

/// Short commands, none of which takes long even on a busy machine.
const RUNNER: Runner = Runner { verbose: false, limit: Duration::from_secs(120) };

/// How long an install may take.
const INSTALLER: Runner = Runner { verbose: false, limit: Duration::from_secs(600) };

/// A command that ends when we are killed: what it makes must not appear behind a `down` that comes next.
fn tied(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", program]);
    command
}

/// Between two looks at something that is awaited and cannot call us.
const PAUSE: Duration = Duration::from_millis(5);

impl Hosts {
    pub(crate) fn run(self, root: &Path) -> ExitCode {
        answer(root, self.request).unwrap_or_else(|why| {
            report::warn(&why);
            ExitCode::FAILURE
        })
    }
}

fn answer(root: &Path, request: Request) -> Result<ExitCode, String> {
    Ok(match request {
        Request::Up(wanted) => {
            let kinds = wanted.kinds()?;
            possible(INSTALLER, wanted.slurm).map_err(|(Problem::Failed(why) | Problem::LeftOut(why))| why)?;
            let record = up::up(root, &wanted, &kinds)?;
            report::say(&if wanted.json { list::object(&[record]) } else { list::table(&[record]) })
        }
        Request::Down { cluster, all } => {
            let names = if all { clusters() } else { vec![cluster.name] };
            names.iter().try_for_each(remove)?;
            ExitCode::SUCCESS
        }
        Request::List { name, json } => {
            let records = match name {
                Some(name) => vec![existing(&name)?],
                None => all()?,
            };
            report::say(&if json { list::object(&records) } else { list::table(&records) })
        }
        Request::Env(cluster) => report::say(&list::variables(&existing(&cluster.name)?)),
        Request::Leftovers { cluster, within, json } => {
            let found = leftovers::leftovers(&existing(&cluster.name)?, root, Duration::from_secs(within.into()))?;
            report::say(&if json { leftovers::object(&found) } else { leftovers::lines(&found) });
            if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
    })
}

fn remove(name: &Name) -> Result<(), String> {
    let was_there = down::down(name)?;
    report::say(&if was_there { format!("cluster {name} is removed") } else { format!("no cluster {name}") });
    Ok(())
}

/// The names of all clusters.
fn clusters() -> Vec<Name> {
    let Ok(entries) = Path::new(plan::CLUSTERS).read_dir() else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names.iter().filter_map(|name| Name::parse(name).ok()).collect()
}

fn all() -> Result<Vec<Record>, String> {
    let records = clusters().into_iter().map(|name| Record::read(&name));
    Ok(records.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

fn existing(name: &Name) -> Result<Record, String> {
    let missing = || format!("no cluster {name}; make it with: cargo xtask hosts up N --name {name}");
    Record::read(name)?.ok_or_else(missing)
}
