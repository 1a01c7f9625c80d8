//! Rules by which records of an old format become records of a new one, where matching by name is not enough.
//!
//! Renames and defaults are data that a planner can build into a conversion ([`Morph::renames`],
//! [`Morph::defaults`]). Computed fields of the record itself are set in what a plan has converted ([`Partial`]). What is
//! left, rules for fields within others, takes the way over values ([`mapper`]), which is slower but sees everything.

mod mapper;
mod partial;

use std::fmt;
use std::sync::Arc;

pub(crate) use partial::Partial;

use crate::reflect::RecordView;
use crate::reflect::path::{self, PathSegment, push_name};
use crate::{DecodeError, DecodeOptions, DynRecord, Format, FormatId, Type, Value, reflect};

type Compute = dyn Fn(&RecordView<'_>) -> Result<Value, String> + Send + Sync;

/// Rules for records of old formats: those of a certain name, or one of a certain id. Conditions on their fields tell
/// old formats from new ones of the same name.
///
/// Fields are named by their path without indices: `mesh.elems.temp` is the field `temp` of every item of
/// `mesh.elems`. For each field of the new format the first of these that exists is taken: the old field, renamed or of
/// the same name; the computed value; the rule's default; the default that the field declares; null, if the field may
/// be null. So senders that have the field already need no rules of their own: for them none is run. A rename does not
/// apply to them either, unless the field of that name is renamed itself.
///
/// ```
/// # use banyan_ndr::{CStruct, DynRecord, Morph, RecordView, Value};
/// let old = CStruct::new("reading", 16, 8).float("celsius", 0, 8).int("station", 8, 4).build()?;
/// let new = CStruct::new("reading", 24, 8).float("kelvin", 0, 8).int("site", 8, 8).int("version", 16, 4).build()?;
/// let morph = Morph::new("reading").rename("station", "site").default("version", 1).compute("kelvin", |old| {
///     let celsius: f64 = old.value("celsius").map_err(|error| error.to_string())?;
///     Ok(Value::from(celsius + 273.15))
/// });
///
/// let mut record = DynRecord::new(&old);
/// record.set("station", 7)?;
/// let body = record.to_body()?;
/// let morphed = morph.apply(RecordView::new(&old, &body)?, &new)?;
/// assert_eq!(morphed.get("kelvin")?, &Value::from(273.15));
/// assert_eq!(morphed.get("site")?, &Value::from(7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Morph {
    from: From,
    conditions: Vec<Condition>,
    renames: Vec<(String, String)>,
    defaults: Vec<(String, Value)>,
    computed: Vec<(String, Arc<Compute>)>,
}

/// Which formats rules are for.
#[derive(Debug, Clone)]
enum From {
    Name(String),
    Id(FormatId),
}

/// What the format of a sender must have, or must not.
#[derive(Debug, Clone)]
enum Condition {
    Has(String),
    Lacks(String),
}

impl Morph {
    /// No rules yet, for records of formats with this name.
    pub fn new(from: impl Into<String>) -> Morph {
        Morph::of(From::Name(from.into()))
    }

    /// No rules yet, for records of this one format.
    pub fn for_format(id: FormatId) -> Morph {
        Morph::of(From::Id(id))
    }

    fn of(from: From) -> Morph {
        let (conditions, renames, defaults, computed) = Default::default();
        Morph { from, conditions, renames, defaults, computed }
    }

    /// Applies the rules only to records whose format has this field or case, named by its path without indices.
    #[must_use]
    pub fn if_has(mut self, field: impl Into<String>) -> Morph {
        self.conditions.push(Condition::Has(field.into()));
        self
    }

    /// Applies the rules only to records whose format lacks this field or case, named by its path without indices.
    #[must_use]
    pub fn if_lacks(mut self, field: impl Into<String>) -> Morph {
        self.conditions.push(Condition::Lacks(field.into()));
        self
    }

    /// What is called `old` in the old format is called `new` in the new one. Both are paths; where they differ in
    /// more than the last name, the old one is looked up from the root and cannot lead through a list.
    #[must_use]
    pub fn rename(mut self, old: impl Into<String>, new: impl Into<String>) -> Morph {
        self.renames.push((old.into(), new.into()));
        self
    }

    /// A value for a field that the old format lacks.
    #[must_use]
    pub fn default(mut self, field: impl Into<String>, value: impl Into<Value>) -> Morph {
        self.defaults.push((field.into(), value.into()));
        self
    }

