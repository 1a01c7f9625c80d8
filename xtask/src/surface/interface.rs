//! The interfaces as they are: from the JSON that rustdoc writes, by crate `public-api`.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use crate::install;
use crate::report::Problem;
use crate::run::Runner;
use crate::steps::{EVERYTHING, nightly_cargo};

/// What is published is in this directory.
const CRATES: &str = "crates";

/// Below the top of the repository; other builds have other flags.
const TARGET: &str = "target/surface";

/// What the compiler adds to a derived `PartialEq`, for itself.
const COMPILERS_OWN: &str = "StructuralPartialEq";

/// The public interface of a crate.
pub(super) struct Interface {
    /// The name of its package.
    pub(super) package: String,
    /// Its items, a line each.
    pub(super) text: String,
}

/// The interfaces of all published crates, with all their features.
pub(super) fn all(runner: Runner, root: &Path) -> Result<Vec<Interface>, Problem> {
    install::nightly(runner)?;
    let mut build = nightly_cargo(["doc", "--no-deps", "--lib", "--exclude", "xtask", "--target-dir", TARGET]);
    build.args(EVERYTHING).env("RUSTDOCFLAGS", "-Zunstable-options --output-format json").current_dir(root);
    runner.run(&mut build)?;
    packages(root)?.into_iter().map(|package| read(root, package)).collect()
}

fn packages(root: &Path) -> Result<Vec<String>, Problem> {
    let failed = |error: std::io::Error| Problem::Failed(format!("{CRATES}: {error}"));
    let entries = fs::read_dir(root.join(CRATES)).map_err(failed)?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    names.sort_unstable();
    Ok(names)
}

fn read(root: &Path, package: String) -> Result<Interface, Problem> {
    let path = root.join(TARGET).join("doc").join(format!("{}.json", package.replace('-', "_")));
    match items(&path) {
        Ok(text) => Ok(Interface { package, text }),
        Err(error) => Err(unreadable(&path, &error)),
    }
}

/// The items that a JSON file has, a line each. Of a derived trait there is the line `impl`, and none for its functions.
fn items(path: &Path) -> Result<String, public_api::Error> {
    let build = |without_derived: bool| {
        let builder = public_api::Builder::from_rustdoc_json(path).omit_blanket_impls(true).omit_auto_trait_impls(true);
        builder.omit_auto_derived_impls(without_derived).build()
    };
    let (written, all) = (build(true)?, build(false)?);
    let written: HashSet<_> = written.items().map(|item| item.id()).collect();
    let lines = all.items().filter_map(|item| {
        let line = item.to_string();
        let is_derived_trait = line.starts_with("impl") && !line.contains(COMPILERS_OWN);
        (written.contains(&item.id()) || is_derived_trait).then_some(line + "\n")
    });
    Ok(lines.collect())
}

/// Rustdoc's JSON changes from time to time, and `public-api` reads only the one that it was written for.
fn unreadable(path: &Path, error: &public_api::Error) -> Problem {
    Problem::LeftOut(format!(
        "{}: {error}; the nightly tool-chain and the version of public-api in xtask/Cargo.toml do not fit together",
        path.display()
    ))
}
