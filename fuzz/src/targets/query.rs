//! Queries of any text over events of any bytes: an error that points into the text, or rows; every event is counted.

use banyan_fuzz::{Bytes, Deep, Flat, Item, mesh};
use banyan_ndr::{Format, Record};
use banyan_query::{Event, HostLimits, HostSide, Process, Query, QueryError, RootLimits, RootSide, RowBatch, Selector};

pub(crate) fn target(bytes: &[u8]) {
    let mut input = Bytes(bytes);
    let mesh = mesh();
    let format: &Format = match input.byte() % 4 {
        0 => &mesh,
        1 => Deep::format(),
        2 => Flat::format(),
        _ => Item::format(),
    };
    let Some(line) = input.0.iter().position(|byte| *byte == b'\n') else { return };
    let (text, body) = (&input.0[..line], &input.0[line + 1..]);
    let Ok(text) = std::str::from_utf8(text) else { return };
    let query = match text.parse::<Query>() {
        Ok(query) => query,
        Err(error) => return looked_at(text, &error),
    };
    let again: Query = query.to_string().parse().expect("what is written is read");
    assert!(again == query, "{query} is read as {again}");
    let sensor = query.sensors().next().expect("a query asks a sensor").to_owned();
    let selector = match Selector::new(&query, &sensor, format) {
        Ok(selector) => selector,
        Err(error) => return looked_at(text, &error),
    };
    let process = Process { host: "n1", job: None, rank: Some(1), pid: 7 };
    let mut host = HostSide::new(&query, 0, HostLimits::default());
    for sequence in 0..3 {
        host.event(&selector, &Event { process: &process, thread: 1, sequence, time: sequence as i64, body });
    }
    assert_eq!(host.counts().total(), 3);
    let closed = host.close(i64::MAX);
    let mut root = RootSide::new(&query, 1, RootLimits::default());
    for piece in closed.pieces {
        let members = std::iter::once(0).collect();
        root.partial(piece.interval, &members, &piece.format, &piece.body).expect("few intervals");
    }
    root.close(closed.until_interval).expect("what a host sends is reduced");
    if let Some(batch) = closed.rows {
        // Whole events go as they are, and are looked at here.
        let _ = root.rows(0, RowBatch::format(), &batch.body);
    }
    while let Some(row) = root.next_row() {
        assert_eq!(row.values.len(), query.columns().len());
        assert!(!row.to_json().is_empty());
    }
}

/// Errors point into the text, whatever is in it.
fn looked_at(text: &str, error: &QueryError) {
    let range = error.range();
    assert!(text.get(range.clone()).is_some(), "{range:?} is not a part of {text:?}");
    assert!(!error.to_string().chars().any(|character| character.is_control() && character != '\n'), "{error}");
}
