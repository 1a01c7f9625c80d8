//! Prints the residual of a solver, and halves its time step in all processes when it diverges.
//!
//! `halve_the_step` watches the solvers of this user on this machine; `halve_the_step HOST...` those on other hosts. Start
//! solvers with `halve_the_step solver`: theirs diverges with time steps above 0.3.

use std::time::Duration;

use banyan_monitor::{Job, Observer, ObserverOptions, When, become_probe_if_asked};
use banyan_ndr::Value;
use banyan_sensor::{Knob, Record, Sensor};

/// What the solver tells of each step.
#[derive(Record)]
struct Step {
    n: u64,
    residual: f64,
}

/// Above this the solver diverges.
const DIVERGES: f64 = 10.0;

/// How long processes may take to answer.
const LIMIT: Duration = Duration::from_secs(5);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    become_probe_if_asked();
    banyan_tree::become_agent_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["solver"] {
        return solve();
    }
    let job = Job::all().sensor("example.step");
    let observer = Observer::attach(&job, &ObserverOptions::default().hosts(arguments))?;
    let rows = observer.query("select max(residual), count() from example.step every 500ms")?;
    for row in rows.iter() {
        let Some(Value::F64(residual)) = row.get("max(residual)") else { continue };
        let bar = "#".repeat((residual.max(1e-6).log10() * 8.0 + 48.0).clamp(0.0, 80.0) as usize);
        show(&format!("{residual:10.3e} {bar}"));
        if *residual > DIVERGES {
            halve(&observer)?;
        }
    }
    Ok(())
}

/// Halves the time step, at the same step in all processes.
fn halve(observer: &Observer) -> Result<(), Box<dyn std::error::Error>> {
    let knobs = observer.knobs(LIMIT)?;
    let values =
        knobs.iter().filter(|knob| knob.name == "example.dt").filter_map(|knob| knob.value.parse::<f64>().ok());
    let Some(dt) = values.reduce(f64::min) else { return Ok(()) };
    let change = observer.set("example.dt", dt / 2.0, When::SameStep, LIMIT)?;
    show(&format!("it diverges: time step {} from step {:?} on, {change}", dt / 2.0, change.step));
    Ok(())
}

/// A solver whose residual grows while its time step is too large.
fn solve() -> Result<(), Box<dyn std::error::Error>> {
    let step = Sensor::<Step>::new("example.step")?;
    let dt = Knob::options("example.dt", 0.5).range(1e-6..=1.0).unit("s").build()?;
    let mut residual: f64 = 1.0;
    for n in 0.. {
        banyan_sensor::step(n);
        residual = (residual * if dt.get() > 0.3 { 1.01 } else { 0.99 }).clamp(1e-6, 1e6);
        step.emit(&Step { n, residual });
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example that people run")]
fn show(line: &str) {
    println!("{line}");
}
