//! Storing a parcel that came by some other way than a session's staging: at a front-end that gathers files.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::Offer;
use super::store::Store;
use crate::described;

/// A parcel on its way to the disk of this machine. Dropped before [`finish`](ParcelStore::finish), it leaves nothing.
#[derive(Debug)]
pub struct ParcelStore(Store);

impl ParcelStore {
    /// Makes ready to store what was [described](super::Parcel::describe); `None` if it is there already. Neither the
    /// description nor what follows is trusted: nothing outside of `to` is written.
    ///
    /// # Errors
    /// When the description is none, or nothing can be written there, with the cause.
    pub fn begin(description: &[u8], to: &Path) -> Result<Option<ParcelStore>, String> {
        let offer: Offer = described::decode(description).map_err(|error| error.to_string())?;
        if offer.names.is_none() {
            return Err("what came describes no parcel".into());
        }
        let offer = Offer { path: Some(to.as_os_str().as_bytes().to_vec()), name: None, ..offer };
        let store = Store::begin(&offer, None, HOST_ITSELF).map_err(|error| error.to_string())?;
        Ok(store.map(ParcelStore))
    }

    /// The next bytes of its stream.
    ///
    /// # Errors
    /// When they are not those of the parcel, or cannot be written.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.0.push(bytes).map_err(|error| error.to_string())
    }

    /// All of it came: checks it and puts it into place.
    ///
    /// # Errors
    /// When it is damaged or cannot be put there.
    pub fn finish(self) -> Result<(), String> {
        self.0.finish().map_err(|error| error.to_string())
    }
}

/// The destination is a path of this machine as it is.
const HOST_ITSELF: &str = super::place::HOST_PLACE;
