//! Collectives and user data over real processes.

use std::time::Instant;

use banyan_boot::{Event, Input, Output, Session, SessionError, Stdio};
use rustix::process::{Pid, Signal, kill_process};

use crate::one_host::launch;
use crate::relatives::parent;
use crate::setup::{
    Heard, PATIENCE, all_succeed, assert_says, deadline, hear, listen, members, options, outcome, shell, this_program,
    wait_for_line,
};

pub(crate) fn every_collective_gives_what_it_should_whatever_the_size() {
    all_succeed(launch(members(&["collectives"]), 8));
}

pub(crate) fn every_collective_works_over_agents_three_levels_deep() {
    let distribution = (0..8).fold(members(&["collectives"]), |members, host| members.on(format!("host{host}"), 2));
    let session = Session::launch(&[distribution], &options().fanout(2)).unwrap();
    all_succeed(session);
}

pub(crate) fn records_travel_through_collectives() {
    all_succeed(launch(members(&["records"]), 8));
}

pub(crate) fn a_thousand_members_meet_in_a_barrier() {
    let session = launch(members(&["meet"]), 1000);
    assert_eq!(session.size(), 1000);
    all_succeed(session);
}

pub(crate) fn small_collectives_give_what_they_should_whichever_way_their_frames_go() {
    all_succeed(launch(members(&["small"]), 20));
}

pub(crate) fn five_hundred_members_go_through_collectives() {
    all_succeed(launch(members(&["start"]), 500));
}

pub(crate) fn members_without_shared_memory_take_part_like_all_others() {
    // They have no descriptors left to take it by.
    let without = shell(&format!("ulimit -n 6; exec '{}' member small", this_program().display()));
    let images =
        [without.clone().on("localhost", 2), members(&["small"]).on("localhost", 5), without.on("localhost", 2)];
    all_succeed(Session::launch(&images, &options()).unwrap());
}

pub(crate) fn a_member_killed_between_small_collectives_fails_them_for_the_others() {
    let session = launch(members(&["rounds"]), 8);
    wait_for_line(&session, "all are here");
    session.signal(libc::SIGKILL, Some([3].into_iter().collect())).unwrap();
    let heard = listen(&session);
    for rank in (0..8).filter(|rank| *rank != 3) {
        assert_says(&heard.text(rank), &["member 3 on host localhost killed by signal 9 (SIGKILL)"]);
    }
    assert_eq!(outcome(&session).exit_status(), 128 + 9);
}

pub(crate) fn members_in_different_collectives_are_told_who_is_where() {
    let heard = all_succeed(launch(members(&["mismatch"]), 5));
    for rank in 0..5 {
        assert_says(&heard.text(rank), &["collective 0", "in barrier", "member 2 ", "in gather"]);
    }
}

pub(crate) fn a_member_that_ends_before_a_barrier_fails_it_for_the_others() {
    let session = launch(members(&["leave", "2"]), 4);
    let heard = listen(&session);
    for rank in [0, 1, 3] {
        assert_says(&heard.text(rank), &["member 2 on host localhost exited with status 3", "collective 1"]);
    }
    assert_eq!(outcome(&session).exit_status(), 3);
}

pub(crate) fn a_member_killed_while_others_wait_fails_the_barrier_for_them() {
    let session = launch(members(&["wait"]), 4);
    wait_for_line(&session, "all are here");
    session.signal(libc::SIGKILL, Some([0].into_iter().collect())).unwrap();
    let heard = listen(&session);
    for rank in 1..4 {
        assert_says(&heard.text(rank), &["member 0 on host localhost killed by signal 9 (SIGKILL)"]);
    }
    assert_eq!(outcome(&session).exit_status(), 128 + 9);
}

/// Four hosts with two members each, some of which are late; what the others say of them meanwhile.
fn with_late_members(late: &[&str], prepare: impl FnOnce(&Session)) -> (Session, Heard) {
    let behaviour = [&["late"], late].concat();
    let input = Stdio::default().input(Input::Everyone).output(Output::Forward);
    let members = (0..4).fold(members(&behaviour).stdio(input), |members, host| members.on(format!("host{host}"), 2));
    let options = options().fanout(2).silence(PATIENCE);
    let session = Session::launch(&[members], &options).unwrap();
    let mut heard = Heard::default();
    hear_until(&session, &mut heard, |heard| heard.output.len() == 8);
    prepare(&session);
    session.write_input(b"begin\n");
    let punctual = 8 - late.len();
    let has_waited =
        |heard: &Heard| heard.output.keys().filter(|rank| heard.text(**rank).contains("same call")).count();
    hear_until(&session, &mut heard, |heard| has_waited(heard) == punctual);
    (session, heard)
}

