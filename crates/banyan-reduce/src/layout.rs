//! Layouts: the formats in which partial results and results travel, and where in them everything lies.
//!
//! Both follow from the specification and the columns alone, so that nodes which never met agree on them. Without
//! groups the root record has the fields of all functions. With groups it has a list of them, each with its keys.

use std::sync::Arc;

use banyan_ndr::{ByteOrder, DefId, Definition, Field, Format, FormatError, PointerWidth, RecordDef, Type};

use super::Specification;
use super::cell::fields::{self, MISSING};
use super::column::Column;
use super::value::Kind;

/// Names of the formats.
const PARTIAL: &str = "partial";
const RESULT: &str = "result";

/// The list of groups.
const GROUPS: &str = "groups";

/// How many records belong to no group that was kept.
const UNGROUPED: &str = "ungrouped";

/// How many records a group of a partial result is made of. No key has such a name.
const RECORDS: &str = "records()";

/// What the functions and keys of a specification work on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Columns {
    /// By function.
    pub(super) aggregates: Vec<Column>,
    /// By key.
    pub(super) keys: Vec<Kind>,
}

impl Columns {
    /// Whether these are others, but for what is missing here.
    pub(super) fn are_within(&self, others: &Columns) -> bool {
        let mut aggregates = self.aggregates.iter().zip(&others.aggregates);
        let mut keys = self.keys.iter().zip(&others.keys);
        aggregates.all(|(own, other)| own == other || own.is_missing())
            && keys.all(|(own, other)| own == other || *own == Kind::Missing)
    }

    /// These, with what others know of what is missing here.
    pub(super) fn or(&self, others: &Columns) -> Columns {
        let aggregates = self.aggregates.iter().zip(&others.aggregates);
        let aggregates = aggregates.map(|(own, other)| if own.is_missing() { *other } else { *own });
        let keys = self.keys.iter().zip(&others.keys);
        let keys = keys.map(|(own, other)| if *own == Kind::Missing { *other } else { *own });
        Columns { aggregates: aggregates.collect(), keys: keys.collect() }
    }
}

/// Both formats of a specification and its columns.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) columns: Arc<Columns>,
    pub(super) partial: Shape,
    pub(super) result: Shape,
}

/// A format, and where in it everything lies.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) format: Format,
    /// Where groups and the number of ungrouped records lie, if there are groups.
    pub(super) grouped: Option<Grouped>,
    /// Places of each function's fields, in the root or in a group.
    cells: Vec<Vec<usize>>,
}

/// Places of what only grouped results have.
#[derive(Debug)]
pub(super) struct Grouped {
    pub(super) groups: usize,
    pub(super) ungrouped: usize,
    /// Bytes of a group.
    pub(super) size: usize,
    /// In a group.
    pub(super) keys: Vec<usize>,
    /// In a group of a partial result.
    pub(super) records: Option<usize>,
}

/// Where the fields of a function lie: in the root of a body, or in a row of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places<'l> {
    row: usize,
    /// In the row.
    fields: &'l [usize],
}

impl<'l> Places<'l> {
    pub(super) const fn new(row: usize, fields: &'l [usize]) -> Places<'l> {
        Places { row, fields }
    }

    /// The same in a row so many bytes further on.
    #[inline]
    pub(super) fn moved(self, bytes: usize) -> Places<'l> {
        Places { row: self.row + bytes, ..self }
    }

    /// Where a field lies in the body.
    #[inline]
    pub(super) fn field(self, number: usize) -> usize {
        self.row + self.fields[number]
    }

    /// Where the first and the last field lie: all of a function that has no more than two.
    #[inline]
    pub(super) fn ends(self) -> [usize; 2] {
        [self.field(0), self.last()]
    }

    /// Where the last field lies.
    pub(super) fn last(self) -> usize {
        self.field(self.fields.len() - 1)
    }
}

impl Layout {
    pub(super) fn new(specification: &Specification, columns: &Arc<Columns>) -> Result<Layout, FormatError> {
        let pairs = || specification.aggregates().iter().zip(&columns.aggregates);
        let partial = pairs().map(|(aggregate, column)| fields::partial(aggregate, *column)).collect();
        let result = pairs().map(|(aggregate, column)| fields::result(aggregate, *column)).collect();
        Ok(Layout {
            partial: Shape::new(PARTIAL, specification, &columns.keys, partial)?,
            result: Shape::new(RESULT, specification, &columns.keys, result)?,
            columns: Arc::clone(columns),
        })
    }
}

