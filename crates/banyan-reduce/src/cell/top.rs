//! The largest values, with who has them.

use std::cmp::Ordering;

use super::super::Fault;
use super::super::body::{Reader, Writer};
use super::super::layout::Places;
use super::super::value::{Datum, Kind, Value};

/// The largest first; of equal values, the lowest rank first. NaN is never among them.
#[derive(Debug, Clone)]
pub(crate) struct Top {
    kind: Kind,
    most: usize,
    kept: Vec<(Value, u32)>,
}

impl Top {
    pub(crate) fn new(kind: Kind, most: usize) -> Top {
        Top { kind, most, kept: Vec::new() }
    }

    /// Keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
    }

    pub(crate) fn take(&mut self, datum: Datum<'_>, rank: u32) {
        let value = match self.kind {
            Kind::Integer => Datum::Integer(datum.integer()),
            _ if datum.float().is_nan() => return,
            _ => Datum::Float(datum.float()),
        };
        let Ok(value) = value.value(0) else { unreachable!("numbers have no length") };
        let value = value.canonical();
        let at = self.kept.partition_point(|(kept, who)| before((kept, *who), (&value, rank)).is_le());
        if at < self.most {
            self.kept.truncate(self.most - 1);
            self.kept.insert(at, (value, rank));
        }
    }

    /// Places: values, who.
    pub(crate) fn merge(&mut self, from: &Reader<'_>, at: Places<'_>) -> Result<(), Fault> {
        let values = from.values(at.field(0), self.kind)?;
        let who = from.ranks(at.field(1))?;
        if values.len() != who.len() || who.len() > self.most {
            return Err(Fault::partial(format!("{} values of {} members", values.len(), who.len())));
        }
        for (datum, who) in values.zip(who) {
            self.take(datum?, who);
        }
        Ok(())
    }

    pub(crate) fn write(&self, out: &mut Writer<'_>, at: Places<'_>) {
        out.values(at.field(0), self.kind, self.kept.iter().map(|(value, _)| value));
        out.numbers(at.field(1), self.kept.iter().map(|(_, who)| who.to_ne_bytes()));
    }
}

fn before(one: (&Value, u32), other: (&Value, u32)) -> Ordering {
    other.0.cmp(one.0).then(one.1.cmp(&other.1))
}
