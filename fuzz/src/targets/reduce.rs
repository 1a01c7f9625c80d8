//! Reductions of any text over records of any bytes: an error, or a result that is a record of its format.

use banyan_boot::RankSet;
use banyan_fuzz::{Bytes, Deep, Flat, Item, mesh};
use banyan_ndr::{Buffer, Format, Record, RecordView};
use banyan_tree::reduce::{Part, Reduction, ReductionLimits, Specification};

pub(crate) fn target(bytes: &[u8]) {
    let mut input = Bytes(bytes);
    let (chosen, is_partial) = (input.byte() % 4, input.byte() % 2 == 1);
    let mesh = mesh();
    let format: &Format = match chosen {
        0 => &mesh,
        1 => Deep::format(),
        2 => Flat::format(),
        _ => Item::format(),
    };
    let Some(line) = input.0.iter().position(|byte| *byte == b'\n') else { return };
    let (text, body) = (&input.0[..line], &input.0[line + 1..]);
    let Ok(text) = std::str::from_utf8(text) else { return };
    let Ok(specification) = text.parse::<Specification>() else { return };
    let mut reduction = Reduction::new(specification, ReductionLimits::default());
    for rank in 0..2 {
        let members = RankSet::from_iter([rank]);
        let part = Part { members: &members, format, body, is_partial };
        if reduction.add(&part).is_err() {
            return;
        }
    }
    let mut result = Buffer::new();
    if let Some(format) = reduction.result(&mut result) {
        assert!(RecordView::new(format, &result).is_ok(), "a result is a record");
    }
}
