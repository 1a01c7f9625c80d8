//! How a foreign record is turned into a body: a plan, made once a format, of what to do at which offset.
//!
//! The fixed parts of both are laid out alike. What differs is what references hold, what lies in the padding, what a
//! true boolean looks like and, on a few machines, the order of the bytes of floating-point numbers. A long double
//! becomes a double in its place, and an array of them gets shorter.

use super::description::{Description, FieldDescription, FloatForm};
use super::long_double::LongDouble;
use super::shape::{Scalar, Shape};
use banyan_ndr::wire::Slots;
use banyan_ndr::{ByteOrder, Dim};

/// A plan. Its first blocks are the records of the description, the root being the very first.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) slots: Slots,
    pub(super) floats: FloatForm,
    pub(super) blocks: Vec<ItemSteps>,
    /// Fields by the numbers in the steps, for people.
    pub(super) paths: Vec<String>,
}

/// What to do with one item of a type.
#[derive(Debug)]
pub(super) struct ItemSteps {
    /// Bytes in the body.
    pub(super) size: usize,
    /// Bytes in the foreign record; more than in the body when it is made of long doubles.
    pub(super) foreign_size: usize,
    pub(super) align: usize,
    pub(super) steps: Vec<Step>,
    /// Whether it is a record, so that the lengths in it are its own and not those of the record around it.
    pub(super) is_record: bool,
}

impl ItemSteps {
    /// Whether an item is copied as it is, so that many can be copied at once.
    pub(super) fn is_solid(&self) -> bool {
        matches!(self.steps[..], [Step::Copy { at: 0, len }] if len == self.size)
    }
}

/// One step. `at` counts from the start of the item, `path` is a number in [`Plan::paths`], `item` one in
/// [`Plan::blocks`].
#[derive(Debug)]
pub(super) enum Step {
    Copy { at: usize, len: usize },
    Bool { at: usize, width: usize },
    Float { at: usize, width: usize },
    LongDouble { at: usize, width: usize, form: LongDouble },
    Text { at: usize, path: usize },
    Pointer { at: usize, item: usize, path: usize },
    Counted { at: usize, item: usize, lengths: Vec<Length>, as_list: bool, path: usize },
    Inline { at: usize, item: usize, count: usize },
}

/// A dimension of a counted array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Length {
    Fixed(u32),
    /// An integer of the record.
    Field {
        at: usize,
        width: usize,
        signed: bool,
    },
}

/// Makes plans.
pub(super) struct PlanBuilder<'d> {
    description: &'d Description,
    shapes: &'d [Vec<Shape>],
    told: Option<LongDouble>,
    blocks: Vec<ItemSteps>,
    paths: Vec<String>,
}

impl PlanBuilder<'_> {
    /// The plan for a description that has been found to make a valid format.
    pub(super) fn build(description: &Description, shapes: &[Vec<Shape>], told: Option<LongDouble>) -> Plan {
        let mut builder = PlanBuilder { description, shapes, told, blocks: Vec::new(), paths: Vec::new() };
        for record in &description.records {
            let align = super::layout::plausible_align(record, description.pointer) as usize;
            let size = record.size as usize;
            builder.blocks.push(ItemSteps { size, foreign_size: size, align, steps: Vec::new(), is_record: true });
        }
        for record in 0..description.records.len() {
            builder.blocks[record].steps = builder.record_steps(record);
        }
        Plan {
            slots: Slots { order: description.order, pointer: description.pointer },
            floats: description.floats,
            blocks: builder.blocks,
            paths: builder.paths,
        }
    }
}

/// Where a shape stands while its steps are made.
#[derive(Clone, Copy)]
struct ShapeContext<'d> {
    record: usize,
    field: &'d FieldDescription,
    path: usize,
    /// Whether the shape is the field's own.
    direct: bool,
}

/// Bytes of a double.
const DOUBLE: usize = 8;

/// What an item takes.
struct Extent {
    size: usize,
    foreign_size: usize,
    align: usize,
}

impl<'d> PlanBuilder<'d> {
    fn record_steps(&mut self, record: usize) -> Vec<Step> {
        let description = &self.description.records[record];
        let mut steps = Vec::new();
        for (field, shape) in description.fields.iter().zip(&self.shapes[record]) {
            let place = ShapeContext { record, field, path: self.paths.len(), direct: true };
            self.paths.push(format!("{}.{}", description.name, field.name));
            self.add(&mut steps, shape, field.offset as usize, place);
        }
        steps
    }

