//! Computed fields on top of a plan: the plan converts all that it can, as for any other record; what is computed is set
//! in the result.

use std::sync::Arc;

use super::{Compute, Morph, joined};
use crate::dynamic::number::describe;
use crate::{
    Buffer, ConvertOptions, DecodeError, DefId, Definition, Dim, DynRecord, EncodeError, Format, Limits, Plan,
    RecordDef, RecordView, Type, Value,
};

/// A conversion of which some fields of the record itself are computed.
pub(crate) struct Partial {
    source: Format,
    target: Format,
    /// The target, with a byte in the place of each computed field.
    planned: Format,
    plan: Plan,
    computed: Vec<(String, Arc<Compute>)>,
    limits: Limits,
}

impl Partial {
    /// None where it cannot be done so: with rules for fields within others, or where the record contains itself, so
    /// that the fields are needed further inside, too.
    pub(crate) fn new(
        morph: &Morph,
        source: &Format,
        target: &Format,
        options: &ConvertOptions,
    ) -> Result<Option<Partial>, DecodeError> {
        let at_root = Morph { computed: Vec::new(), ..morph.clone() }.is_plannable();
        let inside = morph.computed.iter().any(|(field, _)| field.contains('.'));
        let contains_itself = target.holds_recursive(&target.root_type());
        let mut definitions = target.definitions().to_vec();
        let Some(Definition::Record(root)) = definitions.first_mut() else { return Ok(None) };
        if !at_root || inside || contains_itself {
            return Ok(None);
        }
        let is_length = |field: &str| lengths(root, |_| true).iter().any(|index| root.fields[*index].name == field);
        let mut computed = morph.computed.clone();
        computed.retain(|(field, _)| !is_length(field));
        let is_computed = |name: &str| computed.iter().any(|(field, _)| *field == joined("", name));
        for index in lengths(root, is_computed) {
            root.fields[index].default.get_or_insert(Value::Int(0));
        }
        for field in root.fields.iter_mut().filter(|field| is_computed(&field.name)) {
            field.ty = Type::Int { width: 1, signed: false };
            field.default = Some(Value::Int(0));
        }
        let mut options = options.clone();
        if let Some(defaults) = options.defaults.get_mut(target.name()) {
            defaults.retain(|name, _| !is_computed(name));
        }
        let Ok(planned) = Format::new(target.order(), target.pointer(), definitions) else { return Ok(None) };
        let plan = Plan::new(source, &planned, &options)?;
        let (source, target, limits) = (source.clone(), target.clone(), options.limits);
        Ok(Some(Partial { source, target, planned, plan, computed, limits }))
    }

    /// Converts a body; `out` then holds the target's.
    pub(crate) fn convert(&self, body: &[u8], out: &mut Buffer) -> Result<(), DecodeError> {
        self.plan.convert(body, out)?;
        let DynRecord { root, shared, .. } = DynRecord::from_body(&self.planned, out, &self.limits)?;
        let mut record = DynRecord { format: self.target.clone(), root, shared };
        let old = RecordView::new(&self.source, body)?;
        for (field, rule) in &self.computed {
            let value = rule(&old).map_err(|reason| DecodeError::Rule { path: field.clone(), reason })?;
            let shown = describe(&value);
            record.set(field, value).map_err(|error| self.unfit(field, shown, error))?;
        }
        *out = record
            .to_body()
            .map_err(|error| DecodeError::Rule { path: self.target.name().into(), reason: error.to_string() })?;
        Ok(())
    }

    fn unfit(&self, field: &str, value: String, error: EncodeError) -> DecodeError {
        match (error, self.target.field_of(DefId::ROOT, field)) {
            (EncodeError::Value { path, .. }, Some((_, found))) if path == field => {
                DecodeError::OutOfRange { path, value, wanted: self.target.type_name(&found.ty) }
            }
            (other, _) => DecodeError::Rule { path: field.into(), reason: other.to_string() },
        }
    }
}

/// The fields that give the arrays of these names their lengths.
fn lengths(record: &RecordDef, is_meant: impl Fn(&str) -> bool) -> Vec<usize> {
    let mut lengths = Vec::new();
    for field in record.fields.iter().filter(|field| is_meant(&field.name)) {
        let Type::Sized { dims, .. } = &field.ty else { continue };
        lengths.extend(dims.iter().filter_map(|dim| match dim {
            Dim::Field(index) => Some(usize::from(*index)),
            Dim::Fixed(_) => None,
        }));
    }
    lengths
}

impl std::fmt::Debug for Partial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let computed: Vec<&str> = self.computed.iter().map(|(field, _)| field.as_str()).collect();
        f.debug_struct("Partial").field("plan", &self.plan).field("computed", &computed).finish()
    }
}
