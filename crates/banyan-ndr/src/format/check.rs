//! The rules a format must keep, whoever wrote it. Everything behind relies on them.

use std::collections::HashSet;

use super::types::{self, DefId, Definition, Dim, EnumerationDef, PointerWidth, RecordDef, Type, VariantDef};
use crate::Limits;
use crate::error::visible;

/// Deepest nesting of records inside each other's fixed parts.
const INLINE_DEPTH: usize = 64;

/// Largest alignment of a record.
const MAX_ALIGN: u32 = 1 << 16;

/// Why a description is no format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The encoding stops in the middle.
    #[error("the format description ends at byte {at} in the middle of {what}")]
    Truncated {
        /// Where it ends.
        at: usize,
        /// What is cut.
        what: &'static str,
    },
    /// A byte that means nothing where it stands.
    #[error("byte {at} of the format description is {found}, which is no {what}")]
    Unknown {
        /// Where it stands.
        at: usize,
        /// Its value.
        found: u64,
        /// What was expected.
        what: &'static str,
    },
    /// The encoding has another form than [`Format::encoded`](super::Format::encoded) gives.
    #[error("the format description is not in canonical form")]
    NotCanonical,
    /// A limit is exceeded.
    #[error("{}: {found} is more than the limit of {limit} (Limits::{name})", visible(what))]
    Limit {
        /// What is too large.
        what: String,
        /// How large it is.
        found: u64,
        /// How large it may be.
        limit: u64,
        /// The field of [`Limits`] that says so.
        name: &'static str,
    },
    /// A definition breaks a rule.
    #[error("{}: {}", visible(definition), visible(reason))]
    Definition {
        /// Its name.
        definition: String,
        /// The rule.
        reason: String,
    },
    /// A field or case breaks a rule.
    #[error("{}.{}: {}", visible(definition), visible(field), visible(reason))]
    Field {
        /// The name of the definition it belongs to.
        definition: String,
        /// Its name.
        field: String,
        /// The rule.
        reason: String,
    },
}

/// Checks all rules.
pub(super) fn check(pointer: PointerWidth, definitions: &[Definition], limits: &Limits) -> Result<(), FormatError> {
    limit("definitions of the format", definitions.len(), limits.definitions.min(1 << 16), "definitions")?;
    match definitions.first() {
        None => return Err(definition_error("format", "has no definition")),
        Some(Definition::Enumeration(root)) => {
            return Err(definition_error(&root.name, "the root must be a record or a variant"));
        }
        Some(_) => {}
    }
    for definition in definitions {
        check_name(definition.name(), "the name of a definition", limits)?;
        let checker = FormatChecker { pointer, definitions, limits, definition: definition.name() };
        match definition {
            Definition::Record(record) => checker.record(record)?,
            Definition::Variant(variant) => checker.variant(variant)?,
            Definition::Enumeration(enumeration) => checker.enumeration(enumeration)?,
        }
    }
    check_inline_nesting(definitions)
}

struct FormatChecker<'a> {
    pointer: PointerWidth,
    definitions: &'a [Definition],
    limits: &'a Limits,
    definition: &'a str,
}

