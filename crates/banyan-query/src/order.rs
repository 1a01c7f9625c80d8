//! Rows of events of many hosts in one order: by time, host, process, thread and number.
//!
//! Each host gives its rows in that order and says up to which time it has given all. A row comes out when every host has come
//! further. The order is total, so it is the same however the events are spread over hosts. (A
//! `banyan_clock::Timeline` breaks ties by source, and moves effects behind their causes, of which rows know nothing.)

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use banyan_ndr::{Buffer, Decoder, DynRecord, Format, Limits, Value};

use crate::encoded::decode;
use crate::root::RootError;
use crate::rows::{RowFormat, RowHead, RowProcess, Rows};

/// How deep a value that is shared within an event is followed.
const MAX_SHARED: usize = 16;

/// Rows that wait.
#[derive(Debug)]
pub(crate) struct RowOrder {
    waiting: BTreeMap<Key, Vec<Value>>,
    /// Of each host the time before which it has given all.
    hosts: HashMap<u32, i64>,
    most: usize,
    /// The row that came out last.
    last: Option<Key>,
    taken: u64,
    early: u64,
    late: u64,
    decoder: Decoder,
}

/// The place of a row in the order. The last part tells rows of equal events apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    time: i64,
    host: Arc<str>,
    pid: u32,
    thread: u64,
    sequence: u64,
    number: u64,
}

impl RowOrder {
    pub(crate) fn new(most: usize) -> RowOrder {
        RowOrder {
            waiting: BTreeMap::new(),
            hosts: HashMap::new(),
            most,
            last: None,
            taken: 0,
            early: 0,
            late: 0,
            decoder: Decoder::new(),
        }
    }

    pub(crate) fn join(&mut self, host: u32) {
        self.hosts.entry(host).or_insert(i64::MIN);
    }

    pub(crate) fn leave(&mut self, host: u32) {
        self.hosts.insert(host, i64::MAX);
    }

    /// How many rows came out early, and how many came late.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.early, self.late)
    }

    /// Takes a batch, and returns how many rows are in it.
    pub(crate) fn take(
        &mut self,
        host: u32,
        format: &Format,
        body: &[u8],
        columns: usize,
        stranger: RootError,
    ) -> Result<u64, RootError> {
        let id = self.decoder.learn(format)?;
        let aligned = Buffer::from_slice(body);
        let rows: Rows = self.decoder.decode(id, &aligned)?;
        let Some(values) = Values::new(&rows, columns)? else { return Err(stranger) };
        let mut start = 0;
        let mut taken = Vec::with_capacity(rows.rows.len());
        for row in &rows.rows {
            let Some((values, host)) = values.row(row, start)? else { return Err(stranger) };
            let RowHead { time, thread, sequence, .. } = *row;
            let pid = rows.processes[row.process as usize].pid;
            taken.push((Key { time, host, pid, thread, sequence, number: 0 }, values));
            start = row.end;
        }
        let count = taken.len() as u64;
        for (key, values) in taken {
            self.late += u64::from(self.last.as_ref().is_some_and(|last| key < *last));
            self.waiting.insert(Key { number: self.taken, ..key }, values);
            self.taken += 1;
        }
        let until = self.hosts.entry(host).or_insert(i64::MIN);
        *until = (*until).max(rows.until);
        Ok(count)
    }

    /// The next row, once nothing earlier can come.
    pub(crate) fn next(&mut self) -> Option<(i64, Vec<Value>)> {
        let first = self.waiting.first_entry()?;
        let until = self.hosts.values().min().copied().unwrap_or(i64::MAX);
        let is_certain = first.key().time < until || until == i64::MAX;
        if !is_certain {
            if self.hosts.is_empty() || self.taken == 0 {
                return None;
            }
            if self.waiting.len() <= self.most {
                return None;
            }
            self.early += 1;
        }
        let (key, values) = self.waiting.pop_first()?;
        let time = key.time;
        self.last = self.last.take().max(Some(Key { number: 0, ..key }));
        Some((time, values))
    }
}

/// The values of a row, and its host.
type FoundRow = (Vec<Value>, Arc<str>);

/// What rows of a batch refer to.
struct Values<'r> {
    rows: &'r Rows,
    hosts: Vec<Arc<str>>,
    formats: Vec<Option<Format>>,
    columns: usize,
}

impl<'r> Values<'r> {
    /// None if the batch is none.
    fn new(rows: &'r Rows, columns: usize) -> Result<Option<Values<'r>>, RootError> {
        let hosts = rows.processes.iter().map(|process| process.host.as_str().into()).collect();
        let format = |of: &RowFormat| match of.format.0.is_empty() {
            true => Ok(None),
            false => Format::decode(&of.format.0, &Limits::default()).map(Some),
        };
        let formats = rows.formats.iter().map(format).collect::<Result<_, _>>()?;
        let is_known =
            |row: &RowHead| (row.process as usize) < rows.processes.len() && (row.format as usize) < rows.formats.len();
        let ends = rows.rows.iter().map(|row| row.end);
        let are_in_order = ends.is_sorted() && rows.rows.last().is_none_or(|row| row.end <= rows.bodies.0.len() as u64);
        let is_fine = rows.rows.iter().all(is_known) && are_in_order;
        Ok(is_fine.then_some(Values { rows, hosts, formats, columns }))
    }

    /// The values of a row and its host.
    fn row(&self, row: &RowHead, start: u64) -> Result<Option<FoundRow>, RootError> {
        let body = &self.rows.bodies.0[start as usize..row.end as usize];
        let host = Arc::clone(&self.hosts[row.process as usize]);
        let process = &self.rows.processes[row.process as usize];
        let values = match &self.formats[row.format as usize] {
            Some(format) => Some(whole(row, process, &self.rows.formats[row.format as usize].sensor, format, body)?),
            None => {
                let mut rest = body;
                let values: Option<Vec<Value>> = (0..self.columns).map(|_| decode(&mut rest)).collect();
                values.filter(|_| rest.is_empty())
            }
        };
        Ok(values.map(|values| (values, host)))
    }
}

/// The columns of a whole event.
fn whole(
    row: &RowHead,
    process: &RowProcess,
    sensor: &str,
    format: &Format,
    body: &[u8],
) -> Result<Vec<Value>, RootError> {
    let record = DynRecord::from_body(format, body, &Limits::default())?;
    Ok(vec![
        Value::from(row.time),
        Value::from(process.host.as_str()),
        Value::from(process.rank),
        Value::from(process.pid),
        Value::from(row.thread),
        Value::from(row.sequence),
        Value::from(sensor),
        plain(&record, &record.root, MAX_SHARED),
    ])
}

/// A value without references to others.
fn plain(record: &DynRecord, value: &Value, depth: usize) -> Value {
    match value {
        Value::Shared(_) if depth == 0 => Value::Null,
        Value::Shared(_) => plain(record, record.resolve(value), depth - 1),
        Value::List(items) => Value::List(items.iter().map(|item| plain(record, item, depth)).collect()),
        Value::Record(fields) => {
            Value::Record(fields.iter().map(|(name, value)| (name.clone(), plain(record, value, depth))).collect())
        }
        Value::Case(name, Some(payload)) => Value::Case(name.clone(), Some(plain(record, payload, depth).into())),
        other => other.clone(),
    }
}
