//! A query or tap at the observer: the streams of its versions, one after the other.

use std::collections::{BTreeMap, VecDeque};

use banyan_boot::RankSet;
use banyan_tree::{Stream, TreeError, Wave};

use super::known::Known;
use super::rows::RowSource;
use super::tapping::TapSource;
use crate::message::{Add, Over};

/// Records that are taken of one query before others have their turn.
const IN_TURN: usize = 64;

/// What comes of the versions of a query or tap.
pub(super) struct Running {
    pub(super) source: Source,
    /// The oldest gives; the others follow when all probes have ended it.
    versions: VecDeque<Version>,
    /// Events that have come, by version.
    delivered: BTreeMap<u32, u64>,
}

/// What is made of what comes.
pub(super) enum Source {
    Tap(TapSource),
    Rows(Box<RowSource>),
}

/// A version and its stream.
pub(super) struct Version {
    /// What probes were told.
    pub(super) add: Add,
    stream: Stream,
    /// Probes from which nothing more comes.
    pub(super) ended: RankSet,
    /// The first interval without events of this version, as probes say that have ended it.
    pub(super) over: BTreeMap<u32, i64>,
    /// A record that names what is not known yet.
    parked: Option<Wave>,
}

/// What became of a record.
pub(super) enum Taken {
    /// So many events were in it.
    Events(u64),
    /// It names a process or sensor that is not known yet.
    NotYet,
    /// It could not be used.
    Useless(String),
}

impl Running {
    pub(super) fn new(source: Source) -> Running {
        Running { source, versions: VecDeque::new(), delivered: BTreeMap::new() }
    }

    pub(super) fn add_version(&mut self, add: Add, stream: Stream, present: &RankSet) {
        if self.versions.is_empty() {
            self.source.begin(&add, present);
        }
        let (ended, over) = (RankSet::new(), BTreeMap::new());
        self.versions.push_back(Version { add, stream, ended, over, parked: None });
    }

    /// The newest version.
    pub(super) fn newest(&self) -> Option<&Add> {
        self.versions.back().map(|version| &version.add)
    }

    /// Events that have come, by version.
    pub(super) fn delivered(&self) -> impl Iterator<Item = (u32, u64)> {
        self.delivered.iter().map(|(version, count)| (*version, *count))
    }

    /// A probe is lost.
    pub(super) fn lose(&mut self, probe: u32) {
        self.source.lose(probe);
    }

    /// A probe has ended a version.
    pub(super) fn over(&mut self, probe: u32, over: &Over) {
        let version = self.versions.iter_mut().find(|version| version.add.version == over.version);
        version.into_iter().for_each(|version| _ = version.over.insert(probe, over.interval));
    }

    /// Takes what has come, as long as there is room for it. True if there may be more. What could not be used is told to
    /// `complain`.
    pub(super) fn take(
        &mut self,
        known: &Known,
        present: &RankSet,
        mut complain: impl FnMut(String),
    ) -> Result<bool, TreeError> {
        for _ in 0..IN_TURN {
            if !self.source.has_room() {
                return Ok(false);
            }
            let Some(version) = self.versions.front_mut() else { return Ok(false) };
            let next = match version.parked.take() {
                Some(parked) => Some(parked),
                None => match version.stream.try_recv() {
                    Err(TreeError::Uncombined { cause, .. }) => {
                        complain(cause);
                        continue;
                    }
                    received => received?,
                },
            };
            let Some(wave) = next else {
                if self.versions.len() > 1 && self.source.is_over(&self.versions[0], present) {
                    self.versions.pop_front();
                    if let Some(next) = self.versions.front() {
                        self.source.begin(&next.add, present);
                    }
                    continue;
                }
                return Ok(false);
            };
            match self.source.take(known, version, &wave)? {
                Taken::Events(count) => *self.delivered.entry(version.add.version).or_default() += count,
                Taken::NotYet => {
                    version.parked = Some(wave);
                    return Ok(false);
                }
                Taken::Useless(why) => complain(why),
            }
        }
        Ok(true)
    }
}

impl Source {
    fn has_room(&self) -> bool {
        match self {
            Source::Tap(tap) => tap.queue.has_room(),
            Source::Rows(rows) => rows.queue.has_room(),
        }
    }

    /// Nothing more comes.
    pub(super) fn end(&self, why: Option<String>) {
        match self {
            Source::Tap(tap) => tap.queue.end(why),
            Source::Rows(rows) => rows.queue.end(why),
        }
    }

    fn begin(&mut self, add: &Add, present: &RankSet) {
        match self {
            Source::Tap(_) => {}
            Source::Rows(rows) => rows.begin(add, present),
        }
    }

    fn lose(&mut self, probe: u32) {
        match self {
            Source::Tap(tap) => tap.lose(probe),
            Source::Rows(rows) => rows.lose(probe),
        }
    }

    fn is_over(&mut self, version: &Version, present: &RankSet) -> bool {
        match self {
            Source::Tap(_) => present.difference(&version.ended).is_empty(),
            Source::Rows(rows) => rows.is_over(version, present),
        }
    }

    fn take(&mut self, known: &Known, version: &mut Version, wave: &Wave) -> Result<Taken, TreeError> {
        match self {
            Source::Tap(tap) => tap.take(known, version, wave),
            Source::Rows(rows) => Ok(rows.take(version, wave)),
        }
    }
}
