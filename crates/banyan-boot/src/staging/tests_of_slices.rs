//! Large files in slices: what was cut goes on, what is damaged is noticed, what is hostile is not touched.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::TempDir;

use super::parcel::Parcel;
use super::part::SLICE_BYTES;
use super::partial::{EXPIRY, PARTIAL, partial_name};
use super::{Assembly, ParcelError, ParcelStore, Parcels, Reading, Wanted};

/// Three slices, of which the last is short.
const LENGTH: u64 = 2 * SLICE_BYTES + 12_345;

/// A place with a large file `from/deep/large`, each of whose slices is different.
fn with_large_file() -> (TempDir, PathBuf) {
    let place = TempDir::new().unwrap();
    let path = place.path().join("from/deep/large");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = fs::File::create(&path).unwrap();
    file.set_len(LENGTH).unwrap();
    (0..LENGTH).step_by(1 << 20).for_each(|at| file.write_all_at(&at.to_le_bytes(), at).unwrap());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    (place, path)
}

fn large_parcel(from: &Path) -> Parcel {
    Parcels::of(from, Reading::default()).map(Result::unwrap).find(Parcel::is_large).expect("one is large")
}

/// Sends parts until so many bytes of contents were sent, or all; how many bytes of contents were.
fn send(parcel: &Parcel, to: &Path, keep: bool, most: u64) -> Result<u64, ParcelError> {
    let (assembly, mut sent) = (Assembly::default(), 0);
    for part in parcel.parts().unwrap() {
        match ParcelStore::begin(&part.describe().unwrap().0, to, keep, &assembly)? {
            Wanted::Had if part.is_question() => break,
            Wanted::Had | Wanted::Lacks => {}
            Wanted::Needs(mut store) => {
                for piece in part.pieces() {
                    store.push(&piece.unwrap())?;
                    sent += if part.bytes() > 0 { super::PIECE as u64 } else { 0 };
                    if sent >= most {
                        return Ok(sent);
                    }
                }
                store.finish()?;
            }
        }
    }
    Ok(sent)
}

