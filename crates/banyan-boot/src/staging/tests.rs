//! Packing and storing against each other, and storing against streams that mean harm.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use super::entry::{EntryKind, Head};
use super::error::StageError;
use super::merge::Special;
use super::pack::ParcelPacker;
use super::place::Placed;
use super::store::{Site, Store, StoreError};
use super::{Assembly, Links, Offer, ParcelStore, ParcelTarget, Parcels, Reading, Wanted};

const HERE: Site<'_> = Site { cache: None, host: "here", follows: true };

fn stream_of(what: &Path) -> Vec<u8> {
    let mut packer = ParcelPacker::new(what);
    let mut all = Vec::new();
    while let Some(piece) = packer.next().unwrap() {
        all.extend_from_slice(&piece);
    }
    all
}

fn offer(stream: &[u8], to: &Path) -> Offer {
    let hash = blake3::hash(stream).to_hex().to_string();
    let path = Some(to.as_os_str().as_encoded_bytes().to_vec());
    let (length, times, large) = (stream.len() as u64, false, None);
    Offer { number: 1, hash, length, on_disk: length, directory: false, path, name: None, names: None, times, large }
}

/// Stores a stream in pieces of a length.
fn store(stream: &[u8], to: &Path, piece: usize) -> Result<(), StoreError> {
    let mut store = Store::begin(&offer(stream, to), HERE)?.expect("paths are never there already");
    stream.chunks(piece).try_for_each(|piece| store.push(piece))?;
    store.finish()
}

fn entry(kind: EntryKind, name: &str, content: &[u8]) -> Vec<u8> {
    let mode = if kind == EntryKind::Directory { 0o755 } else { 0o644 };
    let head = Head { kind, mode, name: name.len() as u16, length: content.len() as u64, time: None };
    [&head.encode()[..], name.as_bytes(), content].concat()
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn names(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into()).collect()
}

#[test]
fn a_directory_arrives_with_modes_and_links_and_empty_files() {
    let place = TempDir::new().unwrap();
    let from = place.path().join("from");
    fs::create_dir_all(from.join("a/b")).unwrap();
    fs::write(from.join("a/b/program"), "#!/bin/sh\n").unwrap();
    fs::write(from.join("empty"), "").unwrap();
    symlink("../empty", from.join("a/link")).unwrap();
    fs::set_permissions(from.join("a/b/program"), fs::Permissions::from_mode(0o4755)).unwrap();
    fs::set_permissions(from.join("a/b"), fs::Permissions::from_mode(0o555)).unwrap();
    let to = place.path().join("new/to");
    store(&stream_of(&from), &to, 7).unwrap();
    assert_eq!(fs::read(to.join("a/b/program")).unwrap(), b"#!/bin/sh\n");
    assert_eq!(fs::read(to.join("empty")).unwrap(), b"");
    assert_eq!(fs::read_link(to.join("a/link")).unwrap(), Path::new("../empty"));
    assert_eq!(mode(&to.join("a/b/program")), 0o755, "rights of the owner are not kept");
    assert_eq!(mode(&to.join("a/b")), 0o555);
    assert_eq!(names(&place.path().join("new")), [Path::new("to")]);
    assert_eq!(stream_of(&to).len(), stream_of(&from).len());
}

#[test]
fn a_stream_with_one_wrong_byte_is_refused_and_leaves_nothing() {
    let place = TempDir::new().unwrap();
    fs::write(place.path().join("from"), vec![7; 10_000]).unwrap();
    let stream = stream_of(&place.path().join("from"));
    let offer = offer(&stream, &place.path().join("to/file"));
    let mut damaged = stream.clone();
    damaged[5000] ^= 1;
    for wrong in [damaged, stream[..9999].to_vec(), [stream.clone(), vec![0]].concat()] {
        let mut store = Store::begin(&offer, HERE).unwrap().unwrap();
        let result = store.push(&wrong).and_then(|()| store.finish());
        assert!(matches!(result, Err(StoreError::Damaged(_))), "{result:?}");
        assert!(!place.path().join("to").exists(), "nor the directory that it was to go into");
    }
}

