//! Paths followed through the format of a sensor's events.

use banyan_ndr::{Format, Type};

use crate::error::{Fault, Problem, Span, nearest};
use crate::place::{Holds, Place};
use crate::syntax::{FieldPath, Step};

/// Names of fields that an error lists.
const LISTED: usize = 20;

/// What a path leads to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resolved {
    /// Where it lies, if that is the same in all records.
    pub(crate) place: Option<Place>,
    pub(crate) holds: Holds,
}

/// Follows a path.
pub(crate) fn resolve(format: &Format, path: &FieldPath, span: Span) -> Result<Resolved, Fault> {
    let mut ty = format.root_type();
    let mut at = Some(0_usize);
    for step in &path.steps {
        (ty, at) = through_references(ty, at);
        match step {
            Step::Name(name) => (ty, at) = named(format, &ty, at, name, path, span)?,
            Step::Item(index) => (ty, at) = item(format, &ty, at, *index, path, span)?,
        }
    }
    (ty, at) = through_references(ty, at);
    let Some(holds) = Holds::of(&ty) else { return Err(unfit(format, &ty, path, span)) };
    let place = at.and_then(|at| u32::try_from(at).ok()).map(|at| Place { at, holds });
    Ok(Resolved { place, holds })
}

fn through_references(mut ty: Type, mut at: Option<usize>) -> (Type, Option<usize>) {
    while let Type::Optional { item, .. } | Type::Ref { item, .. } = ty {
        (ty, at) = (*item, None);
    }
    (ty, at)
}

type Way = (Type, Option<usize>);

fn named(
    format: &Format,
    ty: &Type,
    at: Option<usize>,
    name: &str,
    path: &FieldPath,
    span: Span,
) -> Result<Way, Fault> {
    match ty {
        Type::Record(id) => match format.field_of(*id, name) {
            Some((_, field)) => Ok((field.ty.clone(), at.map(|at| at + field.offset as usize))),
            None => {
                let record = format.record(*id);
                let known = || record.fields.iter().map(|field| field.name.as_str());
                Err(missing(&record.name, name, known, span))
            }
        },
        Type::Variant(id) => match format.case_of(*id, name) {
            Some(case) => match &case.payload {
                Some(payload) => Ok((payload.clone(), None)),
                None => Err(astray(path, format!("a case, {name}, that carries nothing"), span)),
            },
            None => {
                let variant = format.variant(*id);
                let known = || variant.cases.iter().map(|case| case.name.as_str());
                Err(missing(&variant.name, name, known, span))
            }
        },
        _ => Err(astray(path, format!("below {}, which has no fields", format.type_name(ty)), span)),
    }
}

fn item(
    format: &Format,
    ty: &Type,
    at: Option<usize>,
    index: usize,
    path: &FieldPath,
    span: Span,
) -> Result<Way, Fault> {
    match ty {
        Type::Array { item, dims, order } => {
            if dims.first().is_some_and(|dim| index >= *dim as usize) {
                return Err(astray(path, format!("behind the end of {} items", dims[0]), span));
            }
            match dims.len() {
                1 => Ok(((**item).clone(), at.map(|at| at + index * format.size_of(item)))),
                _ => Ok((Type::Array { item: item.clone(), dims: dims[1..].to_vec(), order: *order }, None)),
            }
        }
        Type::List { item } => Ok(((**item).clone(), None)),
        Type::Sized { item, dims, order } => match dims.len() {
            1 => Ok(((**item).clone(), None)),
            // The lengths of rows show in each record.
            more => Ok((Type::Array { item: item.clone(), dims: vec![u32::MAX; more - 1], order: *order }, None)),
        },
        _ => Err(astray(path, format!("an item of {}, which has none", format.type_name(ty)), span)),
    }
}

fn missing<'n, I: Iterator<Item = &'n str>>(record: &str, name: &str, known: impl Fn() -> I, span: Span) -> Fault {
    let listed = known().take(LISTED).map(str::to_owned).collect();
    let nearest = nearest(name, known());
    Fault::new(span, Problem::Field { record: record.into(), name: name.into(), nearest, known: listed })
}

fn astray(path: &FieldPath, found: String, span: Span) -> Fault {
    let remedy = "name a field by its way from the event, as in node.temp or temps[3]".into();
    Fault::new(span, Problem::Path { path: path.to_string(), found, remedy })
}

fn unfit(format: &Format, ty: &Type, path: &FieldPath, span: Span) -> Fault {
    let found = format.type_name(ty);
    let remedy = match ty {
        Type::Record(id) => match format.record(*id).fields.first() {
            Some(field) => format!("name one of its fields, as in {path}.{}", field.name),
            None => "name another field".into(),
        },
        Type::Variant(id) => match format.variant(*id).cases.first() {
            Some(case) => format!("name one of its cases, as in {path}.{}", case.name),
            None => "name another field".into(),
        },
        Type::Array { .. } | Type::List { .. } | Type::Sized { .. } => {
            format!("name one of its items, as in {path}[0]")
        }
        _ => "queries take numbers, truth values, texts and enumerations".into(),
    };
    Fault::new(span, Problem::Path { path: path.to_string(), found, remedy })
}
