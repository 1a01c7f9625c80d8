//! The launch keeper: a process that ends the commands which start agents if the front-end ends before their agents have come.
//!
//! Such a command outlives the front-end. It may have to, when the front-end detaches: with `srun` its step would end. One
//! whose agent has come ends with the agent, and that with its link. But one that still waits, for a host that says
//! nothing or in a queue, would wait for ever, with the roster beside it. An agent has its keeper for that; in a front-end,
//! which is a program like any other, nobody can fork. So a shell waits at the other end of a socket, and acts when the
//! socket ends: it removes the roster, asks the groups of the commands it was told of to end, and makes them.
//!
//! The kernel's signal at the death of a parent is no way: it reaches one process and not its group, a child whose agent
//! has come cannot be rid of it, and a thread that ends would send it, too.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::together::Together;
use super::{Node, Up};
use crate::process::{Child, ChildDescriptors, Command, SpawnError, SpawnStage, Spawner};

/// What the shell runs, with the files to remove and their directories as arguments. It waits, asks and makes as a node does
/// that [ends](super::together): what has lost its standard input may just be removing what came of it, and `srun` kills
/// everything at once when it is asked.
const SCRIPT: &str = r#"trap "" HUP INT QUIT TERM
p=" "
while read -r what group; do
    case $what in
    +) p="$p$group " ;;
    -) p="${p%% "$group" *} ${p#* "$group" }" ;;
    esac
done
for file; do rm -f -- "$file" || rmdir -- "$file"; done 2>/dev/null
case $p in *[0-9]*) sleep 1 ;; esac
for group in $p; do kill -s TERM -- "-$group"; done 2>/dev/null
case $p in *[0-9]*) sleep 2 ;; esac
for group in $p; do kill -s KILL -- "-$group"; done 2>/dev/null"#;

/// A launch keeper. When this is dropped it is gone, or does its work if commands are left.
#[derive(Debug)]
pub(crate) struct LaunchKeeper {
    process: Child,
    socket: OwnedFd,
    /// The groups it knows of.
    groups: Vec<Pid>,
}

impl LaunchKeeper {
    /// Starts one that also removes these, files before their directories.
    fn start(spawner: &mut Spawner, null: &OwnedFd, files: Vec<OsString>) -> Result<LaunchKeeper, SpawnError> {
        let words = ["-c", SCRIPT, "banyan-launch-keeper"].map(OsString::from);
        let mut command = Command::new("/bin/sh", words.into_iter().chain(files), std::env::vars_os(), None)?;
        command.outlives_parent = true;
        let (socket, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(|error| SpawnError::new(SpawnStage::Stage, error, &command))?;
        let (stdin, stdout, stderr) = (theirs.as_fd(), null.as_fd(), null.as_fd());
        let given = ChildDescriptors { stdin, stdout, stderr, control: None, extension: None };
        Ok(LaunchKeeper { process: spawner.spawn(&command, given)?, socket, groups: Vec::new() })
    }

    fn take(&mut self, group: Pid) {
        self.tell('+', group);
        self.groups.push(group);
    }

    fn release(&mut self, group: Pid) {
        if let Some(at) = self.groups.iter().position(|ward| *ward == group) {
            self.groups.swap_remove(at);
            self.tell('-', group);
        }
    }

    fn tell(&self, what: char, group: Pid) {
        // If somebody has killed it there is no launch keeper, as if it had never been there.
        let line = format!("{what} {}\n", group.as_raw_pid());
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let _ = rustix::io::retry_on_intr(|| send(&self.socket, line.as_bytes(), flags));
    }
}

impl Drop for LaunchKeeper {
    fn drop(&mut self) {
        if !self.groups.is_empty() {
            // The socket closes with this.
            return;
        }
        // It may have been killed by others; in any case it is this process's to take note of.
        let _ = rustix::process::pidfd_send_signal(&self.process.pidfd, Signal::KILL);
        let ended = WaitId::PidFd(self.process.pidfd.as_fd());
        let _ = rustix::io::retry_on_intr(|| rustix::process::waitid(ended.clone(), WaitIdOptions::EXITED));
    }
}

impl Node {
    /// Sees to it that there is a launch keeper if this is a front-end. It removes this roster, too, and its directory.
    pub(super) fn start_launch_keeper(&mut self, roster: &[PathBuf]) -> Result<(), SpawnError> {
        if self.launch_keeper.is_none() && matches!(self.up, Up::RootChannel(_)) {
            let files = roster.iter().map(Into::into).collect();
            self.launch_keeper = Some(LaunchKeeper::start(&mut self.spawner, &self.null, files)?);
        }
        Ok(())
    }

    /// A command was started, in a group of its own.
    pub(super) fn put_in_ward(&mut self, group: Pid) {
        if let Some(launch_keeper) = &mut self.launch_keeper {
            launch_keeper.take(group);
        }
    }

    /// Commands that still run do so by themselves from now on.
    pub(super) fn stop_launch_keeper(&mut self) {
        if let Some(launch_keeper) = &mut self.launch_keeper {
            launch_keeper.groups.clear();
        }
        self.launch_keeper = None;
    }

    /// A command has ended, or all its agents have come. With the last of them the launch keeper goes.
    pub(super) fn out_of_ward(&mut self, group: Pid) {
        if let Some(launch_keeper) = &mut self.launch_keeper {
            launch_keeper.release(group);
            let has_roster = self.together.as_ref().is_some_and(Together::has_roster);
            if launch_keeper.groups.is_empty() && self.to_start.agents.is_empty() && !has_roster {
                self.launch_keeper = None;
            }
        }
    }
}
