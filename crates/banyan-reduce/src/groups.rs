//! The state of a wave: one row of cells, or one for each group.
//!
//! Where there are too many groups those with the smallest keys stay, and the records of the others are counted. As
//! with sets of values, what is cut does not depend on the tree.

use std::collections::BTreeMap;

use banyan_ndr::{RecordView, Type};

use super::body::{Reader, Writer};
use super::cell::{Cell, Sender};
use super::compiled::Evaluation;
use super::input::{Access, datum};
use super::layout::{Columns, Layout, Shape};
use super::strip::Strip;
use super::value::{Datum, Kind, Value};
use super::{Fault, Part, ReductionLimits, Specification};

/// What has been seen of a wave.
#[derive(Debug)]
pub(super) enum State {
    /// All records together.
    Whole(Vec<Cell>),
    /// By key.
    Groups(Groups),
}

/// Rows by key.
#[derive(Debug)]
pub(super) struct Groups {
    rows: BTreeMap<Vec<Value>, Row>,
    /// A row that has seen nothing.
    empty: Row,
    /// Records without a key, or of groups that were cut.
    ungrouped: u64,
    most: usize,
}

#[derive(Debug, Clone)]
struct Row {
    records: u64,
    cells: Vec<Cell>,
}

/// Groups that are kept at most, if rows are like this one.
fn most(cells: &[Cell], limits: &ReductionLimits) -> usize {
    let row_bytes: usize = cells.iter().map(Cell::base_bytes).sum();
    limits.groups.min(limits.group_bytes / row_bytes.max(1)).max(1)
}

/// Names of functions, for errors.
fn named<'s>(specification: &'s Specification, position: usize) -> impl FnOnce(Fault) -> Fault + 's {
    move |fault| fault.of(&specification.aggregates()[position].name)
}

impl State {
    pub(super) fn new(specification: &Specification, columns: &Columns, limits: &ReductionLimits) -> State {
        let pairs = specification.aggregates().iter().zip(&columns.aggregates);
        let cells: Vec<Cell> =
            pairs.map(|(aggregate, column)| Cell::new(&aggregate.function, *column, limits)).collect();
        if specification.by().is_empty() {
            return State::Whole(cells);
        }
        let most = most(&cells, limits);
        State::Groups(Groups { rows: BTreeMap::new(), empty: Row { records: 0, cells }, ungrouped: 0, most })
    }

    /// From now on these columns are known, some of which were missing.
    pub(super) fn learn(&mut self, specification: &Specification, columns: &Columns, limits: &ReductionLimits) {
        let learn = |cells: &mut Vec<Cell>| {
            let pairs = specification.aggregates().iter().zip(&columns.aggregates);
            for (cell, (aggregate, column)) in cells.iter_mut().zip(pairs) {
                if matches!(cell, Cell::Missing(_)) {
                    *cell = Cell::new(&aggregate.function, *column, limits);
                }
            }
        };
        match self {
            State::Whole(cells) => learn(cells),
            State::Groups(groups) => {
                learn(&mut groups.empty.cells);
                groups.most = most(&groups.empty.cells, limits);
                groups.rows.values_mut().for_each(|row| learn(&mut row.cells));
            }
        }
    }

    /// Why the field of a function is missing in all records, as far as that is known.
    pub(super) fn why_missing(&self, function: usize) -> &str {
        let cells = match self {
            State::Whole(cells) => Some(cells),
            State::Groups(groups) => groups.rows.first_key_value().map(|(_, row)| &row.cells),
        };
        match cells.and_then(|cells| cells.get(function)) {
            Some(Cell::Missing(why)) => why,
            _ => "",
        }
    }

    /// Strips for many waves at once, if all functions have them.
    pub(super) fn strips(&self) -> Option<Vec<Strip>> {
        match self {
            State::Whole(cells) => cells.iter().map(Strip::like).collect(),
            State::Groups(_) => None,
        }
    }

    pub(super) fn clear(&mut self) {
        match self {
            State::Whole(cells) => cells.iter_mut().for_each(Cell::clear),
            State::Groups(groups) => groups.clear(),
        }
    }

