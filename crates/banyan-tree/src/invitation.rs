//! Invitations: what a process needs to take the place of a member that is lost.
//!
//! An invitation holds the secret of that one member, so whoever reads it can take its place. It travels in the environment
//! of the user's own processes.

use std::fmt;
use std::str::FromStr;

use banyan_link::SecretBytes;

use crate::driver::{Note, NoteError};
use crate::error::TreeError;

/// The environment variable that holds an invitation.
const VARIABLE: &str = "BANYAN_INVITATION";

/// The right to be a member of a network that another process has been before; see
/// [`Network::invitation`](crate::Network::invitation).
#[derive(Clone)]
pub struct Invitation {
    pub(crate) note: Note,
}

impl Invitation {
    /// As a variable for the environment of the process that is to come: its name, and its value, which is a secret.
    /// [`BackEnd::join`](crate::BackEnd::join) looks there.
    pub fn to_env(&self) -> (&'static str, SecretBytes) {
        (VARIABLE, self.to_text())
    }

    /// The one that this process's environment has, if any.
    ///
    /// # Errors
    /// If what is there is no invitation.
    pub fn from_env() -> Result<Option<Invitation>, TreeError> {
        let text = std::env::var(VARIABLE).ok().map(SecretBytes::from);
        text.map(|text| text.expose_text().unwrap_or_default().parse()).transpose()
    }

    /// As a text of one line, which is a secret.
    pub fn to_text(&self) -> SecretBytes {
        let mut text = self.note.to_text();
        text.expose_mut().iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = LINE);
        text
    }
}

/// What stands for the end of a line. Nothing in a note has it.
const LINE: u8 = b';';

impl FromStr for Invitation {
    type Err = TreeError;

    fn from_str(text: &str) -> Result<Invitation, TreeError> {
        let mut lines = SecretBytes::from(text.to_owned());
        lines.expose_mut().iter_mut().filter(|byte| **byte == LINE).for_each(|byte| *byte = b'\n');
        let note = lines.expose_text().unwrap_or_default().parse();
        let note: Note = note.map_err(|error: NoteError| TreeError::Invitation(error.to_string()))?;
        match note.member {
            Some(_) => Ok(Invitation { note }),
            None => Err(TreeError::Invitation("it does not say who this member is".into())),
        }
    }
}

/// Without the secret.
impl fmt::Debug for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invitation").field("rank", &self.note.member.map(|member| member.rank)).finish_non_exhaustive()
    }
}
