//! What observers see.

use banyan_ndr::Decoder;
use banyan_sensor::observe::{Reading, Segment, SegmentError};
use banyan_sensor::{Kind, MessageStamp, SpanEdge, Value};

use crate::child::{Note, Padded, Step};
use crate::harness::Program;

#[test]
fn an_observer_gets_what_is_emitted_while_it_watches_and_nothing_else() {
    let mut program = Program::start("steps");
    program.tell("emit 10");
    let mut observer = program.observe("step");
    program.tell("emit 1000");
    let mut steps = Vec::new();
    observer.drain(|event| steps.push(*event.view::<Step>().unwrap())).unwrap();
    assert_eq!(steps, (10..1010).map(Step::new).collect::<Vec<_>>());
    observer.unwatch("step");
    program.tell("emit 10");
    assert_eq!(observer.drain(|_| ()).unwrap(), 0);
    drop(observer);
    program.tell("emit 10");
    assert_eq!(program.segment().read().unwrap().drain(|_| ()).unwrap(), 1000, "what was written is still there");
}

#[test]
fn several_observers_get_everything_each_from_when_it_came() {
    let mut program = Program::start("steps");
    let mut first = program.observe("step");
    program.tell("emit 100");
    let mut second = program.observe("step");
    program.tell("emit 100");
    for (observer, expected) in [(&mut first, 200), (&mut second, 100)] {
        assert_eq!(observer.drain(|_| ()).unwrap(), expected);
        let account = &observer.accounts()[0];
        assert_eq!((account.emitted, account.delivered, account.in_flight()), (expected, expected, 0));
    }
    drop(first);
    program.tell("emit 100");
    assert_eq!(second.drain(|_| ()).unwrap(), 100, "an observer that leaves disturbs no other");
}

#[test]
fn a_process_has_room_for_eight_observers_and_names_that_to_the_ninth() {
    let program = Program::start("steps");
    let observers: Vec<_> = (0..8).map(|_| program.observe("step")).collect();
    let error = program.segment().observe().unwrap_err();
    assert!(matches!(error, SegmentError::TooManyObservers { most: 8, .. }), "{error}");
    drop(observers);
    program.observe("step");
}

#[test]
fn events_of_all_kinds_arrive_with_their_descriptions() {
    let mut program = Program::start("kinds");
    let mut observer = program.segment().observe().unwrap();
    observer.watch_all();
    program.tell("hello");
    let note = observer.sensors().find(|sensor| sensor.name == "note").unwrap();
    assert_eq!((note.unit.as_str(), note.description.as_str(), note.kind), ("1", "words", Kind::Event));
    let mut decoder = Decoder::new();
    for sensor in observer.sensors() {
        sensor.format.iter().for_each(|format| {
            decoder.learn(format).unwrap();
        });
    }
    let mut seen = Vec::new();
    observer
        .drain(|event| {
            seen.push(event.sensor.name.clone());
            let format = event.sensor.format.as_ref().unwrap().id();
            match event.sensor.name.as_str() {
                "note" => {
                    let note: Note = decoder.decode(format, event.body).unwrap();
                    assert_eq!(note, Note { text: "hello".into(), numbers: vec![1, 2, 3] });
                }
                "padded" => assert_eq!(*event.view::<Padded>().unwrap(), Padded { flag: true, number: 0.5 }),
                "residual" => assert_eq!(event.view::<Value>().unwrap().value, 0.25),
                "solve" => assert_eq!(event.view::<SpanEdge>().unwrap().parent, 0),
                _ => {}
            }
        })
        .unwrap();
    assert_eq!(seen, ["solve", "note", "padded", "residual", "checkpoint", "solve"]);
    let large = observer.accounts().into_iter().find(|account| account.sensor == "large").unwrap();
    assert_eq!((large.emitted, large.dropped.too_large), (1, 1));
    let values: Vec<Reading> = observer.sensors().filter_map(|sensor| observer.segment().value(sensor)).collect();
    assert_eq!(values, [Reading::Counter(5), Reading::Gauge(1.5)]);
}

#[test]
fn a_segment_says_whose_it_is() {
    let variables = [("SLURM_PROCID", "3"), ("SLURM_NTASKS", "8"), ("SLURM_JOB_ID", "4711"), ("SLURM_STEP_ID", "0")];
    let program = Program::start_with("steps", &variables);
    let segment = program.segment();
    let identity = segment.identity();
    assert_eq!((identity.pid, identity.is_running()), (program.child.id(), Some(true)));
    assert_eq!((identity.rank, identity.ranks, identity.job.as_deref()), (Some(3), Some(8), Some("slurm:4711.0")));
    assert_eq!(identity.executable, std::env::current_exe().unwrap().display().to_string());
}

#[test]
fn stamps_become_times_of_the_host() {
    let mut program = Program::start("steps");
    let mut observer = program.observe("step");
    let now = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    };
    let before = now();
    program.tell("emit 1");
    let after = now();
    let mut stamps = Vec::new();
    observer.drain(|event| stamps.push(event.stamp)).unwrap();
    let at = observer.reader().monotonic(stamps[0]).unwrap();
    // The pace of the counter is known by two moments that lie close together here.
    let slack = 1_000_000;
    assert!(before - slack <= at && at <= after + slack, "{before} {at} {after}");
}

#[test]
fn what_is_not_a_segment_is_refused() {
    let program = Program::start("steps");
    let path = program.directory.path().join("1-2-3-4.segment");
    let open = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Segment::open(&path).unwrap_err()
    };
    assert!(matches!(open(b""), SegmentError::Damaged { .. }));
    let whole = std::fs::read(program.segments().last().unwrap()).unwrap();
    let mut newer = whole.clone();
    newer[24..32].copy_from_slice(&2u64.to_ne_bytes());
    assert!(matches!(open(&newer), SegmentError::Newer { least: 2, .. }));
    let mut swapped = whole.clone();
    swapped[8..16].reverse();
    assert!(matches!(open(&swapped), SegmentError::OtherByteOrder { .. }));
    assert!(matches!(open(&whole[..8192]), SegmentError::Damaged { .. }));
}

#[test]
fn rings_of_threads_that_end_are_used_again_and_lose_nothing() {
    let mut program = Program::start("steps");
    let mut observer = program.observe("step");
    (0..50).for_each(|_| program.tell("thread 10"));
    let mut threads = std::collections::BTreeSet::new();
    let mut rings = std::collections::BTreeSet::new();
    let count = observer
        .drain(|event| {
            threads.insert(event.thread);
            rings.insert(event.ring);
        })
        .unwrap();
    assert_eq!((count, threads.len(), rings.len()), (500, 50, 1));
}

#[test]
fn what_was_sent_and_received_says_which_event_was_before_which() {
    let (mut sender, mut receiver) = (Program::start("steps"), Program::start("steps"));
    sender.send("send");
    let message = sender.expect("sent ");
    // Makes the sensor; nobody watches it yet.
    receiver.tell(&format!("receive {message}"));
    let mut observer = receiver.observe("banyan.witness");
    receiver.tell(&format!("receive {message}"));
    let mut seen = Vec::new();
    observer.drain(|event| seen.push((*event.view::<MessageStamp>().unwrap(), event.stamp))).unwrap();
    let [(message, received)] = seen[..] else { panic!("{seen:?}") };
    assert_eq!(message.process, sender.segment().process_number());
    assert_ne!(message.process, receiver.segment().process_number());
    assert!(message.stamp < received, "on one host the clocks are the same");
}
