//! What an aggregating query is made of: columns that hosts project, a specification that the tree reduces by, and how
//! results become rows.
//!
//! Programs of different versions may have an integer where others have a float. So numbers travel in two columns, of
//! which each record has one, and the two come together at the root.

use banyan_reduce::Specification;

use crate::compile::{self, Scope, Sort};
use crate::error::{Fault, Problem};
use crate::program::{Leaf, Program};
use crate::syntax::{Aggregate, AggregateKind, Expression, Function, Item, Items, Node, Syntax};

/// Columns of a projected record: which are there is a mask of 128 bits.
const MAX_COLUMNS: usize = 128;

/// The column with the key, where there are groups.
pub(crate) const KEY: &str = "key";

/// The aggregate that counts events, for the ledger.
pub(crate) const EVENTS: &str = "events";

/// What is computed of an aggregating query.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) columns: Vec<Column>,
    pub(crate) specification: Specification,
    /// One for each different aggregate.
    pub(crate) outputs: Vec<Output>,
    pub(crate) items: Vec<RowItem>,
    pub(crate) having: Option<Program>,
}

/// A column of projected records.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    pub(crate) expression: Expression,
    pub(crate) form: Form,
}

/// How a value is projected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// An integer, or a float, in the column of its kind.
    Number,
    /// Every number as a float.
    Float,
    /// Whether there is one.
    Present,
    /// Its bytes.
    Encoded,
    /// Its bytes, and those of the rank.
    Ranked,
    /// With its time.
    Stamped,
}

impl Column {
    /// The field of column `number`.
    pub(crate) fn field(number: usize) -> String {
        format!("c{number}")
    }

    /// The field of its floats.
    pub(crate) fn float_field(number: usize) -> String {
        format!("c{number}f")
    }
}

/// An aggregate of the query, and where its parts stand in a result. The number is that of the column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Output {
    pub(crate) aggregate: Aggregate,
    pub(crate) column: Option<usize>,
}

/// A column of a row.
#[derive(Debug)]
pub(crate) enum RowItem {
    /// An aggregate as it is: these may be lists.
    Output(usize),
    Program(Program),
}

impl Plan {
    /// Plans a query with aggregates or groups.
    pub(crate) fn new(syntax: &Syntax) -> Result<Plan, Fault> {
        let Items::Columns(items) = &syntax.items else { unreachable!("whole events are not aggregated") };
        let mut planner = Planner { keys: &syntax.keys, columns: Vec::new(), outputs: Vec::new() };
        let rows = items.iter().map(|item| planner.item(item)).collect::<Result<Vec<_>, _>>()?;
        let having = match &syntax.having {
            Some(having) => Some(compile::condition(having, &mut planner)?),
            None => None,
        };
        let Planner { columns, outputs, .. } = planner;
        let specification = specification(&columns, !syntax.keys.is_empty(), &outputs);
        let whole = items[0].expression.span.to(items[items.len() - 1].expression.span);
        let specification = specification.map_err(|reason| Fault::new(whole, Problem::Format(reason)))?;
        Ok(Plan { columns, specification, outputs, items: rows, having })
    }
}

struct Planner<'q> {
    keys: &'q [Expression],
    columns: Vec<Column>,
    outputs: Vec<Output>,
}

impl Planner<'_> {
    fn item(&mut self, item: &Item) -> Result<RowItem, Fault> {
        match &item.expression.node {
            Node::Aggregate(aggregate) => Ok(RowItem::Output(self.output(aggregate, &item.expression)?)),
            _ => Ok(RowItem::Program(compile::value(&item.expression, self)?.0)),
        }
    }

    /// The number of an aggregate, with the columns that it needs.
    fn output(&mut self, aggregate: &Aggregate, at: &Expression) -> Result<usize, Fault> {
        if let Some(known) = self.outputs.iter().position(|output| output.aggregate == *aggregate) {
            return Ok(known);
        }
        let column = match &aggregate.argument {
            Some(argument) => Some(self.column(argument, form(aggregate.kind), at)?),
            None => None,
        };
        self.outputs.push(Output { aggregate: aggregate.clone(), column });
        Ok(self.outputs.len() - 1)
    }

    fn column(&mut self, expression: &Expression, form: Form, at: &Expression) -> Result<usize, Fault> {
        if expression.is_aggregate() {
            let place = "the argument of an aggregate";
            return Err(Fault::new(expression.span, Problem::Misplaced { name: expression.to_string(), place }));
        }
        let column = Column { expression: expression.clone(), form };
        if let Some(known) = self.columns.iter().position(|known| *known == column) {
            return Ok(known);
        }
        if self.columns.len() == MAX_COLUMNS {
            let (what, found, limit) = ("aggregated values", MAX_COLUMNS + 1, MAX_COLUMNS);
            return Err(Fault::new(at.span, Problem::TooMany { what, found, limit }));
        }
        self.columns.push(column);
        Ok(self.columns.len() - 1)
    }
}

