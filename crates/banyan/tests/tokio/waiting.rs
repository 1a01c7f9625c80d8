//! Front-ends and members that wait for each other in tasks.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use banyan::tokio::AsyncNetwork;
use banyan::{Launcher, Network, NetworkOptions, ProcessDistribution, Record, SessionOptions, StreamOptions, Wave};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process};
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;

use crate::harness::WAY;
use crate::harness::processes::{MARKER, marked, name, status};
use crate::member::Order;

/// The [way](WAY) of tests whose networks are over TCP alone.
pub(crate) const ONLY_TCP: &str = "only_tcp";

/// More than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// No member has this number.
const NOBODY: u32 = u32::MAX;

#[derive(Record)]
struct Sum {
    sum: u64,
}

const SUM: &str = "sum(one) as sum";

pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread().enable_io().build().expect("a runtime")
}

fn options(topology: &str) -> NetworkOptions {
    let session = SessionOptions::default().launcher(Launcher::Local).deadline(PATIENCE);
    let only_tcp = std::env::var(WAY).is_ok_and(|way| way == ONLY_TCP);
    NetworkOptions::default().topology(topology.parse().unwrap()).session(session).only_tcp(only_tcp)
}

fn launch(options: &NetworkOptions) -> AsyncNetwork {
    let members = ProcessDistribution::new(std::env::current_exe().unwrap(), ["member"]);
    AsyncNetwork::new(Network::launch(&members, options).unwrap()).unwrap()
}

fn assert_whole(wave: &Wave, number: u64, members: u64) {
    assert_eq!((wave.number(), wave.read::<Sum>().unwrap().sum), (number, members));
}

pub(crate) fn every_wave_is_found_while_other_tasks_run() {
    runtime().block_on(async {
        let network = launch(&options("2x4"));
        let stream = network.open(&network.everyone(), SUM).unwrap();
        let busy = tokio::spawn(async {
            loop {
                yield_now().await;
            }
        });
        stream.send(0, &Order { records: 2_000, all_but: NOBODY }).unwrap();
        for number in 0..2_000 {
            assert_whole(&network.recv_any().await.unwrap(), number, 8);
        }
        busy.abort();
        // Now nobody else wakes the task.
        for number in 2_000..2_100 {
            stream.send(0, &Order { records: 1, all_but: NOBODY }).unwrap();
            assert_whole(&network.next_wave(&stream).await.unwrap(), number, 8);
        }
    });
}

pub(crate) fn tasks_that_wait_for_different_streams_get_their_waves() {
    runtime().block_on(async {
        let network = Arc::new(launch(&options("2x4")));
        let waiting: Vec<_> = (0..4)
            .map(|_| {
                let network = Arc::clone(&network);
                tokio::spawn(async move {
                    let stream = network.open(&network.everyone(), SUM).unwrap();
                    for number in 0..300 {
                        stream.send(0, &Order { records: 1, all_but: NOBODY }).unwrap();
                        assert_whole(&network.next_wave(&stream).await.unwrap(), number, 8);
                    }
                })
            })
            .collect();
        for task in waiting {
            task.await.unwrap();
        }
    });
}

pub(crate) fn a_wave_that_another_task_took_in_is_found_at_once() {
    const WAVES: u64 = 20;
    runtime().block_on(async {
        let network = Arc::new(launch(&options("flat:1")));
        let [silent, stream] = [(); 2].map(|()| Arc::new(network.open(&network.everyone(), SUM).unwrap()));
        let found = Arc::new(AtomicU64::new(0));
        let task = tokio::spawn({
            let (network, stream, found) = (Arc::clone(&network), Arc::clone(&stream), Arc::clone(&found));
            async move {
                for number in 0..WAVES {
                    assert_whole(&network.next_wave(&stream).await.unwrap(), number, 1);
                    found.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        yield_now().await;
        let mut at_once = 0;
        for number in 0..WAVES {
            stream.send(0, &Order { records: 1, all_but: NOBODY }).unwrap();
            // Something has come, and tokio does not know yet.
            poll(&mut [PollFd::new(&**network, PollFlags::IN)], None).unwrap();
            let mut other = pin!(network.next_wave(&silent));
            let looked = poll_fn(|context| Poll::Ready(other.as_mut().poll(context).is_pending()));
            assert!(looked.await, "nobody sends on this stream");
            yield_now().await;
            at_once += u64::from(found.load(Ordering::Relaxed) > number);
            while found.load(Ordering::Relaxed) <= number {
                yield_now().await;
            }
        }
        task.await.unwrap();
        // What came first was not always a wave.
        assert!(at_once > WAVES / 2, "{at_once} of {WAVES}");
    });
}

pub(crate) fn a_wave_that_a_time_ends_is_found() {
    let mut options = options("flat:2");
    // Longer than the test may take: nothing else makes the descriptor ready.
    options.node.stopped = None;
    (options.heartbeat, options.silence) = (2 * PATIENCE, 4 * PATIENCE);
    runtime().block_on(async {
        let network = launch(&options);
        let timeout = StreamOptions::reduce(SUM).synchronised("timeout 200ms".parse().unwrap());
        let stream = network.open(&network.everyone(), timeout).unwrap();
        stream.send(0, &Order { records: 1, all_but: 1 }).unwrap();
        assert_whole(&network.next_wave(&stream).await.unwrap(), 0, 1);
    });
}

/// An agent of this test: the child of its keeper.
fn worker() -> Pid {
    let is_keepers = |pid: Pid| {
        status(pid).and_then(|(_, parent)| Pid::from_raw(parent)).is_some_and(|parent| name(parent) == "banyan-keeper")
    };
    let mut processes = marked(&std::env::var(MARKER).unwrap_or_default()).into_iter();
    processes.find(|pid| name(*pid) == "banyan-agent" && is_keepers(*pid)).expect("an agent")
}

pub(crate) fn a_member_that_waits_leaves_an_agent_that_is_stopped() {
    runtime().block_on(async {
        let network = launch(&options("2x2"));
        let stream = network.open(&network.everyone(), SUM).unwrap();
        stream.send(0, &Order { records: 1, all_but: NOBODY }).unwrap();
        assert_whole(&network.next_wave(&stream).await.unwrap(), 0, 4);
        let worker = worker();
        kill_process(worker, Signal::STOP).unwrap();
        // Its members find out that it is silent only by the clock.
        stream.send(0, &Order { records: 1, all_but: NOBODY }).unwrap();
        assert_whole(&network.next_wave(&stream).await.unwrap(), 1, 4);
        kill_process(worker, Signal::CONT).unwrap();
    });
}
