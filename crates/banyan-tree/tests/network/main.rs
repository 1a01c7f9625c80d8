//! Networks on this machine, with real agents and members, and with some of them killed.
//!
//! This program is the tests, and when it is started as such the agent, the member and the front-end of a network. Every test
//! runs in two networks: one as networks are on one machine, and one over TCP alone.

#[path = "../../../banyan-boot/tests/harness/mod.rs"]
mod harness;
#[path = "../../../banyan-boot/tests/sessions/relatives.rs"]
mod relatives;

mod attached;
mod back_pressure;
mod chosen;
mod clocks;
mod event_loops;
mod filters;
mod front_end;
mod hostile;
#[path = "../hostile/mod.rs"]
mod hostile_member;
mod known_filters;
mod launches;
mod losses;
mod member;
mod protocols;
mod setup;
mod sifting;
mod stopped;
mod strangers;
mod streams;
mod synchronisations;
mod tagged;
mod unanswered;
mod wide;

use std::process::ExitCode;

fn main() -> ExitCode {
    banyan_tree::register_filters(known_filters::known_filters());
    banyan_tree::become_agent_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["formats", count, hostile] => hostile::run_with_formats(count, hostile),
        ["hostile", behaviour] => hostile::run(behaviour),
        ["misuse", misuse] => hostile::run_misuse(misuse),
        ["member", behaviour] => member::run(behaviour),
        ["wide"] => wide::run(),
        ["front-end", topology] => front_end::run(topology),
        _ => harness::run(TESTS, None, &[harness::ONE, setup::ONLY_TCP]),
    }
}

