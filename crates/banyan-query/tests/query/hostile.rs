//! Events, partial results and batches from outside that are not what they should be.

use banyan_ndr::{Buffer, Record};
use banyan_query::{Event, HostLimits, HostSide, Query, RootError, RootLimits, RootSide, RowBatch, Selector};
use banyan_ranks::RankSet;
use proptest::prelude::*;

use crate::steps::{PROCESS, Step};

fn selected(text: &str) -> (Query, Selector) {
    let query: Query = text.parse().unwrap_or_else(|error| panic!("{error}"));
    let selector = Selector::new(&query, "step", Step::format()).unwrap_or_else(|error| panic!("{error}"));
    (query, selector)
}

const ALL: [&str; 3] = [
    "select * from step where exists(name) or exists(list[3]) or exists(bytes)",
    "select name, list[2], bytes, flag, state, node.temp from step",
    "select max(length(name)), union(state), sum(list[1]) from step where flag group by name, bytes every 1s",
];

proptest! {
    #[test]
    fn events_of_any_bytes_are_counted_and_hurt_nobody(
        mut body in prop::collection::vec(any::<u8>(), 0..400),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        is_step: bool,
    ) {
        if is_step {
            body = Step::new(7).body();
            changes.iter().for_each(|(at, byte)| *at.get_mut(&mut body) = *byte);
        }
        for text in ALL {
            let (query, selector) = selected(text);
            let mut host = HostSide::new(&query, 0, HostLimits::default());
            for sequence in 0..3 {
                host.event(&selector, &Event { process: &PROCESS, thread: 1, sequence, time: 5, body: &body });
            }
            prop_assert_eq!(host.counts().total(), 3);
            let closed = host.close(i64::MAX);
            let mut root = RootSide::new(&query, 0, RootLimits::default());
            for piece in closed.pieces {
                prop_assert_eq!(piece.events, host.counts().selected);
                root.partial(piece.interval, &RankSet::from_iter([0]), &piece.format, &piece.body).unwrap();
            }
            root.close(closed.until_interval).unwrap();
            if let Some(batch) = closed.rows {
                // What is wrong with a whole event that nobody looked at shows here.
                let _ = root.rows(0, RowBatch::format(), &batch.body);
            }
            while let Some(row) = root.next_row() {
                prop_assert_eq!(row.values.len(), query.columns().len());
            }
        }
    }

    #[test]
    fn batches_and_partial_results_of_any_bytes_are_refused_or_read(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        for text in ALL {
            let (query, selector) = selected(text);
            let mut host = HostSide::new(&query, 0, HostLimits::default());
            for n in 0..4 {
                let body = Step::new(n).body();
                host.event(&selector, &Event { process: &PROCESS, thread: 1, sequence: n, time: 5, body: &body });
            }
            let closed = host.close(i64::MAX);
            let mut root = RootSide::new(&query, 0, RootLimits::default());
            let changed = |body: &Buffer| {
                let mut body = body.to_vec();
                changes.iter().for_each(|(at, byte)| *at.get_mut(&mut body) = *byte);
                body
            };
            for piece in closed.pieces {
                let body = changed(&piece.body);
                root.partial(piece.interval, &RankSet::from_iter([0]), &piece.format, &body).unwrap();
                let _ = root.close(closed.until_interval);
                let _ = root.result(piece.interval, &piece.format, &body);
            }
            if let Some(batch) = closed.rows {
                let _ = root.rows(0, RowBatch::format(), &changed(&batch.body));
            }
            while root.next_row().is_some() {}
        }
    }
}

#[test]
fn events_of_closed_windows_are_late_and_those_too_far_ahead_are_early() {
    let (query, selector) = selected("select count() from step every 1s");
    let mut host = HostSide::new(&query, 0, HostLimits::default().windows(2));
    let body = Step::new(1).body();
    let give = |host: &mut HostSide, seconds: i64| {
        let time = seconds * 1_000_000_000;
        host.event(&selector, &Event { process: &PROCESS, thread: 1, sequence: 0, time, body: &body });
    };
    [5, 6, 9].into_iter().for_each(|second| give(&mut host, second));
    let closed = host.close(6_500_000_000);
    assert_eq!((closed.pieces.len(), closed.pieces[0].interval, closed.until_interval), (1, 5, 6));
    [5, 6, 7].into_iter().for_each(|second| give(&mut host, second));
    let counts = host.counts();
    assert_eq!((counts.selected, counts.late, counts.early), (4, 1, 1));
    let pieces = host.close(i64::MAX).pieces;
    assert_eq!(pieces.iter().map(|piece| (piece.interval, piece.events)).collect::<Vec<_>>(), [(6, 2), (7, 1)]);
}

#[test]
fn rows_that_do_not_fit_are_counted() {
    let (query, selector) = selected("select name from step");
    let mut host = HostSide::new(&query, 0, HostLimits::default().row_bytes(200));
    let body = Step::new(1).body();
    for sequence in 0..10 {
        host.event(&selector, &Event { process: &PROCESS, thread: 1, sequence, time: 0, body: &body });
    }
    let counts = host.counts();
    assert!(counts.selected > 0 && counts.selected + counts.overflowed == 10, "{counts:?}");
    assert_eq!(host.close(i64::MAX).rows.unwrap().rows, counts.selected);
}

#[test]
fn rows_wait_for_the_host_that_is_behind() {
    let (query, selector) = selected("select n from step");
    let mut root = RootSide::new(&query, 3, RootLimits::default());
    [0, 1].into_iter().for_each(|host| root.join(host));
    let mut sides = [0, 1].map(|rank| HostSide::new(&query, rank, HostLimits::default()));
    for (n, time, host) in [(1, 10, 0), (2, 30, 0), (3, 20, 1)] {
        let body = Step::new(n).body();
        sides[host].event(&selector, &Event { process: &PROCESS, thread: 1, sequence: n, time, body: &body });
    }
    let mut close = |root: &mut RootSide, host: u32, until| {
        let batch = sides[host as usize].close(until).rows.unwrap();
        root.rows(host, RowBatch::format(), &batch.body).unwrap();
        std::iter::from_fn(|| root.next_row()).map(|row| row.begin.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(close(&mut root, 0, 40), []);
    assert_eq!(close(&mut root, 1, 25), [10, 20]);
    root.leave(1);
    assert_eq!(root.next_row().map(|row| (row.version, row.begin)), Some((3, Some(30))));
}

#[test]
fn what_another_query_made_is_refused() {
    let (rows, _) = selected("select n from step");
    let (windows, selector) = selected("select max(n) from step");
    let mut host = HostSide::new(&windows, 0, HostLimits::default());
    let body = Step::new(1).body();
    host.event(&selector, &Event { process: &PROCESS, thread: 1, sequence: 0, time: 0, body: &body });
    let piece = host.close(i64::MAX).pieces.remove(0);
    let members = RankSet::from_iter([0]);
    let mut root = RootSide::new(&rows, 0, RootLimits::default());
    let refused = root.partial(0, &members, &piece.format, &piece.body);
    assert!(matches!(refused, Err(RootError::Stranger { .. })), "{refused:?}");
    let (other, _) = selected("select avg(n), count() from step group by host");
    let mut root = RootSide::new(&other, 0, RootLimits::default());
    root.partial(0, &members, &piece.format, &piece.body).unwrap();
    assert!(matches!(root.close(1), Err(RootError::Reduce(_))));
}
