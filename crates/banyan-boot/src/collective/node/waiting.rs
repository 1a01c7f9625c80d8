//! Who keeps whom waiting, for status reports and time-outs.

use std::fmt;

use super::Collectives;
use crate::collective::{
    Call, Number,
    known_calls::{Run, fold, members},
};

/// A collective that has begun and cannot end yet, as one node sees it. Of a subtree it sees only whether all of its
/// members have entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// Which it is.
    pub(crate) number: Number,
    /// What those that have entered have called.
    pub(crate) call: Call,
    entered: Vec<Run>,
    missing: Vec<Run>,
    owing: Vec<Run>,
}

#[cfg_attr(not(test), expect(dead_code, reason = "status reports and time-outs of the front-end will show it"))]
impl Collectives {
    /// The collectives that have begun and cannot end yet; at most [`WINDOW`](crate::collective::WINDOW).
    pub(crate) fn waiting(&self) -> Vec<Waiting> {
        let runs = |which: &dyn Fn(usize) -> bool| {
            let mut runs = self.children.runs_of(which).collect();
            fold(&mut runs);
            runs
        };
        let waiting = |(number, round): (Number, &super::round::Round)| {
            let call = round.call?;
            let has_entered = |child: usize| number < self.entered[child];
            let entered = runs(&has_entered);
            let missing = runs(&|child| !has_entered(child));
            let owing =
                runs(&|child| has_entered(child) && round.finished(child) < self.children.messages(&call, child));
            (!missing.is_empty() || !owing.is_empty()).then_some(Waiting { number, call, entered, missing, owing })
        };
        self.rounds.alive().filter_map(waiting).collect()
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, call, entered, missing, owing } = self;
        write!(f, "collective {number} ({call}): ")?;
        match missing.is_empty() {
            true => write!(f, "all have entered")?,
            false => write!(f, "entered by {}, not by {}", members(entered), members(missing))?,
        }
        if !owing.is_empty() {
            write!(f, "; data of {} is missing", members(owing))?;
        }
        Ok(())
    }
}
