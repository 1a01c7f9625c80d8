//! Laying definitions out anew: fields in order, each at the next multiple of its alignment, as C compilers do.
//!
//! For descriptions that come without a layout (schemas), for the receiver's own layout of a foreign description, and
//! for projections: some fields of a large record.

use super::check::FormatError;
use super::types::{self, ByteOrder, Definition, Dim, Field, PointerWidth, RecordDef, Type, VariantDef};
use super::{Format, check};

/// Computes size, alignment and offsets of all definitions; what stood there before is ignored. The definitions must
/// not lie within themselves ([`FormatError`] otherwise).
pub(crate) fn lay_out(definitions: &mut [Definition], pointer: PointerWidth) -> Result<(), FormatError> {
    check::check_inline_nesting(definitions)?;
    let mut done = vec![false; definitions.len()];
    for index in 0..definitions.len() {
        lay_out_one(definitions, index, pointer, &mut done)?;
    }
    Ok(())
}

/// Lays out what lies within a definition first, then the definition. The depth is bounded by the check above.
fn lay_out_one(
    definitions: &mut [Definition],
    index: usize,
    pointer: PointerWidth,
    done: &mut [bool],
) -> Result<(), FormatError> {
    if std::mem::replace(&mut done[index], true) {
        return Ok(());
    }
    let inner: Vec<usize> = check::inline(&definitions[index]).map(|id| id.index()).collect();
    for inner in inner {
        lay_out_one(definitions, inner, pointer, done)?;
    }
    let mut definition = definitions[index].clone();
    let fits = match &mut definition {
        Definition::Record(record) => place_fields(record, pointer, definitions),
        Definition::Variant(variant) => place_cases(variant, pointer, definitions),
        Definition::Enumeration(_) => Some(()),
    };
    fits.ok_or_else(|| check::definition_error(definition.name(), "is larger than 4 GiB"))?;
    definitions[index] = definition;
    Ok(())
}

fn place_fields(record: &mut RecordDef, pointer: PointerWidth, definitions: &[Definition]) -> Option<()> {
    let mut end = 0;
    record.align = 1;
    for field in &mut record.fields {
        place_optionals(&mut field.ty, pointer, definitions)?;
        let align = types::align_of(&field.ty, pointer, definitions);
        field.offset = u32::try_from(next_multiple(end, align)?).ok()?;
        end = u64::from(field.offset).checked_add(types::size_of(&field.ty, pointer, definitions)?)?;
        record.align = record.align.max(align);
    }
    record.size = u32::try_from(next_multiple(end.max(1), record.align)?).ok()?;
    Some(())
}

fn place_cases(variant: &mut VariantDef, pointer: PointerWidth, definitions: &[Definition]) -> Option<()> {
    let mut align = u32::from(variant.tag_width);
    let mut size = 0;
    for payload in variant.cases.iter_mut().filter_map(|case| case.payload.as_mut()) {
        place_optionals(payload, pointer, definitions)?;
        align = align.max(types::align_of(payload, pointer, definitions));
        size = size.max(types::size_of(payload, pointer, definitions)?);
    }
    variant.align = align;
    variant.payload_at = align;
    variant.size = u32::try_from(next_multiple(u64::from(align).checked_add(size)?, align)?).ok()?;
    Some(())
}

/// Optional values carry their layout in their type.
fn place_optionals(ty: &mut Type, pointer: PointerWidth, definitions: &[Definition]) -> Option<()> {
    if let Some(item) = ty.item_mut() {
        place_optionals(item, pointer, definitions)?;
    }
    if let Type::Optional { item, value_at, size } = ty {
        *value_at = types::align_of(item, pointer, definitions);
        let end = u64::from(*value_at).checked_add(types::size_of(item, pointer, definitions)?)?;
        *size = u32::try_from(next_multiple(end, *value_at)?).ok()?;
    }
    Some(())
}

fn next_multiple(at: u64, align: u32) -> Option<u64> {
    at.checked_next_multiple_of(u64::from(align))
}

