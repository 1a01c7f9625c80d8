//! Sessions on this machine, with real agents and members: what works, and what happens when things go wrong.
//!
//! This program is the tests, and when it is started as such the agent, the member and the front-end of a session.

#[path = "../harness/mod.rs"]
mod harness;

mod allocations;
mod asked_member;
mod attacks;
mod collectives;
mod endings;
mod extended_member;
mod extensions;
mod front_end;
mod guards;
mod launching;
mod layouts;
mod listeners;
mod losses;
mod member;
mod network;
mod one_host;
mod protocols;
mod relatives;
mod rogues;
mod setup;
mod starts;
mod streams;
mod uploads;

use std::process::ExitCode;

fn main() -> ExitCode {
    // A program without extension, which some sessions ask for.
    if std::env::var_os("BANYAN_TEST_PLAIN").is_some() {
        banyan_boot::become_agent_if_asked();
    }
    banyan_boot::become_agent_if_asked_with(|| Box::new(network::Extension::default()), network::guard);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["member", "extended"] => extended_member::run(),
        ["member", "asked"] => asked_member::run(),
        ["member", ref rest @ ..] => member::run(rest),
        ["rogue", about] => rogues::run(about),
        ["bare-member", capability] => protocols::run(capability),
        ["front-end", ref rest @ ..] => front_end::run(rest),
        ["launching-front-end", launcher] => launching::run(launcher),
        ["hurried-front-end"] => launching::run_hurried(),
        ["ssh-front-end", script] => uploads::run(script),
        ["extended-front-end"] => front_end::run_extended(None),
        ["extended-front-end", note] => front_end::run_extended(Some(note)),
        _ => harness::run(TESTS, None, &[harness::ONE]),
    }
}

