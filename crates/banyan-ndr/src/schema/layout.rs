//! Natural layout: offsets, sizes and alignments for definitions of which only the logical part is known.

use crate::format::{align_of, size_of};
use crate::{Definition, FormatError, PointerWidth, RecordDef, Type, VariantDef};

/// Lays definitions out as a C compiler would: fields in their order, each at the next multiple of its alignment,
/// the whole padded to a multiple of the largest. Whatever offsets, sizes and alignments they had are overwritten;
/// widths are kept.
///
/// # Errors
/// When a definition lies within itself, refers to one that is not there, or grows beyond 4 GiB.
pub fn natural_layout(pointer: PointerWidth, definitions: &mut [Definition]) -> Result<(), FormatError> {
    let mut done = vec![false; definitions.len()];
    loop {
        let mut progress = false;
        for index in 0..definitions.len() {
            let ready = !done[index]
                && definitions[index].types().filter_map(inline).all(|id| done.get(id).copied().unwrap_or(true));
            if ready {
                lay_out(pointer, definitions, index, Reach::Place)?;
                done[index] = true;
                progress = true;
            }
        }
        match done.iter().position(|done| !done) {
            None => break,
            Some(stuck) if !progress => return Err(error(definitions[stuck].name(), "lies within itself")),
            Some(_) => {}
        }
    }
    // Optionals behind references may hold any definition, so they wait until all have their sizes.
    (0..definitions.len()).try_for_each(|index| lay_out(pointer, definitions, index, Reach::All))
}

/// How far into a type its optionals are laid out.
#[derive(Clone, Copy, PartialEq)]
enum Reach {
    /// What lies in the place itself.
    Place,
    /// What lies behind references too.
    All,
}

/// The definition whose size decides that of `ty`.
fn inline(mut ty: &Type) -> Option<usize> {
    while let Type::Optional { item, .. } | Type::Array { item, .. } = ty {
        ty = item;
    }
    ty.definition().map(|id| id.index())
}

fn lay_out(
    pointer: PointerWidth,
    definitions: &mut [Definition],
    index: usize,
    reach: Reach,
) -> Result<(), FormatError> {
    let name = definitions[index].name().to_owned();
    // Taken out, so that its types can be changed while those of the others are looked at.
    let hole = Definition::Record(RecordDef { name: String::new(), size: 0, align: 1, fields: Vec::new() });
    let mut definition = std::mem::replace(&mut definitions[index], hole);
    let scale = Scale { name: &name, pointer, definitions, reach };
    match &mut definition {
        Definition::Record(record) => scale.record(record)?,
        Definition::Variant(variant) => scale.variant(variant)?,
        Definition::Enumeration(_) => {}
    }
    definitions[index] = definition;
    Ok(())
}

struct Scale<'a> {
    name: &'a str,
    pointer: PointerWidth,
    definitions: &'a [Definition],
    reach: Reach,
}

impl Scale<'_> {
    fn record(&self, record: &mut RecordDef) -> Result<(), FormatError> {
        let (mut end, mut align) = (0u64, 1);
        for field in &mut record.fields {
            let (size, field_align) = self.measure(&mut field.ty)?;
            let offset = end.next_multiple_of(u64::from(field_align));
            field.offset = self.narrow(offset)?;
            end = offset + u64::from(size);
            align = align.max(field_align);
        }
        record.align = align;
        record.size = self.narrow(end.max(1).next_multiple_of(u64::from(align)))?;
        Ok(())
    }

    fn variant(&self, variant: &mut VariantDef) -> Result<(), FormatError> {
        let tag = u32::from(variant.tag_width);
        let (mut largest, mut align) = (0, 1);
        for payload in variant.cases.iter_mut().filter_map(|case| case.payload.as_mut()) {
            let (size, payload_align) = self.measure(payload)?;
            largest = largest.max(size);
            align = align.max(payload_align);
        }
        variant.payload_at = tag.next_multiple_of(align);
        variant.align = align.max(tag);
        let end = u64::from(variant.payload_at) + u64::from(largest);
        variant.size = self.narrow(end.next_multiple_of(u64::from(variant.align)))?;
        Ok(())
    }

    /// Size and alignment of a type, after the optionals in it have been laid out.
    fn measure(&self, ty: &mut Type) -> Result<(u32, u32), FormatError> {
        let in_place = matches!(ty, Type::Optional { .. } | Type::Array { .. });
        if let Some(item) = ty.item_mut().filter(|_| in_place || self.reach == Reach::All) {
            self.measure(item)?;
        }
        if let Type::Optional { item, value_at, size } = ty {
            let (item_size, align) = self.measured(item)?;
            *value_at = align;
            *size = self.narrow((u64::from(align) + u64::from(item_size)).next_multiple_of(u64::from(align)))?;
        }
        self.measured(ty)
    }

    fn measured(&self, ty: &Type) -> Result<(u32, u32), FormatError> {
        if ty.definition().is_some_and(|id| id.index() >= self.definitions.len()) {
            return Err(error(self.name, "refers to a definition that is not there"));
        }
        let size = size_of(ty, self.pointer, self.definitions).ok_or_else(|| error(self.name, "is too large"))?;
        Ok((self.narrow(size)?, align_of(ty, self.pointer, self.definitions).max(1)))
    }

    fn narrow(&self, size: u64) -> Result<u32, FormatError> {
        u32::try_from(size).map_err(|_| error(self.name, "is larger than 4 GiB"))
    }
}

fn error(definition: &str, reason: &str) -> FormatError {
    FormatError::Definition { definition: definition.into(), reason: reason.into() }
}
