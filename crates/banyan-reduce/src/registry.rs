//! Filters by name: how a node makes the filter that a stream asks for.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::caught::Caught;
use super::collect::{COLLECT, Collect};
use super::partial::{PARTIAL, PartialReduction};
use super::{Filter, FilterError, Reduction, ReductionLimits, Specification};

/// The name of the filter that takes a [`Specification`] as its parameters.
pub const REDUCE: &str = "reduce";

/// Makes a filter from its parameters.
pub(super) type Maker = dyn Fn(&[u8]) -> Result<Box<dyn Filter>, FilterError> + Send + Sync;

/// The filters that a program knows: [`REDUCE`], [`PARTIAL`] and [`COLLECT`], and those it brings.
///
/// ```
/// use banyan_reduce::{Filters, REDUCE, Reduction, ReductionLimits};
///
/// let mut filters = Filters::new(ReductionLimits::default());
/// filters.register("hottest", |_| {
///     let specification = "max(temp)".parse().expect("a valid specification");
///     Ok(Box::new(Reduction::new(specification, ReductionLimits::default())))
/// });
/// assert!(filters.make("hottest", b"").is_ok());
/// assert!(filters.make(REDUCE, b"avg(load) by host").is_ok());
/// let error = filters.make("coldest", b"").err().expect("nobody registered it");
/// assert_eq!(error.to_string(), "there is no filter coldest; this program has collect, hottest, partial, reduce");
/// ```
#[derive(Clone)]
pub struct Filters {
    makers: BTreeMap<String, Arc<Maker>>,
}

impl Filters {
    /// Only [`COLLECT`], and [`REDUCE`] and [`PARTIAL`] with these limits.
    pub fn new(limits: ReductionLimits) -> Filters {
        let mut filters = Filters { makers: BTreeMap::new() };
        let limits_of_partial = limits.clone();
        filters.register(REDUCE, move |parameters| {
            Ok(Box::new(Reduction::new(specification(REDUCE, parameters)?, limits.clone())))
        });
        filters.register(PARTIAL, move |parameters| {
            let specification = specification(PARTIAL, parameters)?;
            Ok(Box::new(PartialReduction(Reduction::new(specification, limits_of_partial.clone()))))
        });
        filters.register(COLLECT, |parameters| match parameters {
            [] => Ok(Box::new(Collect::default())),
            _ => Err(FilterError::Parameters { name: COLLECT.into(), reason: "it takes no parameters".into() }),
        });
        filters
    }

    /// Brings a filter, made from its parameters. A name that is known already gets the new one.
    pub fn register(
        &mut self,
        name: impl Into<String>,
        maker: impl Fn(&[u8]) -> Result<Box<dyn Filter>, FilterError> + Send + Sync + 'static,
    ) {
        self.makers.insert(name.into(), Arc::new(maker));
    }

    /// Makes a filter, with a state of its own. If it panics, that is an error of the wave, and the next wave gets a new one.
    pub fn make(&self, name: &str, parameters: &[u8]) -> Result<Box<dyn Filter>, FilterError> {
        match self.makers.get(name) {
            Some(maker) => Ok(Box::new(Caught::new(name, parameters, maker)?)),
            None => {
                let known = self.makers.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                Err(FilterError::Unknown { name: name.into(), known })
            }
        }
    }
}

/// The parameters of a reduction.
fn specification(name: &str, parameters: &[u8]) -> Result<Specification, FilterError> {
    let wrong = |reason: String| FilterError::Parameters { name: name.into(), reason };
    let text = std::str::from_utf8(parameters).map_err(|error| wrong(error.to_string()))?;
    text.parse().map_err(|error: super::SpecificationError| wrong(error.to_string()))
}

/// Those that every program knows, with the default limits.
impl Default for Filters {
    fn default() -> Filters {
        Filters::new(ReductionLimits::default())
    }
}

impl fmt::Debug for Filters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.makers.keys()).finish()
    }
}
