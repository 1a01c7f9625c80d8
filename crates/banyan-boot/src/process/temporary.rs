//! Stand-ins until the real ones are merged.
#![allow(missing_docs)]
use super::{Child, Prepared, SpawnError};
use std::os::fd::{AsFd, OwnedFd};
use rustix::process::{WaitId, WaitIdOptions, Pid};
#[derive(Debug, Clone, PartialEq)]
pub enum ExitState { Exited(i32), Signalled(i32), NeverStarted, Lost }
impl ExitState {
    pub fn exit_status(&self) -> i32 { match self { Self::Exited(c) => *c, Self::Signalled(s) => 128 + s, _ => 127 } }
    pub fn from_number(n: u32) -> Self { match n >> 16 { 0 => Self::Exited(n as i32), 1 => Self::Signalled((n & 0xffff) as i32), 2 => Self::NeverStarted, _ => Self::Lost } }
    pub fn to_number(&self) -> u32 { match self { Self::Exited(c) => *c as u32 & 0xff, Self::Signalled(s) => 1 << 16 | *s as u32, Self::NeverStarted => 2 << 16, Self::Lost => 3 << 16 } }
}
impl std::fmt::Display for ExitState { fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { match self { Self::Exited(c) => write!(f, "exited with status {c}"), Self::Signalled(s) => write!(f, "was killed by signal {s}"), Self::NeverStarted => write!(f, "was never started"), Self::Lost => write!(f, "was lost") } } }
pub fn exit_state(pidfd: &OwnedFd) -> Option<ExitState> {
    let s = rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG).ok()??;
    if let Some(c) = s.exit_status() { Some(ExitState::Exited(c as i32)) } else { Some(ExitState::Signalled(s.terminating_signal().unwrap_or(9) as i32)) }
}
pub fn signal_group(child: &Child, signal: i32) -> std::io::Result<()> {
    let s = rustix::process::Signal::from_named_raw(signal).ok_or(std::io::ErrorKind::InvalidInput)?;
    rustix::process::kill_process_group(child.pid, s)?; Ok(())
}
#[derive(Debug, Default)]
pub struct LineSplitter { rest: Vec<u8> }
impl LineSplitter {
    pub fn new() -> Self { Self::default() }
    pub fn push(&mut self, b: &[u8]) -> bytes::Bytes { self.rest.extend_from_slice(b); match self.rest.iter().rposition(|b| *b == b'\n') { Some(p) => { let t = self.rest.split_off(p + 1); std::mem::replace(&mut self.rest, t).into() } None => bytes::Bytes::new() } }
    pub fn finish(&mut self) -> bytes::Bytes { std::mem::take(&mut self.rest).into() }
}
pub enum Role { Worker { keeper: OwnedFd } }
pub fn keep() -> std::io::Result<Role> { Ok(Role::Worker { keeper: rustix::process::pidfd_open(rustix::process::getppid().unwrap_or(Pid::INIT), rustix::process::PidfdFlags::empty())? }) }
impl SpawnError { pub(crate) fn descriptors(c: &Prepared, e: std::io::Error) -> Self { c.error(super::Step::Stage, e) } }
