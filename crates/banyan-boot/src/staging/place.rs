//! Where staged things are on a host: the user's cache, and the paths a session asks for.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Offer, parcel};

/// How paths into the cache begin, in the same words on every host.
pub(crate) const CACHE_PREFIX: &str = "@cache";

/// The environment variable that tells members where their host's cache is.
pub(crate) const CACHE_VARIABLE: &str = "BANYAN_CACHE";

/// What stands for the name of the host in a path.
pub(crate) const HOST_PLACE: &str = "{host}";

/// The cache of staged files on a host: the session's choice, or the user's own.
pub(crate) fn cache(chosen: Option<&[u8]>, host: &str) -> Result<PathBuf, String> {
    match chosen {
        Some(chosen) => Ok(for_host(chosen, host)),
        None => own_cache(),
    }
}

/// A path in which the name of the host may stand.
pub(crate) fn for_host(path: &[u8], host: &str) -> PathBuf {
    match std::str::from_utf8(path) {
        Ok(text) => text.replace(HOST_PLACE, host).into(),
        Err(_) => OsStr::from_bytes(path).into(),
    }
}

/// Whether the parcels of one source go under the name that was given, or into a directory of that name: chosen by the
/// first of them, because after it there is a directory in any case. All who have a copy of this have the same choice.
#[derive(Debug, Clone, Default)]
pub(crate) struct Placed(Arc<Mutex<Option<Choice>>>);

/// The path and the name that were given, and whether it goes into that path.
type Choice = (Vec<u8>, Vec<u8>, bool);

impl Placed {
    /// The offer with that choice made, for which what is there may have to be read.
    pub(crate) fn settle(&self, mut offer: Offer, host: &str) -> Offer {
        let (Some(path), Some(name)) = (&offer.path, &offer.name) else { return offer };
        let mut choice = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = choice.as_ref().filter(|(of, under, _)| of == path && under == name);
        let looked_at = || destination(&for_host(path, host)).is_ok_and(|path| goes_into(&path, &offer));
        let into = same.map_or_else(looked_at, |(.., into)| *into);
        *choice = Some((path.clone(), name.clone(), into));
        if !into {
            offer.name = None;
        }
        offer
    }
}

/// Whether something goes into what is at its destination: into a directory, as with `cp`, but not into its own copy. So a
/// command that is given again means the same again, whether it was cut or not.
fn goes_into(path: &Path, offer: &Offer) -> bool {
    is_directory(path) && !(offer.directory && is_copy(path, offer))
}

/// Whether a path is a directory, and no link to one.
pub(super) fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| about.is_dir())
}

/// Whether a directory is taken for a copy of the one that is offered: it has its name; or it has what the first parcel
/// holds, without which nothing else is there.
fn is_copy(path: &Path, offer: &Offer) -> bool {
    if path.file_name().map(OsStr::as_bytes) == offer.name.as_deref() {
        return true;
    }
    let names = offer.names.as_deref().and_then(parcel::names_of).unwrap_or_default();
    // An empty directory is like any other.
    names.len() > 1 && parcel::has(path, &names, offer)
}

fn own_cache() -> Result<PathBuf, String> {
    if let Some(cache) = env::var_os(CACHE_VARIABLE).filter(|cache| !cache.is_empty()) {
        return Ok(cache.into());
    }
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    let base = base.ok_or("there is no cache: neither XDG_CACHE_HOME nor HOME is set")?;
    Ok(base.join("banyan/files"))
}

/// The file or directory of this host that a path of a [`StageReport`](crate::StageReport) names, as a member of the
/// session sees it.
///
/// # Errors
/// When this host has no place for it: no home directory is known.
pub fn staged_path(path: &Path) -> Result<PathBuf, String> {
    match path.strip_prefix(CACHE_PREFIX) {
        Ok(inside) => Ok(own_cache()?.join(inside)),
        Err(_) => destination(path),
    }
}

/// A path on this host; relative ones begin at home.
pub(crate) fn destination(path: &Path) -> Result<PathBuf, String> {
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    let home = env::var_os("HOME").ok_or("HOME is not set, and the path is relative to it")?;
    Ok(Path::new(&home).join(path))
}

/// A program's path on this host: `@cache/…` is looked up in the cache, everything else stays as it is.
pub(crate) fn executable(exe: &OsStr, cache: Option<&Path>) -> OsString {
    match (Path::new(exe).strip_prefix(CACHE_PREFIX), cache) {
        (Ok(inside), Some(cache)) if is_plain(inside) => cache.join(inside).into(),
        _ => exe.to_owned(),
    }
}

/// Whether a path has a last component to give something a name, and no `..`.
pub(crate) fn is_destination(path: &Path) -> bool {
    path.file_name().is_some() && !path.components().any(|component| component == Component::ParentDir)
}

fn is_plain(path: &Path) -> bool {
    path.components().all(|component| matches!(component, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_cache_may_differ_by_host() {
        assert_eq!(cache(Some(b"/x/{host}/y"), "n1"), Ok("/x/n1/y".into()));
    }

    #[test]
    fn a_program_in_the_cache_is_found_and_nothing_outside_of_it() {
        let cache = Some(Path::new("/c"));
        assert_eq!(executable(OsStr::new("@cache/abc/bin/p"), cache), "/c/abc/bin/p");
        assert_eq!(executable(OsStr::new("@cache/../p"), cache), "@cache/../p");
        assert_eq!(executable(OsStr::new("/bin/true"), cache), "/bin/true");
    }

    #[test]
    fn a_destination_has_a_name_and_never_goes_up() {
        for path in ["/", "", "..", "a/..", "../a", "a/../b"] {
            assert!(!is_destination(Path::new(path)), "{path:?}");
        }
        assert!(is_destination(Path::new("/a/b")) && is_destination(Path::new("b")));
    }
}
