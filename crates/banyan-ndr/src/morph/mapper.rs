//! Mapping values by rules that no plan expresses: fields within others, and computed fields of what contains itself.

use std::collections::{BTreeSet, VecDeque};

use foldhash::{HashMap, HashMapExt};

use super::{Morph, joined};
use crate::dynamic::number::{as_float, describe, from_bits};
use crate::dynamic::targets::TypeKeys;
use crate::dynamic::{Fitter, Initial, fill_lengths};
use crate::kernel::number;
use crate::kernel::program::{Number, NumberKind};
use crate::reflect::RecordView;
use crate::{
    DecodeError, DecodeOptions, DefId, DynRecord, EncodeError, Field, Format, RecordDef, Type, Value, reflect,
};

/// How deep missing fields are named. In what contains itself the same field is missing again and again.
const NAMED_DEPTH: usize = 32;

/// The old record in the new format.
pub(super) fn map(
    morph: &Morph,
    view: RecordView<'_>,
    target: &Format,
    options: &DecodeOptions,
) -> Result<DynRecord, DecodeError> {
    let old = DynRecord::from_body(view.format(), view.body(), &options.limits)?;
    let mut mapper = Mapper {
        morph,
        view,
        old: &old,
        format: target,
        options,
        paths: Paths::default(),
        rule_depth: morph.depth(),
        types: TypeKeys::default(),
        known: HashMap::new(),
        shared: Vec::new(),
        waiting: VecDeque::new(),
        missing: BTreeSet::new(),
    };
    let ty = reflect::root_type(target);
    let root = if target.holds_recursive(ty) {
        mapper.entry(&old.root, true, ty, ROOT)?
    } else {
        mapper.map(&old.root, ty, ROOT)?
    };
    while let Some((key, value, ty, path)) = mapper.waiting.pop_front() {
        let value = mapper.map(value, ty, path)?;
        mapper.shared[key] = value;
    }
    if !mapper.missing.is_empty() {
        let fields = mapper.missing.into_iter().collect();
        return Err(DecodeError::Missing { format: target.name().into(), fields, more: 0 });
    }
    Ok(DynRecord { format: target.clone(), root, shared: mapper.shared })
}

/// The values of one old record by the names of their fields.
type OldFields<'m> = HashMap<&'m str, &'m Value>;

/// Where a value stands in the new record: the place of a name in [`Paths`], counted from one.
type Path = usize;

const ROOT: Path = 0;

/// Paths as names that know the name before them. A path is as long as the record is deep, so text is made of it only
/// where a rule or an error needs it.
#[derive(Default)]
struct Paths<'m> {
    names: Vec<Name<'m>>,
}

struct Name<'m> {
    parent: Path,
    depth: usize,
    name: &'m str,
}

/// A path by which rules may mean a field.
struct RulePath {
    parent: String,
    path: String,
    /// Whether it begins at a record like the root within the root.
    again: bool,
}

impl<'m> Paths<'m> {
    fn parent(&self, path: Path) -> Path {
        path.checked_sub(1).map_or(ROOT, |at| self.names[at].parent)
    }

    fn push(&mut self, parent: Path, name: &'m str) -> Path {
        self.names.push(Name { parent, depth: self.depth(parent) + 1, name });
        self.names.len()
    }

    fn depth(&self, path: Path) -> usize {
        path.checked_sub(1).map_or(0, |at| self.names[at].depth)
    }

    fn text(&self, mut path: Path) -> String {
        let mut names = Vec::with_capacity(self.depth(path));
        while let Some(at) = path.checked_sub(1) {
            names.push(self.names[at].name);
            path = self.names[at].parent;
        }
        let mut text = String::new();
        names.iter().rev().for_each(|name| crate::reflect::path::push_name(&mut text, name));
        text
    }
}

/// An entry of the new table that is still to be mapped: its key, the old value, its new type and path.
type Unmapped<'m> = (usize, &'m Value, &'m Type, Path);

struct Mapper<'m, 'v> {
    morph: &'m Morph,
    view: RecordView<'v>,
    old: &'m DynRecord,
    format: &'m Format,
    options: &'m DecodeOptions,
    paths: Paths<'m>,
    /// Names in the longest path of a rule.
    rule_depth: usize,
    types: TypeKeys<'m>,
    /// New entries by old entry and new type.
    known: HashMap<(usize, usize), usize>,
    shared: Vec<Value>,
    waiting: VecDeque<Unmapped<'m>>,
    missing: BTreeSet<String>,
}

