//! The little that the chores must know of `Cargo.toml` files: features and names of dependencies.
//!
//! Understands the plain layout used in this repository (one entry a line, lists on one line or several), no more.

use std::path::Path;

/// The lines of a manifest's sections, each with the section's name.
fn entries(manifest: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut section = "";
    manifest.lines().filter_map(move |line| {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = name.trim_matches(['[', ']']);
            return None;
        }
        (!line.is_empty() && !line.starts_with('#')).then_some((section, line))
    })
}

/// The default features but those named in `without`, joined by commas as `--features` takes them.
pub(crate) fn default_features_without(manifest: &str, without: &[&str]) -> String {
    let list = manifest.split_once("\n[features]").and_then(|(_, features)| features.split_once("\ndefault = ["));
    let list = list.and_then(|(_, list)| list.split_once(']')).map_or("", |(list, _)| list);
    let names = list.split(',').map(|name| name.trim().trim_matches('"')).filter(|name| !name.is_empty());
    names.filter(|name| !without.contains(name)).collect::<Vec<_>>().join(",")
}

/// The names of the dependencies of any kind, but those that are part of this repository.
pub(crate) fn dependencies(manifest: &str) -> Vec<&str> {
    let mut names: Vec<&str> = entries(manifest)
        .filter_map(|(section, line)| {
            if let Some((_, name)) = section.rsplit_once("dependencies.") {
                return Some(name);
            }
            let name = line.split(['=', '.', ' ']).next()?;
            section.ends_with("dependencies").then_some(name)
        })
        .filter(|name| !name.starts_with("banyan"))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The arguments that choose `banyan-ndr` as it is without generated code.
pub(crate) fn without_jit(root: &Path) -> Vec<String> {
    let manifest = std::fs::read_to_string(root.join("crates/banyan-ndr/Cargo.toml")).unwrap_or_default();
    let features = default_features_without(&manifest, &["jit"]);
    vec!["--no-default-features".to_owned(), "--features".to_owned(), features]
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "\
[package]
name = \"sample\"

[features]
default = [
    \"derive\", \"jit\",
    \"json\"
]
jit = [\"dep:engine\"]

[dependencies]
banyan-ndr.workspace = true
engine = { version = \"1.0\", optional = true }
hash.workspace = true

[dependencies.table]
version = \"1\"

[target.'cfg(unix)'.dependencies]
system = \"2.0\"

[dev-dependencies]
# not = \"this\"
checks = \"0.1\"
";

    #[test]
    fn features_but_some_are_listed() {
        assert_eq!(default_features_without(MANIFEST, &["jit"]), "derive,json");
        assert_eq!(default_features_without("[package]\n", &["jit"]), "");
    }

    #[test]
    fn dependencies_of_every_kind_are_listed_once() {
        assert_eq!(dependencies(MANIFEST), ["checks", "engine", "hash", "system", "table"]);
    }
}
