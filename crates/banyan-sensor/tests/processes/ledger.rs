//! Counts come out, whatever is asked for in which order.

use proptest::prelude::*;

use crate::child::Step;
use crate::harness::Program;

#[derive(Debug, Clone)]
enum Action {
    Emit(u32),
    OnAThread(u32),
    Drain(usize),
    Attach(usize),
    Detach(usize),
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        (1..8000u32).prop_map(Action::Emit),
        (1..3000u32).prop_map(Action::OnAThread),
        (0..3usize).prop_map(Action::Drain),
        (0..3usize).prop_map(Action::Attach),
        (0..3usize).prop_map(Action::Detach),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn emitted_is_delivered_and_dropped_for_every_observer(
        role in prop::sample::select(vec!["steps", "newest", "one_in_10", "latest", "always"]),
        actions in prop::collection::vec(action(), 1..40),
    ) {
        let mut program = Program::start_with(role, &[("BANYAN_SENSOR_RING", "65536")]);
        let mut observers = [const { None }; 3];
        for action in actions {
            let mut emitted = 0;
            match action {
                Action::Emit(count) => {
                    program.tell(&format!("emit {count}"));
                    emitted = u64::from(count);
                }
                Action::OnAThread(count) => {
                    program.tell(&format!("thread {count}"));
                    emitted = u64::from(count);
                }
                Action::Attach(index) => observers[index] = Some((program.observe("step"), 0, 0)),
                Action::Detach(index) => observers[index] = None,
                Action::Drain(index) => {
                    if let Some((observer, _, delivered)) = &mut observers[index] {
                        *delivered += observer.drain(|event| assert!(event.view::<Step>().unwrap().is_whole())).unwrap();
                        prop_assert_eq!(observer.accounts()[0].in_flight(), 0);
                    }
                }
            }
            for (observer, expected, delivered) in observers.iter_mut().flatten() {
                *expected += emitted;
                let account = observer.accounts().remove(0);
                prop_assert_eq!((account.emitted, account.delivered), (*expected, *delivered), "{:?}", account);
            }
        }
    }
}
