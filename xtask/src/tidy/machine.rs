//! A rule for every file: nothing in it is about the machine it was written on.

use super::File;

/// Beginnings of somebody's own directories. In two halves each, or this file would break its own rule.
const HOMES: &[&str] = &[concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/")];

/// Where the packages of everybody come from; any other registry is somebody's own.
const PUBLIC_REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Signs of somebody's own registry.
const REGISTRIES: &[&str] =
    &[concat!("spar", "se+"), concat!("replace-", "with"), concat!("index-", "url"), concat!("arti", "factory")];

pub(super) fn check(file: &File, broken: &mut Vec<String>) {
    for (number, line) in file.lines() {
        let mut wrong = |what: &str| broken.push(format!("{}:{number}: {what}", file.path));
        if HOMES.iter().any(|home| names_a_home(line, home)) {
            wrong("the path of a home directory");
        }
        let foreign = line.contains(concat!("\"regis", "try+")) && !line.contains(PUBLIC_REGISTRY);
        if foreign || REGISTRIES.iter().any(|sign| line.contains(sign)) {
            wrong("a package registry other than the public one");
        }
    }
}

/// Whether a path in the line begins with `home`, and does not just contain it further down.
fn names_a_home(line: &str, home: &str) -> bool {
    let begins = |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-*>}".contains(c));
    line.match_indices(home).any(|(at, _)| begins(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken_by(line: &str) -> usize {
        let mut broken = Vec::new();
        check(&File { path: "a".into(), text: line.into() }, &mut broken);
        broken.len()
    }

    #[test]
    fn home_directories_are_named() {
        for home in HOMES {
            assert_eq!(broken_by(&format!("see {home}ann/notes")), 1);
            assert_eq!(broken_by(&format!("see docs{home}ann")), 0);
        }
    }

    #[test]
    fn other_registries_are_named() {
        assert_eq!(broken_by(&format!("source = \"{PUBLIC_REGISTRY}\"")), 0);
        assert_eq!(broken_by(concat!("source = \"regis", "try+https://example.org/index\"")), 1);
        assert_eq!(broken_by(concat!("source = \"spar", "se+https://example.org/index/\"")), 1);
    }
}
