//! A reduction whose root hands out the partial result: for programs that go on reducing, such as those that put windows
//! together.

use banyan_ndr::Format;

use super::{Bodies, Filter, FilterError, FilterRole, Output, Part, PartRun, Recovery, Reduction};

/// The name of the filter: it takes a [`Specification`](super::Specification), as [`REDUCE`](super::REDUCE) does, and gives a
/// partial result at every node, also at the root. No field has to be there.
pub const PARTIAL: &str = "partial";

/// The filter.
#[derive(Debug)]
pub(super) struct PartialReduction(pub(super) Reduction);

/// What a node has to do for the root to give a partial result.
fn role(place: FilterRole) -> FilterRole {
    if place == FilterRole::Root { FilterRole::Inner } else { place }
}

impl Filter for PartialReduction {
    fn wave(&mut self, parts: &[Part<'_>], place: FilterRole, out: &mut Output) -> Result<(), FilterError> {
        self.0.wave(parts, role(place), out)
    }

    fn waves(&mut self, parts: &[PartRun<'_>], place: FilterRole) -> Option<(Format, Bodies)> {
        self.0.waves(parts, role(place))
    }

    fn verify(&mut self, part: &Part<'_>) -> Result<(), FilterError> {
        Filter::verify(&mut self.0, part)
    }

    fn recovery(&self) -> Recovery {
        Recovery::Recomputed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReductionLimits;
    use banyan_ndr::Record;
    use banyan_ranks::RankSet;

    #[derive(Record)]
    struct Sample {
        temp: f64,
    }

    #[test]
    fn the_root_gives_a_partial_result_that_can_be_reduced_further_without_all_fields() {
        let reduction = || Reduction::new("max(temp), max(level)".parse().unwrap(), ReductionLimits::default());
        let mut body = Vec::new();
        banyan_ndr::typed::encode_body_into(&Sample { temp: 2.5 }, &mut body).unwrap();
        let members: RankSet = [0].into_iter().collect();
        let part = Part { members: &members, format: Sample::format(), body: &body, is_partial: false };
        let mut out = Output::new();
        PartialReduction(reduction()).wave(&[part], FilterRole::Root, &mut out).unwrap();
        let (format, body) = out.take().next().unwrap();
        let part = Part { members: &members, format: &format, body: &body, is_partial: true };
        let mut further = reduction();
        further.add(&part).unwrap();
        assert!(reduction().wave(&[part], FilterRole::Root, &mut Output::new()).is_err(), "one field is missing");
    }
}