/// What rows are computed from: keys, and aggregates behind them.
impl Scope for Planner<'_> {
    fn leaf(&mut self, expression: &Expression) -> Result<Option<(Leaf, Sort)>, Fault> {
        if let Some(key) = self.keys.iter().position(|key| key == expression) {
            return Ok(Some((Leaf::Input(key as u16), Sort::Any)));
        }
        match &expression.node {
            Node::Aggregate(aggregate) if aggregate.kind.is_list() => {
                Err(compile::mismatch(Sort::List, "a single value", expression.span))
            }
            Node::Aggregate(aggregate) => {
                let number = self.keys.len() + self.output(aggregate, expression)?;
                Ok(Some((Leaf::Input(number as u16), Sort::Number)))
            }
            Node::Call(Function::Delta | Function::Rate, _) | Node::Field(_) | Node::Context(_) => {
                Err(Fault::new(expression.span, Problem::Ungrouped { name: expression.to_string() }))
            }
            _ => Ok(None),
        }
    }
}

fn form(kind: AggregateKind) -> Form {
    match kind {
        AggregateKind::Count => Form::Present,
        AggregateKind::Histogram { .. } | AggregateKind::Quantile(_) => Form::Float,
        AggregateKind::Distinct | AggregateKind::Union => Form::Encoded,
        AggregateKind::Classes => Form::Ranked,
        AggregateKind::First | AggregateKind::Last => Form::Stamped,
        AggregateKind::Sum | AggregateKind::Average | AggregateKind::Minimum | AggregateKind::Maximum => Form::Number,
        AggregateKind::Top(_) => Form::Number,
    }
}

impl Output {
    /// The name of a part of it in results.
    pub(crate) fn part(&self, part: &str) -> String {
        let column = self.column.map_or_else(String::new, |column| column.to_string());
        match self.aggregate.kind {
            // Averages are sums with counts.
            AggregateKind::Sum | AggregateKind::Average => format!("sum{column}{part}"),
            AggregateKind::Top(most) => format!("top{most}_{column}{part}"),
            AggregateKind::Histogram { .. } => format!("hist{}_{column}{part}", self.histogram()),
            kind => format!("{}{column}{part}", kind.word()),
        }
    }

    /// Histograms of one column differ in their numbers; their bits make a name.
    fn histogram(&self) -> String {
        match self.aggregate.kind {
            AggregateKind::Histogram { low, high, bins } => {
                format!("{:x}_{:x}_{bins}", low.to_bits(), high.to_bits())
            }
            _ => String::new(),
        }
    }
}

/// The specification by which the tree reduces projected records.
fn specification(columns: &[Column], has_groups: bool, outputs: &[Output]) -> Result<Specification, String> {
    let mut parts = vec![format!("count() as {EVENTS}")];
    for output in outputs {
        let Some(number) = output.column else { continue };
        let (integers, floats) = (Column::field(number), Column::float_field(number));
        let name = |part: &str| output.part(part);
        match output.aggregate.kind {
            AggregateKind::Sum | AggregateKind::Average => parts.extend([
                format!("exact_sum({integers}) as {}", name("")),
                format!("count({integers}) as {}", name("n")),
                format!("exact_sum({floats}) as {}", name("f")),
                format!("count({floats}) as {}", name("fn")),
            ]),
            AggregateKind::Minimum | AggregateKind::Maximum => {
                let word = output.aggregate.kind.word();
                parts.extend([
                    format!("{word}({integers}) as {}", name("")),
                    format!("{word}({floats}) as {}", name("f")),
                ]);
            }
            kind @ (AggregateKind::First | AggregateKind::Last) => {
                let word = if kind == AggregateKind::Last { "max" } else { "min" };
                parts.extend([
                    format!("{word}({integers}) as {}", name("")),
                    format!("{word}({floats}) as {}", name("f")),
                ]);
            }
            AggregateKind::Top(most) => parts.extend([
                format!("top({most}, {integers}) as {}", name("")),
                format!("top({most}, {floats}) as {}", name("f")),
            ]),
            AggregateKind::Histogram { low, high, bins } => {
                parts.push(format!("hist({integers}, {low}, {high}, {bins}) as {}", name("")));
            }
            AggregateKind::Quantile(_) => {
                // All shares of a column come from one sketch.
                let of_column = outputs.iter().filter(|other| other.column == Some(number));
                let mut shares: Vec<f64> = of_column.filter_map(Output::share).collect();
                shares.dedup();
                let shares: Vec<String> = shares.iter().map(ToString::to_string).collect();
                parts.push(format!("quantile({}, {integers}) as {}", shares.join(", "), name("")));
            }
            kind => {
                let word = if kind == AggregateKind::Classes { "union" } else { kind.word() };
                parts.push(format!("{word}({integers}) as {}", name("")));
            }
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    parts.retain(|part| seen.insert(part.clone()));
    let by = if has_groups { format!(" by {KEY}") } else { String::new() };
    debug_assert!(columns.len() <= MAX_COLUMNS);
    format!("{}{by}", parts.join(", ")).parse().map_err(|error: banyan_reduce::SpecificationError| error.to_string())
}

impl Output {
    /// Of a quantile.
    pub(crate) fn share(&self) -> Option<f64> {
        match self.aggregate.kind {
            AggregateKind::Quantile(share) => Some(share),
            _ => None,
        }
    }
}
