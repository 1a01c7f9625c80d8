//! Knobs and actions of another process: which there are, and what values they have.

use std::sync::atomic::{AtomicU64, Ordering};

use banyan_ndr::{Buffer, DecodeError, DynRecord, EncodeError, Format, Limits, RecordView, Value};

use super::segment::{Segment, SegmentError};
use crate::latest;
use crate::layout::{LABEL_WORDS, WORD, header, knob, setting};
use crate::payload;
use crate::steering::letter::label_text;
use crate::steering::report;
use crate::steering::{NO_STEP, Steering};

/// The field of a knob's record that has the value.
const VALUE: &str = "value";

/// A knob of a process.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct KnobInfo {
    /// Its index in the segment.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// The unit of the value; may be empty.
    pub unit: String,
    /// What the value does; may be empty.
    pub description: String,
    /// The format of its values: a record with the field `value`, see [`KnobValue`](crate::KnobValue).
    pub format: Format,
    /// Whether only the program sets it.
    pub read_only: bool,
    /// The least that it can be set to.
    pub low: Option<Bound>,
    /// The most that it can be set to.
    pub high: Option<Bound>,
    /// Where its value lies: offset and bytes.
    cell: (u64, u64),
}

/// A bound of the values of a knob.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bound {
    /// The body of a record in the knob's format.
    pub body: Vec<u8>,
    /// Whether the bound itself is not a value.
    pub is_excluded: bool,
}

/// An action of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActionInfo {
    /// Its index in the segment.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// What it does; may be empty.
    pub description: String,
    /// How often it was run because somebody asked for it.
    pub runs: u64,
}

/// The value of a knob, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShownValue {
    /// The body of a record in the knob's format.
    pub body: Vec<u8>,
    /// How often the value was set since the process has the knob.
    pub changes: u64,
    /// When it was set, by the clock of the segment.
    pub stamp: u64,
    /// The step at which it was set, if the program counts steps.
    pub step: Option<u64>,
    /// Who has set it; `None`: the program itself.
    pub by: Option<SetBy>,
}

/// An observer that has set a knob.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SetBy {
    /// The number of its request, as its [`Ticket`](super::Ticket) has it.
    pub ticket: u64,
    /// Its process id, as it says.
    pub pid: u64,
    /// What it says about itself.
    pub label: String,
}

impl KnobInfo {
    /// The body of a value, to be sent in a [`Request`](super::Request). A number must be one that the knob's type holds exactly;
    /// floats are rounded. A record can be given by some of its fields; the others are zero or empty then.
    ///
    /// # Errors
    /// When it is not a value of the knob's type.
    pub fn body(&self, value: impl Into<Value>) -> Result<Vec<u8>, EncodeError> {
        let mut record = DynRecord::new(&self.format);
        record.set(VALUE, value)?;
        Ok(record.to_body()?.to_vec())
    }

    /// A body with a part of the value changed: of a record, the field at a path such as `solver.tolerance`.
    ///
    /// # Errors
    /// When there is no such part, or the value cannot stand there.
    pub fn changed(&self, body: &[u8], path: &str, value: impl Into<Value>) -> Result<Vec<u8>, EncodeError> {
        let before = DynRecord::from_body(&self.format, &Buffer::from_slice(body), &Limits::default());
        let mut record = before.unwrap_or_else(|_| DynRecord::new(&self.format));
        let path = if path.is_empty() { VALUE.into() } else { format!("{VALUE}.{path}") };
        record.set(&path, value)?;
        Ok(record.to_body()?.to_vec())
    }

    /// The value in a body.
    ///
    /// # Errors
    /// When the body is not one of the knob's format.
    pub fn value(&self, body: &[u8]) -> Result<Value, DecodeError> {
        let body = Buffer::from_slice(body);
        RecordView::new(&self.format, &body)?.get(VALUE)?.to_value()
    }

    /// The value in a body as text, on one line.
    pub fn text(&self, body: &[u8]) -> String {
        let body = Buffer::from_slice(body);
        RecordView::new(&self.format, &body).map_or_else(|error| error.to_string(), |view| report::text(&view))
    }

    /// The range as text, as Rust writes it: `1e-6..=1.0`. Empty if there is none.
    pub fn range_text(&self) -> String {
        if self.low.is_none() && self.high.is_none() {
            return String::new();
        }
        let text = |bound: &Option<Bound>| bound.as_ref().map_or_else(String::new, |bound| self.text(&bound.body));
        let is_excluded = |bound: &Option<Bound>| bound.as_ref().is_some_and(|bound| bound.is_excluded);
        let (above, dots) =
            (is_excluded(&self.low), if is_excluded(&self.high) || self.high.is_none() { ".." } else { "..=" });
        format!("{}{}{dots}{}", if above { "above " } else { "" }, text(&self.low), text(&self.high))
    }
}

