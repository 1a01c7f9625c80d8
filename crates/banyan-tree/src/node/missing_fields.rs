//! Fields that a stream's filter wants and that records of some members lack: the front-end hears of each once.
//!
//! Whoever first sees a member's records notes what they lack, and tells its parent before the next run that goes up. So a wave
//! brings what its records lack, merged over all who are below. A new parent is told everything again. The front-end reports
//! what is new when its program takes records.

use std::collections::BTreeMap;
use std::sync::Arc;

use banyan_boot::RankSet;

use super::failures::short;
use super::{Node, Report};
use crate::ids::StreamId;
use crate::message::Message;
use crate::transformation::MissingField;

/// Fields of one stream that a node remembers: what lacks another one is not told.
const MOST_FIELDS: usize = 64;

/// What is known of one stream at one node.
#[derive(Debug, Default)]
pub(super) struct MissingFields {
    /// By the field, as the filter calls it.
    fields: BTreeMap<Arc<str>, Lacking>,
    has_untold: bool,
}

/// Members whose records lack a field.
#[derive(Debug, Default)]
struct Lacking {
    members: RankSet,
    /// Those of them that the parent, or the front-end's program, was told of.
    told: RankSet,
}

impl MissingFields {
    /// What a filter of this node has found.
    pub(super) fn note_own(&mut self, missing: Vec<MissingField>) {
        missing.into_iter().for_each(|MissingField { field, member }| self.note(&field, &RankSet::from_iter([member])));
    }

    fn note(&mut self, field: &str, members: &RankSet) {
        let field = short(field);
        if self.fields.len() >= MOST_FIELDS && !self.fields.contains_key(&field) {
            return;
        }
        let lacking = self.fields.entry(field).or_default();
        if !members.is_subset(&lacking.members) {
            lacking.members = lacking.members.union(members);
            self.has_untold = true;
        }
    }

    /// Whether something was noted since it was last told.
    pub(super) fn has_untold(&self) -> bool {
        self.has_untold
    }

    /// What was noted since it was last told.
    fn take_untold(&mut self) -> Vec<(Arc<str>, RankSet)> {
        if !std::mem::take(&mut self.has_untold) {
            return Vec::new();
        }
        let untold = self.fields.iter_mut().map(|(field, Lacking { members, told })| {
            let new = members.difference(told);
            told.clone_from(members);
            (Arc::clone(field), new)
        });
        untold.filter(|(_, members)| !members.is_empty()).collect()
    }

    /// There is another parent, who knows nothing.
    pub(super) fn forget_told(&mut self) {
        self.has_untold = !self.fields.is_empty();
        self.fields.values_mut().for_each(|lacking| lacking.told = RankSet::new());
    }
}

impl Node {
    /// A child tells that records of these members lack a field.
    pub(super) fn field_missing(&mut self, id: StreamId, field: &str, members: &RankSet) -> Result<(), String> {
        // A stream that was not heard of yet is asked for again, with everything.
        let Some(stream) = self.streams.get_mut(&id) else { return Ok(()) };
        if !members.is_subset(&stream.opening.members) {
            return Err(format!("told what records of {members} lack, which are not all members of {id}"));
        }
        stream.missing_fields.note(field, members);
        Ok(())
    }

    /// Tells the parent what is new. A member tells nothing: its parent sees for itself.
    pub(super) fn tell_missing_fields(&mut self, id: StreamId) {
        let is_attached = self.ascent.link().is_some();
        let Some(stream) = self.streams.get_mut(&id).filter(|_| is_attached) else { return };
        let mut untold = stream.missing_fields.take_untold();
        untold.retain(|_| !self.role.is_member());
        for (field, members) in untold {
            self.send_up(Message::FieldMissing { stream: id, field, members: Arc::new(members) });
        }
    }

    /// At the front-end: reports what is new, the fields that the same members lack together.
    pub(super) fn report_missing_fields(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id).filter(|stream| stream.missing_fields.has_untold()) else {
            return;
        };
        let mut by_members: Vec<(RankSet, Vec<String>)> = Vec::new();
        for (field, members) in stream.missing_fields.take_untold() {
            match by_members.iter_mut().find(|(known, _)| *known == members) {
                Some((_, fields)) => fields.push(field.to_string()),
                None => by_members.push((members, vec![field.to_string()])),
            }
        }
        for (members, fields) in by_members {
            self.report(Report::FieldsMissing { stream: id, fields, members });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(ranks: impl IntoIterator<Item = u32>) -> RankSet {
        ranks.into_iter().collect()
    }

    #[test]
    fn what_is_new_is_told_once_and_everything_to_a_new_parent() {
        let mut missing = MissingFields::default();
        missing.note("temp", &ranks([1, 2]));
        missing.note("load", &ranks([2]));
        assert_eq!(missing.take_untold(), [("load".into(), ranks([2])), ("temp".into(), ranks([1, 2]))]);
        missing.note("temp", &ranks([1]));
        assert!(!missing.has_untold());
        missing.note("temp", &ranks([2, 3]));
        assert_eq!(missing.take_untold(), [("temp".into(), ranks([3]))]);
        missing.forget_told();
        assert_eq!(missing.take_untold(), [("load".into(), ranks([2])), ("temp".into(), ranks([1, 2, 3]))]);
        assert_eq!(missing.take_untold(), []);
    }

    #[test]
    fn fields_beyond_the_bound_are_not_kept() {
        let mut missing = MissingFields::default();
        (0..MOST_FIELDS + 9).for_each(|field| missing.note(&format!("field {field}"), &ranks([7])));
        missing.note("field 0", &ranks([8]));
        missing.note(&"é".repeat(5000), &ranks([8]));
        assert_eq!(missing.take_untold().len(), MOST_FIELDS);
        assert_eq!(missing.fields.get("field 0").map(|lacking| lacking.members.clone()), Some(ranks([7, 8])));
    }
}
