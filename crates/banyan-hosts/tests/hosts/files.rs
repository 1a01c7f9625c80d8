//! Host files.

use std::fs;
use std::path::PathBuf;

use banyan_hosts::{HostSet, HostSetError};

struct HostFile {
    path: PathBuf,
    /// Removes the file at the end of the test.
    _directory: tempfile::TempDir,
}

fn file(content: impl AsRef<[u8]>) -> HostFile {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hosts.txt");
    fs::write(&path, content).unwrap();
    HostFile { path, _directory: directory }
}

fn read(content: impl AsRef<[u8]>) -> Result<HostSet, HostSetError> {
    HostSet::from_file(&file(content).path)
}

#[test]
fn a_file_holds_sets_lines_and_comments() {
    let hosts = read("# the cluster\nn[1-2] gpu1,gpu2 # and the rest:\n\n  login\n#n9").unwrap();
    assert_eq!(hosts.iter().collect::<Vec<_>>(), ["n1", "n2", "gpu1", "gpu2", "login"]);
}

#[test]
fn a_line_that_begins_with_an_exclamation_mark_leaves_hosts_out() {
    assert_eq!(read("n[1-9]\nm1\n!n[2-9] # broken\n").unwrap().to_string(), "m1,n1");
}

#[test]
fn files_of_other_systems_are_read() {
    assert_eq!(read("\u{feff}a\r\nb\r\n").unwrap().to_string(), "a,b");
}

#[test]
fn an_error_names_the_file_the_line_and_the_column() {
    let file = file("a\n# fine\nn[1-2] b;c\n");
    let error = HostSet::from_file(&file.path).unwrap_err().to_string();
    assert!(error.contains("hosts.txt, line 3, column 9: "), "{error}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = HostSet::from_file("no/such/hosts.txt").unwrap_err();
    assert!(matches!(error, HostSetError::File { .. }));
    assert!(error.to_string().contains("no/such/hosts.txt"), "{error}");
    assert!(matches!(read(b"a\xff").unwrap_err(), HostSetError::File { .. }));
}

#[test]
fn a_file_without_end_is_refused() {
    assert!(matches!(HostSet::from_file("/dev/zero").unwrap_err(), HostSetError::FileTooLong { .. }));
}