#[test]
fn names_and_links_that_lead_outside_are_refused_and_leave_nothing() {
    let place = TempDir::new().unwrap();
    let outside = place.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let top = entry(EntryKind::Directory, "", b"");
    let absolute = outside.join("x").to_str().unwrap().to_owned();
    let attacks = [
        entry(EntryKind::File, "../outside/x", b"harm"),
        entry(EntryKind::File, &absolute, b"harm"),
        entry(EntryKind::File, "a/../../outside/x", b"harm"),
        entry(EntryKind::Directory, "..", b""),
        entry(EntryKind::Link, "l", b"../outside"),
        entry(EntryKind::Link, "l", b"/etc"),
        entry(EntryKind::File, "missing/x", b"harm"),
        // Through a link that is itself allowed.
        [
            entry(EntryKind::Directory, "d", b""),
            entry(EntryKind::Link, "l", b"d"),
            entry(EntryKind::File, "l/x", b"harm"),
        ]
        .concat(),
        // Onto a link, and the same name twice.
        [entry(EntryKind::Link, "l", b"d"), entry(EntryKind::File, "l", b"harm")].concat(),
        [entry(EntryKind::File, "f", b"1"), entry(EntryKind::File, "f", b"2")].concat(),
        entry(EntryKind::Directory, "", b""),
    ];
    for attack in attacks {
        let stream = [top.clone(), attack].concat();
        store(&stream, &place.path().join("to/t"), 64).unwrap_err();
        assert!(!place.path().join("to").exists());
        assert!(names(&outside).is_empty());
    }
    store(&entry(EntryKind::Link, "", b"x"), &place.path().join("to/t"), 64).unwrap_err();
}

#[test]
fn a_file_takes_the_place_of_a_link_and_not_of_what_it_points_to() {
    let place = TempDir::new().unwrap();
    fs::write(place.path().join("precious"), "precious").unwrap();
    symlink("precious", place.path().join("to")).unwrap();
    store(&entry(EntryKind::File, "", b"new"), &place.path().join("to"), 64).unwrap();
    assert_eq!(fs::read(place.path().join("precious")).unwrap(), b"precious");
    assert_eq!(fs::read(place.path().join("to")).unwrap(), b"new");
}

#[test]
fn an_existing_directory_is_never_replaced() {
    let place = TempDir::new().unwrap();
    let to = place.path().join("to");
    fs::create_dir(&to).unwrap();
    fs::write(to.join("precious"), "precious").unwrap();
    for stream in [entry(EntryKind::Directory, "", b""), entry(EntryKind::File, "", b"x")] {
        assert!(matches!(store(&stream, &to, 64), Err(StoreError::Exists(_))));
    }
    assert_eq!(names(place.path()), [Path::new("to")]);
    assert_eq!(names(&to), [Path::new("precious")]);
}

/// A FIFO, a socket, a link to the FIFO and, where this user may make one, a device, each with its name.
fn special_things(directory: &Path) -> Vec<PathBuf> {
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, directory.join("fifo"), FileType::Fifo, mode, 0).unwrap();
    // It stays when nobody listens any more.
    drop(UnixListener::bind(directory.join("socket")).unwrap());
    symlink("fifo", directory.join("link")).unwrap();
    let null = rustix::fs::makedev(1, 3);
    let device = mknodat(CWD, directory.join("device"), FileType::CharacterDevice, mode, null);
    let made = ["fifo", "socket", "link", "device"].into_iter().take(if device.is_ok() { 4 } else { 3 });
    made.map(|name| directory.join(name)).collect()
}

fn kind(path: &Path) -> (fs::FileType, u64) {
    let about = fs::symlink_metadata(path).unwrap();
    (about.file_type(), about.ino())
}