impl FormatChecker<'_> {
    fn record(&self, record: &RecordDef) -> Result<(), FormatError> {
        self.layout(record.size, record.align)?;
        self.distinct(record.fields.iter().map(|field| field.name.as_str()), "fields")?;
        let mut places = Vec::with_capacity(record.fields.len());
        for field in &record.fields {
            for text in [&field.unit, &field.description].into_iter().flatten() {
                limit("a unit or description", text.len(), self.limits.name_bytes, "name_bytes")?;
            }
            self.ty(&field.name, &field.ty, 0)?;
            self.dims(record, &field.name, &field.ty, true)?;
            let end = self.end(&field.name, field.offset, &field.ty)?;
            if end > u64::from(record.size) {
                return Err(self.field(&field.name, format!("ends at byte {end}, behind the record's {}", record.size)));
            }
            places.push((u64::from(field.offset), end, &field.name));
        }
        places.sort_unstable();
        for pair in places.windows(2) {
            if pair[0].1 > pair[1].0 {
                return Err(self.field(pair[1].2, format!("overlaps field {}", pair[0].2)));
            }
        }
        Ok(())
    }

    fn variant(&self, variant: &VariantDef) -> Result<(), FormatError> {
        self.layout(variant.size, variant.align)?;
        if !matches!(variant.tag_width, 1 | 2 | 4 | 8) {
            return Err(definition_error(self.definition, format!("a tag of {} bytes", variant.tag_width)));
        }
        if variant.payload_at < u32::from(variant.tag_width) || variant.payload_at > variant.size {
            return Err(definition_error(self.definition, "the payload does not lie between tag and end"));
        }
        self.distinct(variant.cases.iter().map(|case| case.name.as_str()), "cases")?;
        let mut tags = HashSet::new();
        for case in &variant.cases {
            if !tags.insert(case.tag) || (variant.tag_width < 8 && case.tag >> (8 * variant.tag_width) != 0) {
                return Err(self.field(&case.name, format!("its tag {} is taken or too large", case.tag)));
            }
            let Some(payload) = &case.payload else { continue };
            self.ty(&case.name, payload, 0)?;
            if std::iter::successors(Some(payload), |ty| ty.item()).any(|ty| matches!(ty, Type::Sized { .. })) {
                return Err(self.field(&case.name, "an array sized by another field must stand in a record"));
            }
            if self.end(&case.name, variant.payload_at, payload)? > u64::from(variant.size) {
                return Err(self.field(&case.name, "its payload ends behind the variant"));
            }
        }
        Ok(())
    }

    fn enumeration(&self, enumeration: &EnumerationDef) -> Result<(), FormatError> {
        if !matches!(enumeration.width, 1 | 2 | 4 | 8) {
            return Err(definition_error(self.definition, format!("an enumeration of {} bytes", enumeration.width)));
        }
        self.distinct(enumeration.names.iter().map(|(name, _)| name.as_str()), "names")?;
        let bits = 8 * u32::from(enumeration.width);
        let range = if enumeration.signed { -(1i128 << (bits - 1))..1i128 << (bits - 1) } else { 0..1i128 << bits };
        let mut values = HashSet::new();
        for (name, value) in &enumeration.names {
            if !range.contains(value) || !values.insert(value) {
                return Err(self.field(name, format!("its value {value} is taken or does not fit")));
            }
        }
        Ok(())
    }

    fn layout(&self, size: u32, align: u32) -> Result<(), FormatError> {
        limit(self.definition, size as usize, self.limits.fixed_bytes, "fixed_bytes")?;
        if !align.is_power_of_two() || align > MAX_ALIGN {
            return Err(definition_error(self.definition, format!("{align} is no alignment")));
        }
        if size == 0 || !size.is_multiple_of(align) {
            return Err(definition_error(
                self.definition,
                format!("its size of {size} is no positive multiple of its alignment of {align}"),
            ));
        }
        Ok(())
    }

    fn distinct<'n>(&self, names: impl ExactSizeIterator<Item = &'n str>, what: &str) -> Result<(), FormatError> {
        limit(&format!("{what} of {}", self.definition), names.len(), self.limits.fields.min(1 << 16), "fields")?;
        let mut seen = HashSet::new();
        for name in names {
            check_name(name, "a name", self.limits)?;
            if !seen.insert(name) {
                return Err(definition_error(self.definition, format!("two {what} are called {name}")));
            }
        }
        Ok(())
    }

    /// Checks a type on its own, whatever it stands in.
    fn ty(&self, field: &str, ty: &Type, depth: usize) -> Result<(), FormatError> {
        limit(field, depth, self.limits.type_depth, "type_depth")?;
        let wrong = |reason: String| Err(self.field(field, reason));
        match ty {
            Type::Int { width, .. } if !matches!(width, 1 | 2 | 4 | 8 | 16) => {
                wrong(format!("integer of {width} bytes"))
            }
            Type::Float { width } if !matches!(width, 2 | 4 | 8) => wrong(format!("float of {width} bytes")),
            Type::Bool { width } if !matches!(width, 1 | 2 | 4 | 8) => wrong(format!("bool of {width} bytes")),
            Type::Char { width } if !matches!(width, 1 | 4) => wrong(format!("char of {width} bytes")),
            Type::Enum(id) | Type::Record(id) | Type::Variant(id) => self.reference(field, ty, *id),
            Type::Optional { item, value_at, size } => {
                self.ty(field, item, depth + 1)?;
                let end = self.end(field, *value_at, item)?;
                if *value_at == 0 || end > u64::from(*size) {
                    return wrong("its optional value does not lie behind the flag and before the end".into());
                }
                limit(field, *size as usize, self.limits.fixed_bytes, "fixed_bytes")
            }
            Type::Array { item, dims, .. } => {
                self.ty(field, item, depth + 1)?;
                limit(field, dims.len(), self.limits.dimensions, "dimensions")?;
                if dims.is_empty() || dims.contains(&0) {
                    return wrong("an array needs dimensions of at least 1".into());
                }
                // Behind a reference it is part of nothing whose size is checked.
                self.end(field, 0, ty).map(drop)
            }
            Type::Sized { item, dims, .. } => {
                limit(field, dims.len(), self.limits.dimensions, "dimensions")?;
                if !dims.iter().any(|dim| matches!(dim, Dim::Field(_))) || dims.contains(&Dim::Fixed(0)) {
                    return wrong("an array sized by fields needs a field, and dimensions of at least 1".into());
                }
                self.ty(field, item, depth + 1)
            }
            Type::Ref { item, .. } | Type::List { item } => self.ty(field, item, depth + 1),
            _ => Ok(()),
        }
    }

    fn reference(&self, field: &str, ty: &Type, id: DefId) -> Result<(), FormatError> {
        match (ty, self.definitions.get(id.index())) {
            (Type::Enum(_), Some(Definition::Enumeration(_)))
            | (Type::Record(_), Some(Definition::Record(_)))
            | (Type::Variant(_), Some(Definition::Variant(_))) => Ok(()),
            _ => Err(self.field(field, format!("definition {} is missing or of another kind", id.0))),
        }
    }

    /// The fields that give a [`Type::Sized`] its lengths must be integers of the same record.
    fn dims(&self, record: &RecordDef, field: &str, ty: &Type, direct: bool) -> Result<(), FormatError> {
        if let Type::Sized { dims, .. } = ty {
            if !direct {
                return Err(self.field(field, "an array sized by another field must be the field's own type"));
            }
            for dim in dims {
                let Dim::Field(index) = dim else { continue };
                if !matches!(record.fields.get(usize::from(*index)).map(|field| &field.ty), Some(Type::Int { .. })) {
                    return Err(self.field(field, format!("field number {index}, its length, is no integer field")));
                }
            }
        }
        ty.item().map_or(Ok(()), |item| self.dims(record, field, item, false))
    }

    fn end(&self, field: &str, offset: u32, ty: &Type) -> Result<u64, FormatError> {
        types::size_of(ty, self.pointer, self.definitions)
            .and_then(|size| size.checked_add(u64::from(offset)))
            .filter(|end| *end <= self.limits.fixed_bytes as u64)
            .ok_or_else(|| self.field(field, "is larger than the limit (Limits::fixed_bytes)"))
    }

    fn field(&self, field: &str, reason: impl Into<String>) -> FormatError {
        FormatError::Field { definition: self.definition.into(), field: field.into(), reason: reason.into() }
    }
}

