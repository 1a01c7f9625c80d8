//! What a host does with an offer: takes a stream that is stored as a whole, or a part of a large file.

use std::path::{Path, PathBuf};

use super::assembly::{Assembly, FoundPart, Slice};
use super::part::{END, QUESTION, SLICE};
use super::store::{Site, Store, StoreError};
use super::{Large, Offer, parcel};

/// Something on its way to the disk.
#[derive(Debug)]
pub(crate) enum Intake {
    Whole(Box<Store>),
    Slice(Box<Slice>),
}

/// What becomes of an offer.
#[derive(Debug)]
pub(crate) enum Begun {
    /// This host has it.
    Had,
    /// This host lacks the file whose slices follow.
    Lacks,
    /// Nothing can come of it any more, as was told before.
    GaveUp,
    /// This host lacks it.
    Needs(Intake),
}

impl Intake {
    pub(crate) fn begin(offer: &Offer, site: Site<'_>, assembly: &Assembly) -> Result<Begun, StoreError> {
        let Some(large) = &offer.large else {
            let store = Store::begin(offer, site)?;
            return Ok(store.map_or(Begun::Had, |store| Begun::Needs(Intake::Whole(Box::new(store)))));
        };
        if large.step == QUESTION {
            let asked = ask(offer, large, site, assembly);
            if asked.is_err() {
                assembly.broken(large);
            }
            return asked;
        }
        let assembled = match assembly.take(large) {
            Some(FoundPart::Had) => return Ok(Begun::Had),
            Some(FoundPart::Broken) => return Ok(Begun::GaveUp),
            Some(FoundPart::Open(assembled)) => assembled,
            None => return Err(StoreError::NoPlace("a part came of a file that was not asked for".into())),
        };
        match large.step {
            SLICE => {
                let slice = Slice::begin(assembly, assembled, offer, large)?;
                Ok(slice.map_or(Begun::Had, |slice| Begun::Needs(Intake::Slice(Box::new(slice)))))
            }
            END if assembled.is_complete() => {
                let store = Store::begin_end(offer, site, assembled)?;
                Ok(Begun::Needs(Intake::Whole(Box::new(store))))
            }
            _ => Err(StoreError::Refused(assembled.target().to_owned(), "some of it is missing".into())),
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        match self {
            Intake::Whole(store) => store.push(bytes),
            Intake::Slice(slice) => slice.push(bytes),
        }
    }

    pub(crate) fn finish(self) -> Result<(), StoreError> {
        match self {
            Intake::Whole(store) => store.finish(),
            Intake::Slice(slice) => slice.finish(),
        }
    }

    /// Where it will be.
    pub(crate) fn target(&self) -> &Path {
        match self {
            Intake::Whole(store) => store.target(),
            Intake::Slice(slice) => slice.target(),
        }
    }
}

/// Whether this host has a large file; if not, it is made ready for its slices.
fn ask(offer: &Offer, large: &Large, site: Site<'_>, assembly: &Assembly) -> Result<Begun, StoreError> {
    let Some(mut store) = Store::begin(offer, site)? else {
        assembly.had(large);
        return Ok(Begun::Had);
    };
    let names = offer.names.as_deref().and_then(parcel::names_of).unwrap_or_default();
    let inside = names.last().map_or(Path::new(""), PathBuf::as_path);
    assembly.open(&mut store, (large, offer.on_disk), inside, site.host)?;
    Ok(Begun::Lacks)
}
