//! Defaults: a value written once in the target's layout, ready to be put into any number of bodies.

use std::cell::OnceCell;

use crate::dynamic::fields::FieldValues;
use crate::half;
use crate::wire::{Slots, write_uint};
use crate::{DefId, Definition, Dim, Format, Order, RecordDef, Type, Value};

/// A value with all it refers to. Reference slots hold zeros until the template is placed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Template {
    /// The value in its place.
    pub(super) fixed: Vec<u8>,
    /// What it refers to, to lie at a multiple of `align`.
    pub(super) heap: Vec<u8>,
    pub(super) align: usize,
    /// (where the slot is, what it leads to in `heap`). Slots count through `fixed` and then `heap`.
    pub(super) slots: Vec<(usize, usize)>,
}

impl Template {
    /// Writes `value` as a `ty` of `format`, or says why it is none.
    pub(super) fn new(format: &Format, ty: &Type, value: &Value) -> Result<Template, String> {
        let mut writer = DefaultWriter::new(format, format.size_of(ty));
        writer.write(ty, value, TemplateOffset::Fixed(0))?;
        Ok(writer.finish())
    }

    /// A `ty` of `format` that nobody gave a value: the defaults of the fields in it, zeros for the rest. `None` where
    /// zeros are all there is.
    pub(super) fn unset(format: &Format, ty: &Type) -> Result<Option<Template>, String> {
        let defaulted = definitions_with_defaults(format);
        if !holds_default(ty, &defaulted) {
            return Ok(None);
        }
        if format.size_of(ty) > MOST_UNSET {
            return Err(format!("more than {MOST_UNSET} bytes would have to be filled with defaults"));
        }
        let mut writer = DefaultWriter::new(format, format.size_of(ty));
        writer.unset(ty, TemplateOffset::Fixed(0))?;
        Ok(Some(writer.finish()))
    }

    /// Whether it refers to nothing.
    pub(super) fn is_flat(&self) -> bool {
        self.slots.is_empty()
    }
}

/// The extents of a default for an array of `rank` dimensions.
pub(super) fn extents(value: &Value, rank: usize) -> Option<Vec<usize>> {
    let mut extents = Vec::with_capacity(rank);
    let mut value = Some(value);
    for _ in 0..rank {
        match value {
            Some(Value::List(items)) => {
                extents.push(items.len());
                value = items.first();
            }
            None => extents.push(0),
            Some(_) => return None,
        }
    }
    Some(extents)
}

/// Whether zeros are a value of the type, so that items can be left out.
pub(super) fn zero_is_valid(format: &Format, ty: &Type) -> bool {
    match ty {
        Type::Enum(id) => format.name_of(*id, 0).is_some(),
        Type::Record(id) => format.record(*id).fields.iter().all(|field| zero_is_valid(format, &field.ty)),
        Type::Variant(id) => format
            .variant(*id)
            .cases
            .iter()
            .any(|case| case.tag == 0 && case.payload.as_ref().is_none_or(|payload| zero_is_valid(format, payload))),
        Type::Array { item, .. } => zero_is_valid(format, item),
        Type::Ref { nullable, .. } => *nullable,
        _ => true,
    }
}

/// Most bytes, in place and referred to, that are filled with the defaults of fields: a short description can mean
/// thousands of millions.
const MOST_UNSET: usize = 1 << 20;

/// Which definitions have fields with defaults in their own bytes, those of nested definitions included.
fn definitions_with_defaults(format: &Format) -> Vec<bool> {
    let definitions = format.definitions();
    let own = |definition: &Definition| match definition {
        Definition::Record(record) => record.fields.iter().any(|field| field.default.is_some()),
        _ => false,
    };
    let mut with: Vec<bool> = definitions.iter().map(own).collect();
    loop {
        let mut changed = false;
        for (index, definition) in definitions.iter().enumerate() {
            if !with[index] && definition.types().any(|ty| holds_default(ty, &with)) {
                with[index] = true;
                changed = true;
            }
        }
        if !changed {
            return with;
        }
    }
}

