//! The part of `banyan clock` on a host: takes part in the tree, which compares the clocks by itself.

use std::process::exit;

use banyan_tree::{BackEnd, TreeError};

/// The first argument of a member.
pub(super) const ROLE: &str = "clock-member";

/// Never returns in a process that an agent has started as member of `banyan clock`.
pub(crate) fn become_member_if_asked() {
    if std::env::args().nth(1).as_deref() == Some(ROLE) {
        // The end of the network is the end of a member; what else goes wrong, the front-end says.
        exit(i32::from(!matches!(take_part(), Err(TreeError::Ended))));
    }
}

fn take_part() -> Result<(), TreeError> {
    let mut back_end = BackEnd::join()?;
    loop {
        // No stream is opened: it waits for the end.
        back_end.recv()?;
    }
}