impl<'m> Mapper<'m, '_> {
    /// A new entry for an old value. An old entry becomes the same new one again, if that may be `shared`.
    fn entry(&mut self, value: &'m Value, shared: bool, ty: &'m Type, path: Path) -> Result<Value, DecodeError> {
        if let Value::Shared(old) = value {
            let target = (*old, self.types.key(ty));
            match self.known.get(&target) {
                Some(key) if shared => return Ok(Value::Shared(*key)),
                // Copies of what contains itself might never end.
                Some(_) if self.format.holds_recursive(ty) => {
                    let reason = "several pointers lead here in the old record, but the new format does not share";
                    return Err(DecodeError::Rule { path: self.paths.text(path), reason: reason.into() });
                }
                _ => self.known.insert(target, self.shared.len()),
            };
        }
        self.shared.push(Value::Null);
        self.waiting.push_back((self.shared.len() - 1, self.old.resolve(value), ty, path));
        Ok(Value::Shared(self.shared.len() - 1))
    }

    /// An old value as one of a new type. The recursion follows the new format's nesting; what may contain itself
    /// waits in the queue.
    fn map(&mut self, value: &'m Value, ty: &'m Type, path: Path) -> Result<Value, DecodeError> {
        let old = self.old;
        match (ty, value) {
            (Type::Ref { nullable: true, .. } | Type::Optional { .. } | Type::CStr, _)
                if *old.resolve(value) == Value::Null =>
            {
                Ok(Value::Null)
            }
            (Type::Ref { item, shared, .. }, _) => {
                if *shared || item.is_indirect() || self.format.holds_recursive(item) {
                    return self.entry(value, *shared, item, path);
                }
                self.map(old.resolve(value), item, path)
            }
            (Type::Optional { item, .. }, _) if item.is_indirect() || self.format.holds_recursive(item) => {
                self.entry(value, false, item, path)
            }
            (Type::Optional { item, .. }, _) => self.map(value, item, path),
            (_, Value::Shared(_)) => self.map(old.resolve(value), ty, path),
            (_, Value::Null) => Err(DecodeError::Absent { path: self.paths.text(path) }),
            (Type::Record(id), Value::Record(fields)) => self.record(fields, self.format.record(*id), path),
            (Type::Variant(id), Value::Case(name, Some(payload))) => {
                match self.format.case_of(*id, name).map(|case| &case.payload) {
                    Some(Some(ty)) => {
                        let payload = self.within(path, name, |mapper, path| mapper.map(payload, ty, path))?;
                        Ok(Value::Case(name.clone(), Some(Box::new(payload))))
                    }
                    Some(None) => Ok(Value::Case(name.clone(), None)),
                    None => Err(self.unfit(value, ty, path)),
                }
            }
            // An enumeration becomes a variant of the same names.
            (Type::Variant(_), Value::Case(name, None) | Value::Enum(name)) => {
                self.fit(Value::Case(name.clone(), None), ty, path)
            }
            (Type::Array { item, dims, .. }, _) => self.array(value, item, dims, None, path),
            (Type::List { item }, Value::List(_)) => self.items(value, item, 1, path),
            (Type::Sized { item, dims, .. }, Value::List(_)) => self.items(value, item, dims.len(), path),
            _ => self.number(value, ty, path).unwrap_or_else(|| self.fit(value.clone(), ty, path)),
        }
    }

    /// Goes on with the path extended by a name, which is forgotten unless something waits with it.
    fn within<R>(
        &mut self,
        path: Path,
        name: &'m str,
        work: impl FnOnce(&mut Self, Path) -> Result<R, DecodeError>,
    ) -> Result<R, DecodeError> {
        let (names, entries) = (self.paths.names.len(), self.shared.len());
        let inner = self.paths.push(path, name);
        let result = work(self, inner)?;
        if self.shared.len() == entries {
            self.paths.names.truncate(names);
        }
        Ok(result)
    }

    fn record(&mut self, old: &'m [(String, Value)], record: &'m RecordDef, path: Path) -> Result<Value, DecodeError> {
        let old = &old.iter().map(|(name, value)| (name.as_str(), value)).collect();
        let mut fields = Vec::with_capacity(record.fields.len());
        for field in &record.fields {
            let value = self.within(path, &field.name, |mapper, inner| mapper.field(old, record, field, inner))?;
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

    fn field(
        &mut self,
        old: &OldFields<'m>,
        record: &'m RecordDef,
        field: &'m Field,
        path: Path,
    ) -> Result<Value, DecodeError> {
        let morph = self.morph;
        let names = self.names(record, field, path);
        let given = names.iter().find_map(|name| morph.defaults.iter().find(|(field, _)| *field == name.path));
        let default = given.map(|(_, value)| value).or(field.default.as_ref());
        let renamed = names.iter().find_map(|name| self.renamed(old, name));
        let renamed_away = || names.iter().any(|name| self.is_renamed_away(&field.name, name));
        let found = renamed.or_else(|| old.get(field.name.as_str()).copied().filter(|_| !renamed_away()));
        if let Some(value) = found {
            return match (&field.ty, default) {
                (ty, Some(default)) if *self.old.resolve(value) == Value::Null && !ty.may_be_null() => {
                    self.fit(default.clone(), ty, path)
                }
                (Type::Array { item, dims, .. }, _) => self.array(value, item, dims, default, path),
                (ty, _) => self.map(value, ty, path),
            };
        }
        let computed = names.iter().filter(|name| !name.again);
        let computed = computed.flat_map(|name| morph.computed.iter().filter(|(field, _)| *field == name.path)).next();
        if let Some((name, rule)) = computed {
            let value = rule(&self.view).map_err(|reason| DecodeError::Rule { path: name.clone(), reason })?;
            return self.fit(value, &field.ty, path);
        }
        if let Some((_, value)) = given {
            return self.fit(value.clone(), &field.ty, path);
        }
        if !self.format.has_default(field) && (self.missing.is_empty() || self.paths.depth(path) <= NAMED_DEPTH) {
            self.missing.insert(self.paths.text(path));
        }
        Ok(Initial::new(self.format, &mut self.shared).field(field))
    }

    /// The names by which rules may mean a field: its path, and in a record that is met again within itself, the path
    /// from there, as for plans.
    fn names(&self, record: &RecordDef, field: &Field, path: Path) -> Vec<RulePath> {
        let mut names = Vec::new();
        let depth = self.paths.depth(path);
        // No rule has a longer path.
        if depth <= self.rule_depth {
            let parent = self.paths.text(self.paths.parent(path));
            names.push(RulePath { parent, path: self.paths.text(path), again: false });
        }
        if depth > 1 && self.rule_depth > 0 && record.name == self.format.name() {
            names.push(RulePath { parent: String::new(), path: joined("", &field.name), again: true });
        }
        names
    }

    /// The old field that was renamed to a new one.
    fn renamed(&self, old: &OldFields<'m>, name: &RulePath) -> Option<&'m Value> {
        let mut renames = self.morph.renames.iter().filter(|(_, to)| *to == name.path);
        renames.find_map(|(from, _)| match from.rsplit_once('.') {
            None if name.parent.is_empty() => old.get(from.as_str()).copied(),
            _ if name.again => None,
            Some((before, last)) if before == self.old_path(&name.parent) => old.get(last).copied(),
            _ => self.old.get(from).ok(),
        })
    }

    /// Whether the old field of this name has another one now.
    fn is_renamed_away(&self, field: &str, name: &RulePath) -> bool {
        let old_path = joined(&self.old_path(&name.parent), field);
        self.morph.renames.iter().any(|(from, to)| *from == old_path && *to != name.path)
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

    /// A fixed array. What the old one is too short for comes from the field's default.
    fn array(
        &mut self,
        value: &'m Value,
        item: &'m Type,
        dims: &[u32],
        default: Option<&Value>,
        path: Path,
    ) -> Result<Value, DecodeError> {
        let [length, inner @ ..] = dims else { return self.map(value, item, path) };
        let length = *length as usize;
        let Value::List(items) = self.old.resolve(value) else { return Err(self.unfit(value, item, path)) };
        if items.len() > length && !self.options.cut_arrays {
            return Err(DecodeError::OutOfRange {
                path: self.paths.text(path),
                value: format!("a list of {} items", items.len()),
                wanted: format!("an array of {length}"),
            });
        }
        let default_of = |index: usize| match default {
            Some(Value::List(defaults)) => defaults.get(index),
            _ => None,
        };
        let mut mapped = Vec::with_capacity(length);
        for (index, value) in items.iter().take(length).enumerate() {
            mapped.push(self.array(value, item, inner, default_of(index), path)?);
        }
        while mapped.len() < length {
            let rest = default_of(mapped.len()).filter(|_| inner.is_empty());
            mapped.push(match rest {
                Some(default) => self.fit(default.clone(), item, path)?,
                None => Initial::new(self.format, &mut self.shared).array(item, inner),
            });
        }
        Ok(Value::List(mapped))
    }

    fn items(&mut self, value: &'m Value, item: &'m Type, rank: usize, path: Path) -> Result<Value, DecodeError> {
        let Value::List(items) = self.old.resolve(value) else { return Err(self.unfit(value, item, path)) };
        let apart = self.format.holds_recursive(item) && !item.is_indirect();
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

    /// A number of the old record as one of a new type, as plans convert them; none where it is for
    /// [`fit`](Self::fit) to say.
    fn number(&self, value: &Value, ty: &Type, path: Path) -> Option<Result<Value, DecodeError>> {
        let from = match value {
            Value::Bool(truth) => number::PlainNumber::Unsigned(u128::from(*truth)),
            Value::Int(number) => number::PlainNumber::Signed(*number),
            Value::UInt(number) => number::PlainNumber::Unsigned(*number),
            Value::F16(_) | Value::F32(_) | Value::F64(_) => number::PlainNumber::Float(as_float(value)?),
            Value::Enum(name) if matches!(ty, Type::Int { .. }) => number::PlainNumber::Signed(self.old_number(name)?),
            _ => return None,
        };
        let (kind, width) = match (ty, value) {
            (Type::Int { width, signed: true }, _) => (NumberKind::Signed, *width),
            (Type::Int { width, signed: false }, _) => (NumberKind::Unsigned, *width),
            // These keep their bits, those of a NaN too.
            (Type::Float { width: 2 }, Value::F16(_))
            | (Type::Float { width: 4 }, Value::F32(_))
            | (Type::Float { width: 8 }, Value::F64(_))
            | (Type::Float { .. }, Value::Bool(_)) => return None,
            (Type::Float { width }, _) => (NumberKind::Float, *width),
            (Type::Bool { width }, Value::Int(_) | Value::UInt(_)) => (NumberKind::Bool, *width),
            _ => return None,
        };
        let to = Number { kind, width, order: self.format.order() };
        let unfit = || self.unfit(value, ty, path);
        let bits = number::convert(from, to, self.options.loss).map_err(|_| unfit());
        let mask = u128::MAX >> (128 - 8 * u32::from(width));
        Some(bits.and_then(|bits| from_bits(self.format, ty, bits & mask).map_err(|_| unfit())))
    }

    /// The number that a name stands for in the enumerations of the old format, if they agree.
    fn old_number(&self, name: &str) -> Option<i128> {
        let format = &self.old.format;
        let ids = (0..format.definitions().len()).map(|index| DefId(index as u16));
        let mut numbers = ids.filter_map(|id| format.value_of(id, name));
        let number = numbers.next()?;
        numbers.all(|other| other == number).then_some(number)
    }

    fn fit(&mut self, value: Value, ty: &Type, path: Path) -> Result<Value, DecodeError> {
        let mut fitter = Fitter { format: self.format, shared: &mut self.shared };
        let shown = describe(&value);
        fitter.fit(value, ty).map_err(|error| {
            let path = self.paths.text(path);
            match error {
                EncodeError::Value { path: inner, .. } if inner.is_empty() => {
                    DecodeError::OutOfRange { path, value: shown, wanted: self.format.type_name(ty) }
                }
                other => DecodeError::Rule { path, reason: other.to_string() },
            }
        })
    }

    fn unfit(&self, value: &Value, ty: &Type, path: Path) -> DecodeError {
        DecodeError::OutOfRange {
            path: self.paths.text(path),
            value: describe(value),
            wanted: self.format.type_name(ty),
        }
    }
}
