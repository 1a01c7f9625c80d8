//! Rules by which records of an old format become records of a new one, where matching by name is not enough.
//!
//! Renames and defaults are data that a planner can build into a conversion ([`Morph::renames`],
//! [`Morph::defaults`]). Computed fields need the old record as a whole: [`Morph::apply`] takes the way over values,
//! which is slower but sees everything.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};

use crate::dynamic::targets::TypeKeys;
use crate::dynamic::{Fitter, Initial, Recursion, fill_lengths, is_indirect};
use crate::reflect::{RecordView, path::push_name};
use crate::{DecodeError, DynRecord, EncodeError, Field, Format, Limits, RecordDef, Type, Value, reflect};

type Compute = dyn Fn(&RecordView<'_>) -> Result<Value, String> + Send + Sync;

/// Rules for records whose old format has a certain name.
///
/// Fields are named by their path without indices: `mesh.elems.temp` is the field `temp` of every item of
/// `mesh.elems`. For each field of the new format the first of these that exists is taken: the computed value; the
/// old field, renamed or of the same name; the rule's default; the default that the field declares; null, if the
/// field may be null.
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
    from: String,
    renames: Vec<(String, String)>,
    defaults: Vec<(String, Value)>,
    computed: Vec<(String, Arc<Compute>)>,
}

impl Morph {
    /// No rules yet, for records of formats with this name.
    pub fn new(from: impl Into<String>) -> Morph {
        Morph { from: from.into(), renames: Vec::new(), defaults: Vec::new(), computed: Vec::new() }
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

    /// A field that is computed from the old record.
    #[must_use]
    pub fn compute(
        mut self,
        field: impl Into<String>,
        rule: impl Fn(&RecordView<'_>) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Morph {
        self.computed.push((field.into(), Arc::new(rule)));
        self
    }

    /// The name of the old formats that the rules are for.
    pub fn from(&self) -> &str {
        &self.from
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

    /// The old record in the new format. Sharing and cycles are kept where the new format has shared pointers.
    pub fn apply(&self, source: RecordView<'_>, target: &Format) -> Result<DynRecord, DecodeError> {
        let old = DynRecord::from_body(source.format(), source.body(), &Limits::default())?;
        let recursion = Recursion::of(target);
        let mut mapper = Mapper {
            morph: self,
            view: source,
            old: &old,
            format: target,
            recursion: &recursion,
            types: TypeKeys::default(),
            known: HashMap::new(),
            shared: Vec::new(),
            waiting: VecDeque::new(),
            missing: Vec::new(),
        };
        let ty = reflect::root_type(target);
        let root =
            if recursion.holds(ty) { mapper.entry(&old.root, true, ty, "")? } else { mapper.map(&old.root, ty, "")? };
        while let Some((key, value, ty, path)) = mapper.waiting.pop_front() {
            let value = mapper.map(value, ty, &path)?;
            mapper.shared[key] = value;
        }
        if !mapper.missing.is_empty() {
            mapper.missing.sort();
            mapper.missing.dedup();
            return Err(DecodeError::Missing { format: target.name().into(), fields: mapper.missing });
        }
        Ok(DynRecord { format: target.clone(), root, shared: mapper.shared })
    }
}

impl fmt::Debug for Morph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let computed: Vec<&str> = self.computed.iter().map(|(field, _)| field.as_str()).collect();
        f.debug_struct("Morph")
            .field("from", &self.from)
            .field("renames", &self.renames)
            .field("defaults", &self.defaults)
            .field("computed", &computed)
            .finish()
    }
}

/// An entry of the new table that is still to be mapped: its key, the old value, its new type and path.
type Waiting<'m> = (usize, &'m Value, &'m Type, String);

struct Mapper<'m, 'v> {
    morph: &'m Morph,
    view: RecordView<'v>,
    old: &'m DynRecord,
    format: &'m Format,
    recursion: &'m Recursion,
    types: TypeKeys<'m>,
    /// New entries by old entry and new type.
    known: HashMap<(usize, usize), usize>,
    shared: Vec<Value>,
    waiting: VecDeque<Waiting<'m>>,
    missing: Vec<String>,
}

impl<'m> Mapper<'m, '_> {
    /// A new entry for an old value. An old entry becomes the same new one again, if that may be `shared`.
    fn entry(&mut self, value: &'m Value, shared: bool, ty: &'m Type, path: &str) -> Result<Value, DecodeError> {
        if let Value::Shared(old) = value {
            let target = (*old, self.types.key(ty));
            match self.known.get(&target) {
                Some(key) if shared => return Ok(Value::Shared(*key)),
                // Copies of what contains itself might never end.
                Some(_) if self.recursion.holds(ty) => {
                    let reason = "several pointers lead here in the old record, but the new format does not share";
                    return Err(DecodeError::Rule { path: path.into(), reason: reason.into() });
                }
                _ => self.known.insert(target, self.shared.len()),
            };
        }
        self.shared.push(Value::Null);
        self.waiting.push_back((self.shared.len() - 1, self.old.resolve(value), ty, path.into()));
        Ok(Value::Shared(self.shared.len() - 1))
    }

