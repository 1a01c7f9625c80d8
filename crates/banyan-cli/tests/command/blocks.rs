//! The fenced blocks of chapters.

use std::fs;
use std::path::{Path, PathBuf};

/// Where chapters lie.
pub(crate) fn book() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn text(chapter: &str) -> String {
    fs::read_to_string(book().join(chapter)).expect("the chapter")
}

/// How many outputs a chapter shows.
pub(crate) fn outputs(chapter: &str) -> usize {
    let text = text(chapter);
    ["\n```text\n", "\n```json\n"].map(|fence| text.matches(fence).count()).iter().sum()
}

/// The block of a chapter that begins so, which is in the list of those that are compared.
pub(crate) fn listed_block(list: &[(&str, &[&str])], chapter: &str, language: &str, beginning: &str) -> String {
    assert!(list.iter().any(|it| it.0 == chapter && it.1.contains(&beginning)), "{beginning} is in no list");
    found(chapter, language, beginning)
}

/// The same for what is no output.
pub(crate) fn found(chapter: &str, language: &str, beginning: &str) -> String {
    let text = text(chapter);
    let fence = format!("\n```{language}\n");
    let blocks = text.split(&fence).skip(1).filter_map(|rest| rest.split("```\n").next());
    let mut found = blocks.filter(|block| block.starts_with(beginning));
    let block = found.next().unwrap_or_else(|| panic!("{chapter} has no block that begins with: {beginning}"));
    assert!(found.next().is_none(), "{chapter} has several blocks that begin with: {beginning}");
    block.to_owned()
}
