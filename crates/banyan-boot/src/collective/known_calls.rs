//! Who is in which call of one collective, as far as somebody knows.
//!
//! Travels up with MISMATCH and GONE and grows on the way: each node adds the children of which it knows. The root makes
//! a sentence of it. What is claimed is true; ranks that are not mentioned may be anywhere.
//!
//! In a frame: the number of calls (4 bytes), then each call, the number of its ranges of ranks (4 bytes) and their
//! first and last ranks (4 bytes each, little-endian, ascending).

use std::fmt::Write as _;

use bytes::{Buf, BufMut};

use super::call::Call;

/// Most ranges of ranks and most calls that a sentence names; it says how many more there are.
const NAMED: usize = 16;

/// First and last of some neighbouring ranks.
pub(super) type Run = (u32, u32);

/// Calls and the members that are in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KnownCalls(Vec<(Call, Vec<Run>)>);

impl KnownCalls {
    /// Adds members that are in `call`.
    pub(super) fn add(&mut self, call: Call, added: impl IntoIterator<Item = Run>) {
        let mut added = added.into_iter().peekable();
        if added.peek().is_none() {
            return;
        }
        let at = self.0.iter().position(|(known, _)| *known == call).unwrap_or_else(|| {
            self.0.push((call, Vec::new()));
            self.0.len() - 1
        });
        let runs = &mut self.0[at].1;
        runs.extend(added);
        fold(runs);
    }

    /// The first and last ranks of all runs, in no particular order.
    pub(super) fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        self.0.iter().flat_map(|(_, runs)| runs.iter().copied())
    }

    /// The call that a member is known to be in, if all known ones are in the same.
    pub(super) fn only_call(&self) -> Option<Call> {
        match self.0.as_slice() {
            [(call, _)] => Some(*call),
            _ => None,
        }
    }

    /// Appends the encoding.
    pub(super) fn encode(&self, out: &mut impl BufMut) {
        out.put_u32_le(self.0.len() as u32);
        for (call, runs) in &self.0 {
            call.encode(out);
            out.put_u32_le(runs.len() as u32);
            for (first, last) in runs {
                out.put_u32_le(*first);
                out.put_u32_le(*last);
            }
        }
    }

    /// Takes one encoding from the front. Counts are not believed: memory grows with the bytes that are there.
    pub(super) fn decode(bytes: &mut impl Buf) -> Option<Self> {
        let calls = bytes.try_get_u32_le().ok()?;
        let mut places: Vec<(Call, Vec<Run>)> = Vec::new();
        for _ in 0..calls {
            let call = Call::decode(bytes)?;
            let count = bytes.try_get_u32_le().ok()?;
            let mut runs = Vec::new();
            for _ in 0..count {
                let run = (bytes.try_get_u32_le().ok()?, bytes.try_get_u32_le().ok()?);
                let after_last = runs.last().is_none_or(|(_, last)| *last < run.0);
                if run.0 > run.1 || !after_last {
                    return None;
                }
                runs.push(run);
            }
            if runs.is_empty() {
                return None;
            }
            places.push((call, runs));
        }
        Some(Self(places))
    }

    /// `members 0-3,5 are in barrier, member 4 in gather`.
    pub(super) fn sentence(&self) -> String {
        let mut places: Vec<_> = self.0.iter().collect();
        places.sort_by_key(|(_, runs)| runs.first().copied());
        let mut text = String::new();
        for (at, (call, runs)) in places.iter().take(NAMED).enumerate() {
            let verb = match (at, is_one(runs)) {
                (0, true) => " is in ",
                (0, false) => " are in ",
                _ => " in ",
            };
            let comma = if at == 0 { "" } else { ", " };
            let _ = write!(text, "{comma}{}{verb}{call}", members(runs));
        }
        if places.len() > NAMED {
            let _ = write!(text, ", and others in {} more calls", places.len() - NAMED);
        }
        text
    }

    /// `members 0-4,6-7 wait in it`; nothing if nobody is known to.
    pub(super) fn waiting(&self) -> Option<String> {
        let mut runs: Vec<Run> = self.runs().collect();
        fold(&mut runs);
        let verb = if is_one(&runs) { "waits" } else { "wait" };
        (!runs.is_empty()).then(|| format!("{} {verb} in it", members(&runs)))
    }
}

/// Sorts runs and joins those that touch.
pub(super) fn fold(runs: &mut Vec<Run>) {
    runs.sort_unstable();
    runs.dedup_by(|later, earlier| {
        let touches = later.0 <= earlier.1.saturating_add(1);
        if touches {
            earlier.1 = earlier.1.max(later.1);
        }
        touches
    });
}

pub(super) fn is_one(runs: &[Run]) -> bool {
    matches!(runs, [(first, last)] if first == last)
}

/// `member 4`, `members 0-3,5`.
pub(super) fn members(runs: &[Run]) -> String {
    let mut text = String::from(if is_one(runs) { "member " } else { "members " });
    for (at, (first, last)) in runs.iter().take(NAMED).enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let _ = match first == last {
            true => write!(text, "{comma}{first}"),
            false => write!(text, "{comma}{first}-{last}"),
        };
    }
    if runs.len() > NAMED {
        let more: u64 = runs[NAMED..].iter().map(|(first, last)| u64::from(last - first) + 1).sum();
        let _ = write!(text, " and {more} more");
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::call::tests::calls, *};

    fn single(rank: u32) -> Run {
        (rank, rank)
    }

    fn known_calls() -> impl Strategy<Value = KnownCalls> {
        prop::collection::vec((calls(), prop::collection::btree_set(0u32..200, 1..20)), 0..5).prop_map(|places| {
            let mut known = KnownCalls::default();
            for (call, ranks) in places {
                known.add(call, ranks.into_iter().map(single));
            }
            known
        })
    }

    proptest! {
        #[test]
        fn known_calls_are_what_was_encoded(known in known_calls()) {
            let mut bytes = Vec::new();
            known.encode(&mut bytes);
            let mut rest = bytes.as_slice();
            prop_assert_eq!(KnownCalls::decode(&mut rest), Some(known));
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn damaged_calls_do_no_harm(known in known_calls(), at in any::<prop::sample::Index>(), byte: u8) {
            let mut bytes = Vec::new();
            known.encode(&mut bytes);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Some(known) = KnownCalls::decode(&mut bytes.as_slice()) {
                known.sentence();
            }
        }
    }

    #[test]
    fn a_sentence_folds_ranks_and_says_who_is_where() {
        let mut known = KnownCalls::default();
        known.add(Call::Gather, [(4, 4)]);
        known.add(Call::Barrier, [(0, 2)]);
        known.add(Call::Barrier, [(5, 5), (3, 3)]);
        assert_eq!(known.sentence(), "members 0-3,5 are in barrier, member 4 in gather");
        assert_eq!(known.waiting().as_deref(), Some("members 0-5 wait in it"));
    }

    #[test]
    fn a_sentence_about_scattered_ranks_stays_short() {
        let mut known = KnownCalls::default();
        known.add(Call::Barrier, (0..100).map(|rank| single(rank * 2)));
        assert!(known.sentence().ends_with(",30 and 84 more are in barrier"), "{}", known.sentence());
    }
}
