//! The configuration file: groups of hosts, and defaults for the options that reach them.
//!
//! `/etc/banyan/config.toml` is read first, then `banyan/config.toml` in `XDG_CONFIG_HOME` (or `.config` at home), which
//! has the last word on each group and each default. `BANYAN_CONFIG` names a file to read instead of both; empty, it
//! means none. A file that is not there says nothing, unless it was named; one that cannot be understood is an error with
//! file and line.

mod read;

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use banyan_boot::Launcher;

use crate::failure::Failure;
use crate::hosts::Least;
use crate::speech::Color;
pub use read::{ConfigText, Item, number, text as text_of, word};

/// The variable that names the one file to read.
const VARIABLE: &str = "BANYAN_CONFIG";

/// What all users of a machine have in common.
const OF_THE_MACHINE: &str = "/etc/banyan/config.toml";

/// What the configuration files say.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// The files that were there.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) groups: BTreeMap<String, HostGroup>,
    pub(crate) defaults: Defaults,
    /// Whether group sources of ClusterShell may run the commands they are made of.
    pub(crate) upcalls: bool,
}

/// A group of hosts, and where it was defined.
#[derive(Debug, Clone)]
pub(crate) struct HostGroup {
    /// The hosts, as people write them.
    pub(crate) hosts: String,
    /// File and line.
    pub(crate) place: String,
}

/// What holds for options that are not given.
#[derive(Debug, Default)]
pub(crate) struct Defaults {
    pub(crate) launcher: Option<Launcher>,
    pub(crate) ssh_args: Option<Vec<String>>,
    pub(crate) fanout: Option<u32>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) host_timeout: Option<Duration>,
    pub(crate) silence: Option<Duration>,
    pub(crate) min_hosts: Option<Least>,
    pub(crate) agent_dir: Option<String>,
    pub(crate) color: Option<Color>,
}

impl Config {
    /// The configuration of this process, read when it is first asked for.
    pub(crate) fn get() -> Result<&'static Config, Failure> {
        static CONFIG: OnceLock<Result<Config, Failure>> = OnceLock::new();
        CONFIG.get_or_init(|| Config::read(&files())).as_ref().map_err(Failure::clone)
    }

    /// What these files say, the last of them above all others.
    fn read(files: &[PathBuf]) -> Result<Config, Failure> {
        let mut config = Config::default();
        for path in files {
            match text_of(path)? {
                Some(text) => {
                    read::add(&mut config, path, &text).map_err(Failure::usage)?;
                    config.files.push(path.clone());
                }
                None if env::var_os(VARIABLE).is_some() => return Err(missing(path)),
                None => {}
            }
        }
        Ok(config)
    }
}

/// The file that was named is not there.
fn missing(path: &Path) -> Failure {
    let path = path.display();
    Failure::usage(format!("{VARIABLE}={path}: no such file; name one, or set {VARIABLE}= to go without"))
}

/// Where configuration may be.
pub(crate) fn files() -> Vec<PathBuf> {
    match env::var_os(VARIABLE) {
        Some(path) if path.is_empty() => Vec::new(),
        Some(path) => vec![path.into()],
        None => [Some(OF_THE_MACHINE.into()), user_directory().map(|directory| directory.join("banyan/config.toml"))]
            .into_iter()
            .flatten()
            .collect(),
    }
}

/// Where users keep configuration: `XDG_CONFIG_HOME`, or `.config` at home.
pub(crate) fn user_directory() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")))
}

/// A place in a file, for people; lines count from one.
pub(crate) fn place(path: &Path, line: usize) -> String {
    format!("{}, line {line}", path.display())
}
