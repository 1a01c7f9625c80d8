//! One reduction: parts of a wave in, one partial result or result out.

use std::sync::Arc;

use banyan_ndr::{Buffer, DecodeError, DynRecord, Format, Limits};

use super::body::{Reader, Writer};
use super::compiled::{Evaluation, Input, PartSort};
use super::groups::{State, What};
use super::layout::{Columns, Layout};
use super::strip::{Rows, Strip};
use super::value::Kind;
use super::whole::Whole;
use super::{Fault, FilterRole, Part, PartRun, ReduceError, ReductionLimits, Specification};
use crate::bodies::{Bodies, shared};

/// Reduces waves: the parts of all children of a node, one wave after the other.
///
/// It knows none of the types. What it does with records of a format is compiled when the first one arrives. No memory
/// is allocated for a wave when it is like the one before and only numbers are reduced.
///
/// ```
/// use banyan_ranks::RankSet;
/// use banyan_ndr::{Buffer, Decoder, Record, RecordView, typed};
/// use banyan_reduce::{Part, Reduction, ReductionLimits};
///
/// #[derive(Record)]
/// struct Sample { temp: f64, load: u32 }
///
/// let mut reduction = Reduction::new("max(temp), avg(load)".parse()?, ReductionLimits::default());
/// for (rank, temp) in [(0, 20.0), (1, 22.5), (2, 21.0)] {
///     let mut body = Vec::new();
///     typed::encode_body_into(&Sample { temp, load: rank + 1 }, &mut body)?;
///     let members = RankSet::from_iter([rank]);
///     reduction.add(&Part { members: &members, format: Sample::format(), body: &body, is_partial: false })?;
/// }
/// let mut body = Buffer::new();
/// let format = reduction.result(&mut body).expect("three parts were added");
///
/// #[derive(Record, Debug, PartialEq)]
/// struct Hottest {
///     #[record(rename = "max(temp)")]
///     temp: f64,
///     #[record(rename = "max(temp).who")]
///     who: u32,
///     #[record(rename = "avg(load)")]
///     load: f64,
/// }
/// let mut decoder = Decoder::new();
/// let id = decoder.learn(format)?;
/// assert_eq!(decoder.decode::<Hottest>(id, &body)?, Hottest { temp: 22.5, who: 1, load: 2.0 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Reduction {
    specification: Arc<Specification>,
    limits: ReductionLimits,
    /// Compiled inputs of members' records and of partial results.
    records: Inputs,
    partials: Inputs,
    /// What fits the columns of the wave, or of the wave before.
    current: Option<Current>,
    /// The lowest rank of the part added last; none at the beginning of a wave.
    last: Option<u32>,
    /// Whether no part of this wave was taken yet.
    is_empty: bool,
    /// Partial results of other machines, converted.
    converted: Buffer,
}

/// How a wave's state travels, and the state.
#[derive(Debug)]
struct Current {
    layout: Layout,
    state: State,
    /// For many waves at once, if the functions are such.
    strips: Option<Vec<Strip>>,
}

impl Reduction {
    /// A reduction that has seen nothing.
    pub fn new(specification: Specification, limits: ReductionLimits) -> Reduction {
        Reduction {
            specification: Arc::new(specification),
            limits,
            records: Inputs::default(),
            partials: Inputs::default(),
            current: None,
            last: None,
            is_empty: true,
            converted: Buffer::new(),
        }
    }

    /// What it computes.
    pub fn specification(&self) -> &Specification {
        &self.specification
    }

    /// Takes a part. Parts come in the order of their lowest ranks; then the same parts give the same bits, whichever
    /// arrived first.
    ///
    /// After an error some functions have taken the part and some have not: [`clear`](Self::clear) and begin again
    /// without it.
    pub fn add(&mut self, part: &Part<'_>) -> Result<(), ReduceError> {
        self.add_all(std::slice::from_ref(part))
    }

