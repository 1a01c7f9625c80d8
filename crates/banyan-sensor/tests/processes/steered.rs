//! What children with knobs do.

use std::io::BufRead;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use banyan_sensor::{Action, Knob, Record, Sensor, Steering, steering_point, step};

use crate::child::{Step, say};

/// An enumeration.
#[derive(Record, Debug, Clone, Copy, PartialEq)]
pub(crate) enum Method {
    Cg,
    Gmres,
}

/// A record with a text.
#[derive(Record, Debug, Clone, PartialEq)]
pub(crate) struct Stop {
    pub(crate) tolerance: f64,
    pub(crate) most: u32,
    pub(crate) label: String,
}

static CHECKPOINTS: AtomicU64 = AtomicU64::new(0);

pub(crate) struct Knobs {
    pub(crate) dt: Knob<f64>,
    pub(crate) most: Knob<u32>,
    pub(crate) method: Knob<Method>,
    pub(crate) name: Knob<String>,
    pub(crate) stop: Knob<Stop>,
    pub(crate) adapt: Knob<bool>,
    pub(crate) energy: Knob<f64>,
}

impl Knobs {
    pub(crate) fn make() -> Knobs {
        let stop = Stop { tolerance: 1e-3, most: 7, label: "first".into() };
        let dt = Knob::options("solver.dt", 0.5).range(1e-6..=1.0).unit("s").description("length of a step");
        Action::options("checkpoint", || {
            CHECKPOINTS.fetch_add(1, Ordering::Relaxed);
        })
        .description("writes a checkpoint")
        .build()
        .unwrap();
        Knobs {
            dt: dt.build().unwrap(),
            most: Knob::options("solver.most", 100).range(1..1000).build().unwrap(),
            method: Knob::new("solver.method", Method::Cg).unwrap(),
            name: Knob::new("solver.name", "none".into()).unwrap(),
            stop: Knob::new("solver.stop", stop).unwrap(),
            adapt: Knob::new("solver.adapt", false).unwrap(),
            energy: Knob::options("solver.energy", 1.0).read_only().build().unwrap(),
        }
    }

    /// Whether all values are ones that they can be. Of texts and records all are.
    fn are_right(&self) -> bool {
        let (dt, most) = (self.dt.get(), self.most.get());
        let (_, _, _, _) = (self.method.get(), self.name.get(), self.stop.get(), self.adapt.get());
        (1e-6..=1.0).contains(&dt) && (1..1000).contains(&most) && self.energy.get() == 1.0
    }

    /// All values.
    pub(crate) fn show(&self) -> String {
        let (dt, most, method) = (self.dt.get(), self.most.get(), self.method.get());
        let (name, stop, adapt, energy) = (self.name.get(), self.stop.get(), self.adapt.get(), self.energy.get());
        let checkpoints = CHECKPOINTS.load(Ordering::Relaxed);
        format!("{dt} {most} {method:?} {name} {stop:?} {adapt} {energy} {checkpoints}")
    }
}

/// Does what comes on standard input.
pub(crate) fn obey() {
    let knobs = Knobs::make();
    say("ready");
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("show", _) => say(&format!("values {}", knobs.show())),
            ("point", _) => steering_point(),
            // Says what the step was made with.
            ("step", number) => {
                step(number.parse().unwrap());
                say(&format!("with {}", knobs.dt.get()));
            }
            ("energy", value) => knobs.energy.set(value.parse().unwrap()).unwrap(),
            ("patience", milliseconds) => {
                banyan_sensor::steering_patience(Duration::from_millis(milliseconds.parse().unwrap()));
            }
            ("off", _) => banyan_sensor::steering(Steering::Off),
            ("fork", _) => fork_and_obey(&knobs),
            _ => return,
        }
        say("done");
    }
}

/// Makes a child that shows its values when they change, and waits for its end.
fn fork_and_obey(knobs: &Knobs) {
    crate::forking::in_a_child(|| {
        say(&format!("child {}", knobs.dt.get()));
        while knobs.dt.get() == 0.5 {
            std::thread::yield_now();
        }
        say(&format!("child {}", knobs.dt.get()));
    });
}

/// Threads that get a record again and again until it has a number; torn ones are counted.
pub(crate) fn watch_a_record() {
    let knob = Knob::new("pair", Step::new(0)).unwrap();
    let torn = AtomicU64::new(0);
    let end = AtomicBool::new(false);
    say("ready");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !end.load(Ordering::Relaxed) {
                    let step = knob.get();
                    torn.fetch_add(u64::from(!step.is_whole()), Ordering::Relaxed);
                    if step.number == u64::MAX {
                        end.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    say(&format!("torn {}", torn.into_inner()));
    // Until it is ended.
    std::io::stdin().lock().lines().next();
}

/// Steps, gets and emits until it is ended; says how often a value was none that it can be.
pub(crate) fn step_steadily() {
    let knobs = Knobs::make();
    let sensor = Sensor::<Step>::options("step").always().build().unwrap();
    banyan_sensor::steering_patience(Duration::from_micros(200));
    let (wrong, steps) = (AtomicU64::new(0), AtomicU64::new(0));
    say("ready");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0.. {
                step(number);
                sensor.emit(&Step::new(number));
                wrong.fetch_add(u64::from(!knobs.are_right()), Ordering::Relaxed);
                steps.store(number, Ordering::Relaxed);
            }
        });
        scope.spawn(|| {
            loop {
                wrong.fetch_add(u64::from(!knobs.are_right()), Ordering::Relaxed);
                std::thread::yield_now();
            }
        });
        for _ in std::io::stdin().lock().lines().map_while(Result::ok) {
            // It goes on: there are more steps than before.
            let before = steps.load(Ordering::Relaxed);
            while steps.load(Ordering::Relaxed) == before {
                std::thread::yield_now();
            }
            say(&format!("wrong {}", wrong.load(Ordering::Relaxed)));
        }
        std::process::exit(0);
    });
}
