//! Which items two interfaces do not share.

use std::collections::BTreeSet;

/// The lines of `old` that `new` lacks, behind a `-`, then the other way round, behind a `+`. Their order does not matter.
pub(super) fn difference(old: &str, new: &str) -> Vec<String> {
    let (old, new): (BTreeSet<&str>, BTreeSet<&str>) = (old.lines().collect(), new.lines().collect());
    let removed = old.difference(&new).map(|line| format!("- {line}"));
    let added = new.difference(&old).map(|line| format!("+ {line}"));
    removed.chain(added).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_that_only_one_interface_has_are_shown() {
        let old = "pub fn a::one()\npub fn a::two()\n";
        let new = "pub fn a::one()\npub fn a::two(u8)\n";
        assert_eq!(difference(old, new), ["- pub fn a::two()", "+ pub fn a::two(u8)"]);
        assert_eq!(difference(old, old), [""; 0]);
    }
}