    /// [`Reduction::add`] for several parts, which costs less than one by one.
    pub fn add_all(&mut self, parts: &[Part<'_>]) -> Result<(), ReduceError> {
        self.add_parts(parts, true)
    }

    /// [`Reduction::add_all`] for records of one member, and for what was made of some of them before. Records with the same key
    /// cost least side by side.
    pub fn add_own(&mut self, parts: &[Part<'_>]) -> Result<(), ReduceError> {
        self.add_parts(parts, false)
    }

    fn add_parts(&mut self, parts: &[Part<'_>], are_ordered: bool) -> Result<(), ReduceError> {
        let mut rest = parts;
        while let [first, ..] = rest {
            let (now, later) = rest.split_at(self.check(first, rest, are_ordered)?);
            self.take(now).map_err(|(position, fault)| refused(&now[position], fault))?;
            rest = later;
        }
        Ok(())
    }

    /// Looks at what can be seen from outside of the records that have the format of the first, or of one partial
    /// result. Returns how many these are.
    fn check(&mut self, first: &Part<'_>, parts: &[Part<'_>], are_ordered: bool) -> Result<usize, ReduceError> {
        let (format, is_partial) = (first.format, first.is_partial);
        let longest = if format.has_references() { usize::MAX } else { format.size() };
        let sizes = format.size()..=longest;
        let alike = |part: &Part<'_>| std::ptr::eq(part.format, format) || part.format.id() == format.id();
        let parts = if is_partial { &parts[..1] } else { parts };
        let (mut taken, mut last) = (0, self.last.filter(|_| are_ordered));
        for part in parts {
            if part.is_partial != is_partial || !alike(part) {
                break;
            }
            let rank = if is_partial { part.members.first() } else { part.members.only() };
            let Some(rank) = rank else { return Err(refused(part, Fault::Members(part.members.len()))) };
            if let Some(after) = last
                && rank <= after
            {
                return Err(ReduceError::Order { members: part.members.clone(), after });
            }
            if !sizes.contains(&part.body.len()) {
                return Err(refused(part, DecodeError::Size { found: part.body.len(), wanted: format.size() }.into()));
            }
            taken += 1;
            if are_ordered {
                last = Some(rank);
            }
        }
        self.last = last;
        Ok(taken)
    }

    /// Takes records of one format, or one partial result. Fails with the position of the part.
    fn take(&mut self, parts: &[Part<'_>]) -> Result<(), (usize, Fault)> {
        let part = &parts[0];
        let inputs = if part.is_partial { &mut self.partials } else { &mut self.records };
        let input = inputs
            .of(part.format, part.is_partial, &self.specification, self.limits.formats)
            .map_err(|fault| (0, fault))?;
        let Current { state, .. } = match &mut self.current {
            Some(current) if Arc::ptr_eq(&current.layout.columns, &input.columns) => current,
            current => begin(current, self.is_empty, &self.specification, &self.limits, &mut input.columns)
                .map_err(|fault| (0, fault))?,
        };
        self.is_empty = false;
        let longest = self.limits.value_bytes;
        match &input.way {
            PartSort::Record { steps, keys, .. } => state.take(&self.specification, steps, keys, parts, longest),
            PartSort::Partial { layout, plan } => {
                let body = match plan {
                    None => part.body,
                    Some(plan) => {
                        plan.convert(part.body, &mut self.converted).map_err(|error| (0, error.into()))?;
                        &self.converted
                    }
                };
                let from = Reader::of_members(body, part.members);
                state.merge(&self.specification, layout, &from, longest).map_err(|fault| (0, fault))
            }
        }
    }

    /// What reduces all parts of a wave at once. None if there is no such way, or if something is wrong with the parts,
    /// which [`Reduction::add_all`] says.
    pub(super) fn whole(&mut self, parts: &[Part<'_>]) -> Option<&Whole> {
        let first = parts.first()?;
        if first.is_partial || !self.is_empty {
            return None;
        }
        let input = self.records.of(first.format, false, &self.specification, self.limits.formats).ok()?;
        match &input.way {
            PartSort::Record { whole, .. } => whole.as_ref().filter(|whole| whole.fits(parts)),
            PartSort::Partial { .. } => None,
        }
    }

    /// Whether a partial result names only members that contributed to it. Between waves; what else may be wrong with it is
    /// found when it is reduced.
    pub(super) fn verify(&mut self, part: &Part<'_>) -> Result<(), ReduceError> {
        self.clear();
        let added = self.add(part);
        self.clear();
        match added {
            Err(error @ ReduceError::Part { fault: Fault::Stranger(_), .. }) => Err(error),
            _ => Ok(()),
        }
    }

    /// Writes what goes to the parent into `out`, and is ready for the next wave. None if no part was added.
    pub fn partial(&mut self, out: &mut Buffer) -> Option<&Format> {
        self.write(out, What::Partial)
    }

    /// Writes the result of the wave into `out`, as the root does, and is ready for the next wave. None if no part was
    /// added.
    pub fn result(&mut self, out: &mut Buffer) -> Option<&Format> {
        self.write(out, What::Result)
    }

    /// A function or key whose field is missing in all records so far, of this wave and those before.
    pub(super) fn missing(&self) -> Option<Fault> {
        let Current { layout, state, .. } = self.current.as_ref()?;
        let aggregates = self.specification.aggregates().iter().zip(&layout.columns.aggregates).enumerate();
        let mut aggregates = aggregates.filter(|(_, (_, column))| column.is_missing());
        if let Some((position, (aggregate, _))) = aggregates.next() {
            return Some(Fault::Missing { name: aggregate.name.clone(), why: state.why_missing(position).into() });
        }
        let mut keys = self.specification.by().iter().zip(&layout.columns.keys);
        let (path, _) = keys.find(|(_, kind)| **kind == Kind::Missing)?;
        Some(Fault::Missing { name: format!("by {path}"), why: String::new() })
    }

    /// [`Reduction::result`] as a record to look at without a compiled type.
    pub fn result_record(&mut self) -> Option<DynRecord> {
        let mut body = Buffer::new();
        let format = self.result(&mut body)?;
        Some(DynRecord::from_body(format, &body, &Limits::default()).expect("a body that was just written"))
    }

    /// Reduces many waves at once. None if they must be reduced one by one; nothing was taken then.
    pub(super) fn strips(&mut self, parts: &[PartRun<'_>], place: FilterRole) -> Option<(Format, Bodies)> {
        let count = parts.first()?.bodies.len();
        if count == 1 || !self.is_empty || !self.specification.by().is_empty() || !are_in_order(parts) {
            return None;
        }
        for (position, part) in parts.iter().enumerate() {
            self.take_strip(part, position == 0)?;
        }
        let Current { layout, strips, .. } = self.current.as_ref()?;
        let (shape, what) = match place {
            FilterRole::Member | FilterRole::Inner => (&layout.partial, What::Partial),
            FilterRole::Root => (&layout.result, What::Result),
        };
        let mut out = Buffer::new();
        let mut writer = Writer::new(&mut out, shape.format.size() * count as usize);
        for (strip, places) in strips.as_ref()?.iter().zip(shape.places(0)) {
            strip.write(&mut writer, shape, places, what);
        }
        let size = u32::try_from(shape.format.size()).ok()?;
        let bodies = Bodies::of_size(shape.format.id(), size, count, shared(out)).ok()?;
        Some((shape.format.clone(), bodies))
    }

    fn take_strip(&mut self, part: &PartRun<'_>, is_first: bool) -> Option<()> {
        let rows = Rows::of(part)?;
        let inputs = if part.is_partial { &mut self.partials } else { &mut self.records };
        let input = inputs.of(part.format, part.is_partial, &self.specification, self.limits.formats).ok()?;
        let Current { layout, strips, .. } = match &mut self.current {
            Some(current) if Arc::ptr_eq(&current.layout.columns, &input.columns) => current,
            current => begin(current, is_first, &self.specification, &self.limits, &mut input.columns).ok()?,
        };
        if !Arc::ptr_eq(&layout.columns, &input.columns) {
            // Something is missing in these.
            return None;
        }
        let strips = strips.as_mut()?;
        if is_first {
            strips.iter_mut().for_each(|strip| strip.begin(part.bodies.len() as usize));
        }
        match &input.way {
            PartSort::Record { steps, .. } => {
                let rank = part.members.first()?;
                strips.iter_mut().zip(steps).try_for_each(|(strip, step)| match step {
                    Evaluation::Fast(fast) => fast.run_waves(strip, rows, rank),
                    Evaluation::Count => strip.count(),
                    Evaluation::General(_) | Evaluation::Missing(_) => None,
                })
            }
            PartSort::Partial { plan: None, .. } => {
                let mut pairs = strips.iter_mut().zip(layout.partial.places(0));
                pairs.try_for_each(|(strip, places)| strip.merge(rows, places, part.members))
            }
            PartSort::Partial { plan: Some(_), .. } => None,
        }
    }

    fn write(&mut self, out: &mut Buffer, what: What) -> Option<&Format> {
        self.last = None;
        if std::mem::replace(&mut self.is_empty, true) {
            return None;
        }
        let Current { layout, state, .. } = self.current.as_mut()?;
        let shape = match what {
            What::Partial => &layout.partial,
            What::Result => &layout.result,
        };
        let mut writer = Writer::new(out, shape.format.size());
        state.write(shape, &mut writer, what);
        Some(&shape.format)
    }

    /// Forgets the parts of this wave.
    pub fn clear(&mut self) {
        self.last = None;
        self.is_empty = true;
        if let Some(current) = &mut self.current {
            current.state.clear();
        }
    }
}

#[cold]
fn refused(part: &Part<'_>, fault: Fault) -> ReduceError {
    ReduceError::Part { members: part.members.clone(), fault }
}

/// The state for columns that are not known to be those of the wave: it is there if they are the same after all; made
/// anew with the first part of a wave; and there is none otherwise.
#[cold]
fn begin<'c>(
    current: &'c mut Option<Current>,
    is_first: bool,
    specification: &Specification,
    limits: &ReductionLimits,
    columns: &mut Arc<Columns>,
) -> Result<&'c mut Current, Fault> {
    match current {
        Some(Current { layout, .. }) if layout.columns == *columns => *columns = Arc::clone(&layout.columns),
        // What is missing here is known from others, of this wave or of one before.
        Some(Current { layout, .. }) if columns.are_within(&layout.columns) => {}
        Some(known) if columns.are_within(&known.layout.columns.or(columns)) => {
            let all = Arc::new(known.layout.columns.or(columns));
            known.state.learn(specification, &all, limits);
            (known.layout, known.strips) = (Layout::new(specification, &all)?, known.state.strips());
            if all == *columns {
                *columns = all;
            }
        }
        Some(Current { layout, .. }) if !is_first => {
            return Err(differing(specification, columns, &layout.columns));
        }
        _ => {
            let state = State::new(specification, columns, limits);
            let (layout, strips) = (Layout::new(specification, columns)?, state.strips());
            *current = Some(Current { layout, state, strips });
        }
    }
    Ok(current.as_mut().expect("made or found above"))
}

/// Whether parts are as a reduction takes them: records of one member each, lowest ranks first.
fn are_in_order(parts: &[PartRun<'_>]) -> bool {
    let somebody = |part: &PartRun<'_>| match part.is_partial {
        true => !part.members.is_empty(),
        false => part.members.only().is_some(),
    };
    parts.iter().all(somebody) && parts.is_sorted_by(|one, other| one.members.first() < other.members.first())
}

/// Names the first function or key of which two parts have different kinds.
fn differing(specification: &Specification, found: &Columns, wanted: &Columns) -> Fault {
    let aggregates = specification.aggregates().iter().zip(found.aggregates.iter().zip(&wanted.aggregates));
    let aggregates = aggregates
        .filter(|(_, (found, wanted))| found != wanted && !found.is_missing() && !wanted.is_missing())
        .map(|(aggregate, (found, wanted))| (aggregate.name.clone(), found.to_string(), wanted.to_string()));
    let keys = specification.by().iter().zip(found.keys.iter().zip(&wanted.keys));
    let keys = keys
        .filter(|(_, (found, wanted))| found != wanted && **found != Kind::Missing && **wanted != Kind::Missing)
        .map(|(path, (found, wanted))| (format!("by {path}"), found.to_string(), wanted.to_string()));
    let (name, found, wanted) = aggregates.chain(keys).next().expect("columns that differ differ in one");
    Fault::Kind { name, found, wanted }
}

/// Compiled inputs by format.
#[derive(Debug, Default)]
struct Inputs {
    known: Vec<Input>,
    /// The one used last: most parts are of the same format as the one before.
    last: usize,
}

impl Inputs {
    #[inline]
    fn of(
        &mut self,
        format: &Format,
        is_partial: bool,
        specification: &Specification,
        most: usize,
    ) -> Result<&mut Input, Fault> {
        let id = format.id();
        if self.known.get(self.last).is_none_or(|input| input.id != id) {
            self.last = self.find(format, is_partial, specification, most)?;
        }
        Ok(&mut self.known[self.last])
    }

    #[cold]
    fn find(
        &mut self,
        format: &Format,
        is_partial: bool,
        specification: &Specification,
        most: usize,
    ) -> Result<usize, Fault> {
        if let Some(known) = self.known.iter().position(|input| input.id == format.id()) {
            return Ok(known);
        }
        let compile = if is_partial { Input::partial } else { Input::record };
        let input = compile(specification, format)?;
        if self.known.len() >= most.max(1) {
            self.known.clear();
        }
        self.known.push(input);
        Ok(self.known.len() - 1)
    }
}
