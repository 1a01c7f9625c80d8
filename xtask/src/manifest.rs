//! What the chores must know of `Cargo.toml` files: features and names of dependencies.

use std::path::Path;

use toml::de::{DeTable, DeValue};

/// The default features but those named in `without`, joined by commas as `--features` takes them.
fn default_features_without(manifest: &str, without: &[&str]) -> String {
    let manifest = parse(manifest);
    let default = table(&manifest, "features").and_then(|features| features.get("default"));
    let DeValue::Array(names) = default.map_or(&DeValue::Boolean(false), |default| default.get_ref()) else {
        return String::new();
    };
    let names = names.iter().filter_map(|name| name.get_ref().as_str());
    names.filter(|name| !without.contains(name)).collect::<Vec<_>>().join(",")
}

/// The names of the dependencies of any kind, but those that are part of this repository.
pub(crate) fn dependencies(manifest: &str) -> Vec<String> {
    const KINDS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];
    let manifest = parse(manifest);
    let targets = table(&manifest, "target");
    let targets = targets.iter().flat_map(|targets| targets.values()).filter_map(|target| target.get_ref().as_table());
    let sections = targets.chain([&manifest]).chain(table(&manifest, "workspace"));
    let names = sections.flat_map(|section| KINDS.iter().filter_map(|kind| table(section, kind)));
    let names = names.flat_map(|names| names.keys()).map(|name| name.get_ref().to_string());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with("banyan")).collect();
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

/// A manifest that Cargo has read already, since this program was built with it.
pub(crate) fn parse(manifest: &str) -> DeTable<'_> {
    DeTable::parse(manifest).map(toml::Spanned::into_inner).unwrap_or_default()
}

/// A table in another one.
pub(crate) fn table<'a>(within: &'a DeTable<'a>, name: &str) -> Option<&'a DeTable<'a>> {
    within.get(name)?.get_ref().as_table()
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
