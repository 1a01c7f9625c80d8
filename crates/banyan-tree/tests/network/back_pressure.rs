//! Members whose window is full because the front-end does not receive.

use std::time::{Duration, Instant};

use banyan_boot::ProcessDistribution;
use banyan_ndr::Record;
use banyan_tree::{Network, Stream, StreamOptions};

use crate::setup::{END, Order, SEND, SUMS, Sums, compute, deadline, expect_wave, options, this_program};

/// Far longer than a member needs to answer.
const LONG: Duration = Duration::from_secs(10);

/// A member whose second record was held back while the first filled the window may have been interrupted for so long
/// between the two that it had to wait in `send`. Hardly ever, and not so often.
const ATTEMPTS: u64 = 3;

struct Setting {
    network: Network,
    full: Stream,
    other: Stream,
}

impl Setting {
    /// A network of one member with a window of one record.
    fn new(behaviour: &str) -> Setting {
        Setting::with(behaviour, SUMS.into())
    }

    /// The same, with a stream of another kind.
    fn with(behaviour: &str, full: StreamOptions) -> Setting {
        let mut options = options("1x1");
        options.node.window_bytes = 1;
        let program = ProcessDistribution::new(this_program(), ["member", behaviour]);
        let network = Network::launch(&program, &options).unwrap();
        let everyone = network.everyone();
        let [full, other] = [full, SUMS.into()].map(|stream| network.open(&everyone, stream).unwrap());
        Setting { network, full, other }
    }

    /// Has the member fill its window; the first of the two waves that it has sent.
    fn fill(&self) -> u64 {
        for attempt in 0..ATTEMPTS {
            let first = 2 * attempt;
            self.full.send(SEND, &Order { first, waves: 2, pause: self.other.id().0 }).unwrap();
            if self.other.recv_timeout(Instant::now() + LONG).is_ok() {
                return first;
            }
            (first..first + 2).for_each(|number| _ = expect_wave(&self.full, number));
            // The answer, late.
            self.other.recv_timeout(deadline()).unwrap();
        }
        panic!("a member whose window is full does not receive");
    }
}

/// Has the member send from this record on until there is no room for one, with deadlines; which one that is.
fn send_until_full(setting: &Setting, kind: u64, first: u64) -> u64 {
    setting.full.send(SEND, &Order { first, waves: kind, pause: setting.other.id().0 }).unwrap();
    let next = setting.other.recv_timeout(deadline()).unwrap().read::<Sums>().unwrap().value as u64;
    assert!(next > first, "the record that found no room before is not sent: {next}");
    next
}

pub(crate) fn a_record_that_is_not_sent_before_the_deadline_is_not_sent_at_all() {
    for synchronisation in ["all", "none"] {
        let stream = StreamOptions::reduce(SUMS).synchronised(synchronisation.parse().unwrap());
        let setting = Setting::with("impatient", stream);
        let mut next = 0;
        for _ in 0..3 {
            let first = next;
            next = send_until_full(&setting, 0, first);
            (first..next).for_each(|number| _ = expect_wave(&setting.full, number));
        }
    }
}

#[derive(Record)]
struct Ones {
    #[record(rename = "sum(ones)")]
    ones: u64,
}

pub(crate) fn a_record_of_an_interval_that_is_not_sent_before_the_deadline_is_not_sent_at_all() {
    let stream = StreamOptions::reduce("sum(ones)").synchronised("interval time 1".parse().unwrap());
    let setting = Setting::with("impatient", stream);
    let expect_interval = |number: u64| {
        let wave = setting.full.recv_timeout(deadline()).unwrap();
        assert_eq!((wave.number(), wave.read::<Ones>().unwrap().ones), (number, 1));
    };
    let (mut taken, mut next) = (0, 0);
    for _ in 0..3 {
        next = send_until_full(&setting, 1, next);
        // The last one is not over.
        (taken..next - 1).for_each(expect_interval);
        taken = next - 1;
    }
    setting.other.send(END, &Order { first: 0, waves: 0, pause: 0 }).unwrap();
    expect_interval(taken);
}

pub(crate) fn members_that_write_much_which_nobody_takes_hold_up_no_wave() {
    let network =
        Network::launch(&ProcessDistribution::new(this_program(), ["member", "noisy"]), &options("2x2")).unwrap();
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    // Ten times as much as the front-end, links and pipes hold together.
    let waves = 100;
    stream.send(SEND, &Order { first: 0, waves, pause: 0 }).unwrap();
    (0..waves).for_each(|number| assert_eq!(expect_wave(&stream, number).members().len(), 4));
}

pub(crate) fn a_member_with_a_full_window_receives_in_time_and_loses_nothing() {
    let setting = Setting::new("fill-window");
    let first = setting.fill();
    (first..first + 2).for_each(|number| _ = expect_wave(&setting.full, number));
}

pub(crate) fn a_member_with_a_full_window_ends_in_time() {
    let setting = Setting::new("fill-window");
    setting.fill();
    setting.other.send(END, &Order { first: 0, waves: 0, pause: 0 }).unwrap();
    setting.network.flush().unwrap();
    let outcome = setting.network.session().wait_timeout(Instant::now() + LONG).expect("the member ends");
    assert_eq!(outcome.exit_status(), 0);
}

pub(crate) fn a_member_that_leaves_loses_nothing_that_it_has_sent() {
    let setting = Setting::new("leave");
    let first = setting.fill();
    setting.other.send(END, &Order { first: 0, waves: 0, pause: 0 }).unwrap();
    setting.network.flush().unwrap();
    // Longer than one waits that is only dropped.
    compute(Duration::from_millis(1_500));
    (first..first + 2).for_each(|number| _ = expect_wave(&setting.full, number));
    let outcome = setting.network.session().wait_timeout(deadline()).expect("the member ends");
    assert_eq!(outcome.exit_status(), 0);
}

pub(crate) fn a_member_that_cannot_leave_in_time_is_told() {
    let setting = Setting::new("leave-at-once");
    setting.fill();
    setting.other.send(END, &Order { first: 0, waves: 0, pause: 0 }).unwrap();
    setting.network.flush().unwrap();
    let outcome = setting.network.session().wait_timeout(deadline()).expect("the member ends");
    assert_ne!(outcome.exit_status(), 0);
}