#[test]
fn devices_and_pipes_and_sockets_are_never_replaced() {
    let place = TempDir::new().unwrap();
    let things = special_things(place.path());
    for thing in &things {
        let before = kind(thing);
        for stream in [entry(EntryKind::Directory, "", b""), entry(EntryKind::File, "", b"x")] {
            let refused = store(&stream, thing, 64);
            assert!(matches!(refused, Err(StoreError::Special { .. })), "{}: {refused:?}", thing.display());
        }
        assert_eq!(kind(thing), before);
    }
    assert_eq!(names(place.path()).len(), things.len(), "nothing else is left");
}

#[test]
fn one_that_comes_while_a_file_is_stored_is_not_replaced_either() {
    let place = TempDir::new().unwrap();
    let (stream, to) = (entry(EntryKind::File, "", b"x"), place.path().join("fifo"));
    let mut store = Store::begin(&offer(&stream, &to), HERE).unwrap().unwrap();
    special_things(place.path());
    let refused = store.push(&stream).and_then(|()| store.finish());
    assert!(matches!(refused, Err(StoreError::Special { what: Special::Fifo, .. })), "{refused:?}");
    assert!(kind(&to).0.is_fifo());
}

#[test]
fn one_in_a_directory_is_not_replaced_when_a_directory_is_put_into_that() {
    let place = TempDir::new().unwrap();
    let to = place.path().join("to");
    fs::create_dir(&to).unwrap();
    for thing in special_things(&to) {
        let (before, name) = (kind(&thing), thing.file_name().unwrap().to_str().unwrap().to_owned());
        let stream = [entry(EntryKind::Directory, "", b""), entry(EntryKind::File, &name, b"x")].concat();
        let offer = parcel_offer(&stream, &to, &format!("\0{name}"));
        let mut store = Store::begin(&offer, HERE).unwrap().unwrap();
        let refused = store.push(&stream).and_then(|()| store.finish());
        assert!(matches!(&refused, Err(StoreError::Special { path, .. }) if *path == thing), "{refused:?}");
        assert_eq!(kind(&thing), before);
    }
    assert_eq!(names(place.path()), [Path::new("to")]);
}

#[test]
fn the_cache_has_what_was_stored_and_is_refused_if_others_may_write_to_it() {
    let place = TempDir::new().unwrap();
    let cache = place.path().join("{host}");
    let chosen = Some(cache.as_os_str().as_encoded_bytes());
    let in_cache = |host| Site { cache: chosen, host, follows: true };
    let stream = entry(EntryKind::File, "", b"content");
    let offer = Offer { path: None, ..offer(&stream, Path::new("unused")) };
    let mut store = Store::begin(&offer, in_cache("n1")).unwrap().unwrap();
    store.push(&stream).unwrap();
    store.finish().unwrap();
    assert!(Store::begin(&offer, in_cache("n1")).unwrap().is_none());
    assert!(Store::begin(&offer, in_cache("n2")).unwrap().is_some());
    let stored = place.path().join("n1").join(&offer.hash);
    assert_eq!(fs::read(&stored).unwrap(), b"content");
    fs::write(&stored, "cut").unwrap();
    assert!(Store::begin(&offer, in_cache("n1")).unwrap().is_some(), "one that was cut short is not there");
    fs::set_permissions(place.path().join("n1"), fs::Permissions::from_mode(0o770)).unwrap();
    assert!(matches!(Store::begin(&offer, in_cache("n1")), Err(StoreError::Unsafe(_))));
}

#[test]
fn temporary_files_of_killed_agents_are_swept_after_a_day_and_not_before() {
    let place = TempDir::new().unwrap();
    let old = place.path().join(".banyan-old");
    let recent = place.path().join(".banyan-recent");
    fs::create_dir(&old).unwrap();
    fs::write(old.join("part"), "").unwrap();
    fs::write(&recent, "").unwrap();
    let two_days_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(48 * 60 * 60);
    fs::File::open(&old).unwrap().set_modified(two_days_ago).unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let offer = Offer { path: None, ..offer(&entry(EntryKind::File, "", b""), Path::new("unused")) };
    drop(Store::begin(&offer, Site { cache: Some(place.path().as_os_str().as_encoded_bytes()), ..HERE }).unwrap());
    assert_eq!(names(place.path()), [Path::new(".banyan-recent")]);
}

