//! Types of one crate have names of their own, so that who searches for a name finds one type.
//!
//! Only types at the top of a module of `src` count. Tests may have a `Member` each.

use std::collections::BTreeMap;

use super::Repository;

/// Types that have one name all the same, by crate, and why.
const EXCEPTIONS: &[(&str, &[&str], &str)] = &[
    ("banyan-files", &["Reader"], "each is public, in a module that says what it reads"),
    ("banyan-ndr", &["Code", "Vectors", "Wide"], "one for each processor, of which one is compiled"),
    ("banyan-query", &["Compiled", "Fields", "Outcome", "Output"], "selectors have parts that queries have as well"),
    ("banyan-sensor", &["Found", "Segment"], "what a program writes and what an observer reads"),
];

const KEYWORDS: [&str; 5] = ["struct", "enum", "trait", "union", "type"];

pub(super) fn check(repository: &Repository, broken: &mut Vec<String>) {
    let mut known: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for file in repository.files.iter().filter(|file| file.is("rs")) {
        let Some(of) = crate_of(&file.path) else { continue };
        for (number, line) in file.lines() {
            let Some(name) = type_of(line) else { continue };
            match known.get(&(of, name)) {
                Some(other) if *other != file.path && !is_exception(of, name) => broken.push(format!(
                    "{}:{number}: {other} has a type {name}, too; give it a name that says what it is",
                    file.path
                )),
                Some(_) => {}
                None => _ = known.insert((of, name), &file.path),
            }
        }
    }
}

fn is_exception(of: &str, name: &str) -> bool {
    EXCEPTIONS.iter().any(|(known, names, _)| *known == of && names.contains(&name))
}

/// The crate that a source file belongs to.
fn crate_of(path: &str) -> Option<&str> {
    let (of, rest) = match path.strip_prefix("crates/") {
        Some(rest) => rest.split_once("/src/")?,
        None => ("xtask", path.strip_prefix("xtask/src/")?),
    };
    let is_test = rest.split('/').any(|part| part == "tests" || part == "tests.rs");
    (!of.contains('/') && !is_test).then_some(of)
}

/// The name of the type that a line begins, at the top of a module.
fn type_of(line: &str) -> Option<&str> {
    let code = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.strip_prefix(' ')?,
        None => line,
    };
    let (keyword, rest) = code.split_once(' ')?;
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    KEYWORDS.contains(&keyword).then_some(name).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken_by(files: &[(&str, &str)]) -> Vec<String> {
        let mut broken = Vec::new();
        check(&Repository::of(files), &mut broken);
        broken
    }

    #[test]
    fn two_types_of_one_crate_have_two_names() {
        let broken = broken_by(&[
            ("crates/a/src/one.rs", "//! One.\n\npub(in super::super) struct Place {\n}\n"),
            ("crates/a/src/two.rs", "//! Two.\n\nenum Place<T> {\n}\n"),
        ]);
        assert_eq!(
            broken,
            ["crates/a/src/two.rs:3: crates/a/src/one.rs has a type Place, too; give it a name that says what it is"]
        );
    }

    #[test]
    fn types_of_other_crates_of_tests_and_within_functions_may_have_the_same() {
        let one = "//! One.\n\npub struct Place;\n";
        let elsewhere =
            ["crates/b/src/lib.rs", "crates/a/src/two/tests.rs", "crates/a/tests/main.rs", "xtask/src/x.rs"];
        for path in elsewhere {
            assert_eq!(broken_by(&[("crates/a/src/one.rs", one), (path, one)]), [""; 0], "{path}");
        }
        let within = "//! Two.\n\nfn f() {\n    struct Place;\n}\n// struct Place\n";
        assert_eq!(broken_by(&[("crates/a/src/one.rs", one), ("crates/a/src/two.rs", within)]), [""; 0]);
    }
}
