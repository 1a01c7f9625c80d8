//! What comes of a query: rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use banyan_boot::RankSet;
use banyan_ndr::{Format, Limits};
use banyan_query::{Query, RootLimits, RootSide, Row};
use banyan_tree::Wave;

use super::feed::Queue;
use super::running::{Taken, Version};
use crate::message::{Add, LAST, PIECES, Pieces};
use crate::probe::asked::Way;

/// Makes rows of results.
pub(super) struct RowSource {
    pub(super) queue: Arc<Queue<Row>>,
    /// Of the version that gives.
    root: Option<(RootSide, Way)>,
    /// Probes that give.
    present: RankSet,
    /// The first wave that has not come.
    next: u64,
    /// Intervals before these are over, by probe: of windows that are put together here.
    until: BTreeMap<u32, i64>,
}

impl RowSource {
    pub(super) fn new(queue: Arc<Queue<Row>>) -> RowSource {
        RowSource { queue, root: None, present: RankSet::new(), next: 0, until: BTreeMap::new() }
    }

    /// The next version gives from now on.
    pub(super) fn begin(&mut self, add: &Add, present: &RankSet) {
        // It was read before probes were told.
        let Ok(query) = add.text.parse::<Query>() else { return };
        let mut root = RootSide::new(&query, add.version, RootLimits::default());
        present.iter().for_each(|probe| root.join(probe));
        self.root = Some((root, Way::of(&query)));
        (self.present, self.next) = (present.clone(), 0);
        self.until = present.iter().map(|probe| (probe, i64::MIN)).collect();
    }

    pub(super) fn lose(&mut self, probe: u32) {
        self.present = self.present.difference(&[probe].into_iter().collect());
        self.until.remove(&probe);
        if let Some((root, way)) = &mut self.root {
            root.leave(probe);
            if *way == Way::Pieces {
                // What it had is lost with it. An error shows again with the next window.
                let _ = root.close(closed_until(&self.until));
            }
        }
        self.give();
    }

    pub(super) fn is_over(&self, version: &Version, present: &RankSet) -> bool {
        let Some((_, way)) = &self.root else { return true };
        if *way != Way::Intervals {
            return present.difference(&version.ended).is_empty();
        }
        let has_ended = present.iter().all(|probe| version.over.contains_key(&probe));
        let last = version.over.values().copied().max().unwrap_or(version.add.base);
        let waves = u64::try_from(last.saturating_sub(version.add.base)).unwrap_or(0);
        has_ended && self.next >= waves
    }

    pub(super) fn take(&mut self, version: &mut Version, wave: &Wave) -> Taken {
        let Some((root, way)) = &mut self.root else { return Taken::Useless("no query is known".into()) };
        let before = root.counts().events;
        let mut in_pieces = 0;
        let useless = |why: &dyn std::fmt::Display| Taken::Useless(why.to_string());
        let Some(format) = wave.format() else { return useless(&"a format is not known") };
        let taken = match (*way, wave.members().only(), wave.tag()) {
            (Way::Intervals, ..) => {
                self.next = wave.number().saturating_add(1);
                let interval = version.add.base.saturating_add_unsigned(wave.number());
                let taken = root.partial(interval, wave.members(), &format, wave.body());
                taken.and_then(|()| root.close(interval.saturating_add(1))).map_err(|error| error.to_string())
            }
            (_, None, _) => Err("a record of several probes".into()),
            (_, Some(probe), LAST) => {
                version.ended.insert(probe);
                self.until.insert(probe, i64::MAX);
                root.close(closed_until(&self.until)).map_err(|error| error.to_string())
            }
            (Way::Pieces, Some(probe), PIECES) => match wave.read::<Pieces>() {
                Ok(pieces) => {
                    in_pieces = pieces.pieces.iter().fold(0u64, |sum, piece| sum.saturating_add(piece.events));
                    take_pieces(root, probe, &pieces, &mut self.until)
                }
                Err(error) => Err(error.to_string()),
            },
            (_, Some(probe), _) => root.rows(probe, &format, wave.body()).map_err(|error| error.to_string()),
        };
        // An event is in several windows that slide.
        let events = match way {
            Way::Pieces => in_pieces,
            Way::Intervals | Way::Rows => root.counts().events.saturating_sub(before),
        };
        self.give();
        match taken {
            Ok(()) => Taken::Events(events),
            Err(why) => Taken::Useless(why),
        }
    }

    fn give(&mut self) {
        if let Some((root, _)) = &mut self.root {
            self.queue.extend(std::iter::from_fn(|| root.next_row()));
        }
    }
}

fn take_pieces(root: &mut RootSide, probe: u32, all: &Pieces, until: &mut BTreeMap<u32, i64>) -> Result<(), String> {
    let members: RankSet = [probe].into_iter().collect();
    for piece in &all.pieces {
        let format = Format::decode(&piece.format, &Limits::default()).map_err(|error| error.to_string())?;
        root.partial(piece.interval, &members, &format, &piece.body).map_err(|error| error.to_string())?;
    }
    until.insert(probe, all.until);
    root.close(closed_until(until)).map_err(|error| error.to_string())
}

/// Up to where all probes have closed.
fn closed_until(until: &BTreeMap<u32, i64>) -> i64 {
    until.values().copied().min().unwrap_or(i64::MAX)
}
