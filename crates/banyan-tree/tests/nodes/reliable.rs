//! Streams without waves that lose nothing: members wait, send again, and every record comes once and in order.

use super::*;

impl Tree {
    /// A stream without waves that loses nothing.
    fn open_reliable(&mut self, members: std::ops::RangeInclusive<u32>) -> StreamId {
        let options = StreamOptions::default().synchronised(Synchronisation::None);
        let stream = self.nodes[0].open(Arc::new(members.collect()), options).unwrap();
        self.settle();
        stream
    }

    /// Sends a record that is this number, if there is room for it.
    fn record(&mut self, member: usize, stream: StreamId, number: u8) -> Result<(), SendError> {
        let sent = self.nodes[member].contribute(stream, Bodies::one(FORMAT, Bytes::copy_from_slice(&[number])));
        self.settle();
        sent.map(|_| ())
    }

    /// The records that have come, each with its member.
    fn records(&mut self, stream: StreamId) -> Vec<(u32, u8)> {
        let mut records = Vec::new();
        while let Some(delivery) = self.nodes[0].take_waves(stream) {
            let rank = delivery.members.only().unwrap();
            records.extend(delivery.bodies.unwrap().iter().map(|body| (rank, body[0])));
            self.settle();
        }
        records
    }
}

fn narrow() -> Tree {
    let mut options = NodeOptions::default();
    options.window_waves = 4;
    Tree::with(options)
}

#[test]
fn a_member_waits_for_a_front_end_that_takes_nothing_and_goes_on_when_it_does() {
    let mut tree = narrow();
    let member = tree.member(0, &[1]);
    let stream = tree.open_reliable(0..=0);
    for round in 0..10 {
        let first = 4 * round;
        (first..first + 4).for_each(|number| tree.record(member, stream, number).unwrap());
        assert_eq!(tree.record(member, stream, 99), Err(SendError::Full));
        assert_eq!(tree.records(stream), Vec::from_iter((first..first + 4).map(|number| (0, number))));
    }
    assert_eq!(tree.nodes[member].counters().kept_bytes, 0, "all was confirmed");
}

#[test]
fn records_in_an_agent_that_dies_come_by_another_way_once_and_in_order() {
    let mut tree = narrow();
    let members = [tree.member(0, &[1, 2]), tree.member(1, &[1, 2])];
    let inner = tree.add(None, Level(2), &[1, 2]);
    let deep = tree.add(Some(2), Level(9), &[inner, 2]);
    let stream = tree.open_reliable(0..=2);
    let senders = [members[0], members[1], deep];
    senders.iter().for_each(|member| tree.record(*member, stream, 0).unwrap());
    // What they send now comes to the agent, and no further; then it dies.
    tree.cut.insert((1, 0));
    senders.iter().for_each(|member| tree.record(*member, stream, 1).unwrap());
    tree.kill(1);
    senders.iter().for_each(|member| tree.record(*member, stream, 2).unwrap());
    tree.pass(Duration::from_millis(50));
    tree.pass(Duration::from_secs(1));
    senders.iter().for_each(|member| tree.record(*member, stream, 3).unwrap());
    let mut records = tree.records(stream);
    records.sort_by_key(|(rank, _)| *rank);
    let expected = (0..3).flat_map(|rank| (0..4).map(move |number| (rank, number)));
    assert_eq!(records, Vec::from_iter(expected));
}

#[test]
fn what_comes_twice_or_behind_a_gap_is_not_delivered() {
    let options = StreamOptions::default().synchronised(Synchronisation::None);
    let mut front_end = FrontEnd::with(NodeOptions::default(), options);
    [0, 2, 3, 1, 0, 1, 3, 2, 3].iter().for_each(|number| front_end.get(0, *number, true));
    let taken: Vec<u64> =
        std::iter::from_fn(|| front_end.node.take_waves(front_end.stream)).map(|got| got.first.0).collect();
    assert_eq!(taken, [0, 1, 2, 3]);
}

#[test]
fn a_confirmation_that_was_lost_is_given_again() {
    let mut tree = narrow();
    let member = tree.member(0, &[1, 2]);
    let stream = tree.open_reliable(0..=0);
    (0..4).for_each(|number| tree.record(member, stream, number).unwrap());
    // The agent dies with it.
    tree.cut.insert((0, 1));
    assert_eq!(tree.records(stream).len(), 4);
    tree.kill(1);
    tree.pass(Duration::from_millis(50));
    tree.pass(Duration::from_secs(1));
    (4..8).for_each(|number| tree.record(member, stream, number).unwrap());
    assert_eq!(tree.records(stream), Vec::from_iter((4..8).map(|number| (0, number))));
}

#[test]
fn a_member_that_does_not_wait_is_cut_off() {
    let mut tree = narrow();
    // The member's own idea of it.
    tree.options.window_waves = 1000;
    let member = tree.member(0, &[1]);
    let stream = tree.open_reliable(0..=0);
    (0..100).for_each(|number| _ = tree.record(member, stream, number));
    let is_told = |report: &Report| matches!(report, Report::Violation { rank: Some(0), cause, .. } if cause.contains("nobody has confirmed"));
    assert!(tree.told.iter().any(is_told), "{:?}", tree.told);
}
