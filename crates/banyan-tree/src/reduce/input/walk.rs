//! Values behind pointers, optionals, variants and lists of lists: reached step by step.

use banyan_ndr::reflect::Item;
use banyan_ndr::{DecodeError, RecordView, Type};

use super::datum::{Budget, datum};
use crate::reduce::Fault;
use crate::reduce::specification::Step;
use crate::reduce::value::Datum;

/// Calls `each` with every value that the steps lead to. What is absent on the way is left out.
pub(super) fn walk<'a>(
    record: RecordView<'a>,
    steps: &[Step],
    each: &mut dyn FnMut(Datum<'a>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut budget = Budget::of(record);
    let mut visit = |item: Item<'a>| match datum(record, item.ty(), item.offset())? {
        Some(datum) => {
            budget.take(datum)?;
            each(datum)
        }
        None => Ok(()),
    };
    visit_all(record.root(), steps, &mut visit)
}

/// The depth of the recursion is that of the path and of the types at its end.
fn visit_all<'a>(
    item: Item<'a>,
    steps: &[Step],
    visit: &mut dyn FnMut(Item<'a>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let Some(item) = item.follow()? else { return Ok(()) };
    let is_array = item.is_part() || matches!(item.ty(), Type::Array { .. } | Type::List { .. } | Type::Sized { .. });
    match steps {
        [Step::Name(name), rest @ ..] => match other_case(&item, name)? {
            true => Ok(()),
            false => visit_all(item.field(name)?, rest, visit),
        },
        [Step::Item(index), rest @ ..] => visit_all(item.index(*index)?, rest, visit),
        [Step::All, rest @ ..] => {
            for part in item.iter()? {
                let part = part?;
                visit_all(part, if part.is_part() { steps } else { rest }, visit)?;
            }
            Ok(())
        }
        [] if is_array => item.iter()?.try_for_each(|part| visit_all(part?, &[], visit)),
        [] => visit(item),
    }
}

/// Whether it is a variant of another case than the path names: there is no value then.
fn other_case(item: &Item<'_>, name: &str) -> Result<bool, DecodeError> {
    Ok(item.case()?.is_some_and(|(case, _)| case != name))
}

/// Whether the steps before the first `[*]` lead to something.
pub(super) fn is_present(record: RecordView<'_>, steps: &[Step]) -> Result<bool, Fault> {
    let mut item = record.root();
    for step in steps {
        let Some(there) = item.follow()? else { return Ok(false) };
        item = match step {
            Step::Name(name) if other_case(&there, name)? => return Ok(false),
            Step::Name(name) => there.field(name)?,
            Step::Item(index) => there.index(*index)?,
            Step::All => return Ok(true),
        };
    }
    Ok(item.follow()?.is_some())
}
