//! Groups that Slurm knows: partitions and jobs, asked from its own commands.

use std::process::Command;
use std::time::Duration;

use super::groups::Definition;
use crate::ask::ask;

/// How groups of partitions begin.
pub(super) const PARTITIONS: &str = "slurm";

/// How groups of jobs begin.
pub(super) const JOBS: &str = "slurm-job";

/// Slurm's controller may be busy, but not for ever.
const PATIENCE: Duration = Duration::from_secs(20);

/// The nodes of a partition.
pub(super) fn partition(name: &str) -> Result<Definition, String> {
    let mut sinfo = Command::new("sinfo");
    let hosts = nodes(sinfo.args(["--noheader", "--format=%N", &format!("--partition={name}")]))?;
    if hosts.is_empty() {
        return Err(format!("Slurm has no nodes in a partition {name:?}; look at: sinfo -s"));
    }
    Ok(Definition { hosts, place: String::new(), source: None })
}

/// The nodes of a job.
pub(super) fn job(id: &str) -> Result<Definition, String> {
    let hosts = nodes_of_job(id)?;
    if hosts.is_empty() {
        return Err(format!("Slurm has no nodes for a job {id}; look at: squeue"));
    }
    Ok(Definition { hosts, place: String::new(), source: None })
}

/// The nodes of a job as a set of hosts; empty if it has none.
pub(crate) fn nodes_of_job(id: &str) -> Result<String, String> {
    nodes(Command::new("squeue").args(["--noheader", "--format=%N", &format!("--jobs={id}")]))
}

/// One node list a line.
fn nodes(command: &mut Command) -> Result<String, String> {
    let answer = ask(command, PATIENCE)?;
    let lists: Vec<&str> = answer.lines().map(str::trim).filter(|list| !list.is_empty()).collect();
    Ok(lists.join(","))
}