/// Bytes of the pieces of the slices with these numbers.
fn bytes_of(slices: &[u64]) -> u64 {
    let piece = super::PIECE as u64;
    slices.iter().map(|slice| (LENGTH - slice * SLICE_BYTES).min(SLICE_BYTES).div_ceil(piece) * piece).sum()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn partial_of(to: &Path) -> PathBuf {
    to.with_file_name(partial_name("{host}", to, Path::new("")))
}

#[test]
fn directories_that_were_made_for_what_did_not_come_go_and_others_stay() {
    let (place, large) = with_large_file();
    fs::create_dir(place.path().join("there")).unwrap();
    for most in [0, 1, bytes_of(&[0]) + 1] {
        send(&large_parcel(&large), &place.path().join("there/new/deeper/file"), false, most).unwrap();
        assert_eq!(names(&place.path().join("there")), Vec::<String>::new());
    }
    let kept = place.path().join("there/new/file");
    send(&large_parcel(&large), &kept, true, 1).unwrap();
    assert_eq!(names(kept.parent().unwrap()).len(), 1, "where something is kept, it has its directory");
    send(&large_parcel(&large), &place.path().join("there/whole/file"), false, u64::MAX).unwrap();
    assert_eq!(names(&place.path().join("there/whole")), ["file"]);
}

#[test]
fn a_large_file_arrives_alone_and_within_a_directory_and_is_lacking_no_more() {
    let (place, large) = with_large_file();
    fs::set_permissions(large.parent().unwrap(), fs::Permissions::from_mode(0o555)).unwrap();
    for (from, file) in [(large.clone(), "a/file"), (place.path().join("from"), "a/dir")] {
        let to = place.path().join(file);
        let parcel = large_parcel(&from);
        assert_eq!(send(&parcel, &to, false, u64::MAX), Ok(bytes_of(&[0, 1, 2])));
        let there = if from == large { to.clone() } else { to.join("deep/large") };
        assert!(fs::read(&there).unwrap() == fs::read(&large).unwrap());
        assert_eq!(fs::metadata(&there).unwrap().permissions().mode() & 0o7777, 0o751);
        assert_eq!(send(&parcel, &to, false, u64::MAX), Ok(0), "it is there");
    }
    assert_eq!(fs::metadata(place.path().join("a/dir/deep")).unwrap().permissions().mode() & 0o777, 0o555);
    assert_eq!(names(&place.path().join("a")), ["dir", "file"]);
}

#[test]
fn what_was_cut_goes_on_with_the_first_slice_that_is_not_complete() {
    let (place, large) = with_large_file();
    let to = place.path().join("a/file");
    let parcel = large_parcel(&large);
    send(&parcel, &to, true, SLICE_BYTES + (1 << 20)).unwrap();
    assert_eq!(names(&place.path().join("a")), [partial_of(&to).file_name().unwrap().to_str().unwrap()]);
    // Also without the wish to keep it: then it is gone if it is cut once more.
    assert_eq!(send(&parcel, &to, false, u64::MAX), Ok(bytes_of(&[1, 2])));
    assert!(fs::read(&to).unwrap() == fs::read(&large).unwrap());
    assert_eq!(names(&place.path().join("a")), ["file"]);
}

#[test]
fn what_was_cut_leaves_nothing_unless_it_is_to_be_kept() {
    let (place, large) = with_large_file();
    let to = place.path().join("a/file");
    let parcel = large_parcel(&large);
    send(&parcel, &to, false, SLICE_BYTES + (1 << 20)).unwrap();
    assert!(names(&place.path().join("a")).is_empty());
    send(&parcel, &to, true, SLICE_BYTES + (1 << 20)).unwrap();
    send(&parcel, &to, false, 1).unwrap();
    assert!(names(&place.path().join("a")).is_empty(), "who went on with it did not want to keep it");
}

#[test]
fn slices_that_were_damaged_since_are_sent_again_and_only_they() {
    let (place, large) = with_large_file();
    let to = place.path().join("a/file");
    let parcel = large_parcel(&large);
    send(&parcel, &to, true, bytes_of(&[0, 1, 2]) - 1).unwrap();
    let partial = partial_of(&to);
    let file = fs::OpenOptions::new().write(true).open(&partial).unwrap();
    file.write_all_at(b"damage", 1000).unwrap();
    // Longer than the whole file, too.
    file.set_len(LENGTH + 100).unwrap();
    // All of the last slice was written, though nobody had said that it was all: its hash says so.
    assert_eq!(send(&parcel, &to, true, u64::MAX), Ok(bytes_of(&[0])));
    assert!(fs::read(&to).unwrap() == fs::read(&large).unwrap());
}

#[test]
fn a_slice_that_is_not_what_was_announced_is_refused() {
    let (place, large) = with_large_file();
    let to = place.path().join("a/file");
    let parcel = large_parcel(&large);
    let assembly = Assembly::default();
    let parts: Vec<_> = parcel.parts().unwrap().collect();
    let begin = |part: usize| ParcelStore::begin(&parts[part].describe().unwrap().0, &to, false, &assembly);
    assert!(begin(1).unwrap_err().to_string().contains("not asked for"));
    assert!(matches!(begin(0), Ok(Wanted::Lacks)));
    assert!(begin(2).unwrap_err().to_string().contains("out of turn"));
    assert!(begin(1).unwrap_err().to_string().contains("given up"), "after that nothing comes of it");
    assert!(matches!(begin(0), Ok(Wanted::Lacks)));
    assert!(begin(4).unwrap_err().to_string().contains("some of it is missing"));
    assert!(matches!(begin(0), Ok(Wanted::Lacks)));
    let Ok(Wanted::Needs(mut store)) = begin(1) else { panic!("it is lacking") };
    parts[2].pieces().for_each(|piece| store.push(&piece.unwrap()).unwrap());
    assert!(store.finish().unwrap_err().to_string().contains("its hash is wrong"));
    assert!(begin(4).is_err());
    assert!(names(&place.path().join("a")).is_empty());
}

/// What is put where a kept file would be: in words, and how.
type Trap<'a> = (&'static str, &'a dyn Fn(&Path));

#[test]
fn a_hostile_file_under_the_name_of_a_kept_one_is_not_touched() {
    let (place, large) = with_large_file();
    let parcel = large_parcel(&large);
    let precious = place.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    fs::set_permissions(&precious, fs::Permissions::from_mode(0o600)).unwrap();
    let traps: [Trap<'_>; 5] = [
        ("a link", &|at| symlink(&precious, at).unwrap()),
        ("another name of a file", &|at| fs::hard_link(&precious, at).unwrap()),
        ("a directory", &|at| fs::create_dir(at).unwrap()),
        ("a file that others may write to", &|at| {
            fs::copy(&large, at).unwrap();
            fs::set_permissions(at, fs::Permissions::from_mode(0o622)).unwrap();
        }),
        ("a pipe", &|at| {
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            rustix::fs::mknodat(rustix::fs::CWD, at, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        }),
    ];
    for (number, (what, set)) in traps.iter().enumerate() {
        let to = place.path().join(format!("{number}/file"));
        fs::create_dir(to.parent().unwrap()).unwrap();
        set(&partial_of(&to));
        let before = fs::symlink_metadata(partial_of(&to)).unwrap();
        assert_eq!(send(&parcel, &to, true, u64::MAX), Ok(bytes_of(&[0, 1, 2])), "{what}");
        assert!(fs::read(&to).unwrap() == fs::read(&large).unwrap(), "{what}");
        let after = fs::symlink_metadata(partial_of(&to)).unwrap();
        assert_eq!((before.file_type(), before.len()), (after.file_type(), after.len()), "{what}");
    }
    assert_eq!(fs::read(&precious).unwrap(), b"precious");
}

#[test]
fn a_file_of_somebody_else_is_not_gone_on_with() {
    let (place, large) = with_large_file();
    let to = place.path().join("a/file");
    fs::create_dir(place.path().join("a")).unwrap();
    fs::copy(&large, partial_of(&to)).unwrap();
    fs::set_permissions(partial_of(&to), fs::Permissions::from_mode(0o600)).unwrap();
    // Only root can give files away; others cannot get into this situation here.
    if std::os::unix::fs::chown(partial_of(&to), Some(12_345), None).is_err() {
        return;
    }
    assert_eq!(send(&large_parcel(&large), &to, true, u64::MAX), Ok(bytes_of(&[0, 1, 2])));
}

#[test]
fn one_who_works_on_a_kept_file_is_not_disturbed() {
    let (place, large) = with_large_file();
    let to = place.path().join("a/file");
    let parcel = large_parcel(&large);
    let question = parcel.parts().unwrap().next().unwrap().describe().unwrap().0;
    let assembly = Assembly::default();
    assert!(matches!(ParcelStore::begin(&question, &to, true, &assembly), Ok(Wanted::Lacks)));
    assert_eq!(send(&parcel, &to, true, u64::MAX), Ok(bytes_of(&[0, 1, 2])));
    assert!(partial_of(&to).exists(), "it belongs to the other");
}

#[test]
fn kept_files_are_removed_when_they_are_old_and_not_before() {
    let (place, large) = with_large_file();
    let to = place.path().join("a/file");
    fs::create_dir(place.path().join("a")).unwrap();
    let old = [format!("{PARTIAL}0123456789abcdef"), format!("{PARTIAL}notes")];
    let recent = format!("{PARTIAL}fedcba9876543210");
    for name in old.iter().chain([&recent]) {
        let file = fs::File::create(place.path().join("a").join(name)).unwrap();
        file.set_permissions(fs::Permissions::from_mode(0o600)).unwrap();
        if *name != recent {
            file.set_modified(SystemTime::now() - 2 * EXPIRY).unwrap();
        }
    }
    send(&large_parcel(&large), &to, false, u64::MAX).unwrap();
    assert_eq!(names(&place.path().join("a")), [recent, old[1].clone(), "file".to_owned()]);
}

#[test]
fn a_directory_that_begins_with_a_large_file_is_not_there_before_that_is() {
    let (place, _large) = with_large_file();
    let parcel = Parcels::of(&place.path().join("from"), Reading::default()).next().unwrap().unwrap();
    assert!(parcel.is_large(), "an empty directory would not say whose copy it is");
    send(&parcel, &place.path().join("a/to"), false, SLICE_BYTES).unwrap();
    assert!(!place.path().join("a/to").exists());
}
