//! How a file or directory is read to be copied, and what of it is left out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Names that are kept as examples of what was skipped for one reason.
const EXAMPLES: usize = 3;

/// What is done with the symbolic links in a directory that is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Links {
    /// They are copied as links if they are relative and stay inside of the directory, and skipped otherwise.
    #[default]
    Keep,
    /// What they lead to is copied in their place.
    Follow,
    /// They are skipped.
    Skip,
}

/// How a file or directory is read to be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Reading {
    /// What is done with symbolic links.
    pub links: Links,
    /// Whether files keep the times at which they were last written to.
    pub times: bool,
}

banyan_ndr::setters!(Reading { links: Links, times: bool });

/// Why something in a directory is not copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Skip {
    /// A symbolic link that leads out of the directory, or may: one with an absolute target, too.
    Outside,
    /// A symbolic link that leads nowhere, or back to a directory that it is in, while links are followed.
    Nowhere,
    /// A symbolic link, where all of them are skipped.
    Link,
    /// A FIFO, a socket or a device.
    Special,
}

impl Skip {
    const ALL: [Skip; 4] = [Skip::Outside, Skip::Nowhere, Skip::Link, Skip::Special];

    /// One word, for programs.
    pub fn word(self) -> &'static str {
        match self {
            Skip::Outside => "outside",
            Skip::Nowhere => "nowhere",
            Skip::Link => "link",
            Skip::Special => "special",
        }
    }

    /// The one of this word.
    pub fn of_word(word: &str) -> Option<Skip> {
        Skip::ALL.into_iter().find(|skip| skip.word() == word)
    }
}

/// What was skipped: how many for which reason, and the first names of each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skipped(BTreeMap<Skip, (u64, Vec<PathBuf>)>);

impl Skipped {
    pub(super) fn add(&mut self, skip: Skip, name: &Path) {
        let (count, examples) = self.0.entry(skip).or_default();
        *count += 1;
        if examples.len() < EXAMPLES {
            examples.push(name.to_owned());
        }
    }

    /// Reason by reason: how many, and some of their names.
    pub fn iter(&self) -> impl Iterator<Item = (Skip, u64, &[PathBuf])> {
        self.0.iter().map(|(skip, (count, examples))| (*skip, *count, examples.as_slice()))
    }
}