    /// An old value as one of a new type. The recursion follows the new format's nesting; what may contain itself
    /// waits in the queue.
    fn map(&mut self, value: &'m Value, ty: &'m Type, path: &str) -> Result<Value, DecodeError> {
        let old = self.old;
        match (ty, value) {
            (Type::Ref { nullable: true, .. } | Type::Optional { .. } | Type::CStr, _)
                if *old.resolve(value) == Value::Null =>
            {
                Ok(Value::Null)
            }
            (Type::Ref { item, shared, .. }, _) => {
                if *shared || is_indirect(item) || self.recursion.holds(item) {
                    return self.entry(value, *shared, item, path);
                }
                self.map(old.resolve(value), item, path)
            }
            (Type::Optional { item, .. }, _) if is_indirect(item) || self.recursion.holds(item) => {
                self.entry(value, false, item, path)
            }
            (Type::Optional { item, .. }, _) => self.map(value, item, path),
            (_, Value::Shared(_)) => self.map(old.resolve(value), ty, path),
            (_, Value::Null) => Err(DecodeError::Absent { path: path.into() }),
            (Type::Record(id), Value::Record(fields)) => self.record(fields, self.format.record(*id), path),
            (Type::Variant(id), Value::Case(name, payload)) => {
                let case = self.format.variant(*id).cases.iter().find(|case| case.name == *name);
                let payload = match (case.map(|case| &case.payload), payload) {
                    (Some(Some(ty)), Some(payload)) => Some(Box::new(self.map(payload, ty, &joined(path, name))?)),
                    (Some(None), _) => None,
                    _ => return Err(self.unfit(value, ty, path)),
                };
                Ok(Value::Case(name.clone(), payload))
            }
            (Type::Array { item, dims, .. }, _) => self.array(value, item, dims, path),
            (Type::List { item }, Value::List(_)) => self.items(value, item, 1, path),
            (Type::Sized { item, dims, .. }, Value::List(_)) => self.items(value, item, dims.len(), path),
            _ => self.fit(value.clone(), ty, path),
        }
    }

    fn record(&mut self, old: &'m [(String, Value)], record: &'m RecordDef, path: &str) -> Result<Value, DecodeError> {
        let mut fields = Vec::with_capacity(record.fields.len());
        for field in &record.fields {
            let value = self.field(old, field, path)?;
            fields.push((field.name.clone(), value));
        }
        for (position, field) in record.fields.iter().enumerate() {
            // An array that the old record lacks has a length of its own.
            if let Type::Sized { dims, .. } = &field.ty
                && fields[position].1 != Value::List(Vec::new())
            {
                for dim in dims {
                    if let crate::Dim::Field(index) = dim {
                        fields[usize::from(*index)].1 = Value::Null;
                    }
                }
            }
        }
        fill_lengths(record, &mut fields);
        Ok(Value::Record(fields))
    }