    fn add(&mut self, steps: &mut Vec<Step>, shape: &Shape, at: usize, place: ShapeContext<'d>) {
        let path = place.path;
        let within = ShapeContext { direct: false, ..place };
        match shape {
            Shape::Scalar(scalar) => self.add_scalar(steps, *scalar, at, place),
            Shape::Array { dims, item } => {
                let count = dims.iter().map(|dim| *dim as usize).product();
                let item = self.block(item, within);
                match self.blocks[item].is_solid() {
                    true => copy(steps, at, count * self.blocks[item].size),
                    false => steps.push(Step::Inline { at, item, count }),
                }
            }
            Shape::Pointer(item) => {
                let item = self.block(item, within);
                steps.push(Step::Pointer { at, item, path });
            }
            Shape::Counted { dims, item } => {
                let lengths = dims.iter().map(|dim| self.length(*dim, place.record)).collect();
                let item = self.block(item, within);
                steps.push(Step::Counted { at, item, lengths, as_list: !place.direct, path });
            }
        }
    }

    fn add_scalar(&mut self, steps: &mut Vec<Step>, scalar: Scalar, at: usize, place: ShapeContext<'d>) {
        let width = place.field.size as usize;
        match scalar {
            Scalar::Record(item) => steps.push(Step::Inline { at, item, count: 1 }),
            Scalar::String => steps.push(Step::Text { at, path: place.path }),
            Scalar::Boolean => steps.push(Step::Bool { at, width }),
            Scalar::Float if let Some(form) = self.long_double(place) => {
                steps.push(Step::LongDouble { at, width, form });
            }
            Scalar::Float if self.floats_differ() => steps.push(Step::Float { at, width }),
            _ => copy(steps, at, width),
        }
    }

    /// The block of a shape: the record's own, or a new one.
    fn block(&mut self, shape: &Shape, place: ShapeContext<'d>) -> usize {
        if let Shape::Scalar(Scalar::Record(record)) = shape {
            return *record;
        }
        let mut steps = Vec::new();
        self.add(&mut steps, shape, 0, place);
        let Extent { size, foreign_size, align } = self.extent(shape, place);
        self.blocks.push(ItemSteps { size, foreign_size, align, steps, is_record: false });
        self.blocks.len() - 1
    }

    fn extent(&self, shape: &Shape, place: ShapeContext<'d>) -> Extent {
        let alike = |size, align| Extent { size, foreign_size: size, align };
        let (pointer, width) = (self.description.pointer.bytes(), place.field.size as usize);
        match shape {
            Shape::Scalar(Scalar::Record(record)) => alike(self.blocks[*record].size, self.blocks[*record].align),
            Shape::Scalar(Scalar::String) | Shape::Pointer(_) | Shape::Counted { .. } => alike(pointer, pointer),
            Shape::Scalar(Scalar::Float) if self.long_double(place).is_some() => {
                Extent { size: DOUBLE, foreign_size: width, align: DOUBLE }
            }
            Shape::Scalar(_) => alike(width, width),
            Shape::Array { dims, item } => {
                let Extent { size, foreign_size, align } = self.extent(item, place);
                let all = |size: usize| dims.iter().fold(size, |size, dim| size.saturating_mul(*dim as usize));
                Extent { size: all(size), foreign_size: all(foreign_size), align }
            }
        }
    }

    /// What the bytes of a float mean that is longer than a double.
    fn long_double(&self, place: ShapeContext<'d>) -> Option<LongDouble> {
        let width = place.field.size;
        let is_long = width as usize > DOUBLE;
        is_long.then(|| LongDouble::find(width, self.description.floats, self.told).ok()).flatten()
    }

    fn length(&self, dim: Dim, record: usize) -> Length {
        match dim {
            Dim::Fixed(len) => Length::Fixed(len),
            Dim::Field(number) => {
                let field = &self.description.records[record].fields[usize::from(number)];
                let signed = self.shapes[record][usize::from(number)] == Shape::Scalar(Scalar::Integer);
                Length::Field { at: field.offset as usize, width: field.size as usize, signed }
            }
        }
    }

    fn floats_differ(&self) -> bool {
        !matches!(
            (self.description.floats, self.description.order),
            (FloatForm::Big, ByteOrder::Big) | (FloatForm::Little, ByteOrder::Little)
        )
    }
}

/// Adds a copy, together with the one before it where they touch.
fn copy(steps: &mut Vec<Step>, at: usize, len: usize) {
    match steps.last_mut() {
        Some(Step::Copy { at: before, len: so_far }) if *before + *so_far == at => *so_far += len,
        _ => steps.push(Step::Copy { at, len }),
    }
}
