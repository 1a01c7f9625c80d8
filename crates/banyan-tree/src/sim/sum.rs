//! The simulator's own transformation: sums of numbers of 64 bits, which wrap.

use banyan_ndr::FormatId;
use bytes::Bytes;

use crate::reduce::Place;
use crate::run::{Bodies, Run};
use crate::transformation::{Transformation, TransformationError, Transformations};

/// The only transformation there is.
#[derive(Debug)]
pub(super) struct Sums;

/// The format of the numbers, which nobody looks at.
pub(super) fn format() -> FormatId {
    FormatId::from_bytes([0; 16])
}

impl Transformations for Sums {
    fn make(&self, _: &str) -> Result<Box<dyn Transformation>, TransformationError> {
        Ok(Box::new(Sum))
    }
}

struct Sum;

impl Transformation for Sum {
    fn combine(&mut self, parts: &[Run], _: Place) -> Result<Bodies, TransformationError> {
        let count = parts.first().map_or(0, |part| part.bodies.len());
        let sums =
            (0..count).map(|wave| parts.iter().map(|part| number(part.bodies.get(wave))).fold(0, u64::wrapping_add));
        bodies(sums)
    }
}

/// Numbers as bodies.
pub(super) fn bodies(numbers: impl Iterator<Item = u64>) -> Result<Bodies, TransformationError> {
    let bytes: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
    let count = (bytes.len() / 8) as u32;
    Bodies::of_size(format(), 8, count, Bytes::from(bytes)).map_err(|error| TransformationError(error.to_string()))
}

/// A body as a number.
pub(super) fn number(body: &[u8]) -> u64 {
    body.try_into().map_or(0, u64::from_le_bytes)
}