/// The late members come: everyone meets, and whatever is called then gives what it should.
fn all_meet(session: Session) {
    session.write_input(b"go on\n");
    let heard = all_succeed(session);
    (0..8).for_each(|rank| assert_says(&heard.text(rank), &["met"]));
}

fn hear_until(session: &Session, heard: &mut Heard, is_enough: impl Fn(&Heard) -> bool) {
    let deadline = deadline();
    while !is_enough(heard) {
        let event = session
            .recv_event_timeout(deadline)
            .unwrap_or_else(|error| panic!("nothing more came, {error}: {heard:?}"));
        hear(heard, session, event);
    }
}

pub(crate) fn a_barrier_that_takes_too_long_names_those_who_are_late_and_completes_when_they_come() {
    let (session, heard) = with_late_members(&["1", "4", "5", "6"], |_| {});
    for rank in [0, 2, 3, 7] {
        assert_says(
            &heard.text(rank),
            &[
                "barrier 1: no answer in 1 s: members 1,4-6 have not entered\n",
                "collective 1 (barrier) has not ended; make the same call again to go on waiting for it\n",
            ],
        );
    }
    all_meet(session);
}

pub(crate) fn an_agent_that_does_not_say_who_is_late_is_named() {
    let agent = std::cell::Cell::new(None);
    let (session, heard) = with_late_members(&["2", "6", "7"], |session| {
        let process = session.processes().members[6].pid.unwrap();
        agent.set(parent(Pid::from_raw(process.cast_signed()).unwrap()));
        kill_process(agent.get().unwrap(), Signal::STOP).unwrap();
    });
    for rank in [0, 1, 3, 4, 5] {
        let said = "barrier 1: no answer in 1 s: member 2 has not entered; members 6-7 are unknown: no answer from the agent on host3\n";
        assert_says(&heard.text(rank), &[said]);
    }
    kill_process(agent.get().unwrap(), Signal::CONT).unwrap();
    all_meet(session);
}

/// Kibibytes that an agent may have had at most: a sixteenth of what went through it.
const AGENT_AT_MOST: u64 = 64 << 10;

pub(crate) fn a_broadcast_of_a_gibibyte_needs_little_memory_on_its_way() {
    let session = launch(members(&["gibibyte"]), 2);
    let answer = session.recv_user_data_timeout(Instant::now() + 4 * PATIENCE).unwrap();
    let most: Vec<u64> = String::from_utf8(answer).unwrap().split(' ').map(|most| most.parse().unwrap()).collect();
    assert!(most.len() == 2 && most.iter().all(|most| *most < AGENT_AT_MOST), "the agent had {most:?} KiB");
    all_succeed(session);
}

pub(crate) fn user_data_of_any_length_goes_both_ways() {
    let session = launch(members(&["echo"]), 2);
    for length in [1, 128 * 1024, 128 * 1024 + 1, 65 << 20] {
        let message: Vec<u8> = (0..length).map(|at: usize| (at % 251) as u8).collect();
        session.send_user_data(&message);
        let answer = session.recv_user_data_timeout(deadline()).unwrap();
        assert!(answer == message, "{} of {length} bytes came back", answer.len());
    }
    session.send_user_data(b"");
    assert_eq!(session.recv_user_data_timeout(deadline()).unwrap(), b"");
    all_succeed(session);
}

pub(crate) fn the_front_end_hears_that_the_master_ended() {
    let session = launch(shell("exit 4"), 1);
    let error = session.recv_user_data_timeout(deadline()).unwrap_err();
    assert!(matches!(error, SessionError::MasterEnded { .. }), "{error}");
    assert_says(&error.to_string(), &["the master", "exited with status 4"]);
    let exited = session.try_recv_event();
    assert!(matches!(exited, Ok(Some(Event::Exited { rank: 0, .. }))), "{exited:?}");
}
