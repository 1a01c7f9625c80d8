//! A stream that is reduced as those of users are, by the filters of this crate: integers, and floats exactly.
//!
//! Everything about such a sum depends on nothing but who is in it, whatever was combined where and sent again: integers do
//! not round, and exact sums of floats only once, at the front-end. So the model knows it to the bit.

use banyan_ndr::Record;
use banyan_ndr::typed::encode_body_into;
use banyan_reduce::{Bodies, Filters, ReductionLimits};

use super::sum::Number;
use crate::combiner::Combiners;
use crate::format_book::FormatBook;
use crate::record_reader::RecordReader;
use crate::transformation::TransformationError;

/// The filter, and what it is to do.
pub(super) const REDUCE: &str = "reduce";
pub(super) const SUMS: &str = "sum(whole) as whole, exact_sum(real) as real";

/// What a member contributes.
#[derive(Record)]
struct Contribution {
    whole: i64,
    real: f64,
}

/// What comes of all of them.
#[derive(Record, Debug, PartialEq)]
struct Total {
    whole: i128,
    real: f64,
}

/// What makes and reads such sums. All nodes of a simulation look formats up in one book.
#[derive(Debug, Default)]
pub(super) struct Reductions {
    formats: FormatBook,
    reader: RecordReader,
}

impl Reductions {
    pub(super) fn combiners(&self) -> Combiners {
        // The book has room for one format.
        let _ = self.formats.learn(Contribution::format());
        Combiners::new(Filters::new(ReductionLimits::default()), self.formats.clone())
    }

    /// The formats of what members send, and of what filters make of it.
    pub(super) fn formats(&self) -> FormatBook {
        let _ = self.formats.learn(Number::format());
        self.formats.clone()
    }

    /// Whether what was delivered is the sum of exactly these contributions.
    pub(super) fn is_sum(&mut self, bodies: &Bodies, at: u32, numbers: impl Iterator<Item = u64>) -> bool {
        let (whole, real) = numbers
            .map(|number| (i128::from(whole(number)), real(number)))
            .fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        let read = self.reader.read::<Total>(bodies.format(), bodies.get(at), &self.formats);
        read.is_ok_and(|read| read == Total { whole, real: real as f64 })
    }
}

/// Contributions, made of numbers.
pub(super) fn bodies(numbers: impl Iterator<Item = u64>) -> Result<Bodies, TransformationError> {
    let (mut bytes, mut count) = (Vec::new(), 0);
    for number in numbers {
        let part = Contribution { whole: whole(number), real: real(number) as f64 };
        encode_body_into(&part, &mut bytes).map_err(|error| TransformationError(error.to_string()))?;
        count += 1;
    }
    let size = bytes.len() / (count as usize).max(1);
    let bodies = Bodies::of_size(Contribution::format().id(), size as u32, count, bytes.into());
    bodies.map_err(|error| TransformationError(error.to_string()))
}

fn whole(number: u64) -> i64 {
    number as i64
}

/// A float, as the integer that it is: of 40 bits, and of very different sizes, so that sums round wherever they can.
fn real(number: u64) -> i128 {
    i128::from(number as i64 >> 24) << (number % 60)
}
