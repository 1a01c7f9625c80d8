//! Projected records: what of an event goes into the aggregates.
//!
//! A record has a field for each value that the event has, and none for those that are missing: a reduction leaves out what
//! a record lacks. So there is a format for every choice of columns; nearly all events have all.

use banyan_ndr::wire::Slots;
use banyan_ndr::{Buffer, ByteOrder, DefId, Definition, Field, Format, PointerWidth, RecordDef, Type};
use banyan_ranks::RankSet;
use banyan_reduce::{Part, Reduction, ReductionLimits};

use crate::compile::Sort;
use crate::place::Holds;
use crate::plan::{Column, Form, KEY, Plan};
use crate::program::{Leaf, Op, Program};
use crate::scalar::{Scalar, canonical};
use crate::syntax::Context;

/// How a column lies in projected records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    Signed,
    Unsigned,
    Wide,
    Float,
    Flag,
    Bytes,
}

impl Layout {
    /// Of the values of a program.
    pub(crate) fn of(form: Form, sort: Sort, program: &Program) -> Layout {
        match form {
            Form::Present => Layout::Flag,
            Form::Encoded | Form::Ranked => Layout::Bytes,
            Form::Stamped => Layout::Wide,
            Form::Float => Layout::Float,
            Form::Number if sort == Sort::Float => Layout::Float,
            Form::Number if sort == Sort::Truth => Layout::Unsigned,
            Form::Number => match &program.ops[..] {
                [Op::Load { leaf, .. }] => Layout::of_leaf(leaf),
                _ => Layout::Wide,
            },
        }
    }

    fn of_leaf(leaf: &Leaf) -> Layout {
        match leaf {
            Leaf::Place(place) => match place.holds {
                Holds::I8 | Holds::I16 | Holds::I32 | Holds::I64 => Layout::Signed,
                Holds::U8 | Holds::U16 | Holds::U32 | Holds::U64 => Layout::Unsigned,
                _ => Layout::Wide,
            },
            Leaf::Context(Context::Thread | Context::Sequence | Context::Pid | Context::Rank) => Layout::Unsigned,
            Leaf::Context(_) => Layout::Signed,
            _ => Layout::Wide,
        }
    }

    fn ty(self) -> Type {
        match self {
            Layout::Signed => Type::Int { width: 8, signed: true },
            Layout::Unsigned => Type::Int { width: 8, signed: false },
            Layout::Wide => Type::Int { width: 16, signed: true },
            Layout::Float => Type::Float { width: 8 },
            Layout::Flag => Type::Int { width: 1, signed: false },
            Layout::Bytes => Type::Bytes,
        }
    }
}

/// A field of a projected record: the number of its column, whether it is the one of floats, and how it lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Projected {
    pub(crate) column: usize,
    pub(crate) is_float: bool,
    pub(crate) layout: Layout,
}

/// A format of projected records.
#[derive(Debug)]
pub(crate) struct Projection {
    pub(crate) format: Format,
    /// Where the key lies, if there is one.
    pub(crate) key: Option<usize>,
    /// Where each field lies.
    pub(crate) places: Vec<usize>,
}

impl Projection {
    /// The format of records with these fields.
    pub(crate) fn new(has_key: bool, fields: &[Projected]) -> Result<Projection, String> {
        let key = has_key.then(|| Field::new(KEY, 0, Type::Bytes));
        let fields = fields.iter().map(|field| {
            let name = if field.is_float { Column::float_field(field.column) } else { Column::field(field.column) };
            Field::new(name, 0, field.layout.ty())
        });
        let mut fields: Vec<Field> = key.into_iter().chain(fields).collect();
        if fields.is_empty() {
            // A record has at least one byte.
            fields.push(Field::new("event", 0, Layout::Flag.ty()));
        }
        let record = RecordDef { name: "projected".into(), size: 0, align: 0, fields };
        let format = Format::laid_out(ByteOrder::NATIVE, PointerWidth::NATIVE, vec![Definition::Record(record)]);
        let format = format.map_err(|error| error.to_string())?;
        let mut places = format.record(DefId::ROOT).fields.iter().map(|field| field.offset as usize);
        let key = if has_key { places.next() } else { None };
        let places = places.collect();
        Ok(Projection { format, key, places })
    }
}