/// Whether a value of the type, where it stands, has fields with defaults. What is absent has none.
fn holds_default(ty: &Type, definitions: &[bool]) -> bool {
    match ty {
        Type::Array { item, .. } => holds_default(item, definitions),
        Type::Record(id) | Type::Variant(id) => definitions[id.index()],
        _ => false,
    }
}

/// Where bytes of a template lie: its two parts grow independently while it is written.
#[derive(Clone, Copy)]
enum TemplateOffset {
    Fixed(usize),
    Heap(usize),
}

impl TemplateOffset {
    fn plus(self, offset: usize) -> TemplateOffset {
        match self {
            TemplateOffset::Fixed(at) => TemplateOffset::Fixed(at + offset),
            TemplateOffset::Heap(at) => TemplateOffset::Heap(at + offset),
        }
    }
}

/// Deepest nesting of a default. Defaults of fields in defaults could otherwise go on for ever in recursive records.
const DEPTH: usize = 128;

struct DefaultWriter<'a> {
    format: &'a Format,
    depth: usize,
    /// The definitions with defaults in them, once somebody asked.
    defaulted: OnceCell<Vec<bool>>,
    template: Template,
}

impl<'a> DefaultWriter<'a> {
    fn new(format: &'a Format, size: usize) -> DefaultWriter<'a> {
        let template = Template { fixed: vec![0; size], heap: Vec::new(), align: 1, slots: Vec::new() };
        DefaultWriter { format, depth: 0, defaulted: OnceCell::new(), template }
    }

    fn finish(self) -> Template {
        self.template
    }

    fn bytes(&mut self, place: TemplateOffset, len: usize) -> &mut [u8] {
        match place {
            TemplateOffset::Fixed(at) => &mut self.template.fixed[at..at + len],
            TemplateOffset::Heap(at) => &mut self.template.heap[at..at + len],
        }
    }

    fn integer(&mut self, place: TemplateOffset, width: usize, value: u128) {
        let order = self.format.order();
        write_uint(self.bytes(place, width), value, order);
    }

    fn allocate(&mut self, len: usize, align: usize) -> usize {
        let at = self.template.heap.len().next_multiple_of(align);
        self.template.heap.resize(at + len, 0);
        self.template.align = self.template.align.max(align);
        at
    }

    fn reference(&mut self, place: TemplateOffset, target: usize) {
        let slot = match place {
            TemplateOffset::Fixed(at) => at,
            TemplateOffset::Heap(at) => self.template.fixed.len() + at,
        };
        self.template.slots.push((slot, target));
    }

    fn span(&mut self, place: TemplateOffset, target: usize, count: usize) {
        if count > 0 {
            self.reference(place, target);
            let width = self.format.pointer().bytes();
            self.integer(place.plus(width), width, count as u128);
        }
    }

    fn write(&mut self, ty: &Type, value: &Value, place: TemplateOffset) -> Result<(), String> {
        if self.depth == DEPTH {
            return Err(format!("the default is nested more than {DEPTH} deep"));
        }
        self.depth += 1;
        self.write_inner(ty, value, place)?;
        self.depth -= 1;
        Ok(())
    }

    fn write_inner(&mut self, ty: &Type, value: &Value, place: TemplateOffset) -> Result<(), String> {
        let wrong = || format!("the default {value:?} is no {}", self.format.type_name(ty));
        match (ty, value) {
            (Type::Int { width, signed }, _) => {
                let bits = integer_bits(*width, *signed, value).ok_or_else(wrong)?;
                self.integer(place, usize::from(*width), bits);
            }
            (Type::Float { width }, _) => {
                let bits = float_bits(*width, value).ok_or_else(wrong)?;
                self.integer(place, usize::from(*width), bits);
            }
            (Type::Bool { width }, Value::Bool(value)) => {
                self.integer(place, usize::from(*width), u128::from(*value));
            }
            (Type::Char { width }, Value::Char(value)) if *width == 4 || u32::from(*value) < 256 => {
                self.integer(place, usize::from(*width), u128::from(u32::from(*value)));
            }
            (Type::Enum(id), _) => {
                let bits = enumeration_bits(self.format, *id, value).ok_or_else(wrong)?;
                self.integer(place, usize::from(self.format.enumeration(*id).width), bits);
            }
            (Type::Str, Value::Str(text)) => self.text(place, text.as_bytes()),
            (Type::Bytes, Value::Bytes(bytes)) => self.text(place, bytes),
            (Type::CStr, Value::Str(text)) if !text.contains('\0') => self.c_string(place, text.as_bytes()),
            (Type::CStr, Value::Bytes(bytes)) if !bytes.contains(&0) => self.c_string(place, bytes),
            (Type::CStr | Type::Optional { .. } | Type::Ref { nullable: true, .. }, Value::Null) => {}
            (Type::Optional { item, value_at, .. }, _) => {
                self.bytes(place, 1)[0] = 1;
                self.write(item, value, place.plus(*value_at as usize))?;
            }
            (Type::Ref { item, .. }, _) => {
                let at = self.allocate(self.format.size_of(item), self.format.align_of(item));
                self.write(item, value, TemplateOffset::Heap(at))?;
                self.reference(place, at);
            }
            (Type::Record(id), Value::Record(fields)) => {
                self.record(*id, fields, place)?;
            }
            (Type::Variant(id), Value::Case(name, payload)) => {
                self.case(*id, name, payload.as_deref(), place)?;
            }
            (Type::Array { item, dims, order }, Value::List(_)) => {
                self.array(item, &dims.iter().map(|dim| *dim as usize).collect::<Vec<_>>(), *order, value, place)?;
            }
            (Type::List { item }, Value::List(items)) => {
                let at = self.items(item, &[items.len()], Order::Row, value)?;
                self.span(place, at, items.len());
            }
            (Type::Sized { item, dims, order }, Value::List(_)) => {
                let extents = extents(value, dims.len()).ok_or_else(wrong)?;
                let fits = |(dim, extent): (&Dim, &usize)| match dim {
                    Dim::Fixed(length) => *length as usize == *extent,
                    Dim::Field(_) => true,
                };
                let empty = extents.contains(&0);
                if !empty && !dims.iter().zip(&extents).all(fits) {
                    return Err(wrong());
                }
                if !empty {
                    let at = self.items(item, &extents, *order, value)?;
                    self.reference(place, at);
                }
            }
            _ => return Err(wrong()),
        }
        Ok(())
    }

    fn text(&mut self, place: TemplateOffset, bytes: &[u8]) {
        let at = self.allocate(bytes.len(), 1);
        self.bytes(TemplateOffset::Heap(at), bytes.len()).copy_from_slice(bytes);
        self.span(place, at, bytes.len());
    }

    fn c_string(&mut self, place: TemplateOffset, bytes: &[u8]) {
        let at = self.allocate(bytes.len() + 1, 1);
        self.bytes(TemplateOffset::Heap(at), bytes.len()).copy_from_slice(bytes);
        self.reference(place, at);
    }

    fn record(&mut self, id: DefId, values: &[(String, Value)], place: TemplateOffset) -> Result<(), String> {
        let format = self.format;
        let record = format.record(id);
        let given = FieldValues::new(format, id, values);
        if let Some(name) = given.unknown {
            return Err(format!("the default names {name}, which {} does not have", record.name));
        }
        for (field, given) in record.fields.iter().zip(given.values) {
            match given.or(field.default.as_ref()) {
                Some(value) => {
                    self.write(&field.ty, value, place.plus(field.offset as usize))?;
                    self.lengths(record, &field.ty, value, place)?;
                }
                // The fields of a record that is not mentioned may have defaults.
                None if matches!(field.ty, Type::Record(_)) => {
                    self.write(&field.ty, &Value::Record(Vec::new()), place.plus(field.offset as usize))?;
                }
                None => self
                    .unset(&field.ty, place.plus(field.offset as usize))
                    .map_err(|_| format!("the default says nothing of {}", field.name))?,
            }
        }
        Ok(())
    }

    /// Writes the length fields of an array.
    fn lengths(&mut self, record: &RecordDef, ty: &Type, value: &Value, place: TemplateOffset) -> Result<(), String> {
        let Type::Sized { dims, .. } = ty else { return Ok(()) };
        let extents = extents(value, dims.len()).unwrap_or_default();
        for (dim, extent) in dims.iter().zip(extents) {
            let Dim::Field(number) = dim else { continue };
            let field = &record.fields[usize::from(*number)];
            self.write(&field.ty, &Value::Int(extent as i128), place.plus(field.offset as usize))?;
        }
        Ok(())
    }

    fn case(&mut self, id: DefId, name: &str, payload: Option<&Value>, place: TemplateOffset) -> Result<(), String> {
        let format = self.format;
        let (variant, case) = (format.variant(id), format.case_of(id, name));
        let case = case.ok_or_else(|| format!("the default {name} is no case of {}", variant.name))?;
        self.integer(place, usize::from(variant.tag_width), u128::from(case.tag));
        match (&case.payload, payload) {
            (None, None) => Ok(()),
            (Some(ty), Some(value)) => self.write(ty, value, place.plus(variant.payload_at as usize)),
            (Some(ty), None) => match self.format.unspoken_payload(case) {
                Some(value) => self.write(ty, &value, place.plus(variant.payload_at as usize)),
                None => Err(format!("the default {name} has no payload, which {} must have", variant.name)),
            },
            (None, Some(_)) => Err(format!("the default {name} has a payload, which {} does not have", variant.name)),
        }
    }

    /// A value that nobody gave: the defaults of the fields in it, and the zeros that are there for the rest.
    fn unset(&mut self, ty: &Type, place: TemplateOffset) -> Result<(), String> {
        let format = self.format;
        if !self.holds_default(ty) {
            return zero_is_valid(format, ty).then_some(()).ok_or_else(|| "its items need a default".to_owned());
        }
        if self.template.heap.len() > MOST_UNSET {
            return Err(format!("more than {MOST_UNSET} bytes would have to be filled with defaults"));
        }
        match ty {
            Type::Record(_) => self.write(ty, &Value::Record(Vec::new()), place),
            Type::Variant(id) => {
                let variant = format.variant(*id);
                let first = format.case_with_tag(*id, 0);
                let first = first.ok_or_else(|| "its items need a default".to_owned())?;
                first.payload.as_ref().map_or(Ok(()), |ty| self.unset(ty, place.plus(variant.payload_at as usize)))
            }
            Type::Array { item, dims, .. } => {
                let size = format.size_of(item);
                let count = if size == 0 { 0 } else { dims.iter().map(|dim| *dim as usize).product() };
                (0..count).try_for_each(|index| self.unset(item, place.plus(index * size)))
            }
            _ => Ok(()),
        }
    }

    /// Items elsewhere.
    fn items(&mut self, item: &Type, extents: &[usize], order: Order, value: &Value) -> Result<usize, String> {
        let count: usize = extents.iter().product();
        let at = self.allocate(count * self.format.size_of(item), self.format.align_of(item));
        self.array(item, extents, order, value, TemplateOffset::Heap(at))?;
        Ok(at)
    }

    /// Nested lists into one run of items. Behind shorter lists are items that nobody gave.
    fn array(
        &mut self,
        item: &Type,
        extents: &[usize],
        order: Order,
        value: &Value,
        place: TemplateOffset,
    ) -> Result<(), String> {
        let size = self.format.size_of(item);
        let mut strides = vec![size; extents.len()];
        match order {
            Order::Row => (0..extents.len().saturating_sub(1))
                .rev()
                .for_each(|dim| strides[dim] = strides[dim + 1] * extents[dim + 1]),
            Order::Column => (1..extents.len()).for_each(|dim| strides[dim] = strides[dim - 1] * extents[dim - 1]),
        }
        self.nested(item, extents, &strides, value, place)
    }

    fn nested(
        &mut self,
        item: &Type,
        extents: &[usize],
        strides: &[usize],
        value: &Value,
        place: TemplateOffset,
    ) -> Result<(), String> {
        let Some((extent, inner)) = extents.split_first() else { return self.write(item, value, place) };
        match value {
            Value::List(items) if items.len() <= *extent => {
                for (index, value) in items.iter().enumerate() {
                    self.nested(item, inner, &strides[1..], value, place.plus(index * strides[0]))?;
                }
                self.behind(item, extents, strides, items.len(), place)
                    .map_err(|_| format!("the default {value:?} does not have {extent} items"))
            }
            _ => Err(format!("the default {value:?} does not have {extent} items")),
        }
    }

    /// The items of an array from `first` on, none of which anybody gave.
    fn behind(
        &mut self,
        item: &Type,
        extents: &[usize],
        strides: &[usize],
        first: usize,
        place: TemplateOffset,
    ) -> Result<(), String> {
        let Some((extent, inner)) = extents.split_first() else { return self.unset(item, place) };
        let mut rest = first..*extent;
        if !self.holds_default(item) {
            // Zeros are there already.
            return if rest.is_empty() { Ok(()) } else { self.unset(item, place) };
        }
        rest.try_for_each(|index| self.behind(item, inner, &strides[1..], 0, place.plus(index * strides[0])))
    }

    fn holds_default(&self, ty: &Type) -> bool {
        holds_default(ty, self.defaulted.get_or_init(|| definitions_with_defaults(self.format)))
    }
}

fn integer_bits(width: u8, signed: bool, value: &Value) -> Option<u128> {
    let unused = 128 - 8 * u32::from(width);
    match value {
        Value::Int(value) => {
            let bits = *value as u128;
            let back = if signed { (bits << unused) as i128 >> unused } else { (bits << unused >> unused) as i128 };
            (back == *value && (signed || *value >= 0)).then_some(bits)
        }
        Value::UInt(value) => (!signed && value << unused >> unused == *value).then_some(*value),
        _ => None,
    }
}

/// The bits of a float. A float is rounded, but not to infinity; an integer must be one of its values.
fn float_bits(width: u8, value: &Value) -> Option<u128> {
    let exact_bits = match width {
        2 => 11,
        4 => 24,
        _ => 53,
    };
    let exact = |whole: u128| whole == 0 || 128 - whole.leading_zeros() - whole.trailing_zeros() <= exact_bits;
    let value = match value {
        Value::F16(bits) => half::to_f64(*bits),
        Value::F32(value) => f64::from(*value),
        Value::F64(value) => *value,
        Value::Int(value) if exact(value.unsigned_abs()) => *value as f64,
        Value::UInt(value) if exact(*value) => *value as f64,
        _ => return None,
    };
    let (bits, written) = match width {
        2 => {
            let bits = half::from_f64(value);
            (u128::from(bits), half::to_f64(bits))
        }
        4 => (u128::from((value as f32).to_bits()), f64::from(value as f32)),
        _ => (u128::from(value.to_bits()), value),
    };
    (written.is_finite() || !value.is_finite()).then_some(bits)
}

fn enumeration_bits(format: &Format, id: DefId, value: &Value) -> Option<u128> {
    let value = match value {
        Value::Enum(name) | Value::Str(name) => format.value_of(id, name)?,
        Value::Int(value) => format.name_of(id, *value).map(|_| *value)?,
        _ => return None,
    };
    Some(value as u128)
}

/// Puts a template into a body: its fixed part at `at`, what it refers to at `heap_at`.
pub(super) fn place(template: &Template, slots: Slots, out: &mut [u8], at: usize, heap_at: usize) {
    let fixed = template.fixed.len();
    out[at..at + fixed].copy_from_slice(&template.fixed);
    out[heap_at..heap_at + template.heap.len()].copy_from_slice(&template.heap);
    for (slot, target) in &template.slots {
        let slot = if *slot < fixed { at + slot } else { heap_at + slot - fixed };
        slots.set_reference(&mut out[slot..], Some(heap_at + target));
    }
}
