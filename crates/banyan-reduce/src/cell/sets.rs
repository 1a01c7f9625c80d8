//! Sets of values: with the members that have each, or without.
//!
//! Where a set is full the smallest values stay. A value that one node cuts would be cut by every node above, and a
//! value that the root keeps was kept everywhere, so what is cut does not depend on the tree.

use std::collections::{BTreeMap, BTreeSet};

use banyan_ranks::RankSet;

use super::super::Fault;
use super::super::body::{Reader, Writer};
use super::super::layout::Places;
use super::super::value::{Datum, Kind, Value};

/// Values, each with the members that have it.
#[derive(Debug, Clone)]
pub(crate) struct Classes {
    kind: Kind,
    members: BTreeMap<Value, RankSet>,
    /// Members that have values beyond `most`.
    others: RankSet,
    most: usize,
}

impl Classes {
    pub(crate) fn new(kind: Kind, most: usize) -> Classes {
        Classes { kind, members: BTreeMap::new(), others: RankSet::new(), most }
    }

    pub(crate) fn clear(&mut self) {
        self.members.clear();
        self.others = RankSet::new();
    }

    pub(crate) fn take(&mut self, datum: Datum<'_>, rank: u32, longest: usize) -> Result<(), Fault> {
        let value = datum.value(longest)?.canonical();
        match self.members.get_mut(&value) {
            Some(members) => members.insert(rank),
            None => self.insert(value, RankSet::from_iter([rank])),
        }
        Ok(())
    }

    fn insert(&mut self, value: Value, members: RankSet) {
        match self.members.get_mut(&value) {
            Some(known) => *known = known.union(&members),
            None => {
                self.members.insert(value, members);
                if self.members.len() > self.most
                    && let Some((_, cut)) = self.members.pop_last()
                {
                    self.others = self.others.union(&cut);
                }
            }
        }
    }

    /// Places: values, members of each, others.
    pub(crate) fn merge(&mut self, from: &Reader<'_>, at: Places<'_>, longest: usize) -> Result<(), Fault> {
        let values = from.values(at.field(0), self.kind)?;
        let members = from.values(at.field(1), Kind::Bytes)?;
        if values.len() != members.len() {
            return Err(Fault::partial(format!("{} values have {} sets of members", values.len(), members.len())));
        }
        for (datum, members) in values.zip(members) {
            let value = datum?.value(longest)?.canonical();
            let Datum::Bytes(bytes) = members? else { unreachable!("asked for bytes") };
            self.insert(value, from.rank_set(bytes)?);
        }
        let others = from.bytes(at.field(2))?;
        if !others.is_empty() {
            self.others = self.others.union(&from.rank_set(others)?);
        }
        Ok(())
    }

    pub(crate) fn partial(&self, out: &mut Writer<'_>, at: Places<'_>) {
        self.write(out, at, |members| {
            let mut bytes = Vec::new();
            members.encode(&mut bytes);
            bytes
        });
    }

    /// As [`Classes::partial`], with the members as text.
    pub(crate) fn result(&self, out: &mut Writer<'_>, at: Places<'_>) {
        self.write(out, at, |members| members.to_string().into_bytes());
    }

    fn write(&self, out: &mut Writer<'_>, at: Places<'_>, encode: impl Fn(&RankSet) -> Vec<u8>) {
        out.values(at.field(0), self.kind, self.members.keys());
        let members: Vec<Vec<u8>> = self.members.values().map(&encode).collect();
        out.blobs(at.field(1), members.iter().map(Vec::as_slice));
        if !self.others.is_empty() {
            out.bytes(at.field(2), &encode(&self.others));
        }
    }
}

/// Values, each once.
#[derive(Debug, Clone)]
pub(crate) struct Union {
    kind: Kind,
    values: BTreeSet<Value>,
    /// Whether there were more.
    cut: bool,
    most: usize,
}

impl Union {
    pub(crate) fn new(kind: Kind, most: usize) -> Union {
        Union { kind, values: BTreeSet::new(), cut: false, most }
    }

    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.cut = false;
    }

    pub(crate) fn take(&mut self, datum: Datum<'_>, longest: usize) -> Result<(), Fault> {
        self.values.insert(datum.value(longest)?.canonical());
        if self.values.len() > self.most {
            self.values.pop_last();
            self.cut = true;
        }
        Ok(())
    }

    /// Places: values, whether some were cut.
    pub(crate) fn merge(&mut self, from: &Reader<'_>, at: Places<'_>, longest: usize) -> Result<(), Fault> {
        for datum in from.values(at.field(0), self.kind)? {
            self.take(datum?, longest)?;
        }
        self.cut |= from.flag(at.field(1))?;
        Ok(())
    }

    pub(crate) fn write(&self, out: &mut Writer<'_>, at: Places<'_>) {
        out.values(at.field(0), self.kind, self.values.iter());
        out.put(at.field(1), [u8::from(self.cut)]);
    }
}
