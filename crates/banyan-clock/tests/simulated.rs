//! Clocks that are off by hours, run fast and slow and wander, and networks with unequal ways: the bound holds always.

use banyan_clock::{Estimate, Exchange, Limits, Observed, PeerClock};
use proptest::prelude::*;

const SECOND: f64 = 1e9;

/// A clock of a simulated host, as a function of true time. Its rate changes slowly.
struct Clock {
    shown: f64,
    rate: f64,
    wander: f64,
}

impl Clock {
    fn pass(&mut self, seconds: f64, turn: f64) {
        // Exactly as it would with a rate that changes evenly: by half of the change on the way.
        let change = turn * self.wander * seconds;
        self.shown += seconds * SECOND + seconds * (self.rate + change / 2.0);
        self.rate += change;
    }

    fn shows(&self) -> i64 {
        self.shown as i64
    }
}

/// What happens between two exchanges.
#[derive(Debug, Clone)]
struct Step {
    pause: f64,
    /// Of the way there, the answering, and the way back, in nanoseconds.
    delays: [f64; 3],
    turns: [f64; 2],
    is_lost: bool,
}

fn steps(most: f64) -> impl Strategy<Value = Vec<Step>> {
    let delay = prop_oneof![4 => 10e3..60e3, 1 => 10e3..5e6];
    let step = (0.1..most, [delay.clone(), delay.clone(), delay], [-1.0..1.0, -1.0..1.0], prop::bool::weighted(0.1));
    let step = step.prop_map(|(pause, delays, turns, is_lost)| Step { pause, delays, turns, is_lost });
    prop::collection::vec(step, 2..120)
}

/// Two clocks that keep the default limits together: each half of them.
fn clocks() -> impl Strategy<Value = [Clock; 2]> {
    let clock = || (-3.6e12..3.6e12, -100e3..100e3).prop_map(|(shown, rate)| Clock { shown, rate, wander: 9.0 });
    [clock(), clock()].prop_map(|clocks: [Clock; 2]| clocks)
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} + {} ns/s", self.shown, self.rate)
    }
}

fn pass(clocks: &mut [&mut Clock], seconds: f64, turns: &[f64]) {
    for (clock, turn) in clocks.iter_mut().zip(turns) {
        clock.rate = clock.rate.clamp(-100e3, 100e3);
        clock.pass(seconds, *turn);
    }
}

fn holds(estimate: &Estimate, own: &Clock, peer: &Clock) -> Result<(), TestCaseError> {
    let ahead = peer.shown - own.shown;
    let (low, high) = (estimate.low as f64 - 2.0, estimate.high as f64 + 2.0);
    prop_assert!((low..=high).contains(&ahead), "{ahead} is not within {low} and {high}");
    let time = estimate.correct(peer.shows());
    prop_assert!((time.time - own.shows()).abs() <= time.bound + 2, "{time:?} is {}", own.shows());
    Ok(())
}

/// One exchange; nothing if it is lost.
fn exchange(own: &mut Clock, peer: &mut Clock, step: &Step) -> Option<Exchange> {
    pass(&mut [own, peer], step.pause, &step.turns);
    let sent = own.shows();
    pass(&mut [own, peer], step.delays[0] / SECOND, &step.turns);
    let heard = peer.shows();
    pass(&mut [own, peer], step.delays[1] / SECOND, &step.turns);
    let answered = peer.shows();
    pass(&mut [own, peer], step.delays[2] / SECOND, &step.turns);
    (!step.is_lost).then_some(Exchange { sent, heard, answered, received: own.shows() })
}

