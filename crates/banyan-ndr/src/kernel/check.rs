//! Asserts that a program stays within its items.
//!
//! The planner promises it; generated code, which has no checks of its own inside an item, relies on it.

use super::program::{Number, NumberKind, Step};

/// Panics if a step reads outside `src` bytes or writes outside `dst` bytes, or if a number cannot be one.
pub(super) fn assert_within(steps: &[Step], src: usize, dst: usize) {
    for step in steps {
        let (read, written) = reach(step);
        assert!(read <= src as u64, "step reads to byte {read} of {src}: {step:?}");
        assert!(written <= dst as u64, "step writes to byte {written} of {dst}: {step:?}");
    }
    assert_numbers(steps);
}

fn assert_numbers(steps: &[Step]) {
    for step in steps {
        match step {
            Step::Number { from, to, .. } | Step::Renumber { from, to, .. } => {
                assert!(is_number(*from) && is_number(*to), "no such number: {step:?}");
            }
            Step::Swap { width, .. } => assert!(matches!(width, 2 | 4 | 8 | 16), "no such width: {step:?}"),
            Step::IfPresent { steps, .. } | Step::Repeat { steps, .. } | Step::Permute { steps, .. } => {
                assert_numbers(steps);
            }
            _ => {}
        }
    }
}

fn is_number(number: Number) -> bool {
    match number.kind {
        NumberKind::Unsigned | NumberKind::Signed => matches!(number.width, 1 | 2 | 4 | 8 | 16),
        NumberKind::Float => matches!(number.width, 2 | 4 | 8),
        NumberKind::Bool => matches!(number.width, 1 | 2 | 4 | 8),
    }
}

/// The ends of the source and the target bytes that `step` touches, steps within it included.
pub(super) fn reach(step: &Step) -> (u64, u64) {
    let end = |at: u32, len: u64| u64::from(at) + len;
    match step {
        Step::Copy { src, dst, len } => (end(*src, u64::from(*len)), end(*dst, u64::from(*len))),
        Step::Swap { src, dst, width, count } => {
            let len = u64::from(*width) * u64::from(*count);
            (end(*src, len), end(*dst, len))
        }
        Step::Zero { dst, len } => (0, end(*dst, u64::from(*len))),
        Step::Fill { dst, bytes } => (0, end(*dst, bytes.len() as u64)),
        Step::Number { src, dst, count, from, to, .. } | Step::Renumber { src, dst, count, from, to, .. } => {
            (end(*src, u64::from(*count) * u64::from(from.width)), end(*dst, u64::from(*count) * u64::from(to.width)))
        }
        Step::Require { src, .. } => (end(*src, 1), 0),
        Step::IfPresent { src, dst, otherwise, steps } => {
            let (read, written) = reach_of(steps);
            (read.max(end(*src, 1)), written.max(end(*dst, otherwise.len() as u64)))
        }
        Step::Repeat { count: 0, .. } => (0, 0),
        Step::Repeat { src, dst, count, src_stride, dst_stride, steps } => {
            let (read, written) = reach_of(steps);
            let last = u64::from(count - 1);
            (end(*src, last * u64::from(*src_stride) + read), end(*dst, last * u64::from(*dst_stride) + written))
        }
        Step::Permute { src, dst, order, src_stride, dst_stride, steps } => {
            let (Some(&farthest), Some(last)) = (order.iter().max(), (order.len() as u64).checked_sub(1)) else {
                return (0, 0);
            };
            let (read, written) = reach_of(steps);
            let read = end(*src, u64::from(farthest) * u64::from(*src_stride) + read);
            (read, end(*dst, last * u64::from(*dst_stride) + written))
        }
        Step::Shuffle { windows } => windows
            .iter()
            .fold((0, 0), |(read, written), window| (read.max(end(window.src, 16)), written.max(end(window.dst, 16)))),
    }
}

/// The farthest [`reach`] of several steps.
pub(super) fn reach_of(steps: &[Step]) -> (u64, u64) {
    steps.iter().map(reach).fold((0, 0), |most, next| (most.0.max(next.0), most.1.max(next.1)))
}