impl Format {
    /// The same description laid out for a machine with this byte order and pointer width.
    pub fn relaid(&self, order: ByteOrder, pointer: PointerWidth) -> Result<Format, FormatError> {
        let mut definitions = self.definitions().to_vec();
        lay_out(&mut definitions, pointer)?;
        Format::new(order, pointer, definitions)
    }

    /// Some fields of this format, laid out for this machine: a target to convert to when the rest does not matter.
    /// A path names a field, or a field within a nested record or within the records of a list (`"mesh.elems.temp"`).
    /// The fields that hold the lengths of an array come along with it.
    pub fn project(&self, paths: &[&str]) -> Result<Format, FormatError> {
        let mut definitions = self.definitions().to_vec();
        let mut wanted: Vec<Vec<&str>> = paths.iter().map(|path| path.split('.').collect()).collect();
        wanted.sort_unstable();
        select(&mut definitions, 0, &wanted)?;
        lay_out(&mut definitions, PointerWidth::NATIVE)?;
        Format::new(ByteOrder::NATIVE, PointerWidth::NATIVE, definitions)
    }
}

/// Leaves only the wanted fields in the record at `index`. Nested records of which only some fields are wanted become
/// new definitions, so that other uses of them stay whole.
fn select(definitions: &mut Vec<Definition>, index: usize, wanted: &[Vec<&str>]) -> Result<(), FormatError> {
    let name = definitions[index].name().to_owned();
    let Definition::Record(record) = &definitions[index] else {
        return Err(check::definition_error(&name, "is no record; only fields of records can be selected"));
    };
    let mut record = record.clone();
    for path in wanted {
        if record.field(path[0]).is_none() {
            return Err(check::definition_error(&name, format!("has no field {}", path[0])));
        }
    }
    let keep = kept(&record, wanted);
    for (field, _) in record.fields.iter_mut().zip(&keep).filter(|(_, keep)| **keep) {
        let rest: Vec<Vec<&str>> =
            wanted.iter().filter(|path| path[0] == field.name).map(|path| path[1..].to_vec()).collect();
        let whole = rest.iter().any(Vec::is_empty) || rest.is_empty();
        if !whole {
            narrow(definitions, field, &rest)?;
        }
    }
    record.fields = renumber_dims(record.fields, &keep);
    definitions[index] = Definition::Record(record);
    Ok(())
}

/// Which fields are wanted, or hold a length of one that is.
fn kept(record: &RecordDef, wanted: &[Vec<&str>]) -> Vec<bool> {
    let mut keep: Vec<bool> =
        record.fields.iter().map(|field| wanted.iter().any(|path| path[0] == field.name)).collect();
    for (position, field) in record.fields.iter().enumerate() {
        if let (true, Type::Sized { dims, .. }) = (keep[position], &field.ty) {
            for dim in dims {
                if let Dim::Field(length) = dim {
                    keep[usize::from(*length)] = true;
                }
            }
        }
    }
    keep
}

/// Makes a field's record a definition of its own with only some fields.
fn narrow(definitions: &mut Vec<Definition>, field: &mut Field, rest: &[Vec<&str>]) -> Result<(), FormatError> {
    let mut ty = &mut field.ty;
    while ty.item().is_some() {
        ty = ty.item_mut().expect("it has one");
    }
    let Type::Record(id) = ty else {
        return Err(check::definition_error(&field.name, "has no fields to select"));
    };
    let copy = u16::try_from(definitions.len()).map_err(|_| check::definition_error(&field.name, "too many fields"))?;
    definitions.push(definitions[id.index()].clone());
    id.0 = copy;
    select(definitions, usize::from(copy), rest)
}

/// Drops the fields not kept; the numbers of length fields change with them.
fn renumber_dims(fields: Vec<Field>, keep: &[bool]) -> Vec<Field> {
    let new_number = |old: u16| keep[..usize::from(old)].iter().filter(|keep| **keep).count() as u16;
    let mut fields: Vec<Field> =
        fields.into_iter().zip(keep).filter(|(_, keep)| **keep).map(|(field, _)| field).collect();
    for field in &mut fields {
        if let Type::Sized { dims, .. } = &mut field.ty {
            for dim in dims {
                if let Dim::Field(number) = dim {
                    *number = new_number(*number);
                }
            }
        }
    }
    fields
}
