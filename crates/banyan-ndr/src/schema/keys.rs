//! What definitions are called within a schema: plain names, all different, that need no quoting anywhere.

use std::collections::HashSet;

use crate::Format;

/// One key for each definition of a format, in their order. The definition's own name is kept where it is plain.
pub(super) fn keys(format: &Format) -> Vec<String> {
    let mut taken = HashSet::new();
    let plain = format.definitions().iter().map(|definition| plain(definition.name()));
    plain
        .map(|plain| {
            let numbered = (2..).map(|number| format!("{plain}_{number}"));
            let mut candidates = std::iter::once(plain.clone()).chain(numbered);
            candidates.find(|key| taken.insert(key.clone())).expect("there are numbers enough")
        })
        .collect()
}

fn plain(name: &str) -> String {
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let prefix = if begins { "" } else { "_" };
    prefix.chars().chain(name.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '_' })).collect()
}