const TESTS: &[harness::Test] = tests![
    streams::the_maximum_of_all_members_comes_with_whose_it_is,
    streams::a_tree_of_three_levels_gives_what_a_flat_one_gives,
    streams::ten_thousand_waves_come_in_order_and_are_the_sums_of_their_members,
    streams::streams_have_their_own_members_and_order,
    streams::the_next_wave_of_any_stream_says_of_which_it_is,
    streams::records_without_compiled_types_are_sent_and_read_at_both_ends,
    streams::arrays_of_a_megabyte_are_summed_element_by_element,
    streams::members_that_send_other_formats_are_reduced_alike,
    streams::members_that_lack_a_field_are_in_the_waves_of_others,
    streams::fields_that_members_lack_are_told_once_also_when_agents_die,
    wide::records_of_twenty_thousand_fields_are_described_once_and_reduced,
    wide::records_of_twenty_thousand_fields_pass_agents_as_they_are,
    streams::members_that_agents_start_learn_nothing_but_by_their_sockets,
    streams::a_member_that_never_joins_is_named,
    streams::a_member_that_ends_before_it_joins_is_named_at_once_with_its_last_words,
    streams::a_slow_front_end_slows_members_and_loses_nothing,
    streams::several_threads_wait_at_once,
    streams::every_member_gets_its_own_part_of_a_scatter,
    chosen::a_record_for_some_members_reaches_these_in_order_and_nobody_else,
    chosen::agents_without_chosen_members_get_no_frame_and_hold_nobody_up,
    chosen::records_for_some_members_come_once_and_in_order_when_agents_are_killed,
    chosen::a_record_for_members_of_whom_some_are_lost_reaches_the_others,
    tagged::a_wave_has_the_tag_of_its_lowest_rank,
    tagged::records_without_waves_have_their_own_tags_when_an_agent_is_killed,
    streams::every_node_says_what_it_has_done_and_where_it_is,
    clocks::nodes_of_one_host_know_that_they_have_one_clock_and_ask_no_more,
    clocks::members_with_other_clocks_know_that_of_the_front_end,
    clocks::agents_with_other_clocks_know_each_others_also_when_one_of_them_is_killed,
    protocols::a_member_of_a_later_protocol_is_named_with_its_host,
    protocols::a_member_is_told_that_its_network_speaks_a_later_protocol,
    hostile::a_hostile_member_is_named_and_no_wave_is_wrong,
    hostile::a_member_that_misuses_its_link_is_named_or_lost_and_no_wave_is_wrong,
    hostile::a_member_that_sends_too_many_formats_is_named_and_agents_stay,
    hostile::many_formats_of_several_members_pass_their_agents,
    strangers::strangers_who_connect_to_a_network_are_counted_and_change_nothing,
    event_loops::waves_are_found_by_whoever_watches_the_descriptor,
    event_loops::those_who_are_adrift_are_not_waited_for_longer_by_an_event_loop,
    event_loops::the_descriptor_is_readable_when_a_time_is_over,
    streams::members_that_join_late_are_members_of_their_agent,
    streams::records_of_all_lengths_keep_their_order,
    streams::what_members_send_on_a_stream_that_was_closed_is_dropped_and_counted,
    streams::a_word_to_one_member_is_heard_while_the_others_sleep,
    streams::a_member_that_writes_nonsense_to_shared_memory_harms_nobody_else,
    streams::no_member_can_write_where_another_ones_records_are,
    streams::a_member_that_spoils_what_all_announce_themselves_by_changes_no_wave_and_silences_nobody,
    filters::what_goes_down_passes_a_filter_at_every_level,
    filters::every_level_may_have_its_own_filters,
    filters::members_put_records_of_intervals_together_by_their_own_filters,
    filters::a_filter_that_fails_at_an_agent_is_told_to_the_front_end,
    filters::a_filter_that_fails_on_the_way_down_is_an_error_in_place_of_the_record,
    filters::a_filter_that_panics_at_an_agent_is_told_and_the_wave_goes_on_in_parts,
    filters::a_filter_that_panics_at_the_front_end_or_at_a_member_fails_once,
    filters::a_filter_that_panics_on_the_way_down_is_told_and_an_error_in_place_of_the_record,
    filters::a_filter_that_ends_its_agent_ends_none_of_its_members,
    synchronisations::a_slow_member_is_missing_in_waves_that_do_not_wait_for_it,
    synchronisations::a_member_that_was_late_once_is_in_waves_again_although_it_only_sends,
    synchronisations::records_that_wait_for_nobody_all_come,
    synchronisations::records_that_are_sent_faster_than_they_are_taken_all_come,
    synchronisations::records_of_an_agent_that_is_killed_all_come_once_and_in_order,
    sifting::filters_without_waves_make_none_or_several_records_of_each,
    sifting::records_that_filters_made_come_once_and_in_order_when_agents_die,
    sifting::a_record_that_a_filter_fails_in_goes_on_unfiltered_and_is_told,
    synchronisations::records_that_are_lost_with_an_agent_are_counted_by_every_node,
    synchronisations::records_are_put_together_by_intervals_of_a_field,
    synchronisations::all_records_of_a_wave_can_be_collected,
    synchronisations::intervals_in_which_a_member_has_nothing_do_not_wait_for_it,
    synchronisations::intervals_that_a_member_passes_over_do_not_wait_for_it,
    synchronisations::times_of_day_have_intervals_from_a_start_on,
    synchronisations::a_time_of_day_without_a_start_is_refused_with_the_remedy,
    losses::an_agent_killed_between_waves_loses_none_of_them,
    losses::a_killed_keeper_takes_nobody_with_it,
    losses::a_terminated_keeper_ends_its_members_and_nobody_waits_for_them,
    losses::members_that_die_together_with_their_agent_are_not_waited_for,
    losses::an_agent_killed_while_arrays_are_on_their_way_loses_none_of_them,
    losses::members_that_join_are_one_report,
    losses::agents_are_told_to_join_and_to_be_lost,
    losses::what_a_filter_knew_at_a_killed_agent_is_told_to_be_lost,
    losses::agents_of_256_members_killed_during_pipelined_waves_lose_none,
    losses::all_agents_below_the_front_end_killed_at_once_lose_no_wave,
    losses::a_stopped_agent_is_left_and_taken_back,
    losses::members_that_leave_a_stopped_agent_are_not_taken_for_dead,
    losses::an_agent_that_was_stopped_does_not_end_its_members_while_the_front_end_computes,
    losses::a_member_that_died_while_an_agent_was_stopped_is_not_waited_for_when_the_agent_is_back,
    losses::a_member_that_died_below_an_agent_that_goes_on_before_the_front_end_misses_it_is_not_waited_for,
    losses::agents_of_256_members_stopped_and_continued_during_pipelined_waves_lose_none,
    losses::when_all_members_are_lost_nobody_waits_for_them,
    losses::a_killed_member_is_missing_in_later_waves,
    unanswered::stopped_members_are_missing_in_later_waves_where_that_has_a_limit_and_come_back,
    unanswered::a_record_for_a_stopped_member_is_not_waited_for_beyond_the_deadline,
    unanswered::a_stream_is_not_opened_beyond_the_deadline_while_an_agent_is_stopped_and_the_error_says_which,
    stopped::waves_of_64_members_go_on_without_one_that_is_stopped_until_it_goes_on,
    stopped::a_member_that_attached_and_is_stopped_is_not_waited_for,
    stopped::a_member_whose_control_group_is_frozen_is_not_waited_for_until_it_goes_on,
    stopped::a_member_that_takes_long_is_waited_for,
    stopped::a_member_that_was_stopped_knows_by_the_number_which_wave_its_records_are_of,
    stopped::streams_are_opened_and_closed_beside_a_member_that_is_stopped,
    losses::a_background_thread_goes_on_while_the_front_end_computes,
    losses::a_member_that_is_started_again_has_its_old_rank,
    losses::a_member_that_comes_back_when_another_has_its_place_is_sent_away,
    losses::a_scatter_reaches_those_who_are_left,
    losses::a_killed_front_end_leaves_nothing,
    losses::a_network_that_ends_after_losses_leaves_nothing,
    launches::hosts_that_are_left_out_leave_a_network_of_the_others,
    launches::members_hang_under_the_agent_of_their_host_however_many_they_are,
    launches::several_programs_share_the_leaves_of_a_topology_in_the_order_of_ranks,
    launches::several_programs_share_the_leaves_of_a_file,
    launches::programs_that_do_not_fill_a_topology_are_refused_with_what_adds_up_to_what,
    launches::a_network_has_the_shape_that_a_file_says,
    launches::a_network_has_the_shape_that_a_file_of_mrnet_says,
    back_pressure::members_that_write_much_which_nobody_takes_hold_up_no_wave,
    back_pressure::a_record_that_is_not_sent_before_the_deadline_is_not_sent_at_all,
    back_pressure::a_record_of_an_interval_that_is_not_sent_before_the_deadline_is_not_sent_at_all,
    back_pressure::a_member_with_a_full_window_receives_in_time_and_loses_nothing,
    back_pressure::a_member_with_a_full_window_ends_in_time,
    back_pressure::a_member_that_leaves_loses_nothing_that_it_has_sent,
    back_pressure::a_member_that_cannot_leave_in_time_is_told,
    attached::members_that_attach_are_in_waves_from_then_on,
    attached::a_member_that_attaches_late_hears_how_much_it_has_missed,
    attached::a_member_that_attaches_while_waves_flow_is_in_all_from_some_wave_on,
    attached::a_member_may_attach_as_long_as_the_network_lasts,
    attached::members_that_leave_are_in_no_later_wave_and_others_take_no_notice,
    attached::attached_members_of_a_killed_agent_are_in_every_wave,
    attached::members_attach_beside_started_ones_and_leave_while_a_stream_is_open,
    attached::started_and_attached_members_of_a_killed_agent_are_in_every_wave,
    attached::a_member_that_cannot_join_before_its_deadline_is_told,
    attached::a_network_has_several_programs_and_members_that_attach_between_them,
    attached::members_attach_to_a_topology_only_where_it_has_agents_and_behind_programs,
];
