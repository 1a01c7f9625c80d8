//! What travels upwards: a run of consecutive waves of one stream.
//!
//! Small packets are sent many at a time, so a run is the unit of everything: of sending, keeping, combining. Its bytes
//! are shared; cutting a run into two copies nothing.

use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

use banyan_boot::RankSet;
use banyan_reduce::Bodies;

use crate::ids::{StreamId, WaveNumber};
use crate::yields::Yields;

/// The contributions of some members to some consecutive waves.
#[derive(Debug, Clone)]
pub struct Run {
    /// The stream.
    pub stream: StreamId,
    /// The first wave; there is at least one.
    pub first: WaveNumber,
    /// Who contributed, to each of these waves.
    pub members: Arc<RankSet>,
    /// Whether this is sent for the first time, so that the receiver may combine it with others. What is sent again, or
    /// came too late to be combined, goes on to the root by itself.
    pub is_fresh: bool,
    /// Whether a node's filter made the bodies. Those of a member are its records.
    pub is_partial: bool,
    /// On a stream without waves, where filters made none or several of some records: which record each body is of.
    pub yields: Option<Yields>,
    /// One body a wave.
    pub bodies: Bodies,
}

impl Run {
    /// How many waves, or records.
    #[expect(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> u32 {
        self.yields.as_ref().map_or(self.bodies.len(), Yields::records)
    }

    /// The wave behind the last one.
    pub fn end(&self) -> WaveNumber {
        self.first.after(self.len())
    }

    /// Bytes of its bodies, and of what says whose they are.
    pub fn size(&self) -> usize {
        self.bodies.size() + self.yields.as_ref().map_or(0, |yields| size_of_val(yields.sources()))
    }

    /// How many of its records have a body.
    pub(crate) fn yielding(&self) -> u32 {
        match &self.yields {
            Some(yields) => yields.yielding(),
            None if self.bodies.are_absent() => 0,
            None => self.bodies.len(),
        }
    }

    /// The bodies of one of its records, counted from the first.
    pub(crate) fn bodies_of(&self, record: u32) -> Range<u32> {
        self.yields.as_ref().map_or(record..record + 1, |yields| yields.bodies_of(record..record + 1))
    }

    /// The part of this run within some waves, if there is any.
    pub fn within(&self, waves: Range<WaveNumber>) -> Option<Run> {
        let (start, end) = (self.first.max(waves.start), self.end().min(waves.end));
        if start >= end {
            return None;
        }
        // Both lie within this run, whose length is a `u32`.
        let cut = self.first.until(start) as u32..self.first.until(end) as u32;
        let (yields, bodies) = match &self.yields {
            None => (None, self.bodies.slice(cut)),
            Some(yields) if cut == (0..yields.records()) => (Some(yields.clone()), self.bodies.clone()),
            Some(yields) => match (yields.cut(cut.clone()), NonZeroU32::new(cut.end - cut.start)) {
                (None, Some(count)) => (None, Bodies::absent(count)),
                (cut_yields, _) => (cut_yields, self.bodies.slice(yields.bodies_of(cut))),
            },
        };
        Some(Run { first: start, yields, bodies, members: Arc::clone(&self.members), ..*self })
    }
}

#[cfg(test)]
mod tests {
    use banyan_ndr::FormatId;
    use proptest::prelude::*;

    use super::*;

    fn run(lengths: &[u8]) -> Run {
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        for (at, length) in lengths.iter().enumerate() {
            bytes.extend(std::iter::repeat_n(at as u8, *length as usize));
            ends.push(bytes.len() as u32);
        }
        let format = FormatId::from_bytes([1; 16]);
        let bodies = Bodies::by_ends(format, ends.into(), bytes.into()).unwrap();
        Run {
            stream: StreamId(1),
            first: WaveNumber(10),
            members: Arc::default(),
            is_fresh: true,
            is_partial: false,
            yields: None,
            bodies,
        }
    }

    proptest! {
        #[test]
        fn a_run_that_is_cut_twice_holds_the_bodies_of_its_waves(
            lengths in prop::collection::vec(0u8..9, 1..20), first in 0u64..40, second in 0u64..40, then in 0u64..40,
        ) {
            let whole = run(&lengths);
            let cut = whole.within(WaveNumber(first)..WaveNumber(40)).and_then(|run| run.within(WaveNumber(second)..WaveNumber(then)));
            let from = first.max(second).max(10);
            let until = then.min(10 + lengths.len() as u64);
            prop_assert_eq!(cut.is_some(), from < until);
            if let Some(cut) = cut {
                prop_assert_eq!((cut.first, cut.end()), (WaveNumber(from), WaveNumber(until)));
                for (wave, body) in (from..until).zip(cut.bodies.iter()) {
                    let at = (wave - 10) as usize;
                    prop_assert_eq!(body, vec![at as u8; lengths[at] as usize]);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_run_of_which_filters_made_none_or_several_is_cut_by_its_records(
            counts in prop::collection::vec(0u32..3, 1..20), first in 0u64..40, until in 0u64..40,
        ) {
            let sources: Arc<[u32]> =
                counts.iter().zip(0..).flat_map(|(count, record)| (0..*count).map(move |_| record)).collect();
            let bodies: Vec<u8> = sources.iter().map(|_| 3).collect();
            let whole = match Yields::new(counts.len() as u32, sources) {
                Some(yields) => Run { yields: Some(yields), ..run(&bodies) },
                None => Run { bodies: Bodies::absent(NonZeroU32::new(counts.len() as u32).unwrap()), ..run(&[1]) },
            };
            let of = |run: &Run, record: u32| -> Vec<Vec<u8>> {
                if run.bodies.are_absent() { return Vec::new(); }
                run.bodies_of(record).map(|at| run.bodies.get(at).to_vec()).collect()
            };
            prop_assert_eq!(whole.end(), WaveNumber(10 + counts.len() as u64));
            prop_assert_eq!(whole.yielding() as usize, counts.iter().filter(|count| **count > 0).count());
            let cut = whole.within(WaveNumber(first)..WaveNumber(until));
            let (from, to) = (first.max(10), until.min(10 + counts.len() as u64));
            prop_assert_eq!(cut.is_some(), from < to);
            if let Some(cut) = cut {
                prop_assert_eq!((cut.first, cut.end()), (WaveNumber(from), WaveNumber(to)));
                for record in from..to {
                    let expected = of(&whole, (record - 10) as u32);
                    prop_assert_eq!(expected.len() as u32, counts[(record - 10) as usize]);
                    prop_assert_eq!(of(&cut, (record - from) as u32), expected);
                }
            }
        }
    }
}
