//! Signals, exit states, time limits, and what is left when a session ends.

use std::time::{Duration, Instant};

use banyan_boot::{ExitState, ProcessDistribution, Session, SessionError};

use rustix::process::Pid;

use crate::harness::processes::{environment, words};
use crate::one_host::launch;
use crate::relatives::{agents, assert_alone, others, wait_until};
use crate::setup::{PATIENCE, all_succeed, listen, options, outcome, shell, wait_for_line};

pub(crate) fn signals_reach_those_they_are_meant_for() {
    let session =
        launch(shell("trap 'trap \"\" TERM; echo caught; exit 7' USR1; echo set; while :; do sleep 0.05; done"), 3);
    for _ in 0..3 {
        wait_for_line(&session, "set");
    }
    session.signal(libc::SIGUSR1, Some([1].into_iter().collect())).unwrap();
    wait_for_line(&session, "caught");
    let refused = session.signal(libc::SIGRTMIN(), None);
    assert!(matches!(refused, Err(SessionError::Signal(_))), "signals that cannot be sent are refused: {refused:?}");
    session.signal(libc::SIGTERM, None).unwrap();
    listen(&session);
    let term = ExitState::Signalled { signal: 15, core_dumped: false };
    assert_eq!(outcome(&session).states, [term.clone(), ExitState::Exited(7), term]);
}

pub(crate) fn exit_states_and_the_worst_of_them_are_reported() {
    let script = "echo $$ >/dev/null; exit $((RANK))";
    let images: Vec<ProcessDistribution> =
        (0..3).map(|rank| shell(script).env("RANK", rank.to_string()).on("localhost", 1)).collect();
    let session = Session::launch(&images, &options()).unwrap();
    let end = outcome(&session);
    assert_eq!(end.states, [ExitState::Exited(0), ExitState::Exited(1), ExitState::Exited(2)]);
    assert_eq!(end.exit_status(), 2);
    assert_eq!(end.failures().map(|(rank, _)| rank).collect::<Vec<_>>(), [1, 2]);

    let images = [shell("kill -SEGV $$").on("localhost", 1), shell("exit 200").on("localhost", 1)];
    let session = Session::launch(&images, &options()).unwrap();
    assert_eq!(outcome(&session).exit_status(), 128 + 11);
}

pub(crate) fn a_member_beyond_its_time_is_ended() {
    let mut members = shell("trap '' TERM; while :; do sleep 1000; done");
    members.limits = "time=1s".parse().unwrap();
    let polite = shell("sleep 1000; exit 0");
    let polite = polite.limits("time=1s".parse().unwrap());
    let tidy = shell("trap 'exit 0' TERM; sleep 1000 & wait");
    let tidy = tidy.limits("time=1s".parse().unwrap());
    // Somebody else's signal, long before its time is over.
    let killed = shell("kill -TERM $$");
    let killed = killed.limits("time=1000s".parse().unwrap());
    let images = [members, polite, tidy, killed, shell("true")].map(|image| image.on("localhost", 1));
    let session = Session::launch(&images, &options()).unwrap();
    listen(&session);
    let killed = ExitState::Signalled { signal: 15, core_dumped: false };
    let ended = ExitState::OutOfTime;
    assert_eq!(outcome(&session).states, [ended.clone(), ended.clone(), ended, killed, ExitState::Exited(0)]);
}

pub(crate) fn members_that_ignore_the_request_to_end_are_killed() {
    let session = launch(shell("trap '' TERM; echo deaf; while :; do sleep 1000; done"), 2);
    for _ in 0..2 {
        wait_for_line(&session, "deaf");
    }
    session.kill().unwrap();
    assert_alone(Duration::ZERO);
}

pub(crate) fn daemons_of_members_are_ended_with_the_session() {
    let daemon = "(setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 1000; done' &); exit 0";
    let session = launch(shell(daemon), 3);
    listen(&session);
    wait_until("there are daemons", Instant::now() + PATIENCE, || {
        others().iter().any(|pid| words(*pid).contains(&"1000".to_owned())).then_some(())
    });
    session.kill().unwrap();
    assert_alone(Duration::ZERO);
}

pub(crate) fn a_member_that_leaves_a_child_with_its_descriptors_has_ended() {
    // The child keeps standard output, standard error and the member's link open.
    let heard = all_succeed(launch(shell("sleep 1000 & echo gone"), 2));
    assert_eq!(heard.text(0), "gone\n");
    assert_alone(Duration::ZERO);
}

pub(crate) fn agents_and_keepers_are_called_by_what_they_are() {
    let session = Session::launch(&[shell("sleep 1000").on("host7", 1)], &options()).unwrap();
    let id = session.id().to_string()[..8].to_owned();
    let (keeper, worker) = agents()[0];
    let title = |pid| words(pid).remove(0);
    assert_eq!(title(worker), format!("banyan: agent 1 of session {id} on host7"));
    // Its worker tells it where they are.
    wait_until("the keeper knows its host", Instant::now() + PATIENCE, || {
        (title(keeper) == "banyan: keeper of host7").then_some(())
    });
    session.kill().unwrap();
}

pub(crate) fn the_process_table_has_every_member_with_its_process_host_agent_and_program() {
    let members = |host| shell("sleep 1000").on(host, 2);
    let session = Session::launch(&[members("host1"), members("host2")], &options()).unwrap();
    let table = session.processes();
    assert_eq!(table.to_string().lines().count(), 5, "{table}");
    for (rank, member) in (0u32..).zip(&table.members) {
        let (agent, host) = if rank < 2 { (1, "host1") } else { (2, "host2") };
        assert_eq!((member.rank, &*member.host, member.agent, &*member.image), (rank, host, agent, "/bin/sh"));
        let pid = Pid::from_raw(member.pid.unwrap() as i32).unwrap();
        let wanted = format!("BANYAN_RANK={rank}");
        // A process has its own environment once it has become the program.
        let has_rank = || environment(pid).split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes());
        wait_until("the process is that of the rank", Instant::now() + PATIENCE, || has_rank().then_some(()));
    }
    session.kill().unwrap();
}

pub(crate) fn orphans_of_members_are_reaped_while_the_session_runs() {
    let script = "for i in 1 2 3 4 5 6 7 8; do (setsid sleep 0.1 &); done; echo started; sleep 1000";
    let session = launch(shell(script), 2);
    for _ in 0..2 {
        wait_for_line(&session, "started");
    }
    let (_, worker) = agents()[0];
    wait_until("orphans are reaped", Instant::now() + PATIENCE, || {
        let children = format!("/proc/{0}/task/{0}/children", worker.as_raw_pid());
        let count = std::fs::read_to_string(children).unwrap().split_whitespace().count();
        // The two members stay.
        (count == 2).then_some(())
    });
}