    fn field(&mut self, old: &'m [(String, Value)], field: &'m Field, parent: &str) -> Result<Value, DecodeError> {
        let morph = self.morph;
        let path = joined(parent, &field.name);
        if let Some((_, rule)) = morph.computed.iter().find(|(name, _)| *name == path) {
            let value = rule(&self.view).map_err(|reason| DecodeError::Rule { path: path.clone(), reason })?;
            return self.fit(value, &field.ty, &path);
        }
        if let Some(value) = self.old_value(old, &field.name, parent, &path) {
            return self.map(value, &field.ty, &path);
        }
        if let Some((_, value)) = morph.defaults.iter().find(|(name, _)| *name == path) {
            return self.fit(value.clone(), &field.ty, &path);
        }
        let may_be_null = matches!(field.ty, Type::Optional { .. } | Type::CStr | Type::Ref { nullable: true, .. });
        if field.default.is_none() && !may_be_null {
            self.missing.push(path);
        }
        Ok(Initial::new(self.format, self.recursion, &mut self.shared).field(field))
    }

    /// The old field that a new one comes from: the renamed one, else the one of the same name.
    fn old_value(&self, old: &'m [(String, Value)], name: &str, parent: &str, path: &str) -> Option<&'m Value> {
        let sibling = |name: &str| old.iter().find(|(other, _)| other == name).map(|(_, value)| value);
        for (from, _) in self.morph.renames.iter().filter(|(_, to)| to == path) {
            let found = match from.rsplit_once('.') {
                None if parent.is_empty() => sibling(from),
                Some((before, last)) if before == self.old_path(parent) => sibling(last),
                _ => self.old.get(from).ok(),
            };
            if found.is_some() {
                return found;
            }
        }
        sibling(name)
    }

    /// What a path of the new format is in the old one.
    fn old_path(&self, path: &str) -> String {
        if let Some((from, _)) = self.morph.renames.iter().find(|(_, to)| to == path) {
            return from.clone();
        }
        match path.rsplit_once('.') {
            Some((parent, name)) => format!("{}.{name}", self.old_path(parent)),
            None => path.into(),
        }
    }

    fn array(&mut self, value: &'m Value, item: &'m Type, dims: &[u32], path: &str) -> Result<Value, DecodeError> {
        let [length, inner @ ..] = dims else { return self.map(value, item, path) };
        let Value::List(items) = self.old.resolve(value) else { return Err(self.unfit(value, item, path)) };
        if items.len() > *length as usize {
            return Err(DecodeError::OutOfRange {
                path: path.into(),
                value: format!("a list of {} items", items.len()),
                wanted: format!("an array of {length}"),
            });
        }
        let mut mapped = Vec::with_capacity(*length as usize);
        for value in items {
            mapped.push(self.array(value, item, inner, path)?);
        }
        while mapped.len() < *length as usize {
            let mut initial = Initial::new(self.format, self.recursion, &mut self.shared);
            mapped.push(initial.array(item, inner));
        }
        Ok(Value::List(mapped))
    }

    fn items(&mut self, value: &'m Value, item: &'m Type, rank: usize, path: &str) -> Result<Value, DecodeError> {
        let Value::List(items) = self.old.resolve(value) else { return Err(self.unfit(value, item, path)) };
        let apart = self.recursion.holds(item) && !is_indirect(item);
        let mut mapped = Vec::with_capacity(items.len());
        for value in items {
            mapped.push(match (rank, apart) {
                (2.., _) => self.items(value, item, rank - 1, path)?,
                (_, true) => self.entry(value, false, item, path)?,
                (_, false) => self.map(value, item, path)?,
            });
        }
        Ok(Value::List(mapped))
    }

    fn fit(&mut self, value: Value, ty: &Type, path: &str) -> Result<Value, DecodeError> {
        let mut fitter = Fitter { format: self.format, recursion: self.recursion, shared: &mut self.shared };
        let shown = crate::dynamic::number::describe(&value);
        fitter.fit(value, ty).map_err(|error| match error {
            EncodeError::Value { path: inner, .. } if inner.is_empty() => {
                DecodeError::OutOfRange { path: path.into(), value: shown, wanted: self.format.type_name(ty) }
            }
            other => DecodeError::Rule { path: path.into(), reason: other.to_string() },
        })
    }

    fn unfit(&self, value: &Value, ty: &Type, path: &str) -> DecodeError {
        let value = crate::dynamic::number::describe(value);
        DecodeError::OutOfRange { path: path.into(), value, wanted: self.format.type_name(ty) }
    }
}

fn joined(parent: &str, name: &str) -> String {
    let mut path = parent.to_owned();
    push_name(&mut path, name);
    path
}