impl Shape {
    /// The fields of each function in the row that begins at `row`.
    pub(super) fn places(&self, row: usize) -> impl Iterator<Item = Places<'_>> {
        self.cells.iter().map(move |fields| Places::new(row, fields))
    }

    fn new(
        name: &str,
        specification: &Specification,
        keys: &[Kind],
        cells: Vec<Vec<(String, Type)>>,
    ) -> Result<Shape, FormatError> {
        let counts: Vec<usize> = cells.iter().map(Vec::len).collect();
        let mut row = Vec::new();
        for (path, kind) in specification.by().iter().zip(keys) {
            let suffix = if *kind == Kind::Missing { MISSING } else { "" };
            row.push(Field::new(format!("{path}{suffix}"), 0, kind.ty()));
        }
        let is_grouped = !keys.is_empty();
        let count = Type::Int { width: 8, signed: false };
        if is_grouped && name == PARTIAL {
            row.push(Field::new(RECORDS, 0, count.clone()));
        }
        let first_cell = row.len();
        row.extend(cells.into_iter().flatten().map(|(name, ty)| Field::new(name, 0, ty)));
        let definitions = if is_grouped {
            let groups = Type::List { item: Type::Record(DefId(1)).into() };
            let root = vec![Field::new(GROUPS, 0, groups), Field::new(UNGROUPED, 0, count)];
            vec![record(name, root), record("group", row)]
        } else {
            vec![record(name, row)]
        };
        let format = Format::laid_out(ByteOrder::NATIVE, PointerWidth::NATIVE, definitions)?;
        let row = format.record(DefId(u16::from(is_grouped)));
        let offsets: Vec<usize> = row.fields.iter().map(|field| field.offset as usize).collect();
        let mut places = offsets[first_cell..].iter().copied();
        let cells = counts.into_iter().map(|count| places.by_ref().take(count).collect()).collect();
        let grouped = is_grouped.then(|| Grouped {
            groups: format.fields()[0].offset as usize,
            ungrouped: format.fields()[1].offset as usize,
            size: row.size as usize,
            keys: offsets[..keys.len()].to_vec(),
            records: (name == PARTIAL).then(|| offsets[keys.len()]),
        });
        Ok(Shape { grouped, cells, format })
    }
}

fn record(name: &str, fields: Vec<Field>) -> Definition {
    Definition::Record(RecordDef { name: name.into(), size: 0, align: 0, fields })
}

/// The columns of a partial result: those whose state travels in the types that its fields have. Fails with the name
/// of the field that is missing or has a type that no state has.
pub(super) fn columns_of(specification: &Specification, format: &Format) -> Result<Columns, String> {
    let row = match (specification.by().is_empty(), format.root()) {
        (true, Definition::Record(_)) => DefId::ROOT,
        (false, Definition::Record(_)) => match format.field_of(DefId::ROOT, GROUPS).map(|(_, field)| &field.ty) {
            Some(Type::List { item }) => match &**item {
                Type::Record(id) => *id,
                _ => return Err(GROUPS.into()),
            },
            _ => return Err(GROUPS.into()),
        },
        _ => return Err("the record".into()),
    };
    let found = |name: &str| format.field_of(row, name).map(|(_, field)| &field.ty);
    let mut aggregates = Vec::new();
    for aggregate in specification.aggregates() {
        let missing = Column::missing(&aggregate.function);
        let mut columns = Column::all(&aggregate.function).chain([missing]);
        let column = columns.find(|column| {
            let fields = fields::partial(aggregate, *column);
            fields.iter().all(|(name, ty)| found(name).is_some_and(|found| alike(found, ty)))
        });
        aggregates.push(column.ok_or_else(|| aggregate.name.clone())?);
    }
    let mut keys = Vec::new();
    for path in specification.by() {
        let name = path.to_string();
        if found(&format!("{name}{MISSING}")) == Some(&Kind::Missing.ty()) {
            keys.push(Kind::Missing);
            continue;
        }
        let ty = found(&name).ok_or_else(|| name.clone())?;
        keys.push(Kind::ALL.into_iter().find(|kind| kind.ty() == *ty).ok_or(name)?);
    }
    Ok(Columns { aggregates, keys })
}

/// Whether two types are the same but for their layout.
fn alike(one: &Type, other: &Type) -> bool {
    match (one, other) {
        (Type::Optional { item: one, .. }, Type::Optional { item: other, .. }) => alike(one, other),
        (Type::List { item: one }, Type::List { item: other }) => alike(one, other),
        _ => one == other,
    }
}
