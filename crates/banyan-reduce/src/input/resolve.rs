//! Following a path through a format: what it leads to, and by which way.

use banyan_ndr::{DefId, Dim, Format, Order, Type};

use super::access::{Count, Length, RunAccess};
use super::{Access, datum};
use crate::specification::{Path, PathStep};
use crate::value::Kind;

/// What a path leads to in records of one format.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) access: Access,
    pub(crate) kind: Kind,
    /// Whether there may be many values a record.
    pub(crate) many: bool,
}

impl Resolved {
    /// Follows a path.
    pub(crate) fn new(format: &Format, path: &Path, as_number: bool) -> Result<Resolved, Unresolved> {
        let mut follower =
            Follower { format, ty: format.root_type(), owner: None, way: PathSoFar::Place(0), many: false };
        path.steps.iter().try_for_each(|step| follower.step(step))?;
        while follower.array().is_some() {
            follower.all();
        }
        follower.through_references();
        let Some(kind) = datum::kind(&follower.ty, as_number) else {
            let (wanted, found) = (if as_number { "number" } else { "single value" }, format.type_name(&follower.ty));
            return Err(Unresolved::Unfit(match &follower.ty {
                Type::Record(_) => format!("{path} is a record, {found}; name one of its fields"),
                _ => format!("{path} is {found}, which is no {wanted}"),
            }));
        };
        let ty = follower.ty;
        let access = match follower.way {
            PathSoFar::Place(at) => Access::Place { at, ty },
            PathSoFar::Run { at, count, stride, within } => Access::Run(RunAccess { at, count, stride, within, ty }),
            PathSoFar::Steps => Access::Walk(path.steps.clone()),
        };
        Ok(Resolved { access, kind, many: follower.many })
    }
}

/// Why a path leads to nothing in records of a format, for people.
#[derive(Debug)]
pub(crate) enum Unresolved {
    /// The records lack a field of this name, or a case.
    Missing(String),
    /// What the records have there cannot be taken so.
    Unfit(String),
}

impl Unresolved {
    /// The reason.
    pub(crate) fn reason(self) -> String {
        match self {
            Unresolved::Missing(reason) | Unresolved::Unfit(reason) => reason,
        }
    }
}

impl From<String> for Unresolved {
    fn from(reason: String) -> Unresolved {
        Unresolved::Unfit(reason)
    }
}

/// What the way is so far.
enum PathSoFar {
    Place(usize),
    Run { at: usize, count: Count, stride: usize, within: usize },
    Steps,
}

struct Follower<'f> {
    format: &'f Format,
    ty: Type,
    /// The record that the last field belongs to, and where it begins, if that is fixed: arrays have lengths there.
    owner: Option<(DefId, usize)>,
    way: PathSoFar,
    many: bool,
}