pub(super) fn definition_error(definition: &str, reason: impl Into<String>) -> FormatError {
    FormatError::Definition { definition: definition.into(), reason: reason.into() }
}

fn check_name(name: &str, what: &str, limits: &Limits) -> Result<(), FormatError> {
    if name.is_empty() {
        return Err(definition_error("format", format!("{what} is empty")));
    }
    limit(what, name.len(), limits.name_bytes, "name_bytes")
}

pub(super) fn limit(what: &str, found: usize, limit: usize, name: &'static str) -> Result<(), FormatError> {
    if found <= limit {
        return Ok(());
    }
    Err(FormatError::Limit { what: what.into(), found: found as u64, limit: limit as u64, name })
}

/// Every definition that is referred to must be there. For what works on definitions before [`check`] has seen them.
pub(super) fn check_ids(definitions: &[Definition]) -> Result<(), FormatError> {
    let astray = |definition: &&Definition| mentions(definition).any(|id| id.index() >= definitions.len());
    match definitions.iter().find(astray) {
        Some(definition) => Err(definition_error(definition.name(), "refers to a definition that is not there")),
        None => Ok(()),
    }
}

/// The definitions that lie within the fixed part of `definition`.
pub(super) fn inline(definition: &Definition) -> impl Iterator<Item = DefId> + '_ {
    definition.types().filter_map(|ty| {
        let mut ty = ty;
        while let Type::Optional { item, .. } | Type::Array { item, .. } = ty {
            ty = item;
        }
        ty.definition()
    })
}

