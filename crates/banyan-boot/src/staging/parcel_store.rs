//! Storing a parcel that came by some other way than a session's staging: at a front-end that gathers files.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::assembly::Assembly;
use super::intake::{Begun, Intake};
use super::store::{Site, StoreError};
use super::{Large, Offer};
use crate::described;
use crate::problem::ProblemKind;

/// A part of a parcel on its way to the disk of this machine. Dropped before [`finish`](ParcelStore::finish), it leaves
/// nothing.
#[derive(Debug)]
pub struct ParcelStore(Intake);

/// Whether a part that was offered is wanted.
#[derive(Debug)]
pub enum Wanted {
    /// It is here.
    Had,
    /// The file that was asked for is lacking, so its slices are wanted; nothing comes for the question itself.
    Lacks,
    /// It is lacking, and stored here.
    Needs(ParcelStore),
}

/// Why a part was not stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParcelError {
    /// What came is not what was announced, or would lead elsewhere.
    #[error("{0}")]
    Came(String),
    /// This machine cannot store it.
    #[error("{1}")]
    Here(ProblemKind, String),
}

impl From<StoreError> for ParcelError {
    fn from(error: StoreError) -> ParcelError {
        if error.is_of_what_came() {
            return ParcelError::Came(error.to_string());
        }
        ParcelError::Here(error.kind(), error.to_string())
    }
}

impl ParcelStore {
    /// Makes ready to store what was [described](super::Part::describe). Neither the description nor what follows is
    /// trusted: nothing outside of `to` is written, and neither `to` nor the directory it is in may be a link. What has come of a large file is in the assembly from one part to the
    /// next; if `keep`, it stays on the disk when the rest does not come, and the next who stores there goes on from it.
    ///
    /// # Errors
    /// When the description is none, or nothing can be written there, with the cause.
    pub fn begin(description: &[u8], to: &Path, keep: bool, assembly: &Assembly) -> Result<Wanted, ParcelError> {
        let offer: Offer = described::decode(description).map_err(|error| ParcelError::Came(error.to_string()))?;
        if offer.names.is_none() {
            return Err(ParcelError::Came("what came describes no parcel".into()));
        }
        let large = offer.large.map(|large| Large { keep, ..large });
        let offer = Offer { path: Some(to.as_os_str().as_bytes().to_vec()), name: None, large, ..offer };
        match Intake::begin(&offer, HERE, assembly)? {
            Begun::Had => Ok(Wanted::Had),
            Begun::Lacks => Ok(Wanted::Lacks),
            Begun::Needs(intake) => Ok(Wanted::Needs(ParcelStore(intake))),
            Begun::GaveUp => Err(ParcelError::Came("what came belongs to a file that was given up".into())),
        }
    }

    /// The next bytes of its stream.
    ///
    /// # Errors
    /// When they are not those of the parcel, or cannot be written.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ParcelError> {
        Ok(self.0.push(bytes)?)
    }

    /// All of it came: checks it and puts it into place.
    ///
    /// # Errors
    /// When it is damaged or cannot be put there.
    pub fn finish(self) -> Result<(), ParcelError> {
        Ok(self.0.finish()?)
    }
}

/// The destination is a path of this machine as it is. The directory that it goes into has the name of a host, and nobody but
/// this user should have made it a link.
const HERE: Site<'_> = Site { cache: None, host: super::place::HOST_PLACE, follows: false };
