//! Rules for packages: whatever lies in `crates` can be published.
//!
//! What crates.io asks for is there, and so is what users look for there. Whether a package builds without the repository
//! around it is not checked: `cargo package --workspace --exclude xtask` does that, in the time of a whole build.

use toml::de::{DeTable, DeValue};

use super::{File, Repository};
use crate::manifest::{parse, table};

/// Where published packages are.
const PACKAGES: &str = "crates/";

/// Where dependencies are listed that several packages have.
const WORKSPACE: &str = "Cargo.toml";

/// What everyone gets a copy of. Links to the files at the top will do: a package has their contents.
const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// What crates.io takes at most: keywords or categories of a package, and letters of a keyword.
const MOST_WORDS: usize = 5;
const KEYWORD_LETTERS: usize = 20;

/// All that keeps packages from being published.
pub(super) fn check(repository: &Repository, broken: &mut Vec<String>) {
    for file in &repository.files {
        let Some((directory, "Cargo.toml")) = file.path.rsplit_once('/') else { continue };
        if directory.strip_prefix(PACKAGES).is_some_and(|name| !name.contains('/')) {
            let wrong = |what: String| format!("{}: {what}", file.path);
            broken.extend(missing_facts(repository, directory, file).into_iter().map(wrong));
            broken.extend(bare_paths(&parse(&file.text)).into_iter().map(wrong));
        }
    }
    if let Some(workspace) = repository.file(WORKSPACE) {
        let manifest = parse(&workspace.text);
        let shared = table(&manifest, "workspace").map(bare_paths);
        broken.extend(shared.into_iter().flatten().map(|what| format!("{WORKSPACE}: {what}")));
    }
}

/// What the section `package` and the directory lack.
fn missing_facts(repository: &Repository, directory: &str, file: &File) -> Vec<String> {
    let manifest = parse(&file.text);
    let Some(package) = table(&manifest, "package") else { return vec!["has no section `package`".into()] };
    let mut missing = Vec::new();
    for fact in ["description", "license", "readme"] {
        if !package.contains_key(fact) {
            missing.push(format!("has no `{fact}`, without which a package is not published"));
        }
    }
    for fact in ["keywords", "categories"] {
        let words = words(package, fact);
        if words.is_empty() || words.len() > MOST_WORDS {
            missing.push(format!("has {} `{fact}`; from 1 to {MOST_WORDS} is what crates.io takes", words.len()));
        }
    }
    for word in words(package, "keywords").into_iter().filter(|word| word.len() > KEYWORD_LETTERS) {
        missing.push(format!("the keyword {word} has more than {KEYWORD_LETTERS} letters"));
    }
    let readme = package.get("readme").and_then(|readme| readme.get_ref().as_str());
    for name in LICENCES.into_iter().chain(readme) {
        if !repository.paths.contains(&format!("{directory}/{name}")) {
            missing.push(format!("there is no {name} beside it"));
        }
    }
    missing
}

fn words<'a>(package: &'a DeTable<'a>, fact: &str) -> Vec<&'a str> {
    let Some(DeValue::Array(words)) = package.get(fact).map(|words| words.get_ref()) else { return Vec::new() };
    words.iter().filter_map(|word| word.get_ref().as_str()).collect()
}

/// Dependencies by path alone: who gets the package has no such path. Those of tests are left out of it.
fn bare_paths(section: &DeTable<'_>) -> Vec<String> {
    let kinds = ["dependencies", "build-dependencies"].into_iter().filter_map(|kind| table(section, kind));
    let bare = |name: &str| format!("the dependency {name} has a path and no version");
    let is_bare = |value: &DeTable<'_>| value.contains_key("path") && !value.contains_key("version");
    let all = kinds.flat_map(|kind| kind.iter());
    all.filter(|(_, value)| value.get_ref().as_table().is_some_and(is_bare))
        .map(|(name, _)| bare(name.get_ref()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPLETE: &str = "[package]\ndescription = \"a\"\nlicense.workspace = true\nreadme = \"README.md\"\n\
                            keywords = [\"tree\"]\ncategories = [\"concurrency\"]\n\
                            [dependencies]\nb = { path = \"../b\", version = \"0.1.0\" }\n\
                            [dev-dependencies]\nc = { path = \"../c\" }\n";

    fn broken(manifest: &str, others: &[&'static str]) -> Vec<String> {
        let mut files = vec![("crates/a/Cargo.toml", manifest)];
        files.extend(others.iter().map(|path| (*path, "")));
        let mut broken = Vec::new();
        check(&Repository::of(&files), &mut broken);
        broken
    }

    const BESIDE: [&str; 3] = ["crates/a/README.md", "crates/a/LICENSE-MIT", "crates/a/LICENSE-APACHE"];

    #[test]
    fn a_package_with_all_that_is_asked_for_is_fine() {
        assert_eq!(broken(COMPLETE, &BESIDE), [""; 0]);
    }

    #[test]
    fn what_a_package_lacks_is_named() {
        let manifest =
            "[package]\ndescription = \"a\"\nlicense = \"MIT\"\nkeywords = [\"far-too-long-for-a-keyword\"]\n";
        let expected = [
            "crates/a/Cargo.toml: has no `readme`, without which a package is not published",
            "crates/a/Cargo.toml: has 0 `categories`; from 1 to 5 is what crates.io takes",
            "crates/a/Cargo.toml: the keyword far-too-long-for-a-keyword has more than 20 letters",
            "crates/a/Cargo.toml: there is no LICENSE-APACHE beside it",
        ];
        assert_eq!(broken(manifest, &BESIDE[..2]), expected);
    }

    #[test]
    fn a_dependency_that_only_this_repository_has_is_named() {
        let manifest = COMPLETE.replace(", version = \"0.1.0\"", "");
        let expected = ["crates/a/Cargo.toml: the dependency b has a path and no version"];
        assert_eq!(broken(&manifest, &BESIDE), expected);
    }
}
