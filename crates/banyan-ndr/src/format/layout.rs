//! Natural layout: fields in order, each at the next multiple of its alignment, as C compilers do.
//!
//! For descriptions that come without a layout (schemas), for the receiver's own layout of a foreign description, and
//! for [projections](Format::project).

use super::check::FormatError;
use super::types::{self, ByteOrder, Definition, PointerWidth, RecordDef, Type, VariantDef};
use super::{Format, check};

impl Format {
    /// [`Format::new`] for definitions of which only names and types are known: sizes, alignments, offsets and the
    /// places of payloads and optional values are computed; what stood there before is ignored. Widths are kept.
    pub fn laid_out(
        order: ByteOrder,
        pointer: PointerWidth,
        mut definitions: Vec<Definition>,
    ) -> Result<Format, FormatError> {
        lay_out(&mut definitions, pointer)?;
        Format::new(order, pointer, definitions)
    }

    /// The same description laid out for a machine with this byte order and pointer width.
    pub fn relaid(&self, order: ByteOrder, pointer: PointerWidth) -> Result<Format, FormatError> {
        Format::laid_out(order, pointer, self.definitions().to_vec())
    }
}

/// How far into a type its optionals are laid out.
#[derive(Clone, Copy, PartialEq)]
enum Reach {
    /// What lies in the place itself.
    Place,
    /// What lies behind references too.
    All,
}

fn lay_out(definitions: &mut [Definition], pointer: PointerWidth) -> Result<(), FormatError> {
    check::check_ids(definitions)?;
    check::check_inline_nesting(definitions)?;
    let mut done = vec![false; definitions.len()];
    for index in 0..definitions.len() {
        lay_out_inner_first(definitions, index, pointer, &mut done)?;
    }
    // Optionals behind references may hold any definition, so they wait until all have their sizes.
    (0..definitions.len()).try_for_each(|index| lay_out_one(definitions, index, pointer, Reach::All))
}

/// Lays out what lies within a definition first, then the definition. The depth is bounded by the check above.
fn lay_out_inner_first(
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
        lay_out_inner_first(definitions, inner, pointer, done)?;
    }
    lay_out_one(definitions, index, pointer, Reach::Place)
}

fn lay_out_one(
    definitions: &mut [Definition],
    index: usize,
    pointer: PointerWidth,
    reach: Reach,
) -> Result<(), FormatError> {
    let mut definition = definitions[index].clone();
    let scale = Scale { definitions, pointer, reach };
    let fits = match &mut definition {
        Definition::Record(record) => scale.record(record),
        Definition::Variant(variant) => scale.variant(variant),
        Definition::Enumeration(_) => Some(()),
    };
    fits.ok_or_else(|| check::definition_error(definition.name(), "is larger than 4 GiB"))?;
    definitions[index] = definition;
    Ok(())
}

/// Measures types. Its functions return `None` for what exceeds 4 GiB.
struct Scale<'a> {
    definitions: &'a [Definition],
    pointer: PointerWidth,
    reach: Reach,
}

impl Scale<'_> {
    fn record(&self, record: &mut RecordDef) -> Option<()> {
        let mut end = 0;
        record.align = 1;
        for field in &mut record.fields {
            let (size, align) = self.measure(&mut field.ty)?;
            field.offset = next_multiple(end, align)?;
            end = u64::from(field.offset).checked_add(size)?;
            record.align = record.align.max(align);
        }
        // A format has no definitions of size 0.
        record.size = next_multiple(end.max(1), record.align)?;
        Some(())
    }

    fn variant(&self, variant: &mut VariantDef) -> Option<()> {
        let mut largest = 0;
        variant.align = u32::from(variant.tag_width);
        for payload in variant.cases.iter_mut().filter_map(|case| case.payload.as_mut()) {
            let (size, align) = self.measure(payload)?;
            largest = largest.max(size);
            variant.align = variant.align.max(align);
        }
        variant.payload_at = variant.align;
        variant.size = next_multiple(u64::from(variant.payload_at).checked_add(largest)?, variant.align)?;
        Some(())
    }

    /// Size and alignment of a type, after the optionals in it, which carry their own layout, have been laid out.
    fn measure(&self, ty: &mut Type) -> Option<(u64, u32)> {
        let in_place = matches!(ty, Type::Optional { .. } | Type::Array { .. });
        if let Some(item) = ty.item_mut().filter(|_| in_place || self.reach == Reach::All) {
            self.measure(item)?;
        }
        if let Type::Optional { item, value_at, size } = ty {
            let (item_size, align) = self.measured(item)?;
            *value_at = align;
            *size = next_multiple(u64::from(align).checked_add(item_size)?, align)?;
        }
        self.measured(ty)
    }

    fn measured(&self, ty: &Type) -> Option<(u64, u32)> {
        let size = types::size_of(ty, self.pointer, self.definitions)?;
        // A width of 0 is refused when the format is made.
        Some((size, types::align_of(ty, self.pointer, self.definitions).max(1)))
    }
}

fn next_multiple(at: u64, align: u32) -> Option<u32> {
    u32::try_from(at.checked_next_multiple_of(u64::from(align))?).ok()
}