proptest! {
    #[test]
    fn the_bound_holds_at_every_exchange_and_long_after([mut own, mut peer] in clocks(), steps in steps(20.0)) {
        let mut seen = PeerClock::new(Limits::default());
        for step in &steps {
            if let Some(exchange) = exchange(&mut own, &mut peer, step) {
                prop_assert_eq!(seen.observe(&exchange), Ok(Observed::Agrees));
            }
            if let Some(estimate) = seen.estimate(own.shows()) {
                holds(&estimate, &own, &peer)?;
            }
        }
        for step in &steps[..2] {
            pass(&mut [&mut own, &mut peer], 10.0 * step.pause, &step.turns);
            if let Some(estimate) = seen.estimate(own.shows()) {
                holds(&estimate, &own, &peer)?;
            }
        }
    }

    #[test]
    fn the_bound_holds_along_a_path_of_hosts([mut root, mut agent] in clocks(), [_, mut leaf] in clocks(), steps in steps(5.0)) {
        let (mut of_agent, mut of_leaf) = (PeerClock::new(Limits::default()), PeerClock::new(Limits::default()));
        for step in &steps {
            let pause = step.turns[0];
            if let Some(exchange) = exchange(&mut root, &mut agent, step) {
                of_agent.observe(&exchange).unwrap();
            }
            let both = step.pause + step.delays.iter().sum::<f64>() / SECOND;
            leaf.pass(both, pause);
            if let Some(exchange) = exchange(&mut agent, &mut leaf, step) {
                of_leaf.observe(&exchange).unwrap();
            }
            root.pass(both, pause);
            if let (Some(agents), Some(leafs)) = (of_agent.estimate(root.shows()), of_leaf.estimate(agent.shows())) {
                holds(&leafs.then(&agents), &root, &leaf)?;
            }
        }
    }

    #[test]
    fn a_clock_that_is_set_is_noticed_and_known_again([mut own, mut peer] in clocks(), steps in steps(2.0), by in 1e7..1e12) {
        let mut seen = PeerClock::new(Limits::default());
        let mut known = 0;
        for (number, step) in steps.iter().enumerate() {
            if number == steps.len() / 2 {
                peer.shown += by;
            }
            let Some(exchange) = exchange(&mut own, &mut peer, step) else { continue };
            match seen.observe(&exchange).unwrap() {
                Observed::Step { by: shown } => {
                    prop_assert!(f64::abs(shown as f64 - by) < 1e7, "{shown} is not {by}");
                    known += 1;
                }
                other => prop_assert_eq!(other, Observed::Agrees),
            }
            holds(&seen.estimate(own.shows()).unwrap(), &own, &peer)?;
        }
        prop_assert!(known <= 1 && seen.steps() == known);
    }

    #[test]
    fn no_times_make_it_panic(times in prop::collection::vec(any::<[i64; 4]>(), 1..40), at in any::<i64>()) {
        let mut seen = PeerClock::new(Limits::default());
        for [sent, heard, answered, received] in times {
            let _ = seen.observe(&Exchange { sent, heard, answered, received });
            if let Some(estimate) = seen.estimate(at) {
                let _ = (estimate.correct(sent), estimate.then(&estimate), estimate.and(&estimate.at(heard)));
            }
        }
    }
}

#[test]
fn quiet_links_give_the_offset_to_a_small_part_of_the_round_trip() {
    // 40 µs there and 60 back; the peer is 50 millionths fast. An exchange a second for two minutes.
    let (mut own, mut peer) =
        (Clock { shown: 0.0, rate: 0.0, wander: 0.0 }, Clock { shown: 9e12, rate: 50e3, wander: 0.0 });
    let mut seen = PeerClock::new(Limits::default());
    let step = Step { pause: 1.0, delays: [40e3, 5e3, 60e3], turns: [0.0, 0.0], is_lost: false };
    for _ in 0..120 {
        let exchange = exchange(&mut own, &mut peer, &step).unwrap();
        seen.observe(&exchange).unwrap();
    }
    let now = seen.estimate(own.shows()).unwrap();
    assert!(now.bound() <= 51_000, "{now:?}");
    assert!((now.drift() - 50e3).abs() <= 5_000.0, "{now:?}");
    let later = seen.estimate(own.shows() + 1_000_000_000).unwrap();
    assert!(later.bound() <= 60_000, "{later:?}");
}

/// Messages between processes whose corrected clocks are wrong by a little: their order is theirs, each cause is before its
/// effect, and nothing is lost.
mod order {
    use banyan_clock::{Cause, Corrected, Event, Timeline};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn causes_come_before_effects_and_nothing_is_lost(
            acts in prop::collection::vec((0_u32..5, prop::option::weighted(0.4, 0_u32..5), -50_i64..50), 1..200),
            most in prop_oneof![Just(1_000_usize), 1_usize..20],
        ) {
            let mut timeline = Timeline::new(most);
            (0..5).for_each(|source| timeline.join(source));
            let mut numbers = [0_u64; 5];
            let mut out = Vec::new();
            for (time, (source, cause, error)) in (0..).step_by(20).zip(&acts) {
                let cause = cause.filter(|cause| numbers[*cause as usize] > 0);
                let cause = cause.map(|cause| Cause { source: cause, sequence: numbers[cause as usize] - 1 });
                let corrected = Corrected { time: time + error + i64::from(*source) * 30, bound: 200 };
                let number = &mut numbers[*source as usize];
                timeline.push(*source, Event { sequence: *number, time: corrected, cause, what: () });
                *number += 1;
                out.extend(std::iter::from_fn(|| timeline.next_final()));
            }
            (0..5).for_each(|source| timeline.leave(source));
            out.extend(std::iter::from_fn(|| timeline.next_final()));
            prop_assert_eq!(out.len(), acts.len());
            prop_assert!(out.is_sorted_by_key(|next| next.at));
            let position = |source, sequence| out.iter().position(|next| (next.source, next.event.sequence) == (source, sequence));
            for (at, next) in out.iter().enumerate() {
                let before = next.event.sequence.checked_sub(1).and_then(|before| position(next.source, before));
                prop_assert!(before.is_none_or(|before| before < at));
                if let Some(cause) = next.event.cause {
                    prop_assert!(position(cause.source, cause.sequence).is_some_and(|cause| cause < at));
                }
            }
            prop_assert!(most < 1_000 || timeline.counts().early == 0);
        }
    }
}
