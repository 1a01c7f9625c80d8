//! Values behind pointers, optionals, variants and lists of lists: reached step by step.

use banyan_ndr::reflect::Item;
use banyan_ndr::{DecodeError, RecordView, Type};

use super::datum::{Budget, datum};
use crate::Fault;
use crate::specification::PathStep;
use crate::value::Datum;

/// Calls `each` with every value that the steps lead to. What is absent on the way is left out. Every item on the way
/// takes from the budget, also one that leads to no value: lists that lie on each other may have any number of those.
pub(super) fn walk<'a>(
    record: RecordView<'a>,
    steps: &[PathStep],
    each: &mut dyn FnMut(Datum<'a>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut budget = Budget::of(record);
    let mut visit = |item: Item<'a>, budget: &mut Budget| match datum(record, item.ty(), item.offset())? {
        Some(datum) => {
            budget.take_text(datum)?;
            each(datum)
        }
        None => Ok(()),
    };
    visit_all(record.root(), steps, &mut budget, &mut visit)
}

/// What is done with an item at the end of the steps.
type Visit<'v, 'a> = dyn FnMut(Item<'a>, &mut Budget) -> Result<(), Fault> + 'v;

/// The depth of the recursion is that of the path and of the types at its end.
fn visit_all<'a>(
    item: Item<'a>,
    steps: &[PathStep],
    budget: &mut Budget,
    visit: &mut Visit<'_, 'a>,
) -> Result<(), Fault> {
    let Some(item) = item.follow()? else { return Ok(()) };
    let is_array = item.is_part() || matches!(item.ty(), Type::Array { .. } | Type::List { .. } | Type::Sized { .. });
    match steps {
        [PathStep::Name(name), rest @ ..] => match other_case(&item, name)? {
            true => Ok(()),
            false => visit_all(item.field(name)?, rest, budget, visit),
        },
        [PathStep::Item(index), rest @ ..] => visit_all(item.index(*index)?, rest, budget, visit),
        [] if !is_array => visit(item, budget),
        [PathStep::All, ..] | [] => {
            let rest = steps.get(1..).unwrap_or_default();
            for part in item.iter()? {
                let part = part?;
                // A row is paid for with its items.
                if !part.is_part() {
                    budget.take_item()?;
                }
                visit_all(part, if part.is_part() { steps } else { rest }, budget, visit)?;
            }
            Ok(())
        }
    }
}

/// Whether it is a variant of another case than the path names: there is no value then.
fn other_case(item: &Item<'_>, name: &str) -> Result<bool, DecodeError> {
    Ok(item.case()?.is_some_and(|(case, _)| case != name))
}

/// Whether the steps before the first `[*]` lead to something.
pub(super) fn is_present(record: RecordView<'_>, steps: &[PathStep]) -> Result<bool, Fault> {
    let mut item = record.root();
    for step in steps {
        let Some(there) = item.follow()? else { return Ok(false) };
        item = match step {
            PathStep::Name(name) if other_case(&there, name)? => return Ok(false),
            PathStep::Name(name) => there.field(name)?,
            PathStep::Item(index) => there.index(*index)?,
            PathStep::All => return Ok(true),
        };
    }
    Ok(item.follow()?.is_some())
}