    /// Takes members' records of one format, whose fixed parts are there. Fails with the position of the record.
    pub(super) fn take(
        &mut self,
        specification: &Specification,
        steps: &[Evaluation],
        keys: &[Option<Access>],
        parts: &[Part<'_>],
        longest: usize,
    ) -> Result<(), (usize, Fault)> {
        let groups = match self {
            State::Whole(cells) => return take_all(specification, cells, steps, parts, longest),
            State::Groups(groups) => groups,
        };
        let mut rest = parts;
        while let [first, ..] = rest {
            let before = parts.len() - rest.len();
            let (alike, others) = rest.split_at(alike(rest, keys));
            let record = RecordView::new(first.format, first.body).map_err(|error| (before, error.into()))?;
            let key = key(record, keys, longest).map_err(|fault| (before, fault))?;
            if let Some(row) = groups.row(key, alike.len() as u64) {
                let taken = take_all(specification, &mut row.cells, steps, alike, longest);
                taken.map_err(|(position, fault)| (before + position, fault))?;
            }
            rest = others;
        }
        Ok(())
    }

    /// Merges a partial result in the layout of this machine.
    pub(super) fn merge(
        &mut self,
        specification: &Specification,
        layout: &Layout,
        from: &Reader<'_>,
        longest: usize,
    ) -> Result<(), Fault> {
        let shape = &layout.partial;
        match (self, &shape.grouped) {
            (State::Whole(cells), _) => merge_row(specification, cells, from, layout, 0, longest),
            (State::Groups(groups), Some(grouped)) => {
                let (start, count) = from.list(grouped.groups, grouped.size)?;
                groups.ungrouped = groups.ungrouped.saturating_add(from.u64(grouped.ungrouped));
                for index in 0..count {
                    let at = start + index * grouped.size;
                    let mut key = Vec::with_capacity(grouped.keys.len());
                    for (place, kind) in grouped.keys.iter().zip(&layout.columns.keys) {
                        if *kind != Kind::Missing {
                            key.push(from.datum(at + place, *kind)?.value(longest)?.canonical());
                        }
                    }
                    let records = grouped.records.map_or(0, |place| from.u64(at + place));
                    let is_whole = key.len() == grouped.keys.len();
                    if let Some(row) = groups.row(is_whole.then_some(key), records) {
                        merge_row(specification, &mut row.cells, from, layout, at, longest)?;
                    }
                }
                Ok(())
            }
            (State::Groups(_), None) => unreachable!("grouped specifications have grouped layouts"),
        }
    }

    /// Writes the state, or the result, and is ready for the next wave.
    pub(super) fn write(&mut self, shape: &Shape, out: &mut Writer<'_>, what: What) {
        match (self, &shape.grouped) {
            (State::Whole(cells), _) => write_row(cells, out, shape, 0, what),
            (State::Groups(groups), Some(grouped)) => {
                out.put(grouped.ungrouped, groups.ungrouped.to_ne_bytes());
                let start = out.reserve(grouped.groups, groups.rows.len(), grouped.size);
                for (index, (key, row)) in groups.rows.iter_mut().enumerate() {
                    let at = start + index * grouped.size;
                    for (value, place) in key.iter().zip(&grouped.keys) {
                        out.value(at + place, value);
                    }
                    if let Some(place) = grouped.records {
                        out.put(at + place, row.records.to_ne_bytes());
                    }
                    write_row(&mut row.cells, out, shape, at, what);
                }
                groups.clear();
            }
            (State::Groups(_), None) => unreachable!("grouped specifications have grouped layouts"),
        }
    }
}

/// Takes records into one row, function by function: each sees the records in order.
fn take_all(
    specification: &Specification,
    cells: &mut [Cell],
    steps: &[Evaluation],
    parts: &[Part<'_>],
    longest: usize,
) -> Result<(), (usize, Fault)> {
    for (function, (cell, step)) in cells.iter_mut().zip(steps).enumerate() {
        let taken = match step {
            Evaluation::Fast(fast) => fast.run(cell, parts),
            Evaluation::Count => {
                cell.count(parts.len() as u64);
                Ok(())
            }
            Evaluation::General(access) => take_each(cell, access, parts, longest),
            Evaluation::Missing(why) => {
                cell.miss(why);
                Ok(())
            }
        };
        if let Err((position, fault)) = taken {
            return Err((position, named(specification, function)(fault)));
        }
    }
    Ok(())
}

/// Takes records at once or one by one. Not in line: the loop over functions that are fast would be slower.
#[inline(never)]
fn take_each(cell: &mut Cell, access: &Access, parts: &[Part<'_>], longest: usize) -> Result<(), (usize, Fault)> {
    let mut taken = 0;
    while let more @ 1.. = cell.take_at_once(&parts[taken..], access) {
        taken += more;
    }
    for (position, part) in parts.iter().enumerate().skip(taken) {
        let sender = Sender { rank: part.members.first().unwrap_or(u32::MAX), longest };
        let record = RecordView::new(part.format, part.body).map_err(Fault::from);
        record.and_then(|record| cell.take(record, access, sender)).map_err(|fault| (position, fault))?;
    }
    Ok(())
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Partial,
    Result,
}

impl Groups {
    fn clear(&mut self) {
        self.rows.clear();
        self.ungrouped = 0;
    }

    /// The row of a key, to which `records` belong; none where there is no key, or no room for it.
    fn row(&mut self, key: Option<Vec<Value>>, records: u64) -> Option<&mut Row> {
        let is_full = self.rows.len() >= self.most;
        let fits = key.filter(|key| {
            !is_full || self.rows.contains_key(key) || self.rows.last_key_value().is_some_and(|(last, _)| key < last)
        });
        let Some(key) = fits else {
            self.ungrouped = self.ungrouped.saturating_add(records);
            return None;
        };
        if is_full
            && !self.rows.contains_key(&key)
            && let Some((_, cut)) = self.rows.pop_last()
        {
            self.ungrouped = self.ungrouped.saturating_add(cut.records);
        }
        let row = self.rows.entry(key).or_insert_with(|| self.empty.clone());
        row.records = row.records.saturating_add(records);
        Some(row)
    }
}

/// How many records, from the first on, have one key: at least one. Only a single key in a fixed place is looked at.
fn alike(parts: &[Part<'_>], keys: &[Option<Access>]) -> usize {
    let [Some(Access::Place { at, ty })] = keys else { return 1 };
    // What is wrong with a record shows when its own key is made.
    let Some(first) = placed(&parts[0], ty, *at) else { return 1 };
    1 + parts[1..].iter().take_while(|part| placed(part, ty, *at) == Some(first)).count()
}

/// The value in a fixed place of a record; none where it is absent, or something is wrong with it.
fn placed<'a>(part: &Part<'a>, ty: &Type, at: usize) -> Option<Datum<'a>> {
    let record = RecordView::new(part.format, part.body).ok()?;
    datum(record, ty, at).ok()?
}

/// The key of a record; none where a part of it is absent.
fn key(record: RecordView<'_>, keys: &[Option<Access>], longest: usize) -> Result<Option<Vec<Value>>, Fault> {
    let mut key = Vec::with_capacity(keys.len());
    for access in keys {
        let Some(access) = access else { return Ok(None) };
        let mut part = None;
        access.each(record, &mut |datum| {
            part = Some(datum.value(longest)?.canonical());
            Ok(())
        })?;
        match part {
            Some(value) => key.push(value),
            None => return Ok(None),
        }
    }
    Ok(Some(key))
}

fn merge_row(
    specification: &Specification,
    cells: &mut [Cell],
    from: &Reader<'_>,
    layout: &Layout,
    at: usize,
    longest: usize,
) -> Result<(), Fault> {
    let columns = &layout.columns.aggregates;
    for (position, (cell, places)) in cells.iter_mut().zip(layout.partial.places(at)).enumerate() {
        let merged = match columns[position].is_missing() {
            true => from.text(places.field(0)).map(|why| cell.miss(why)),
            false => cell.merge(from, places, longest),
        };
        merged.map_err(named(specification, position))?;
    }
    Ok(())
}

fn write_row(cells: &mut [Cell], out: &mut Writer<'_>, shape: &Shape, at: usize, what: What) {
    cells.iter_mut().zip(shape.places(at)).for_each(|(cell, places)| cell.write(out, places, what));
}