impl Segment {
    /// The knobs that the process has now.
    ///
    /// # Errors
    /// When the description of one is damaged.
    pub fn knobs(&self) -> Result<Vec<KnobInfo>, SegmentError> {
        let of_kind = |(_, entry): &(usize, &[AtomicU64])| word(entry, knob::KIND) == knob::IS_KNOB;
        self.knob_entries().filter(of_kind).map(|(index, entry)| self.knob(index, entry)).collect()
    }

    /// The actions that the process has now.
    ///
    /// # Errors
    /// When the description of one is damaged.
    pub fn actions(&self) -> Result<Vec<ActionInfo>, SegmentError> {
        let of_kind = |(_, entry): &(usize, &[AtomicU64])| word(entry, knob::KIND) == knob::IS_ACTION;
        let action = |(index, entry): (usize, &[AtomicU64])| {
            let (name, description) = (self.name(entry, knob::NAME)?, self.name(entry, knob::DESCRIPTION)?);
            Ok(ActionInfo { index, name, description, runs: word(entry, knob::RUNS) })
        };
        self.knob_entries().filter(of_kind).map(action).collect()
    }

    /// The value that a knob has now.
    ///
    /// # Errors
    /// When it is damaged, or changes so fast that no copy of it is whole.
    pub fn shown_value(&self, knob: &KnobInfo) -> Result<ShownValue, SegmentError> {
        let (map, at) = self.map_words(knob.cell.0, knob.cell.1)?;
        let cell = &map.words()[at..at + knob.cell.1 as usize / WORD];
        let damaged = || self.damaged("the value of a knob");
        // A word, and two places of the same length.
        if cell.len() % 2 != 1 || cell.len() < latest::cell_words(setting::HEAD_WORDS * WORD) {
            return Err(damaged());
        }
        let mut words = Vec::new();
        let head = latest::read(cell, &mut words).ok_or_else(damaged)?;
        let (said, value) = words.split_at_checked(setting::HEAD_WORDS).ok_or_else(damaged)?;
        let length = usize::from(head.length);
        if length > value.len() * WORD {
            return Err(damaged());
        }
        let mut label = [0; LABEL_WORDS];
        label.copy_from_slice(&said[setting::LABEL..][..LABEL_WORDS]);
        let (ticket, pid) = (said[setting::TICKET], said[setting::PID]);
        Ok(ShownValue {
            body: payload::bytes(value, length).to_vec(),
            changes: head.sequence,
            stamp: head.stamp,
            step: Some(said[setting::STEP]).filter(|step| *step != NO_STEP),
            by: (ticket != 0).then(|| SetBy { ticket, pid, label: label_text(&label) }),
        })
    }

    /// The step that the program has reached, if it counts steps. It may be a moment old.
    pub fn step(&self) -> Option<u64> {
        Some(self.header(header::STEP)).filter(|step| *step != NO_STEP)
    }

    /// How many steering points the program has come to. Of one that comes to none, changes for the next point and actions wait
    /// for ever.
    pub fn steering_points(&self) -> u64 {
        self.header(header::POINTS)
    }

    /// Who may steer the process. The program itself refuses others.
    pub fn steering(&self) -> Steering {
        if self.header(header::STEERING) == Steering::OwnUser as u64 { Steering::OwnUser } else { Steering::Off }
    }

    /// How long the program waits at a step for a decision.
    pub fn steering_patience(&self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.header(header::PATIENCE))
    }

    fn knob(&self, index: usize, entry: &[AtomicU64]) -> Result<KnobInfo, SegmentError> {
        let encoded = self.text(word(entry, knob::FORMAT))?;
        let format = Format::decode(&encoded, &Limits::default()).map_err(|_| self.damaged("the format of a knob"))?;
        let flags = word(entry, knob::FLAGS);
        let bound = |at: usize, excluded: u64| {
            let body = self.text(word(entry, at))?;
            Ok::<_, SegmentError>((!body.is_empty()).then_some(Bound { body, is_excluded: flags & excluded != 0 }))
        };
        Ok(KnobInfo {
            index,
            name: self.name(entry, knob::NAME)?,
            unit: self.name(entry, knob::UNIT)?,
            description: self.name(entry, knob::DESCRIPTION)?,
            format,
            read_only: flags & knob::READ_ONLY != 0,
            low: bound(knob::LOW, knob::LOW_EXCLUDED)?,
            high: bound(knob::HIGH, knob::HIGH_EXCLUDED)?,
            cell: (word(entry, knob::CELL), word(entry, knob::CELL_BYTES)),
        })
    }

    fn name(&self, entry: &[AtomicU64], at: usize) -> Result<String, SegmentError> {
        Ok(String::from_utf8_lossy(&self.text(word(entry, at))?).into_owned())
    }
}

fn word(entry: &[AtomicU64], at: usize) -> u64 {
    entry[at].load(Ordering::Acquire)
}
