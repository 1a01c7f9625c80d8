//! The filter that merges the reports of hosts on their way up the tree.

use banyan_ndr::{Decoder, Record, typed};
use banyan_stack::{Report, ReportRecord};
use banyan_tree::reduce::{Filter, FilterError, FilterRole, Filters, Output, Part, Recovery};

/// The name of the filter.
pub(super) const STACKS: &str = "stacks";

/// Makes it known.
pub(crate) fn register(filters: &mut Filters) {
    filters.register(STACKS, |_| Ok(Box::new(ReportMerge(Decoder::new()))));
}

struct ReportMerge(Decoder);

impl ReportMerge {
    fn report(&mut self, part: &Part<'_>) -> Result<Report, FilterError> {
        let broken = |error: String| FilterError::Custom(format!("stacks of members {}: {error}", part.members));
        let format = self.0.learn(part.format).map_err(|error| broken(error.to_string()))?;
        let record: ReportRecord = self.0.decode(format, part.body).map_err(|error| broken(error.to_string()))?;
        Report::try_from(record).map_err(|error| broken(error.to_string()))
    }
}

impl Filter for ReportMerge {
    fn wave(&mut self, parts: &[Part<'_>], _: FilterRole, out: &mut Output) -> Result<(), FilterError> {
        let mut all = Report::default();
        for part in parts {
            all.merge(self.report(part)?);
        }
        let mut body = Vec::new();
        typed::encode_body_into(&ReportRecord::from(&all), &mut body)
            .map_err(|error| FilterError::Custom(error.to_string()))?;
        out.push(ReportRecord::format(), &body);
        Ok(())
    }

    fn recovery(&self) -> Recovery {
        Recovery::Recomputed
    }
}
