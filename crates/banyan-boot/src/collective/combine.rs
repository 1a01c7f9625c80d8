//! Combining two arrays element by element, as an `all_reduce` does at each node.
//!
//! Everything but the sum of floats gives the same bits in any order: integers wrap, and the least and greatest of
//! floats are taken in a total order in which a value that is not a number loses.

use super::call::{ElementKind, ReduceOp, Reduction};

/// Combines `with` into `into`. Both have the same length, a multiple of the element's size.
pub(super) fn combine(reduction: &Reduction, into: &mut [u8], with: &[u8]) {
    assert_eq!(into.len(), with.len(), "pieces of a reduction are compared before they are combined");
    match reduction.of() {
        ElementKind::U8 => integers::u8(reduction.what(), into, with),
        ElementKind::I32 => integers::i32(reduction.what(), into, with),
        ElementKind::U32 => integers::u32(reduction.what(), into, with),
        ElementKind::I64 => integers::i64(reduction.what(), into, with),
        ElementKind::U64 => integers::u64(reduction.what(), into, with),
        ElementKind::F32 => floats::f32(reduction.what(), into, with),
        ElementKind::F64 => floats::f64(reduction.what(), into, with),
    }
}

/// `element_wise!(u32, into, with, |a, b| a ^ b)`: one loop over the elements of both.
macro_rules! element_wise {
    ($type:ident, $into:ident, $with:ident, $how:expr) => {{
        const SIZE: usize = size_of::<$type>();
        let how: fn($type, $type) -> $type = $how;
        let (into, _) = $into.as_chunks_mut::<SIZE>();
        let (with, _) = $with.as_chunks::<SIZE>();
        for (a, b) in into.iter_mut().zip(with) {
            *a = how($type::from_le_bytes(*a), $type::from_le_bytes(*b)).to_le_bytes();
        }
    }};
}

mod integers {
    use super::ReduceOp;

    macro_rules! integer {
        ($type:ident) => {
            pub(super) fn $type(what: ReduceOp, into: &mut [u8], with: &[u8]) {
                match what {
                    ReduceOp::Sum => element_wise!($type, into, with, |a, b| a.wrapping_add(b)),
                    ReduceOp::Min => element_wise!($type, into, with, |a, b| a.min(b)),
                    ReduceOp::Max => element_wise!($type, into, with, |a, b| a.max(b)),
                    ReduceOp::And => element_wise!($type, into, with, |a, b| a & b),
                    ReduceOp::Or => element_wise!($type, into, with, |a, b| a | b),
                    ReduceOp::Xor => element_wise!($type, into, with, |a, b| a ^ b),
                }
            }
        };
    }

    integer!(u8);
    integer!(i32);
    integer!(u32);
    integer!(i64);
    integer!(u64);
}

mod floats {
    use super::ReduceOp;

    macro_rules! float {
        ($type:ident) => {
            pub(super) fn $type(what: ReduceOp, into: &mut [u8], with: &[u8]) {
                match what {
                    ReduceOp::Sum => element_wise!($type, into, with, |a, b| a + b),
                    ReduceOp::Min => element_wise!($type, into, with, |a, b| {
                        let second = (b.is_nan(), a.is_nan()) == (false, true)
                            || a.is_nan() == b.is_nan() && b.total_cmp(&a).is_lt();
                        if second { b } else { a }
                    }),
                    ReduceOp::Max => element_wise!($type, into, with, |a, b| {
                        let second = (b.is_nan(), a.is_nan()) == (false, true)
                            || a.is_nan() == b.is_nan() && b.total_cmp(&a).is_gt();
                        if second { b } else { a }
                    }),
                    ReduceOp::And | ReduceOp::Or | ReduceOp::Xor => {
                        unreachable!("Reduction::new refuses bits of floats")
                    }
                }
            }
        };
    }

    float!(f32);
    float!(f64);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn combined(what: ReduceOp, of: ElementKind, a: &[u8], b: &[u8]) -> Vec<u8> {
        let reduction = Reduction::new(what, of, a.len() as u64).unwrap();
        let mut into = a.to_vec();
        combine(&reduction, &mut into, b);
        into
    }

    fn bytes_of<T: Copy, const N: usize>(numbers: &[T], bytes: impl Fn(T) -> [u8; N]) -> Vec<u8> {
        numbers.iter().flat_map(|number| bytes(*number)).collect()
    }

    #[test]
    fn integer_sums_wrap() {
        let (a, b) = (bytes_of(&[i32::MAX, -1], i32::to_le_bytes), bytes_of(&[1, -1], i32::to_le_bytes));
        assert_eq!(combined(ReduceOp::Sum, ElementKind::I32, &a, &b), bytes_of(&[i32::MIN, -2], i32::to_le_bytes));
    }

    #[test]
    fn a_float_that_is_not_a_number_loses() {
        let (a, b) = (bytes_of(&[f64::NAN, 1.0], f64::to_le_bytes), bytes_of(&[2.0, f64::NAN], f64::to_le_bytes));
        let numbers = bytes_of(&[2.0, 1.0], f64::to_le_bytes);
        assert_eq!(combined(ReduceOp::Min, ElementKind::F64, &a, &b), numbers);
        assert_eq!(combined(ReduceOp::Max, ElementKind::F64, &a, &b), numbers);
    }

    #[test]
    fn an_array_without_elements_stays_one() {
        assert_eq!(combined(ReduceOp::Max, ElementKind::F32, &[], &[]), [0u8; 0]);
    }

    proptest! {
        #[test]
        fn all_but_sums_of_floats_are_the_same_in_any_order(
            [a, b, c] in any::<[[u8; 16]; 3]>(),
            what in prop::sample::select(vec![ReduceOp::Sum, ReduceOp::Min, ReduceOp::Max, ReduceOp::And, ReduceOp::Or, ReduceOp::Xor]),
            of in prop::sample::select(vec![
                ElementKind::U8, ElementKind::I32, ElementKind::U32, ElementKind::I64, ElementKind::U64, ElementKind::F32, ElementKind::F64,
            ]),
        ) {
            let Ok(reduction) = Reduction::new(what, of, 16) else { return Ok(()) };
            prop_assume!(!reduction.needs_order());
            let ab_c = combined(what, of, &combined(what, of, &a, &b), &c);
            let c_ba = combined(what, of, &c, &combined(what, of, &b, &a));
            prop_assert_eq!(ab_c, c_ba);
        }
    }
}
