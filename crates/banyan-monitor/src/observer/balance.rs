//! The rows of a ledger, of what probes have counted.

use std::collections::{BTreeMap, BTreeSet};

use banyan_boot::RankSet;

use super::known::Known;
use super::worker::Told;
use crate::ledger::Row;
use crate::message::Entry;

/// The rows of queries that there are. Those of silent probes are old.
pub(super) fn rows(told: &BTreeMap<u32, Told>, queries: &BTreeSet<u32>, known: &Known, silent: &RankSet) -> Vec<Row> {
    let all = told.iter().flat_map(|(probe, told)| told.entries.iter().map(move |entry| (*probe, entry)));
    let wanted = all.filter(|(_, entry)| queries.contains(&entry.query));
    wanted.map(|(probe, entry)| row(probe, entry, known, silent)).collect()
}

fn row(probe: u32, entry: &Entry, known: &Known, silent: &RankSet) -> Row {
    let dropped = entry.dropped.iter().fold(0u64, |sum, count| sum.wrapping_add(*count));
    Row {
        query: entry.query,
        version: entry.version,
        process: known.process(probe, entry.process),
        sensor: known.sensor(probe, entry.sensor).map(|sensor| sensor.name.clone()).unwrap_or_default(),
        emitted: entry.emitted,
        unread: entry.emitted.wrapping_sub(dropped).wrapping_sub(entry.read),
        dropped: entry.dropped,
        behind: entry.behind,
        filtered: entry.filtered,
        late: entry.late,
        failed: entry.failed,
        selected: entry.selected,
        lapses: entry.lapses,
        is_old: silent.contains(probe),
    }
}
