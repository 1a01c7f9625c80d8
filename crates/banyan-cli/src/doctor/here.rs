//! What only the machine has that sessions are opened from: ssh and its keys, Slurm, the configuration file.

use std::env;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::finding::{Finding, Level};
use super::time::Time;
use crate::ask::{answer, ask};
use crate::config::Config;
use crate::hosts::check_groups;

/// Programs of this machine answer at once; Slurm's controller may be elsewhere.
const PATIENCE: Duration = Duration::from_secs(10);

/// Settings of `StrictHostKeyChecking` with which ssh asks nobody whether to trust a host; what they are called by
/// `ssh -G` depends on its version.
const TRUSTING: [&str; 4] = ["false", "no", "off", "accept-new"];

/// Everything about this machine as the one that opens sessions, as far as there is time.
pub(super) fn look(time: Time) -> Vec<Finding> {
    let mut findings = vec![configuration()];
    for check in [client, keys, slurm] {
        if !time.is_over() {
            findings.extend(check(time));
        }
    }
    findings
}

fn configuration() -> Finding {
    const NAME: &str = "configuration";
    let remedy = "repair the line, or set BANYAN_CONFIG= to go without";
    match Config::get() {
        Err(error) => Finding::bad(Level::Problem, NAME, "cannot be read", error.message(), remedy),
        Ok(config) => match check_groups(config) {
            Err(error) => Finding::bad(Level::Problem, NAME, "a group cannot be used", error, remedy),
            Ok(()) if config.files.is_empty() => Finding::ok(NAME, "none"),
            Ok(()) => {
                let files: Vec<String> = config.files.iter().map(|file| file.display().to_string()).collect();
                Finding::ok(NAME, format!("{} groups in {}", config.groups.len(), files.join(", ")))
            }
        },
    }
}

fn client(time: Time) -> Option<Finding> {
    const NAME: &str = "ssh client";
    // It tells its version on standard error.
    Some(match answer(Command::new("ssh").arg("-V"), time.at_most(PATIENCE)) {
        Ok((_, out, err)) => Finding::ok(NAME, (out + &err).trim()),
        Err(cause) => {
            let state = if on_path("ssh") { "cannot be used" } else { "none" };
            let remedy = "install OpenSSH's client (Debian: apt install openssh-client), or use another --launcher";
            let what = format!("{cause}: other hosts cannot be reached by ssh");
            Finding::bad(Level::Warning, NAME, state, what, remedy)
        }
    })
}

/// The finding about keys.
const KEYS: &str = "ssh keys";

/// Every host was reached: keys are somewhere that nobody looked at.
pub(super) fn excuse_keys(finding: &mut Finding) {
    if finding.name == KEYS && finding.level > Level::Ok {
        *finding = Finding::ok(KEYS, format_args!("{}, and every host was reached", finding.state));
    }
}

/// Keys in an agent, or in files that ssh looks for; nothing without a client.
fn keys(time: Time) -> Option<Finding> {
    const NAME: &str = KEYS;
    if !on_path("ssh") {
        return None;
    }
    let agent = answer(Command::new("ssh-add").arg("-l"), time.at_most(PATIENCE));
    let in_agent = match &agent {
        Ok((status, out, _)) if status.success() => out.lines().count(),
        _ => 0,
    };
    let home = env::var_os("HOME").unwrap_or_default();
    let names = ["id_ed25519", "id_ecdsa", "id_rsa", "id_ed25519_sk", "id_ecdsa_sk"];
    let files = names.iter().filter(|name| Path::new(&home).join(".ssh").join(name).is_file()).count();
    Some(match (in_agent, files) {
        (0, 0) => Finding::bad(
            Level::Warning,
            NAME,
            "none in an agent, none in ~/.ssh",
            "hosts that want a key will refuse, unless ssh's configuration names one: nothing may ask for a password",
            "ssh-keygen -t ed25519, then ssh-copy-id HOST; or start an agent: eval $(ssh-agent); ssh-add",
        ),
        (0, files) => Finding::ok(NAME, format!("{files} in ~/.ssh")),
        (keys, _) => Finding::ok(NAME, format!("{keys} in the agent")),
    })
}

fn slurm(time: Time) -> Option<Finding> {
    const NAME: &str = "Slurm";
    if !on_path("sinfo") {
        return Some(Finding::ok(NAME, "not here"));
    }
    Some(match ask(Command::new("sinfo").args(["--noheader", "--format=%R"]), time.at_most(PATIENCE)) {
        Ok(partitions) => {
            let names: Vec<&str> = partitions.split_whitespace().collect();
            Finding::ok(NAME, format!("partitions {}", names.join(", ")))
        }
        Err(cause) => Finding::bad(
            Level::Warning,
            NAME,
            "its commands are here, its controller does not answer",
            cause,
            "if this machine belongs to a cluster: scontrol ping, and look at SLURM_CONF",
        ),
    })
}

fn on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Whether the key of a host that cannot be reached is known; nothing if ssh does not say, or there is no time to ask.
pub(super) fn known_key(host: &str, arguments: &[String], time: Time) -> Option<Finding> {
    const NAME: &str = "ssh host key";
    if time.is_over() {
        return None;
    }
    let mut show = Command::new("ssh");
    let settings = ask(show.args(arguments).args(["-G", "--", host]), time.at_most(PATIENCE)).ok()?;
    let setting = |name: &str| {
        let line = settings.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map(str::to_owned)
    };
    let strict = setting("stricthostkeychecking").unwrap_or_default();
    if TRUSTING.contains(&strict.as_str()) {
        return Some(Finding::ok(NAME, format!("not asked about: StrictHostKeyChecking is {strict}")));
    }
    let (address, port) = (setting("hostname")?, setting("port")?);
    let name = setting("hostkeyalias").unwrap_or_else(|| match port.as_str() {
        "22" => address.clone(),
        port => format!("[{address}]:{port}"),
    });
    let files = setting("userknownhostsfile")? + " " + &setting("globalknownhostsfile").unwrap_or_default();
    let known = files.split_whitespace().any(|file| {
        let file = expand_home(file);
        ask(Command::new("ssh-keygen").args(["-F", &name, "-f", &file]), time.at_most(PATIENCE)).is_ok()
    });
    Some(if known {
        Finding::ok(NAME, "known")
    } else {
        let cause =
            format!("no file of known hosts has {name}: ssh would ask whether to trust it, and nothing may ask");
        let given: String = arguments.iter().map(|argument| format!("{argument} ")).collect();
        Finding::bad(Level::Problem, NAME, "not known", cause, format!("once by hand: ssh {given}{host} true"))
    })
}

fn expand_home(file: &str) -> String {
    let home = env::var("HOME").unwrap_or_default();
    file.strip_prefix('~').map_or_else(|| file.to_owned(), |rest| home + rest)
}
