//! Brings together what probes have counted and what has come.

use std::collections::BTreeMap;

use banyan_boot::RankSet;

use super::known::Known;
use super::running::Origin;
use super::worker::Told;
use crate::ledger::Row;
use crate::message::{Entry, MANY};

/// Events that have come, by version and origin.
pub(super) type Delivered = BTreeMap<u32, BTreeMap<Origin, u64>>;

/// The rows of a ledger. Those of silent probes are old.
pub(super) fn balance(
    told: &BTreeMap<u32, Told>,
    delivered: &BTreeMap<u32, &Delivered>,
    known: &Known,
    silent: &RankSet,
) -> Vec<Row> {
    let mut rows = Vec::new();
    for (probe, Told { entries, .. }) in told {
        // Of a query that is gone nobody asks.
        let mut left: BTreeMap<u32, u64> = BTreeMap::new();
        for (query, versions) in delivered {
            let all = versions.values().flatten().filter(|((of, ..), _)| of == probe);
            left.insert(*query, all.map(|(_, count)| *count).sum());
        }
        let (sums, single): (Vec<&Entry>, Vec<&Entry>) = entries.iter().partition(|entry| entry.process == MANY);
        for entry in single {
            let Some(versions) = delivered.get(&entry.query) else { continue };
            let counts = versions.get(&entry.version);
            let count = counts.and_then(|counts| counts.get(&(*probe, entry.process, entry.sensor)));
            let count = count.copied().unwrap_or(0);
            left.entry(entry.query).and_modify(|left| *left = left.saturating_sub(count));
            rows.push(row(*probe, entry, count, known, silent));
        }
        // What is left is of those that were summed.
        for entry in sums {
            let Some(left) = left.get_mut(&entry.query) else { continue };
            let count = entry.selected.min(*left);
            *left -= count;
            rows.push(row(*probe, entry, count, known, silent));
        }
    }
    rows
}

fn row(probe: u32, entry: &Entry, delivered: u64, known: &Known, silent: &RankSet) -> Row {
    let dropped = entry.dropped.iter().fold(0u64, |sum, count| sum.wrapping_add(*count));
    // A silent probe counted last before some of these came.
    let emitted = entry.emitted.max(dropped.wrapping_add(entry.behind).wrapping_add(delivered));
    Row {
        query: entry.query,
        version: entry.version,
        process: known.process(probe, entry.process),
        sensor: known.sensor(probe, entry.sensor).map(|sensor| sensor.name.clone()).unwrap_or_default(),
        emitted,
        dropped: entry.dropped,
        behind: entry.behind,
        delivered,
        in_flight: emitted - dropped - entry.behind - delivered,
        lapses: entry.lapses,
        is_old: silent.contains(probe),
    }
}
