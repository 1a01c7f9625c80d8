//! A query compiled for the events of one sensor in one format.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use banyan_ndr::{ByteOrder, ConvertOptions, Format, Plan, PointerWidth};

use crate::compile::{self, Scope, Sort};
use crate::error::{Fault, Problem, QueryError, Span};
use crate::event::Event;
use crate::place::{self, BadEvent, Place};
use crate::plan::{Column, Form};
use crate::program::{Leaf, Program, Source};
use crate::projection::{Layout, Projected, Projection};
use crate::query::Query;
use crate::resolve::resolve;
use crate::scalar::Scalar;
use crate::syntax::{Context, Expression, FieldPath, Function, Items, Node};

/// Values of one event that are remembered for the next one of its thread.
const MAX_BACKS: usize = 64;

/// A query compiled for the events of a sensor: one for each format in which processes of a host have the sensor.
///
/// Cheap to clone, and immutable. Records may have any layout; those of another machine are converted first.
///
/// ```
/// use banyan_ndr::Record;
/// use banyan_query::{Query, Selector};
///
/// #[derive(Record)]
/// struct Step { n: u64, residual: f64, level: u8 }
///
/// let query: Query = "select max(residul) from solver.step".parse()?;
/// let error = Selector::new(&query, "solver.step", Step::format()).unwrap_err();
/// let wanted = "column 12: Step has no field residul\n  select max(residul) from solver.step\n             ^^^^^^^\n\
///               write residual; it has n, residual, level";
/// assert_eq!(error.to_string(), wanted);
/// # Ok::<(), banyan_query::QueryError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Selector(Arc<Compiled>);

#[derive(Debug)]
pub(crate) struct Compiled {
    /// No two selectors of a process have the same.
    pub(crate) id: u64,
    pub(crate) sensor: String,
    /// In this machine's layout.
    pub(crate) format: Format,
    /// How records of another layout come into this one.
    pub(crate) conversion: Option<Plan>,
    pub(crate) paths: Vec<FieldPath>,
    /// What is remembered of each event.
    pub(crate) backs: Vec<Back>,
    pub(crate) filter: Option<Program>,
    pub(crate) sample: Option<u64>,
    pub(crate) output: SelectedAs,
}

/// A value of which the growth is asked.
#[derive(Debug)]
pub(crate) struct Back {
    pub(crate) program: Program,
    pub(crate) function: Function,
}

/// What becomes of an event that is selected.
#[derive(Debug)]
pub(crate) enum SelectedAs {
    /// It goes as it is.
    Event,
    /// Columns of a row.
    Row(Vec<Program>),
    Projected(Projecting),
}

/// How events are projected for a reduction.
#[derive(Debug)]
pub(crate) struct Projecting {
    pub(crate) keys: Vec<Program>,
    pub(crate) columns: Vec<ColumnProgram>,
    /// The fields of all columns, and the format of records that have all.
    pub(crate) fields: Vec<Projected>,
    pub(crate) whole: Projection,
}

#[derive(Debug)]
pub(crate) struct ColumnProgram {
    pub(crate) program: Program,
    pub(crate) form: Form,
    pub(crate) layout: Layout,
}

impl Selector {
    /// Compiles a query for the events of a sensor that have this format.
    ///
    /// # Errors
    /// If the query does not ask this sensor, or if its expressions do not fit the format.
    pub fn new(query: &Query, sensor: &str, format: &Format) -> Result<Selector, QueryError> {
        Compiled::new(query, sensor, format)
            .map(|compiled| Selector(compiled.into()))
            .map_err(|fault| query.error(fault))
    }

    /// The name of the sensor.
    pub fn sensor(&self) -> &str {
        &self.0.sensor
    }

    /// The format in which events are looked at: that of the sensor, in this machine's layout.
    pub fn format(&self) -> &Format {
        &self.0.format
    }

    pub(crate) fn compiled(&self) -> &Compiled {
        &self.0
    }
}

impl Compiled {
    fn new(query: &Query, sensor: &str, format: &Format) -> Result<Compiled, Fault> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let syntax = query.syntax();
        if !query.sensors().any(|known| known == sensor) {
            let span = syntax.sensors[0].span;
            return Err(Fault::new(span, Problem::Sensor(sensor.into())));
        }
        let from = syntax.sensors.iter().find(|known| known.name == sensor).map_or(Span::default(), |known| known.span);
        let (native, conversion) = converted(format, from)?;
        let mut fields = EventScope { format: &native, paths: Vec::new(), backs: Vec::new() };
        let filter = match &syntax.filter {
            Some(filter) => Some(compile::condition(filter, &mut fields)?),
            None => None,
        };
        let output = match (query.plan(), &syntax.items) {
            (Some(plan), _) => SelectedAs::Projected(projecting(&syntax.keys, &plan.columns, &mut fields)?),
            (None, Items::All) => SelectedAs::Event,
            (None, Items::Columns(items)) => {
                let programs = items.iter().map(|item| Ok(compile::value(&item.expression, &mut fields)?.0));
                SelectedAs::Row(programs.collect::<Result<_, Fault>>()?)
            }
        };
        let EventScope { paths, backs, .. } = fields;
        Ok(Compiled {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            sensor: sensor.into(),
            conversion,
            paths,
            backs,
            filter,
            sample: syntax.sample.map(|(one_in, _)| one_in),
            output,
            format: native,
        })
    }
}

