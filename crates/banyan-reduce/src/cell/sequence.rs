//! Values as they are, in member order: all of them, or those of the first member.

use banyan_ndr::RecordView;

use super::super::Fault;
use super::super::body::{Reader, Writer, align};
use super::super::input::Access;
use super::super::layout::Places;
use super::super::value::{Datum, Kind, Value};
use super::Sender;

/// Values of all members, ordered by rank, those of one member as they lay in its record.
#[derive(Debug, Clone)]
pub(crate) struct Concatenation {
    kind: Kind,
    values: Vec<Value>,
    /// By value.
    who: Vec<u32>,
    /// Values beyond `most`.
    cut: u64,
    most: usize,
    /// Whether the ranks are out of order, because subtrees interleave.
    unsorted: bool,
}

impl Concatenation {
    pub(crate) fn new(kind: Kind, most: usize) -> Concatenation {
        Concatenation { kind, values: Vec::new(), who: Vec::new(), cut: 0, most, unsorted: false }
    }

    pub(crate) fn clear(&mut self) {
        *self = Concatenation::new(self.kind, self.most);
    }

    pub(crate) fn take(&mut self, datum: Datum<'_>, rank: u32, longest: usize) -> Result<(), Fault> {
        self.push(datum.value(longest)?, rank);
        Ok(())
    }

    fn push(&mut self, value: Value, rank: u32) {
        self.unsorted |= self.who.last().is_some_and(|last| *last > rank);
        self.values.push(value);
        self.who.push(rank);
        // Now and then, so that what is cut takes memory for a moment only.
        if self.values.len() >= 2 * self.most.max(1) {
            self.settle();
        }
    }

    /// Sorts by rank and cuts. What is cut here would be cut by any node above: there are enough lower ranks.
    pub(crate) fn settle(&mut self) {
        if self.unsorted {
            let mut pairs: Vec<(u32, Value)> = self.who.drain(..).zip(self.values.drain(..)).collect();
            pairs.sort_by_key(|(rank, _)| *rank);
            (self.who, self.values) = pairs.into_iter().unzip();
            self.unsorted = false;
        }
        self.cut += self.values.len().saturating_sub(self.most) as u64;
        self.values.truncate(self.most);
        self.who.truncate(self.most);
    }

    /// Places: values, who, cut.
    pub(crate) fn merge(&mut self, from: &Reader<'_>, at: Places<'_>, longest: usize) -> Result<(), Fault> {
        let values = from.values(at.field(0), self.kind)?;
        let who = from.ranks(at.field(1))?;
        if values.len() != who.len() {
            return Err(Fault::partial(format!("{} values belong to {} members", values.len(), who.len())));
        }
        for (datum, who) in values.zip(who) {
            self.push(datum?.value(longest)?, who);
        }
        self.cut = self.cut.saturating_add(from.u64(at.field(2)));
        Ok(())
    }

    pub(crate) fn write(&self, out: &mut Writer<'_>, at: Places<'_>) {
        out.values(at.field(0), self.kind, self.values.iter());
        out.numbers(at.field(1), self.who.iter().map(|who| who.to_ne_bytes()));
        out.put(at.field(2), self.cut.to_ne_bytes());
    }
}

/// The value, or the array, of the lowest rank that has one.
#[derive(Debug, Clone)]
pub(crate) struct First {
    kind: Kind,
    /// Whether it is an array.
    many: bool,
    values: Vec<Value>,
    who: Option<u32>,
    /// Items of an array.
    most: usize,
}

impl First {
    pub(crate) fn new(kind: Kind, many: bool, most: usize) -> First {
        First { kind, many, values: Vec::new(), who: None, most }
    }

    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.who = None;
    }

    pub(crate) fn take(&mut self, record: RecordView<'_>, access: &Access, sender: Sender) -> Result<(), Fault> {
        if self.many {
            return match access.is_present(record)? && self.begins_with(sender.rank) {
                true => access.each(record, &mut |datum| self.push(datum, sender.longest)),
                false => Ok(()),
            };
        }
        access.each(record, &mut |datum| match self.begins_with(sender.rank) {
            true => self.push(datum, sender.longest),
            false => Ok(()),
        })
    }

    /// Whether a rank comes before all that have come; if so, its values replace theirs.
    fn begins_with(&mut self, rank: u32) -> bool {
        let first = self.who.is_none_or(|who| rank < who);
        if first {
            self.values.clear();
            self.who = Some(rank);
        }
        first
    }

    fn push(&mut self, datum: Datum<'_>, longest: usize) -> Result<(), Fault> {
        if self.values.len() == self.most {
            let (name, found, limit) = (String::new(), self.most + 1, self.most);
            return Err(Fault::Limit { name, what: "items of one array", found, limit, bound: "items" });
        }
        self.values.push(datum.value(longest)?);
        Ok(())
    }

    /// Places: optional value or values, optional who.
    pub(crate) fn merge(&mut self, from: &Reader<'_>, at: Places<'_>, longest: usize) -> Result<(), Fault> {
        if !from.flag(at.field(1))? {
            return Ok(());
        }
        if !self.begins_with(from.rank(at.field(1) + 4)?) {
            return Ok(());
        }
        if self.many {
            return from.values(at.field(0), self.kind)?.try_for_each(|datum| self.push(datum?, longest));
        }
        match from.flag(at.field(0))? {
            true => self.push(from.datum(at.field(0) + align(self.kind), self.kind)?, longest),
            false => Err(Fault::partial("a member is named, but no value")),
        }
    }

    pub(crate) fn write(&self, out: &mut Writer<'_>, at: Places<'_>) {
        let Some(who) = self.who else { return };
        if self.many {
            out.values(at.field(0), self.kind, self.values.iter());
        } else if let Some(value) = self.values.first() {
            let place = out.present(at.field(0), align(self.kind));
            out.value(place, value);
        }
        let place = out.present(at.field(1), 4);
        out.put(place, who.to_ne_bytes());
    }
}