const TESTS: &[harness::Test] = tests![
    collectives::every_collective_gives_what_it_should_whatever_the_size,
    collectives::every_collective_works_over_agents_three_levels_deep,
    collectives::records_travel_through_collectives,
    collectives::a_thousand_members_meet_in_a_barrier,
    collectives::small_collectives_give_what_they_should_whichever_way_their_frames_go,
    collectives::five_hundred_members_go_through_collectives,
    collectives::members_without_shared_memory_take_part_like_all_others,
    collectives::a_member_killed_between_small_collectives_fails_them_for_the_others,
    collectives::members_in_different_collectives_are_told_who_is_where,
    collectives::a_member_that_ends_before_a_barrier_fails_it_for_the_others,
    collectives::a_member_killed_while_others_wait_fails_the_barrier_for_them,
    collectives::a_barrier_that_takes_too_long_names_those_who_are_late_and_completes_when_they_come,
    collectives::an_agent_that_does_not_say_who_is_late_is_named,
    collectives::a_broadcast_of_a_gibibyte_needs_little_memory_on_its_way,
    collectives::user_data_of_any_length_goes_both_ways,
    collectives::the_front_end_hears_that_the_master_ended,
    starts::members_that_exit_at_once_are_all_reported,
    starts::an_executable_that_is_missing_is_named_with_the_remedy,
    starts::a_file_that_may_not_be_executed_is_named_with_the_remedy,
    starts::a_working_directory_that_is_missing_is_named,
    starts::members_have_the_environment_and_directory_they_were_given,
    starts::several_images_share_one_session,
    starts::programs_that_are_no_agents_are_an_error_that_says_so,
    starts::an_agent_that_never_answers_is_given_up,
    starts::an_agent_that_ignores_requests_to_end_is_killed,
    starts::an_agent_without_descriptors_says_so,
    starts::a_front_end_without_descriptors_says_so,
    starts::a_front_end_that_cannot_work_is_no_host_to_do_without,
    starts::enough_hosts_are_enough,
    starts::nothing_runs_where_one_of_several_hosts_cannot_be_reached,
    starts::members_that_do_not_need_each_other_go_on_without_one_that_cannot_be_started,
    starts::hosts_without_members_are_no_obstacle,
    starts::host_names_that_look_like_options_are_refused,
    allocations::who_waits_in_a_queue_is_told_and_a_cancelled_allocation_is_named,
    launching::a_front_end_killed_while_it_launches_leaves_nothing,
    launching::a_front_end_asked_to_end_while_it_launches_leaves_nothing,
    launching::a_launch_whose_time_is_over_names_who_did_not_answer,
    launching::a_front_end_killed_before_any_agent_came_leaves_no_roster,
    uploads::members_have_the_mask_of_the_login_whether_the_program_is_there_or_not,
    uploads::a_program_that_was_damaged_in_its_cache_is_asked_for_anew,
    uploads::no_program_is_started_from_a_directory_that_others_may_write_to,
    streams::output_arrives_whole_labelled_and_before_the_exit,
    streams::what_nobody_takes_is_written_to_standard_error_behind_rank_and_host,
    streams::a_plain_program_inherits_its_standard_streams_and_no_other_descriptor,
    streams::the_last_line_needs_no_end,
    streams::five_megabytes_of_one_member_arrive_whole,
    streams::bytes_without_any_line_arrive_as_they_were_written,
    streams::a_front_end_that_does_not_listen_slows_members_and_loses_nothing,
    streams::standard_input_reaches_everyone,
    streams::standard_input_for_the_master_reaches_nobody_else,
    streams::ten_megabytes_of_standard_input_arrive_whole,
    streams::a_member_that_does_not_read_holds_up_no_output_of_others,
    endings::signals_reach_those_they_are_meant_for,
    endings::exit_states_and_the_worst_of_them_are_reported,
    endings::a_member_beyond_its_time_is_ended,
    endings::members_that_ignore_the_request_to_end_are_killed,
    endings::daemons_of_members_are_ended_with_the_session,
    endings::a_member_that_leaves_a_child_with_its_descriptors_has_ended,
    endings::agents_and_keepers_are_called_by_what_they_are,
    endings::the_process_table_has_every_member_with_its_process_host_agent_and_program,
    endings::orphans_of_members_are_reaped_while_the_session_runs,
    losses::a_killed_agent_takes_its_members_along_and_is_reported,
    losses::a_killed_keeper_takes_the_agent_and_its_members_along,
    losses::a_killed_agent_in_the_middle_takes_its_subtree_along,
    losses::a_killed_front_end_leaves_nothing,
    losses::a_stopped_front_end_leaves_nothing_but_itself,
    losses::a_front_end_that_has_said_so_may_be_stopped_for_longer_than_its_silence,
    losses::a_front_end_that_is_killed_in_its_pause_leaves_nothing,
    losses::a_front_end_whose_terminal_is_closed_leaves_nothing,
    losses::members_of_a_lost_agent_are_missed_in_collectives,
    protocols::a_member_without_a_capability_is_not_offered_what_it_is_for,
    protocols::an_agent_of_a_later_protocol_is_refused,
    protocols::a_member_of_a_later_protocol_is_named_and_ended,
    protocols::a_member_is_told_that_its_agent_speaks_a_later_protocol,
    protocols::a_process_of_a_later_protocol_does_not_attach_and_is_counted,
    rogues::an_agent_that_writes_in_the_name_of_other_members_is_cut_off,
    rogues::an_agent_that_speaks_for_a_master_it_does_not_have_is_cut_off,
    rogues::an_agent_that_opens_the_doors_of_others_is_cut_off,
    rogues::an_agent_that_claims_more_than_its_members_is_cut_off,
    rogues::an_agent_that_sends_bytes_for_a_tunnel_it_never_opened_is_cut_off_and_nobody_else,
    rogues::an_agent_that_opens_too_many_tunnels_is_cut_off_and_nobody_else,
    rogues::an_agent_that_sends_more_than_the_window_of_a_tunnel_is_cut_off_and_nobody_else,
    rogues::an_agent_that_acknowledges_bytes_of_a_tunnel_that_it_was_not_sent_is_cut_off_and_nobody_else,
    rogues::an_agent_that_opens_a_tunnel_where_there_is_no_extension_is_cut_off,
    rogues::no_secret_stands_in_arguments_or_in_an_environment,
    attacks::strangers_at_all_listeners_change_nothing_and_are_counted,
    layouts::agents_are_where_the_layout_has_them,
    layouts::agents_are_balanced_where_there_is_no_layout,
    layouts::layouts_that_cannot_be_are_refused_with_the_reason,
    extensions::the_extension_of_each_agent_is_told_who_it_is_and_gets_the_note_of_the_one_above,
    extensions::members_speak_with_the_extension_of_their_agent,
    extensions::members_that_attach_get_the_note_of_their_agent,
    extensions::members_of_a_session_without_extension_get_no_socket_of_one,
    extensions::bytes_go_through_tunnels_to_the_node_above_and_back,
    extensions::a_tunnel_that_leads_nowhere_is_closed,
    extensions::a_program_without_the_extension_is_named_with_the_remedy,
    extensions::an_extension_that_cannot_begin_says_why,
    extensions::an_extension_ends_its_agents_when_it_is_over,
    guards::members_and_agents_below_a_killed_agent_live_on_until_it_is_over,
    guards::the_end_of_a_session_ends_those_who_are_guarded,
    guards::members_that_are_guarded_may_end_by_themselves,
    guards::the_members_of_an_agent_that_panics_live_on,
    guards::the_members_of_an_agent_that_exits_live_on,
    guards::a_guard_that_fails_leaves_nothing,
    guards::an_agent_that_is_asked_to_end_is_not_guarded,
    guards::a_killed_keeper_takes_nobody_with_it,
    guards::a_front_end_that_counts_as_lost_ends_everything_when_it_goes_on,
    guards::a_killed_front_end_leaves_nothing_though_an_agent_is_guarded,
];