/// No record may lie within itself, nor too deep within others.
pub(super) fn check_inline_nesting(definitions: &[Definition]) -> Result<(), FormatError> {
    // Depth of what lies within each definition, found from the innermost outward. A definition in a cycle never
    // gets one.
    let mut depth: Vec<Option<usize>> = vec![None; definitions.len()];
    for round in 0..=INLINE_DEPTH {
        let mut open = false;
        for (index, definition) in definitions.iter().enumerate() {
            if depth[index].is_some() {
                continue;
            }
            if inline(definition).all(|inner| depth[inner.index()].is_some_and(|inner| inner < round)) {
                depth[index] = Some(round);
            } else {
                open = true;
            }
        }
        if !open {
            return Ok(());
        }
    }
    let stuck = definitions.iter().zip(&depth).find(|(_, depth)| depth.is_none());
    let name = stuck.map_or("format", |(definition, _)| definition.name());
    Err(definition_error(name, format!("lies within itself, or records are nested more than {INLINE_DEPTH} deep")))
}

/// All definitions a definition refers to, in order.
pub(super) fn mentions(definition: &Definition) -> impl Iterator<Item = DefId> + '_ {
    definition.types().filter_map(|ty| ty.innermost().definition())
}

/// Renumbers the definitions in the order in which a walk from the root first mentions them (depth first, fields in
/// order) and drops those it never mentions.
pub(super) fn canonical_order(definitions: Vec<Definition>) -> Vec<Definition> {
    let mut new_id: Vec<Option<u16>> = vec![None; definitions.len()];
    let mut order = Vec::new();
    let mut stack = vec![DefId::ROOT];
    while let Some(id) = stack.pop() {
        if new_id[id.index()].is_some() {
            continue;
        }
        new_id[id.index()] = Some(order.len() as u16);
        order.push(id);
        let inner: Vec<DefId> = mentions(&definitions[id.index()]).collect();
        stack.extend(inner.into_iter().rev());
    }
    let mut taken: Vec<Option<Definition>> = definitions.into_iter().map(Some).collect();
    let mut ordered: Vec<Definition> =
        order.iter().map(|id| taken[id.index()].take().expect("each is listed once")).collect();
    for definition in &mut ordered {
        renumber(definition, &new_id);
    }
    ordered
}

fn renumber(definition: &mut Definition, new_id: &[Option<u16>]) {
    let rename = |ty: &mut Type| {
        let mut ty = ty;
        while ty.item().is_some() {
            ty = ty.item_mut().expect("it has one");
        }
        if let Type::Enum(id) | Type::Record(id) | Type::Variant(id) = ty {
            id.0 = new_id[id.index()].expect("what is mentioned by the reachable is reachable");
        }
    };
    match definition {
        Definition::Record(record) => record.fields.iter_mut().for_each(|field| rename(&mut field.ty)),
        Definition::Variant(variant) => {
            variant.cases.iter_mut().filter_map(|case| case.payload.as_mut()).for_each(rename)
        }
        Definition::Enumeration(_) => {}
    }
}
