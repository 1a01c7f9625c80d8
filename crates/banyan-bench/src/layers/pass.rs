//! The filter that does nothing: a wave of one child goes on as it came, without a copy. With it a tree costs what its
//! hops cost.

use banyan_ndr::Format;
use banyan_tree::Bodies;
use banyan_tree::reduce::{Filter, FilterError, FilterRole, Filters, Output, Part, PartRun, Recovery};

/// The name of the filter.
pub(super) const PASS_ON: &str = "bench-pass-on";

/// Adds to the filters of a program what this bench wants its agents to know.
pub fn add_filters(filters: &mut Filters) {
    filters.register(PASS_ON, |_| Ok(Box::new(PassOn)));
}

struct PassOn;

impl Filter for PassOn {
    fn wave(&mut self, parts: &[Part<'_>], _: FilterRole, out: &mut Output) -> Result<(), FilterError> {
        let [part] = parts else {
            return Err(FilterError::Custom(format!("{PASS_ON} is for one child, not for {}", parts.len())));
        };
        out.push(part.format, part.body);
        Ok(())
    }

    fn waves(&mut self, parts: &[PartRun<'_>], _: FilterRole) -> Option<(Format, Bodies)> {
        let [part] = parts else { return None };
        Some((part.format.clone(), part.bodies.clone()))
    }

    fn recovery(&self) -> Recovery {
        Recovery::Recomputed
    }
}