#[test]
fn more_than_there_is_space_for_is_refused_before_it_is_sent() {
    let place = TempDir::new().unwrap();
    let stream = entry(EntryKind::File, "", b"x");
    let offer = Offer { length: u64::MAX, on_disk: u64::MAX, ..offer(&stream, &place.path().join("to")) };
    let error = Store::begin(&offer, HERE).unwrap_err();
    assert!(error.to_string().contains("bytes free"), "{error}");
}

#[test]
fn links_that_leave_and_sockets_are_not_packed() {
    let place = TempDir::new().unwrap();
    symlink("/etc/passwd", place.path().join("link")).unwrap();
    let error = ParcelPacker::new(place.path()).measure().unwrap_err();
    assert!(matches!(error, StageError::Leaves { .. }), "{error}");
    fs::remove_file(place.path().join("link")).unwrap();
    let _socket = UnixListener::bind(place.path().join("socket")).unwrap();
    let error = ParcelPacker::new(place.path()).measure().unwrap_err();
    assert!(matches!(error, StageError::Kind(_)), "{error}");
}

/// The offer of a parcel with these names, for a directory.
fn parcel_offer(stream: &[u8], to: &Path, names: &str) -> Offer {
    Offer { directory: true, names: Some(names.as_bytes().to_vec()), ..offer(stream, to) }
}

/// Brings all parcels of a directory to a place; how many were lacking there, and how many there are.
fn deliver(from: &Path, to: &Path) -> (usize, usize) {
    let (mut lacking, mut all) = (0, 0);
    for parcel in Parcels::of(from, Reading::default()) {
        let parcel = parcel.unwrap();
        all += 1;
        let part = parcel.parts().unwrap().next().unwrap();
        let begun = ParcelStore::begin(&part.describe().unwrap().0, to, false, &Assembly::default()).unwrap();
        if let Wanted::Needs(mut store) = begun {
            part.pieces().for_each(|piece| store.push(&piece.unwrap()).unwrap());
            store.finish().unwrap();
            lacking += 1;
        }
    }
    (lacking, all)
}

#[test]
fn a_directory_in_parcels_is_the_same_directory_and_is_lacking_no_more() {
    let place = TempDir::new().unwrap();
    let (from, to) = (place.path().join("from"), place.path().join("to"));
    for directory in 0..4 {
        let directory = from.join(format!("{directory}/a/b"));
        fs::create_dir_all(&directory).unwrap();
        (0..500).for_each(|file| fs::write(directory.join(file.to_string()), "x").unwrap());
        fs::set_permissions(directory, fs::Permissions::from_mode(0o555)).unwrap();
    }
    symlink("0/a/b/1", from.join("link")).unwrap();
    let (lacking, all) = deliver(&from, &to);
    assert!(lacking == all && all > 1, "{lacking} of {all}");
    assert_eq!(stream_of(&to), stream_of(&from));
    assert_eq!(deliver(&from, &to).0, 0);
    fs::remove_file(to.join("link")).unwrap();
    fs::write(to.join("link"), "0/a/b/1").unwrap();
    assert_eq!(deliver(&from, &to).0, 1, "a file is no link");
    assert_eq!(stream_of(&to), stream_of(&from));
    let names = names(place.path());
    assert_eq!(names.len(), 2, "{names:?}");
}

/// The name under which the first parcel of a directory goes into what is at a path; `None`: it gets that path.
fn settled(from: &Path, name: &str, to: &Path) -> Option<Vec<u8>> {
    let parcel = Parcels::of(from, Reading::default()).next().unwrap().unwrap();
    let place = ParcelTarget { path: to.to_owned(), name: Some(name.into()), partial: false };
    let offer = parcel.parts().unwrap().next().unwrap().offer(1, &place);
    Placed::default().settle(offer, "here").name
}

