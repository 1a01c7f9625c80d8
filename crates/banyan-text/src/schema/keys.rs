//! What definitions are called within a schema: plain names, all different, that need no quoting anywhere.

use std::collections::{HashMap, HashSet};

use banyan_ndr::{DefId, Format};

/// One key for each definition of a format, in their order. The definition's own name is kept where it is plain.
pub(super) fn keys(format: &Format) -> Vec<String> {
    let mut taken = HashSet::new();
    // By name, the next number to try: many definitions may have one name.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let plain = format.definitions().iter().map(|definition| plain(definition.name()));
    plain
        .map(|plain| {
            if taken.insert(plain.clone()) {
                return plain;
            }
            let next = numbers.entry(plain.clone()).or_insert(2);
            let mut candidates = std::iter::from_fn(|| {
                *next += 1;
                Some(format!("{plain}_{}", *next - 1))
            });
            candidates.find(|key| taken.insert(key.clone())).expect("there are numbers enough")
        })
        .collect()
}

/// The definition that each key of a schema stands for. Of two equal keys the first counts.
pub(super) fn numbered(keys: &[String]) -> HashMap<&str, DefId> {
    let mut numbered = HashMap::new();
    for (key, number) in keys.iter().zip(0..=u16::MAX) {
        numbered.entry(key.as_str()).or_insert(DefId(number));
    }
    numbered
}

fn plain(name: &str) -> String {
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let prefix = if begins { "" } else { "_" };
    prefix.chars().chain(name.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '_' })).collect()
}