    /// A field that is computed from the old record, where the sender has no such field. The length of an array is not
    /// computed: it follows from the array.
    #[must_use]
    pub fn compute(
        mut self,
        field: impl Into<String>,
        rule: impl Fn(&RecordView<'_>) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Morph {
        self.computed.push((field.into(), Arc::new(rule)));
        self
    }

    /// Whether the rules are for records of this format.
    pub fn applies_to(&self, format: &Format) -> bool {
        let is_meant = match &self.from {
            From::Name(name) => format.name() == name,
            From::Id(id) => format.id() == *id,
        };
        is_meant
            && self.conditions.iter().all(|condition| match condition {
                Condition::Has(field) => has_path(format, field),
                Condition::Lacks(field) => !has_path(format, field),
            })
    }

    /// Old and new paths.
    pub fn renames(&self) -> &[(String, String)] {
        &self.renames
    }

    /// Paths in the new format, and values.
    pub fn defaults(&self) -> &[(String, Value)] {
        &self.defaults
    }

    /// Whether the rules can be built into a plan: no field is computed, and all stand at the root. Otherwise
    /// [`Morph::apply`] is the only way.
    pub fn is_plannable(&self) -> bool {
        let mut paths =
            self.renames.iter().flat_map(|(old, new)| [old, new]).chain(self.defaults.iter().map(|(field, _)| field));
        self.computed.is_empty() && paths.all(|path| !path.contains('.'))
    }

    /// The old record in the new format, whether or not the rules [apply](Self::applies_to) to it. Sharing and cycles are
    /// kept where the new format has shared pointers.
    pub fn apply(&self, source: RecordView<'_>, target: &Format) -> Result<DynRecord, DecodeError> {
        self.apply_with(source, target, &DecodeOptions::default())
    }

    /// [`Morph::apply`] with a decoder's options.
    pub(crate) fn apply_with(
        &self,
        source: RecordView<'_>,
        target: &Format,
        options: &DecodeOptions,
    ) -> Result<DynRecord, DecodeError> {
        mapper::map(&self.concerning(source.format(), target), source, target, options)
    }

    /// Adds rules; they replace those for the same fields.
    pub(crate) fn add(&mut self, later: Morph) {
        self.renames.retain(|(old, new)| later.renames.iter().all(|(old2, new2)| old != old2 && new != new2));
        self.defaults.retain(|(field, _)| later.defaults.iter().all(|(other, _)| field != other));
        self.computed.retain(|(field, _)| later.computed.iter().all(|(other, _)| field != other));
        self.renames.extend(later.renames);
        self.defaults.extend(later.defaults);
        self.computed.extend(later.computed);
    }

    /// Those of the rules that can concern records of one format on their way to another.
    pub(crate) fn concerning(&self, source: &Format, target: &Format) -> Morph {
        let is_sent_as = |field: &str| {
            let keeps_its_name = self.renames.iter().all(|(old, new)| old != field || new == field);
            keeps_its_name && has_path(source, field)
        };
        let is_sent = |field: &str| {
            let renamed = self.renames.iter().any(|(old, new)| new == field && has_path(source, old));
            renamed || is_sent_as(field)
        };
        let is_wanted = |field: &str| has_path(target, field) && !is_sent(field);
        let mut morph = self.clone();
        // A plan passes over those at the root by itself.
        morph.renames.retain(|(old, new)| old == new || !is_sent_as(new));
        morph.renames.retain(|(old, new)| {
            !(old.contains('.') || new.contains('.')) || (has_path(source, old) && has_path(target, new))
        });
        morph.defaults.retain(|(field, _)| !field.contains('.') || is_wanted(field));
        morph.computed.retain(|(field, _)| is_wanted(field));
        morph
    }

    /// Names in the longest path, or more.
    fn depth(&self) -> usize {
        let renames = self.renames.iter().flat_map(|(old, new)| [old, new]);
        let fields = self.defaults.iter().map(|(field, _)| field).chain(self.computed.iter().map(|(field, _)| field));
        renames.chain(fields).map(|path| path.matches('.').count() + 1).max().unwrap_or(0)
    }
}

/// Whether records of a format have a field, or a case, at a path without indices.
fn has_path(format: &Format, path: &str) -> bool {
    let Ok(segments) = path::parse(path) else { return false };
    let mut ty = Some(reflect::root_type(format));
    segments.iter().all(|segment| {
        let PathSegment::Name(name) = segment else { return false };
        match ty.map(Type::innermost) {
            Some(Type::Record(id)) => {
                let field = format.field_of(*id, name);
                ty = field.map(|(_, field)| &field.ty);
                field.is_some()
            }
            Some(Type::Variant(id)) => {
                let case = format.case_of(*id, name);
                ty = case.and_then(|case| case.payload.as_ref());
                case.is_some()
            }
            _ => false,
        }
    })
}

impl fmt::Debug for Morph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let computed: Vec<&str> = self.computed.iter().map(|(field, _)| field.as_str()).collect();
        f.debug_struct("Morph")
            .field("from", &self.from)
            .field("conditions", &self.conditions)
            .field("renames", &self.renames)
            .field("defaults", &self.defaults)
            .field("computed", &computed)
            .finish()
    }
}

fn joined(parent: &str, name: &str) -> String {
    let mut path = parent.to_owned();
    push_name(&mut path, name);
    path
}
