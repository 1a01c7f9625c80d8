//! Compiled inputs: what is done with parts of one format.
//!
//! Made once for each format that arrives, and remembered. A member's record becomes a list of steps, one for each
//! function. A partial result in the layout of this machine is read where it lies; one of another machine is converted
//! first.

use std::sync::Arc;

use banyan_ndr::{ConvertOptions, Format, FormatId, Plan};

use super::column::{self, Column};
use super::fast::Fast;
use super::input::{Access, Resolved, Unresolved};
use super::layout::{self, Columns, Layout};
use super::specification::Path;
use super::value::Kind;
use super::whole::Whole;
use super::{Fault, Specification};

/// What is done with parts of one format.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) id: FormatId,
    /// Shared with the layout, so that a look tells that they are the same.
    pub(super) columns: Arc<Columns>,
    pub(super) way: PartSort,
}

/// The two sorts of parts.
#[derive(Debug)]
pub(super) enum PartSort {
    /// A member's record.
    Record {
        /// By function.
        steps: Vec<Evaluation>,
        /// By key; none of one that the records lack.
        keys: Vec<Option<Access>>,
        /// All functions at once, if they are such.
        whole: Option<Whole>,
    },
    /// A partial result.
    Partial {
        /// How it lies in this machine's memory.
        layout: Box<Layout>,
        /// How it comes there, where it lies otherwise.
        plan: Option<Box<Plan>>,
    },
}

/// What is done with a record for one function.
#[derive(Debug)]
pub(super) enum Evaluation {
    /// One number in a fixed place, into a scalar cell.
    Fast(Fast),
    /// The record itself is counted.
    Count,
    /// Whatever else.
    General(Box<Access>),
    /// The record lacks the field; why.
    Missing(Box<str>),
}

impl Input {
    /// Compiles a member's record.
    pub(super) fn record(specification: &Specification, format: &Format) -> Result<Input, Fault> {
        let refused = |name: &str, reason| Fault::Path { name: name.into(), format: format.name().into(), reason };
        let (mut aggregates, mut steps) = (Vec::new(), Vec::new());
        for aggregate in specification.aggregates() {
            let function = &aggregate.function;
            let as_number = column::takes_numbers(function);
            let resolved = function.path().map(|path| Resolved::new(format, path, as_number));
            let (column, step) = match resolved {
                None => (Column::of(function, Kind::Float, false), Evaluation::Count),
                Some(Ok(Resolved { access, kind, many })) => {
                    let column = Column::of(function, kind, many);
                    let fast = Fast::new(function, column, &access, format);
                    (column, fast.map_or_else(|| Evaluation::General(access.into()), Evaluation::Fast))
                }
                Some(Err(Unresolved::Missing(reason))) if !specification.is_strict() => {
                    (Column::missing(function), Evaluation::Missing(reason.into()))
                }
                Some(Err(unresolved)) => return Err(refused(&aggregate.name, unresolved.reason())),
            };
            aggregates.push(column);
            steps.push(step);
        }
        let (mut kinds, mut keys) = (Vec::new(), Vec::new());
        for path in specification.by() {
            let name = format!("by {path}");
            let (kind, access) = match Resolved::new(format, path, false) {
                Ok(Resolved { many: true, .. }) => {
                    return Err(refused(&name, "a key is one value a record, not an array".into()));
                }
                Ok(Resolved { access, kind, .. }) => (kind, Some(access)),
                Err(Unresolved::Missing(_)) if !specification.is_strict() => (Kind::Missing, None),
                Err(unresolved) => return Err(refused(&name, unresolved.reason())),
            };
            kinds.push(kind);
            keys.push(access);
        }
        let columns = Arc::new(Columns { aggregates, keys: kinds });
        let whole = match keys.is_empty() {
            true => Whole::new(&steps, format, &Layout::new(specification, &columns)?),
            false => None,
        };
        Ok(Input { id: format.id(), columns, way: PartSort::Record { steps, keys, whole } })
    }

    /// Compiles a partial result.
    pub(super) fn partial(specification: &Specification, format: &Format) -> Result<Input, Fault> {
        let columns = layout::columns_of(specification, format)
            .map_err(|name| Fault::Partial { name, reason: "it is not there, or of another type".into() })?;
        let columns = Arc::new(columns);
        let layout = Layout::new(specification, &columns)?;
        let ours = &layout.partial.format;
        let plan = match format.id() == ours.id() {
            true => None,
            false => {
                let plan = Plan::new(format, ours, &ConvertOptions::default())?;
                (!plan.is_identity()).then(|| Box::new(plan))
            }
        };
        Ok(Input { id: format.id(), columns, way: PartSort::Partial { layout: Box::new(layout), plan } })
    }
}

/// The fields that a specification wants and that parts of a format lack, each with what it is wanted for. Of a partial result,
/// those that none of its records had. None of a strict specification, in which that is an error.
pub(super) fn lacks(specification: &Specification, format: &Format, is_partial: bool) -> Vec<String> {
    if specification.is_strict() {
        return Vec::new();
    }
    let partial = is_partial.then(|| layout::columns_of(specification, format).ok());
    let is_missing = |path: &Path, in_partial: &dyn Fn(&Columns) -> bool| match &partial {
        Some(columns) => columns.as_ref().is_some_and(in_partial),
        None => matches!(Resolved::new(format, path, false), Err(Unresolved::Missing(_))),
    };
    let mut lacks: Vec<(&Path, Vec<String>)> = Vec::new();
    for (at, aggregate) in specification.aggregates().iter().enumerate() {
        let Some(path) = aggregate.function.path() else { continue };
        if !is_missing(path, &|columns| columns.aggregates.get(at).is_some_and(|column| column.is_missing())) {
            continue;
        }
        let function = aggregate.function.to_string();
        match lacks.iter_mut().find(|(known, _)| *known == path) {
            Some((_, functions)) => functions.push(function),
            None => lacks.push((path, vec![function])),
        }
    }
    for (at, path) in specification.by().iter().enumerate() {
        if is_missing(path, &|columns| columns.keys.get(at) == Some(&Kind::Missing)) {
            lacks.push((path, vec![format!("by {path}")]));
        }
    }
    lacks.into_iter().map(|(path, wanted_by)| format!("{path} of {}", wanted_by.join(", "))).collect()
}
