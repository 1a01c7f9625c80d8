//! The set of hosts that everything else of this crate asks for.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::error::{HostSetError, Position, Problem, excerpt};
use super::names::Names;
use super::parse::{Comments, Groups, parse};
use super::{file, fold, name};

/// Host names in the order in which they first appeared, each once.
///
/// Two sets are equal if they hold the same names, in whatever order.
#[derive(Clone, Default)]
pub struct HostSet {
    /// None of them removed: the place of a name is its index.
    names: Names,
}

impl HostSet {
    /// Reads a set as people write it; the [module](super) has the syntax. An empty text is an empty set.
    pub fn parse(text: &str) -> Result<HostSet, HostSetError> {
        read(text, None)
    }

    /// As [`HostSet::parse`], and `@GROUP` stands for the hosts that `groups` finds for this name, wherever hosts may
    /// stand. Why a group has none it says in words.
    pub fn parse_with(
        text: &str,
        mut groups: impl FnMut(&str) -> Result<HostSet, String>,
    ) -> Result<HostSet, HostSetError> {
        read(text, Some(&mut groups))
    }

    /// Reads a host file: one or several sets a line, comments from `#` to the end of the line. A line that begins
    /// with `!` leaves hosts out of all before it.
    pub fn from_file(path: impl AsRef<Path>) -> Result<HostSet, HostSetError> {
        file::read(path.as_ref(), None).map(|names| HostSet { names })
    }

    /// As [`HostSet::from_file`], with groups as in [`HostSet::parse_with`].
    pub fn from_file_with(
        path: impl AsRef<Path>,
        mut groups: impl FnMut(&str) -> Result<HostSet, String>,
    ) -> Result<HostSet, HostSetError> {
        file::read(path.as_ref(), Some(&mut groups)).map(|names| HostSet { names })
    }

    /// A set of plain names. Brackets and operators are not for names, and are refused.
    pub fn from_names<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Result<HostSet, HostSetError> {
        let mut set = Names::default();
        for name in names {
            let name = name.as_ref();
            let checked = name::check(name).map_err(|(_, problem)| problem).and_then(|()| set.insert(name));
            checked.map_err(|problem| HostSetError::Name { name: excerpt(name), problem })?;
        }
        Ok(HostSet { names: set })
    }

    /// How many hosts there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names, in the order in which they first appeared.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.names.iter()
    }

    /// The name at an index, which counts from zero in the order of [`HostSet::iter`].
    pub fn get(&self, index: usize) -> Option<&str> {
        self.names.get(index)
    }

    /// True if the set has this name.
    pub fn contains(&self, name: &str) -> bool {
        self.index_of(name).is_some()
    }

    /// The index of a name.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.names.place_of(name)
    }

    /// The names of this set that `other` does not have, in the order of this set.
    pub fn exclude(&self, other: &HostSet) -> HostSet {
        HostSet { names: self.names.filtered(|name| !other.contains(name)) }
    }

    /// The names that both sets have, in the order of this set.
    pub fn intersection(&self, other: &HostSet) -> HostSet {
        HostSet { names: self.names.filtered(|name| other.contains(name)) }
    }

    /// The names of this set, then those of `other`. Fails if these are more than a set may hold.
    pub fn union(&self, other: &HostSet) -> Result<HostSet, HostSetError> {
        let mut names = self.names.clone();
        other
            .iter()
            .try_for_each(|name| names.insert(name))
            .map_err(|problem: Problem| HostSetError::Union(problem))?;
        Ok(HostSet { names })
    }
}

fn read(text: &str, groups: Option<Groups<'_>>) -> Result<HostSet, HostSetError> {
    let failed = |(offset, problem)| HostSetError::Text { at: Position::of(text, offset), problem };
    parse(text, Comments::Refused, groups).map(|names| HostSet { names }).map_err(failed)
}

impl FromStr for HostSet {
    type Err = HostSetError;

    fn from_str(text: &str) -> Result<HostSet, HostSetError> {
        HostSet::parse(text)
    }
}

impl PartialEq for HostSet {
    fn eq(&self, other: &HostSet) -> bool {
        self.len() == other.len() && self.iter().all(|name| other.contains(name))
    }
}

impl Eq for HostSet {}

/// Folded: `gpu[01-16],n[1-128,200]`. The same names give the same text, in whatever order they are.
impl fmt::Display for HostSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&fold::fold(self.iter()))
    }
}

impl fmt::Debug for HostSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostSet({self})")
    }
}