const SLOTS: Slots = Slots { order: ByteOrder::NATIVE, pointer: PointerWidth::NATIVE };

/// Writes one value of a record that begins at `start`; false if the value does not fit its layout.
pub(crate) fn write(record: &mut Vec<u8>, start: usize, place: usize, layout: Layout, value: Written<'_>) -> bool {
    let at = start + place;
    let mut put = |bytes: &[u8]| record[at..at + bytes.len()].copy_from_slice(bytes);
    match (layout, value) {
        (Layout::Signed, Written::Integer(number)) => match i64::try_from(number) {
            Ok(number) => put(&number.to_ne_bytes()),
            Err(_) => return false,
        },
        (Layout::Unsigned, Written::Integer(number)) => match u64::try_from(number) {
            Ok(number) => put(&number.to_ne_bytes()),
            Err(_) => return false,
        },
        (Layout::Wide, Written::Integer(number)) => put(&number.to_ne_bytes()),
        (Layout::Float, Written::Float(number)) => put(&number.to_ne_bytes()),
        (Layout::Flag, _) => put(&[1]),
        (Layout::Bytes, Written::Bytes(bytes)) => {
            let target = record.len() - start;
            SLOTS.set_span(&mut record[at..], target, bytes.len());
            record.extend_from_slice(bytes);
        }
        _ => return false,
    }
    true
}

/// A value as it is written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Written<'a> {
    Integer(i128),
    Float(f64),
    Bytes(&'a [u8]),
    Flag,
}

/// Integers above this are missing in sums: so no number of events makes a sum overflow.
const LARGEST: i128 = 1 << 90;

impl Written<'_> {
    /// A number for a column of numbers.
    pub(crate) fn number<'a>(layout: Layout, value: Scalar<'_>) -> Option<Written<'a>> {
        match (layout, value) {
            // Which of 0 and -0 is the smallest must not depend on who came first.
            (Layout::Float, value) => value.float().map(|number| Written::Float(canonical(number))),
            (_, Scalar::Integer(number)) => (-LARGEST..=LARGEST).contains(&number).then_some(Written::Integer(number)),
            (_, Scalar::Truth(truth)) => Some(Written::Integer(truth.into())),
            _ => None,
        }
    }
}

/// Reduces one record with all columns, so that a query whose results have no format is refused at once.
pub(crate) fn try_out(plan: &Plan, has_key: bool) -> Result<(), String> {
    let mut fields = Vec::new();
    for (column, of) in plan.columns.iter().enumerate() {
        let layouts: &[(Layout, bool)] = match of.form {
            Form::Number => &[(Layout::Wide, false), (Layout::Float, true)],
            Form::Stamped => &[(Layout::Wide, false), (Layout::Wide, true)],
            Form::Float => &[(Layout::Float, false)],
            Form::Present => &[(Layout::Flag, false)],
            Form::Encoded | Form::Ranked => &[(Layout::Bytes, false)],
        };
        fields.extend(layouts.iter().map(|(layout, is_float)| Projected {
            column,
            is_float: *is_float,
            layout: *layout,
        }));
    }
    let projection = Projection::new(has_key, &fields)?;
    let body = vec![0; projection.format.size()];
    let mut reduction = Reduction::new(plan.specification.clone(), ReductionLimits::default());
    let part = Part { members: &RankSet::from_iter([0]), format: &projection.format, body: &body, is_partial: false };
    reduction.add(&part).map_err(|error| error.to_string())?;
    let mut out = Buffer::new();
    reduction.partial(&mut out).map(|_| ()).ok_or_else(|| "no result".into())
}
