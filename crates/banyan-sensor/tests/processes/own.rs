//! A process that observes and steers itself: what machines of other byte order and pointer width can run, too.

use banyan_ndr::Value;
use banyan_sensor::observe::{Answer, KnobInfo, Mailbox, Refusal, Request, Segment, When};
use banyan_sensor::{Knob, Sensor, Status, status, step};

use crate::child::Step;
use crate::harness::LIMIT;
use crate::steered::{Method, Stop};

/// The segment of this process.
fn segment() -> Segment {
    let Status::Watchable(path) = status() else { panic!("{:?}", status()) };
    Segment::open(&path).unwrap()
}

fn knob(name: &str) -> KnobInfo {
    segment().knobs().unwrap().into_iter().find(|knob| knob.name == name).unwrap()
}

#[test]
fn a_process_that_observes_itself_gets_what_it_emits() {
    let sensor = Sensor::<Step>::new("own.step").unwrap();
    let mut observer = segment().observe().unwrap();
    assert!(observer.watch("own.step"));
    (0..100).for_each(|number| sensor.emit(&Step::new(number)));
    let mut steps = Vec::new();
    observer
        .drain(|event| {
            if event.sensor.name == "own.step" {
                steps.push(*event.view::<Step>().unwrap());
            }
        })
        .unwrap();
    assert_eq!(steps, (0..100).map(Step::new).collect::<Vec<_>>());
}

#[test]
fn a_process_that_steers_itself_gets_values_of_all_sizes() {
    let small = Knob::new("own.small", 7u16).unwrap();
    let method = Knob::new("own.method", Method::Cg).unwrap();
    let number = Knob::options("own.number", 0.5).range(0.0..1.0).build().unwrap();
    let pair = Knob::new("own.pair", Step::new(1)).unwrap();
    let stop = Knob::new("own.stop", Stop { tolerance: 0.5, most: 1, label: "one".into() }).unwrap();
    let mut mailbox = Mailbox::open(&segment(), "itself").unwrap();
    let mut set = |name: &str, value: Value| {
        let knob = knob(name);
        let ticket = mailbox.send(&Request::set(&knob, knob.body(value).unwrap())).unwrap();
        // The next `get` would hear of it as well.
        banyan_sensor::steering_point();
        mailbox.wait(ticket, LIMIT)
    };
    let wanted = Step::new(2);
    let record = [("number", wanted.number.into()), ("check", wanted.check.into())];
    let other = [("tolerance", 0.25.into()), ("most", 2u32.into()), ("label", "another".into())];
    let values = [
        ("own.small", Value::from(0x0102u16)),
        ("own.method", Value::Enum("Gmres".into())),
        ("own.number", 0.75.into()),
        ("own.pair", Value::record(record)),
        ("own.stop", Value::record(other)),
    ];
    for (name, value) in values {
        assert!(matches!(set(name, value), Answer::Done { .. }), "{name}");
    }
    assert!(matches!(set("own.number", 1.0.into()), Answer::Refused { why: Refusal::Range, .. }));
    assert_eq!((small.get(), method.get(), number.get(), pair.get()), (0x0102, Method::Gmres, 0.75, wanted));
    assert_eq!(stop.get(), Stop { tolerance: 0.25, most: 2, label: "another".into() });
    let changed = knob("own.stop").changed(&segment().shown_value(&knob("own.stop")).unwrap().body, "most", 3u32);
    let ticket = mailbox.send(&Request::set(&knob("own.stop"), changed.unwrap()).when(When::NextPoint)).unwrap();
    step(1);
    assert!(matches!(mailbox.wait(ticket, LIMIT), Answer::Done { .. }));
    assert_eq!(stop.get(), Stop { tolerance: 0.25, most: 3, label: "another".into() });
}
