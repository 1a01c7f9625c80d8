//! Stand-ins until the real ones are merged.
#![allow(missing_docs)]
use super::{Child, Prepared, SpawnError};
use std::os::fd::OwnedFd;
use rustix::process::Pid;
pub fn signal_group(child: &Child, signal: i32) -> std::io::Result<()> {
    let s = rustix::process::Signal::from_named_raw(signal).ok_or(std::io::ErrorKind::InvalidInput)?;
    rustix::process::kill_process_group(child.pid, s)?; Ok(())
}
pub enum Role { Worker { keeper: OwnedFd } }
pub fn keep() -> std::io::Result<Role> { Ok(Role::Worker { keeper: rustix::process::pidfd_open(rustix::process::getppid().unwrap_or(Pid::INIT), rustix::process::PidfdFlags::empty())? }) }
impl SpawnError { pub(crate) fn descriptors(c: &Prepared, e: std::io::Error) -> Self { c.error(super::Step::Stage, e) } }