#[test]
fn a_directory_goes_into_another_but_not_into_its_own_copy() {
    let place = TempDir::new().unwrap();
    let (from, to) = (place.path().join("from"), place.path().join("to"));
    fs::create_dir(&from).unwrap();
    let into = Some(b"from".to_vec());
    assert_eq!(settled(&from, "from", &to), None, "nothing is there");
    fs::create_dir(&to).unwrap();
    assert_eq!(settled(&from, "from", &to), into, "empty directories are no copies of each other");
    fs::write(from.join("a"), "1").unwrap();
    assert_eq!(settled(&from, "from", &to), into, "it is empty");
    assert_eq!(settled(&from, "to", &to), None, "it has its name");
    deliver(&from, &to);
    fs::write(to.join("else"), "else").unwrap();
    assert_eq!(settled(&from, "from", &to), None, "it has what the other has");
    fs::write(to.join("a"), "2").unwrap();
    assert_eq!(settled(&from, "from", &to), into, "it has something else");
    assert_eq!(settled(&from.join("a"), "to", &to), Some(b"to".to_vec()), "a file goes into a directory in any case");
}

#[test]
fn a_parcel_whose_names_lead_elsewhere_or_were_not_announced_is_refused() {
    let place = TempDir::new().unwrap();
    let to = place.path().join("to/t");
    let top = entry(EntryKind::Directory, "", b"");
    let stream = [top.clone(), entry(EntryKind::File, "a", b"1")].concat();
    for names in ["x", "\0../a", "\0/etc", "\0a/../b", "\0a\0"] {
        let begun = Store::begin(&parcel_offer(&stream, &to, names), HERE);
        assert!(matches!(begun, Err(StoreError::Refused(..))), "{names:?}");
    }
    for names in ["", "\0b", "\0b\0a", "\0a\0b"] {
        let mut store = Store::begin(&parcel_offer(&stream, &to, names), HERE).unwrap().unwrap();
        store.push(&stream).and_then(|()| store.finish()).unwrap_err();
    }
    assert!(!place.path().join("to").exists());
    let name = Some(b"../up".to_vec());
    let offer = Offer { name, ..parcel_offer(&stream, place.path(), "\0a") };
    assert!(matches!(Store::begin(&offer, HERE), Err(StoreError::NoPlace(_))));
}