/// The same format in this machine's layout, and how records come into it.
fn converted(format: &Format, span: Span) -> Result<(Format, Option<Plan>), Fault> {
    if (format.order(), format.pointer()) == (ByteOrder::NATIVE, PointerWidth::NATIVE) {
        return Ok((format.clone(), None));
    }
    let wrong = |reason: String| Fault::new(span, Problem::Format(reason));
    let native = format.relaid(ByteOrder::NATIVE, PointerWidth::NATIVE).map_err(|error| wrong(error.to_string()))?;
    let plan = Plan::new(format, &native, &ConvertOptions::default()).map_err(|error| wrong(error.to_string()))?;
    Ok((native, Some(plan)))
}

fn projecting(keys: &[Expression], columns: &[Column], fields: &mut EventScope<'_>) -> Result<Projecting, Fault> {
    let keys = keys.iter().map(|key| Ok(compile::value(key, fields)?.0)).collect::<Result<Vec<_>, Fault>>()?;
    let mut programs = Vec::new();
    let mut projected = Vec::new();
    for (number, column) in columns.iter().enumerate() {
        let (program, sort) = compile::value(&column.expression, fields)?;
        let takes_numbers = matches!(column.form, Form::Number | Form::Float | Form::Stamped);
        if takes_numbers && !sort.is_number() {
            return Err(compile::mismatch(sort, "a number", column.expression.span));
        }
        let layout = Layout::of(column.form, sort, &program);
        let is_float = sort == Sort::Float && matches!(column.form, Form::Number | Form::Stamped);
        projected.push(Projected { column: number, is_float, layout });
        programs.push(ColumnProgram { program, form: column.form, layout });
    }
    let span = columns.first().map_or(Span::default(), |column| column.expression.span);
    let whole = Projection::new(!keys.is_empty(), &projected);
    let whole = whole.map_err(|reason| Fault::new(span, Problem::Format(reason)))?;
    Ok(Projecting { keys, columns: programs, fields: projected, whole })
}

/// What expressions on events are about.
struct EventScope<'f> {
    format: &'f Format,
    paths: Vec<FieldPath>,
    backs: Vec<Back>,
}

impl Scope for EventScope<'_> {
    fn leaf(&mut self, expression: &Expression) -> Result<Option<(Leaf, Sort)>, Fault> {
        match &expression.node {
            Node::Field(path) => {
                let resolved = resolve(self.format, path, expression.span)?;
                let leaf = match resolved.place {
                    Some(place) => Leaf::Place(place),
                    None => Leaf::Path(self.path(path)),
                };
                Ok(Some((leaf, Sort::of(resolved.holds))))
            }
            Node::Context(context) => {
                let sort = if context.is_text() { Sort::Text } else { Sort::Integer };
                Ok(Some((Leaf::Context(*context), sort)))
            }
            Node::Call(function, of) if function.looks_back() => {
                let (program, sort) = compile::value(of, self)?;
                if !sort.is_number() {
                    return Err(compile::mismatch(sort, "a number", of.span));
                }
                if self.backs.len() == MAX_BACKS {
                    let (what, found, limit) = ("uses of delta and rate", MAX_BACKS + 1, MAX_BACKS);
                    return Err(Fault::new(expression.span, Problem::TooMany { what, found, limit }));
                }
                self.backs.push(Back { program, function: *function });
                let is_integer = *function == Function::Delta && sort == Sort::Integer;
                let sort = if is_integer { Sort::Integer } else { Sort::Float };
                Ok(Some((Leaf::Input(self.backs.len() as u16 - 1), sort)))
            }
            Node::Aggregate(_) => {
                let (name, place) = (expression.to_string(), "an expression on events");
                Err(Fault::new(expression.span, Problem::Misplaced { name, place }))
            }
            _ => Ok(None),
        }
    }
}

impl EventScope<'_> {
    fn path(&mut self, path: &FieldPath) -> u16 {
        let known = self.paths.iter().position(|known| known == path);
        known.unwrap_or_else(|| {
            self.paths.push(path.clone());
            self.paths.len() - 1
        }) as u16
    }
}

/// An event as programs see it. Its fixed part is there.
pub(crate) struct Looking<'a> {
    pub(crate) selector: &'a Compiled,
    pub(crate) event: &'a Event<'a>,
    pub(crate) body: &'a [u8],
    /// What its values have grown by.
    pub(crate) grown: &'a [Scalar<'a>],
}

impl<'a> Source<'a> for Looking<'a> {
    #[inline]
    fn place(&self, place: &Place) -> Result<Scalar<'a>, BadEvent> {
        place::read(&self.selector.format, self.body, place)
    }

    #[inline]
    fn integer(&self, place: &Place) -> i128 {
        place::integer(self.body, place)
    }

    fn context(&self, context: Context) -> Scalar<'a> {
        let Event { process, thread, sequence, time, .. } = *self.event;
        match context {
            Context::Host => Scalar::Text(process.host),
            Context::Job => process.job.map_or(Scalar::Missing, Scalar::Text),
            Context::Rank => process.rank.map_or(Scalar::Missing, |rank| Scalar::Integer(rank.into())),
            Context::Pid => Scalar::Integer(process.pid.into()),
            Context::Thread => Scalar::Integer(thread.into()),
            Context::Sequence => Scalar::Integer(sequence.into()),
            Context::Time => Scalar::Integer(time.into()),
            Context::Sensor => Scalar::Text(&self.selector.sensor),
        }
    }

    fn path(&self, path: u16) -> Result<Scalar<'a>, BadEvent> {
        place::walk(&self.selector.format, self.body, &self.selector.paths[usize::from(path)])
    }

    fn input(&self, number: u16) -> Scalar<'a> {
        self.grown.get(usize::from(number)).copied().unwrap_or(Scalar::Missing)
    }
}
