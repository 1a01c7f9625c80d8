//! Which source field belongs to which target field: by name, after renames.

use std::collections::HashMap;

use super::ConvertOptions;
use crate::{Case, Definition, Field, Format, RecordDef, Type, Value, VariantDef};

/// The fields of a source record by the names they have for the target.
pub(super) struct FieldsByName<'a>(HashMap<&'a str, &'a Field>);

impl<'a> FieldsByName<'a> {
    pub(super) fn new(source: &'a RecordDef, options: &'a ConvertOptions) -> FieldsByName<'a> {
        let renames = options.renames.get(&source.name);
        let new_name = |field: &Field| renames.and_then(|renames| renames.get(&field.name)).map(String::as_str);
        // A field that is renamed to a name precedes one that has it already: somebody asked for that.
        let mut by_name = HashMap::new();
        for field in &source.fields {
            if let Some(name) = new_name(field) {
                by_name.entry(name).or_insert(field);
            }
        }
        for field in source.fields.iter().filter(|field| new_name(field).is_none()) {
            by_name.entry(field.name.as_str()).or_insert(field);
        }
        FieldsByName(by_name)
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Field> {
        self.0.get(name).copied()
    }
}

/// The name a source case has for the target.
pub(super) fn case_name<'a>(source: &VariantDef, case: &'a Case, options: &'a ConvertOptions) -> &'a str {
    options.renames.get(&source.name).and_then(|renames| renames.get(&case.name)).unwrap_or(&case.name)
}

/// What a target field holds when the sender has no such field.
pub(super) fn default_of<'a>(record: &RecordDef, field: &'a Field, options: &'a ConvertOptions) -> Option<&'a Value> {
    let given = options.defaults.get(&record.name).and_then(|defaults| defaults.get(&field.name));
    given.or(field.default.as_ref())
}

/// Which definitions have references in their own bytes, those of nested definitions included.
pub(super) fn definitions_with_references(format: &Format) -> Vec<bool> {
    let definitions = format.definitions();
    let mut with = vec![false; definitions.len()];
    loop {
        let mut changed = false;
        for (index, definition) in definitions.iter().enumerate() {
            if !with[index] && mentions_reference(definition, &with) {
                with[index] = true;
                changed = true;
            }
        }
        if !changed {
            return with;
        }
    }
}

fn mentions_reference(definition: &Definition, with: &[bool]) -> bool {
    definition.types().any(|ty| has_reference(ty, with))
}

/// Whether the bytes of a type, where it stands, hold references.
pub(super) fn has_reference(ty: &Type, definitions: &[bool]) -> bool {
    match ty {
        Type::Str | Type::CStr | Type::Bytes | Type::Ref { .. } | Type::List { .. } | Type::Sized { .. } => true,
        Type::Optional { item, .. } | Type::Array { item, .. } => has_reference(item, definitions),
        Type::Record(id) | Type::Variant(id) => definitions[id.index()],
        _ => false,
    }
}
