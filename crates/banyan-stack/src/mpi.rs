//! An MPI job that is spread over hosts: how its processes know each other from those of other jobs.
//!
//! An `mpirun` starts a daemon on each other host, and tells it in its command line how to call home. No two that run have
//! the same address, and daemons of one job have the same; ranks are below the daemons, and those of Open MPI have the
//! address in their environment, too. So the address names the job, on every host.

use std::collections::HashSet;
use std::io;

use banyan_ndr::Record;

use crate::process::Status;
use crate::processes::{all, ancestors, command, descendants, machine, variable};

/// Options of daemons whose value is the address: of Open MPI up to version 4, of PRRTE (Open MPI since 5), of MPICH and
/// its kin.
const HOME_OPTIONS: [&str; 3] = ["orte_hnp_uri", "prte_hnp_uri", "--control-port"];

/// What daemons are called; what else has the address in its command line starts one on another host.
const DAEMONS: [&str; 4] = ["orted", "prted", "hydra_pmi_proxy", "pmi_proxy"];

/// The variable that tells ranks the same.
const HOME_VARIABLE: &str = "OMPI_MCA_orte_hnp_uri";

/// A job as its `mpirun` shows it, to be found on other hosts.
#[derive(Debug, Clone, PartialEq, Eq, Record)]
#[non_exhaustive]
pub struct MpiJob {
    /// The `mpirun`.
    pub launcher: u32,
    /// The machine it runs on, as [`machine`] calls it.
    pub machine: String,
    /// The address that its daemons call; `None` if it has started none that is known.
    pub home: Option<String>,
}

impl MpiJob {
    /// The job of an `mpirun` of this machine.
    ///
    /// # Errors
    ///
    /// If `/proc` cannot be read.
    pub fn of(launcher: u32) -> io::Result<MpiJob> {
        let below = descendants(launcher)?;
        let told = below.iter().find_map(|pid| home_in(&command(*pid)));
        let home = told.or_else(|| below.iter().find_map(|pid| variable(*pid, HOME_VARIABLE)));
        Ok(MpiJob { launcher, machine: machine(), home })
    }

    /// The other hosts on which it has started daemons itself, as it calls them: by the `ssh` that runs for each. Where
    /// something else started them, or where daemons started further ones, their hosts are not among them.
    ///
    /// # Errors
    ///
    /// If `/proc` cannot be read.
    pub fn hosts(&self) -> io::Result<Vec<String>> {
        let starters = self.starters()?;
        let mut hosts: Vec<String> = starters.iter().filter_map(|command| host_in(command)).collect();
        hosts.sort_unstable();
        hosts.dedup();
        Ok(hosts)
    }

    /// Whether it has started daemons on other hosts.
    ///
    /// # Errors
    ///
    /// If `/proc` cannot be read.
    pub fn is_spread(&self) -> io::Result<bool> {
        Ok(!self.starters()?.is_empty())
    }

    /// The command lines of what started daemons on other hosts.
    fn starters(&self) -> io::Result<Vec<String>> {
        let is_daemon = |pid: u32| Status::read(pid).is_ok_and(|status| DAEMONS.contains(&status.name.as_str()));
        let commands = descendants(self.launcher)?.into_iter().filter(|pid| !is_daemon(*pid)).map(command);
        Ok(commands.filter(|command| home_in(command).is_some()).collect())
    }

    /// All processes of this machine that belong to it, and more of their kin: shells, and the daemons themselves.
    pub(crate) fn processes(&self) -> io::Result<Vec<u32>> {
        let mut found: HashSet<u32> = HashSet::new();
        if !self.machine.is_empty() && self.machine == machine() {
            found.extend(descendants(self.launcher)?);
        }
        let Some(home) = &self.home else { return Ok(found.into_iter().collect()) };
        let all = all()?;
        let daemons: HashSet<u32> =
            all.iter().copied().filter(|pid| home_in(&command(*pid)).as_ref() == Some(home)).collect();
        let is_of_it = |pid: u32| {
            variable(pid, HOME_VARIABLE).as_ref() == Some(home)
                || (!daemons.is_empty() && ancestors(pid).iter().any(|above| daemons.contains(above)))
        };
        found.extend(all.into_iter().filter(|pid| is_of_it(*pid)));
        Ok(found.into_iter().collect())
    }
}

/// The address in a command line: that of a daemon, or of what starts one elsewhere, where it stands in quotes. Other
/// programs may have options of the same name.
fn home_in(command: &str) -> Option<String> {
    let mut words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    words.find(|word| word.rsplit('/').next().is_some_and(|name| DAEMONS.contains(&name)))?;
    words.find(|word| HOME_OPTIONS.contains(word))?;
    words.next().map(str::to_owned)
}

/// What starts daemons, and tells the host in its command line.
const REMOTE_SHELLS: [&str; 2] = ["ssh", "rsh"];

/// Options of `ssh` that have a value in the next word.
const WITH_VALUE: &str = "BbcDEeFIiJLlmOoPpQRSWw";

/// The host in the command line of a remote shell.
fn host_in(command: &str) -> Option<String> {
    let mut words = command.split_whitespace();
    let program = words.next()?.rsplit('/').next()?;
    if !REMOTE_SHELLS.contains(&program) {
        return None;
    }
    while let Some(word) = words.next() {
        match word.strip_prefix('-') {
            None => return Some(word.rsplit('@').next().unwrap_or(word).to_owned()),
            // The last letter of several has the value, unless it stands behind it.
            Some(letters) if letters.len() == 1 && WITH_VALUE.contains(letters) => drop(words.next()),
            Some(_) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_daemon_is_that_of_the_shell_that_started_it() {
        assert_eq!(host_in("/usr/bin/ssh -x h1 orted -mca ess").as_deref(), Some("h1"));
        assert_eq!(
            host_in("ssh -F config -p 22 -oBatchMode=yes me@n2.site hydra_pmi_proxy").as_deref(),
            Some("n2.site")
        );
        assert_eq!(host_in("ssh -x"), None);
        assert_eq!(host_in("srun -N4 orted"), None);
    }

    #[test]
    fn the_address_of_a_daemon_is_that_of_what_started_it() {
        let starter =
            r#"/usr/bin/ssh -x h1 orted -mca ess "env" -mca orte_hnp_uri "42.0;tcp://10.0.0.1:43671" -mca plm "rsh""#;
        let daemon = "orted -mca ess env -mca orte_hnp_uri 42.0;tcp://10.0.0.1:43671 -mca plm rsh";
        assert_eq!(home_in(starter).as_deref(), Some("42.0;tcp://10.0.0.1:43671"));
        assert_eq!(home_in(starter), home_in(daemon));
        let proxy = "/usr/bin/hydra_pmi_proxy --control-port n1:40195 --rmk user --proxy-id 1";
        assert_eq!(home_in(proxy).as_deref(), Some("n1:40195"));
        assert_eq!(home_in("prted --prtemca prte_hnp_uri"), None);
        assert_eq!(home_in("solver --grid 7"), None);
        assert_eq!(home_in("/opt/orted/solver --control-port n1:40195"), None, "an option of its own");
    }
}
