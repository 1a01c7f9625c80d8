//! Collectives and user data over real processes.

use std::time::Instant;

use banyan_boot::{Event, Session, SessionError, SessionOptions};

use crate::one_host::launch;
use crate::setup::{
    PATIENCE, all_succeed, assert_says, deadline, listen, members, options, outcome, shell, this_program, wait_for_line,
};

pub(crate) fn every_collective_gives_what_it_should_whatever_the_size() {
    all_succeed(launch(members(&["collectives"]), 8));
}

pub(crate) fn every_collective_works_over_agents_three_levels_deep() {
    let distribution = (0..8).fold(members(&["collectives"]), |members, host| members.on(format!("host{host}"), 2));
    let session = Session::launch(&[distribution], &SessionOptions { fanout: 2, ..options() }).unwrap();
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
    session.signal(libc::SIGKILL, Some([3].into_iter().collect()));
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
    session.signal(libc::SIGKILL, Some([0].into_iter().collect()));
    let heard = listen(&session);
    for rank in 1..4 {
        assert_says(&heard.text(rank), &["member 0 on host localhost killed by signal 9 (SIGKILL)"]);
    }
    assert_eq!(outcome(&session).exit_status(), 128 + 9);
}

/// Kibibytes that an agent may have had at most: a sixteenth of what went through it.
const AGENT_AT_MOST: u64 = 64 << 10;

pub(crate) fn a_broadcast_of_a_gibibyte_needs_little_memory_on_its_way() {
    let session = launch(members(&["gibibyte"]), 2);
    let answer = session.recv_user_data(Some(Instant::now() + 4 * PATIENCE)).unwrap();
    let most: Vec<u64> = String::from_utf8(answer).unwrap().split(' ').map(|most| most.parse().unwrap()).collect();
    assert!(most.len() == 2 && most.iter().all(|most| *most < AGENT_AT_MOST), "the agent had {most:?} KiB");
    all_succeed(session);
}

pub(crate) fn user_data_of_any_length_goes_both_ways() {
    let session = launch(members(&["echo"]), 2);
    for length in [1, 128 * 1024, 128 * 1024 + 1, 65 << 20] {
        let message: Vec<u8> = (0..length).map(|at: usize| (at % 251) as u8).collect();
        session.send_user_data(&message);
        let answer = session.recv_user_data(deadline()).unwrap();
        assert!(answer == message, "{} of {length} bytes came back", answer.len());
    }
    session.send_user_data(b"");
    assert_eq!(session.recv_user_data(deadline()).unwrap(), b"");
    all_succeed(session);
}

pub(crate) fn the_front_end_hears_that_the_master_ended() {
    let session = launch(shell("exit 4"), 1);
    let error = session.recv_user_data(deadline()).unwrap_err();
    assert!(matches!(error, SessionError::MasterEnded { .. }), "{error}");
    assert_says(&error.to_string(), &["the master", "exited with status 4"]);
    let exited = session.next_event(Some(Instant::now()));
    assert!(matches!(exited, Some(Event::Exited { rank: 0, .. })), "{exited:?}");
}