#[test]
fn a_parcel_is_put_together_within_a_directory_whose_own_may_not_be_written_to() {
    let place = TempDir::new().unwrap();
    let (from, fixed) = (place.path().join("from"), place.path().join("fixed"));
    fs::create_dir_all(fixed.join("to")).unwrap();
    fs::create_dir(&from).unwrap();
    fs::write(from.join("a"), "1").unwrap();
    fs::set_permissions(&fixed, fs::Permissions::from_mode(0o555)).unwrap();
    deliver(&from, &fixed.join("to"));
    fs::set_permissions(&fixed, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(names(&fixed.join("to")), [Path::new("a")]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_bytes_come_nothing_is_left_of_them_and_nothing_panics(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        piece in 1usize..40,
    ) {
        let place = TempDir::new().unwrap();
        // Right but for its content: also what follows a sound beginning is hostile.
        let stream = [entry(EntryKind::Directory, "", b""), bytes].concat();
        let hash = blake3::hash(b"something else").to_hex().to_string();
        let offer = Offer { hash, ..offer(&stream, &place.path().join("to")) };
        let mut store = Store::begin(&offer, HERE).unwrap().unwrap();
        let pushed = stream.chunks(piece).try_for_each(|piece| store.push(piece));
        prop_assert!(pushed.and_then(|()| store.finish()).is_err());
        prop_assert!(names(place.path()).is_empty());
    }

    #[test]
    fn a_file_of_any_length_arrives_whatever_the_pieces(length in 0usize..100_000, piece in 1usize..50_000) {
        let place = TempDir::new().unwrap();
        let content: Vec<u8> = (0..length).map(|at| ((at * 31) >> 3) as u8).collect();
        fs::write(place.path().join("from"), &content).unwrap();
        store(&stream_of(&place.path().join("from")), &place.path().join("to"), piece).unwrap();
        prop_assert_eq!(fs::read(place.path().join("to")).unwrap(), content);
    }
}

#[test]
fn a_link_that_takes_the_place_of_a_directory_or_file_while_it_is_read_is_not_followed() {
    let place = TempDir::new().unwrap();
    let (from, secret) = (place.path().join("from"), place.path().join("secret"));
    fs::create_dir_all(from.join("a")).unwrap();
    fs::create_dir(&secret).unwrap();
    for directory in [from.join("a"), secret.clone()] {
        fs::write(directory.join("file"), directory.to_str().unwrap()).unwrap();
    }
    let parcel = Parcels::of(&from, Reading::default()).next().unwrap().unwrap();
    let part = parcel.parts().unwrap().next().unwrap();
    let read = || part.pieces().collect::<Result<Vec<_>, _>>();
    assert!(read().is_ok());
    fs::remove_file(from.join("a/file")).unwrap();
    symlink(secret.join("file"), from.join("a/file")).unwrap();
    assert!(matches!(read(), Err(StageError::Leaves { .. })));
    fs::remove_dir_all(from.join("a")).unwrap();
    symlink(&secret, from.join("a")).unwrap();
    assert!(read().is_err(), "it was read from where the link leads");
    // What is seen as a directory first, and is one no more when it is opened.
    let mut source = super::source::Source::new(&from, Links::Keep);
    assert!(matches!(source.read(Path::new("a/file")), Err(StageError::Changed(_))));
    fs::remove_file(from.join("a")).unwrap();
    symlink(secret.join("file"), from.join("a")).unwrap();
    assert!(matches!(source.read(Path::new("a")), Err(StageError::Changed(_))));
}

#[test]
fn what_a_killed_process_has_left_is_removed_and_what_is_being_worked_on_is_not() {
    let place = TempDir::new().unwrap();
    let left = [".banyan-0123456789abcdef", ".banyan-fedcba9876543210"];
    fs::write(place.path().join(left[0]), "half").unwrap();
    fs::create_dir_all(place.path().join(left[1]).join("a")).unwrap();
    let others = [".banyan-", ".banyan-0123456789abcdeg", ".banyan-notes", "x.banyan-0123456789abcdef"];
    others.iter().for_each(|name| fs::write(place.path().join(name), "").unwrap());
    let stream = entry(EntryKind::File, "", b"content");
    let mut store = Store::begin(&offer(&stream, &place.path().join("file")), HERE).unwrap().unwrap();
    store.push(&stream).unwrap();
    super::remove_leftovers_of(&place.path().join("file"));
    assert!(left.iter().all(|name| !place.path().join(name).exists()));
    assert!(others.iter().all(|name| place.path().join(name).exists()));
    store.finish().unwrap();
    assert_eq!(fs::read(place.path().join("file")).unwrap(), b"content");
    // Within a directory that was copied it is somebody's own, whatever it is called.
    fs::create_dir(place.path().join("data")).unwrap();
    let own = place.path().join("data").join(left[0]);
    fs::write(&own, "content").unwrap();
    super::remove_leftovers_of(&place.path().join("data"));
    assert!(own.exists());
}

#[test]
fn what_is_taken_for_left_over_while_it_is_made_is_made_under_another_name() {
    let place = TempDir::new().unwrap();
    let directory = fs::File::open(place.path()).unwrap();
    let first = super::leftover::temporary_name().unwrap();
    let mut name = first.clone();
    let (_file, _held) = super::leftover::make_held(directory.as_fd(), &mut name, |name| {
        let file = fs::File::create_new(place.path().join(name)).unwrap();
        if name == first {
            super::remove_leftovers(place.path());
        }
        Ok(file)
    })
    .unwrap();
    assert!(name != first && place.path().join(&name).exists());
    super::remove_leftovers(place.path());
    assert!(place.path().join(&name).exists(), "it is held");
}
