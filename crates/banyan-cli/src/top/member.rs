//! The part of `banyan top` on a host: answers when it is asked, and does nothing in between.

use std::fs;
use std::process::exit;

use banyan_tree::{BackEnd, TreeError};

use super::ask::Question;
use super::sample::Sampler;
use super::usage::Processes;

/// The first argument of a member.
pub(super) const ROLE: &str = "top-member";

/// Tag: tell how the host is doing.
pub(super) const SAMPLE: u32 = 1;
/// Tag: tell who uses it; comes with an [`Question`].
pub(super) const LIST: u32 = 2;

/// Never returns in a process that an agent has started as member of `banyan top`.
pub(crate) fn become_member_if_asked() {
    if std::env::args().nth(1).as_deref() == Some(ROLE) {
        take_name();
        // The end of the network is the end of a member; what else goes wrong, the front-end says.
        exit(i32::from(!matches!(take_part(), Err(TreeError::Ended))));
    }
}

/// Takes the name of this program: it was started as `/proc/self/exe`, and nobody would know who is listed as `exe`.
fn take_name() {
    let program = std::env::current_exe().unwrap_or_default();
    // Where that is refused it is called so.
    let _ = fs::write("/proc/self/comm", program.file_name().unwrap_or_default().as_encoded_bytes());
}

fn take_part() -> Result<(), TreeError> {
    let (mut sampler, mut processes) = (Sampler::new(), Processes::new());
    let mut back_end = BackEnd::join()?;
    loop {
        let incoming = back_end.recv()?;
        match incoming.tag {
            SAMPLE => _ = back_end.send(incoming.stream, &sampler.sample())?,
            LIST => {
                let question: Question = incoming.read()?;
                let listing = processes.list(&question.on(back_end.rank()));
                back_end.send(incoming.stream, &listing)?;
            }
            // Of a later release: it is not answered.
            _ => {}
        }
    }
}
