//! The simplest filter, for tests and fuzz targets of this crate: of the parts of a wave the first, as it is.

use banyan_reduce::{Bodies, FilterRole};

use crate::run::Run;
use crate::transformation::{Transformation, TransformationError, Transformations};

pub(crate) struct FirstOf;

impl Transformations for FirstOf {
    fn make(&self, _: &str) -> Result<Box<dyn Transformation>, TransformationError> {
        Ok(Box::new(FirstOf))
    }
}

impl Transformation for FirstOf {
    fn combine(&mut self, parts: &[Run], _: FilterRole) -> Result<Bodies, TransformationError> {
        let first = parts.first().map(|part| part.bodies.clone());
        first.ok_or_else(|| TransformationError("there is nothing".into()))
    }
}