impl Follower<'_> {
    fn step(&mut self, step: &PathStep) -> Result<(), Unresolved> {
        self.through_references();
        match step {
            PathStep::Name(name) => self.field(name),
            PathStep::Item(index) => Ok(self.item(*index)?),
            PathStep::All => match self.array() {
                Some(_) => {
                    self.all();
                    Ok(())
                }
                None => {
                    Err(format!("[*] stands behind {}, which has no items", self.format.type_name(&self.ty)).into())
                }
            },
        }
    }

    fn through_references(&mut self) {
        while let Type::Optional { item, .. } | Type::Ref { item, .. } = &self.ty {
            self.ty = (**item).clone();
            self.way = PathSoFar::Steps;
        }
    }

    /// The items of an array or list.
    fn array(&mut self) -> Option<Type> {
        self.through_references();
        match &self.ty {
            Type::Array { item, .. } | Type::List { item } | Type::Sized { item, .. } => Some((**item).clone()),
            _ => None,
        }
    }

    fn field(&mut self, name: &str) -> Result<(), Unresolved> {
        match &self.ty {
            Type::Record(id) => {
                let (id, record) = (*id, self.format.record(*id));
                let Some((_, field)) = self.format.field_of(id, name) else {
                    let known: Vec<&str> = record.fields.iter().map(|field| field.name.as_str()).take(20).collect();
                    let reason = format!("{} has no field {name}; it has {}", record.name, known.join(", "));
                    return Err(Unresolved::Missing(reason));
                };
                let offset = field.offset as usize;
                self.owner = None;
                match &mut self.way {
                    PathSoFar::Place(at) => {
                        self.owner = Some((id, *at));
                        *at += offset;
                    }
                    PathSoFar::Run { within, .. } => *within += offset,
                    PathSoFar::Steps => {}
                }
                self.ty = field.ty.clone();
                Ok(())
            }
            Type::Variant(id) => {
                let case = self.format.case_of(*id, name);
                let missing = || Unresolved::Missing(format!("{} has no case {name}", self.format.variant(*id).name));
                let case = case.ok_or_else(missing)?;
                self.ty = case.payload.clone().ok_or_else(|| format!("case {name} carries nothing"))?;
                self.way = PathSoFar::Steps;
                Ok(())
            }
            Type::Array { .. } | Type::List { .. } | Type::Sized { .. } => {
                Err(format!("{name} stands behind an array; write [*] for all items, or an index: [*].{name}").into())
            }
            _ => Err(format!("{} has no fields, so no {name}", self.format.type_name(&self.ty)).into()),
        }
    }

    fn item(&mut self, index: usize) -> Result<(), String> {
        let Some(item) = self.array() else {
            return Err(format!("[{index}] stands behind {}, which has no items", self.format.type_name(&self.ty)));
        };
        match (&self.ty, &mut self.way) {
            (Type::Array { dims, .. }, way) if dims.len() == 1 => {
                if index >= dims[0] as usize && !matches!(way, PathSoFar::Steps) {
                    return Err(format!("there is no item {index}, only {}", dims[0]));
                }
                let offset = index * self.format.size_of(&item);
                match way {
                    PathSoFar::Place(at) => *at += offset,
                    PathSoFar::Run { within, .. } => *within += offset,
                    PathSoFar::Steps => {}
                }
                self.ty = item;
            }
            (Type::Array { dims, .. }, _) => {
                // A row: its other dimensions are indexed next.
                let (dims, order) = (dims[1..].to_vec(), Order::Row);
                self.ty = Type::Array { item: item.into(), dims, order };
                self.way = PathSoFar::Steps;
            }
            (Type::Sized { dims, .. }, _) if dims.len() > 1 => {
                // How long its rows are shows in each record, when it is walked.
                let rest = vec![1; dims.len() - 1];
                self.ty = Type::Array { item: item.into(), dims: rest, order: Order::Row };
                self.way = PathSoFar::Steps;
            }
            _ => {
                self.ty = item;
                self.way = PathSoFar::Steps;
            }
        }
        self.owner = None;
        Ok(())
    }

    /// Every item of the array at hand.
    fn all(&mut self) {
        let item = self.array().expect("asked for the items of an array");
        self.many = true;
        let stride = self.format.size_of(&item);
        let (at, owner) = (
            match self.way {
                PathSoFar::Place(at) => Some(at),
                _ => None,
            },
            self.owner.take(),
        );
        let count = at.and_then(|_| count(self.format, &self.ty, owner));
        self.way = match (at, count) {
            (Some(at), Some(count)) => PathSoFar::Run { at, count, stride, within: 0 },
            _ => PathSoFar::Steps,
        };
        self.ty = item;
    }
}

/// How many items an array in a fixed place has; `None` where its items must be walked to come in row order.
fn count(format: &Format, ty: &Type, owner: Option<(DefId, usize)>) -> Option<Count> {
    match ty {
        Type::Array { dims, order, .. } if *order == Order::Row || dims.len() == 1 => {
            Some(Count::Fixed(dims.iter().map(|dim| *dim as usize).product()))
        }
        Type::List { .. } => Some(Count::Span),
        Type::Sized { dims, order, .. } if *order == Order::Row || dims.len() == 1 => {
            let (record, start) = owner?;
            let record = format.record(record);
            let length = |dim: &Dim| match dim {
                Dim::Fixed(length) => Some(Length::Fixed(*length as usize)),
                Dim::Field(number) => {
                    let field = &record.fields[usize::from(*number)];
                    let Type::Int { width, signed } = field.ty else { return None };
                    Some(Length::Field { at: start + field.offset as usize, width, signed })
                }
            };
            Some(Count::Fields(dims.iter().map(length).collect::<Option<_>>()?))
        }
        _ => None,
    }
}
