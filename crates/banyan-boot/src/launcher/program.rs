//! The program that agents run: where it is, and what it is by content.
//!
//! Any program can be its own agent: it calls [`become_agent_if_asked`](crate::become_agent_if_asked) first in `main`.
//! The `banyan` command does so too.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::content::Content;

/// Set once this process has shown that it can be an agent.
static OWN: AtomicBool = AtomicBool::new(false);

/// The environment variable that names the program to use as agent.
pub(crate) const VARIABLE: &str = "BANYAN_AGENT";

/// Remembers that this very program can be started as an agent.
pub(crate) fn this_program_can() {
    OWN.store(true, Ordering::Relaxed);
}

/// A program that can be an agent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AgentProgram {
    /// Where it is on this machine.
    pub(crate) path: PathBuf,
    /// BLAKE3 of its [content](Content) in hexadecimal; empty where nothing has to travel.
    pub(crate) hash: String,
    /// The length of that in bytes; 0 where nothing has to travel.
    pub(crate) length: u64,
    /// A path at which every host has it, so that it need not travel.
    pub(crate) installed: Option<String>,
    /// The directory in which hosts keep it, if one was chosen.
    pub(crate) directory: Option<String>,
}

impl AgentProgram {
    /// The program of the caller's choice, of the environment's, this one, or `banyan` in `PATH`.
    pub(crate) fn find(chosen: Option<&Path>) -> Result<AgentProgram, String> {
        let path = match chosen {
            Some(path) => path.to_owned(),
            None => match std::env::var_os(VARIABLE) {
                Some(path) => path.into(),
                None if OWN.load(Ordering::Relaxed) => Path::new("/proc/self/exe").to_owned(),
                None => in_path("banyan").ok_or_else(missing)?,
            },
        };
        let path = path.canonicalize().map_err(|error| format!("the agent program {}: {error}", path.display()))?;
        Ok(AgentProgram { path, hash: String::new(), length: 0, installed: None, directory: None })
    }

    /// Where hosts have it that share a file system with this one.
    pub(crate) fn path_on_hosts(&self) -> OsString {
        self.installed.as_ref().map_or_else(|| self.path.clone().into(), Into::into)
    }

    /// The program that runs now, of which the content is known.
    pub(crate) fn running(hash: String, length: u64) -> io::Result<AgentProgram> {
        Ok(AgentProgram { path: std::env::current_exe()?, hash, length, installed: None, directory: None })
    }

    /// The same with what is needed to send it to other hosts.
    pub(crate) fn with_content(mut self) -> io::Result<AgentProgram> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(Content::of(&self.path)?)?;
        self.length = hasher.count();
        self.hash = hasher.finalize().to_hex().to_string();
        Ok(self)
    }
}

/// Refuses a directory that the shells of hosts would not take for one.
pub(crate) fn check_directory(directory: &str) -> Result<(), String> {
    let is_harmless = |letter: char| letter.is_alphanumeric() || "/._-+$@%,:~{} ".contains(letter);
    match directory.starts_with(['/', '$']) && directory.chars().all(is_harmless) {
        true => Ok(()),
        false => Err(format!(
            "the directory for the agent program, {directory:?}: write a path from the root, such as /scratch/$USER/banyan"
        )),
    }
}

/// Where a program is that shells find by this name.
pub(super) fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|candidate| candidate.is_file())
}

fn missing() -> String {
    format!(
        "no program that can be an agent: call banyan_boot::become_agent_if_asked() first in main, put `banyan` into \
         PATH, or set {VARIABLE}"
    )
}
