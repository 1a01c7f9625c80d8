//! Whole trees from seeds, with everything that can go wrong between machines.

use std::time::Duration;

use banyan_tree::sim::{AHEAD_BYTES, AHEAD_PACKETS, FaultPlan, Outcome, Plan, simulate};
use banyan_tree::{Chance, Synchronisation};

#[track_caller]
fn holds(plan: &Plan) -> Outcome {
    match simulate(plan, &mut |_| {}) {
        Ok(outcome) => outcome,
        Err(failure) => panic!("{failure}\nsee what happened with: {} --trace", plan.command()),
    }
}

fn deaths(count: usize) -> FaultPlan {
    FaultPlan::NONE.count(count).within(Duration::from_millis(40))
}

#[test]
fn a_tree_grows_and_delivers_every_wave() {
    let outcome = holds(&Plan::default().shape(vec![4, 4, 4]).waves(100));
    assert_eq!((outcome.members, outcome.waves, outcome.lost, outcome.moves), (64, 100, 0, 0));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let plan = Plan::default().shape(vec![3, 4, 5]).seed(9).faults(deaths(4));
    assert_eq!(holds(&plan), holds(&plan));
}

#[test]
fn inner_nodes_die_and_no_member_is_missing_in_any_wave() {
    let mut moves = 0;
    for seed in 0..100 {
        let outcome = holds(&Plan::default().shape(vec![3, 4, 5]).seed(seed).streams(2).faults(deaths(4)));
        assert_eq!(outcome.lost, 0, "seed {seed}");
        moves += outcome.moves;
    }
    assert!(moves > 100, "nobody moved");
}

#[test]
fn the_whole_level_under_the_front_end_dies_and_no_wave_is_lost() {
    for seed in 0..20 {
        // All faults hit the only inner nodes there are.
        let outcome = holds(&Plan::default().shape(vec![3, 20]).seed(seed).faults(deaths(12)));
        assert_eq!(outcome.lost, 0, "seed {seed}");
    }
}

#[test]
fn nodes_take_more_than_their_capacity_only_where_nobody_has_room() {
    let most = |shape: &[usize], deaths_of: usize| {
        let plan = |seed| Plan::default().shape(shape.to_vec()).seed(seed).faults(deaths(deaths_of));
        (0..20).map(|seed| holds(&plan(seed)).degree).max().unwrap_or_default()
    };
    // Twice as many as the widest level has, and 32 at least.
    let room = most(&[10, 8], 3);
    assert!(room <= 32, "{room} children, although there was room");
    // At last 60 members have the front-end alone, which has room for 40.
    let crowd = most(&[3, 20], 12);
    assert!(crowd > 40, "{crowd} children: nobody was ever crowded");
}

fn kinds(seed: u64) -> Vec<Synchronisation> {
    let timeout = format!("timeout {}ms", 1 + seed % 400);
    ["all", &timeout, "none", "none lossy", "interval time 1"].iter().map(|kind| kind.parse().unwrap()).collect()
}

#[test]
fn without_faults_records_that_wait_for_nobody_all_come_and_no_wave_is_late() {
    for seed in 0..20 {
        let kinds = ["none", "none lossy", "timeout 10s", "interval time 1"];
        let kinds = kinds.iter().map(|kind| kind.parse().unwrap()).collect();
        let plan = Plan::default().shape(vec![3, 4, 5]).seed(seed).streams(4).synchronisations(kinds);
        let outcome = holds(&plan);
        assert_eq!((outcome.dropped, outcome.late), (0, 0), "seed {seed}");
    }
}

#[test]
fn streams_of_every_synchronisation_hold_while_everything_goes_wrong() {
    let (mut dropped, mut late) = (0, 0);
    for seed in 0..200 {
        let mut chance = Chance::new(seed);
        let faults = FaultPlan::NONE
            .count(chance.below(10))
            .within(Duration::from_millis(60))
            .hits_members(chance.one_in(2))
            .only_deaths(chance.one_in(3))
            .slows(seed % 2 == 1)
            .stalls(seed % 4 == 1);
        let shape = [&[10, 8][..], &[3, 4, 5], &[2, 3, 3, 3]][chance.below(3)].to_vec();
        let synchronisations = kinds(seed);
        let streams = synchronisations.len();
        let window_waves = 16;
        let outcome = holds(
            &Plan::default()
                .shape(shape)
                .seed(seed)
                .packets(30)
                .streams(streams)
                .synchronisations(synchronisations)
                .sifts(seed % 3 == 0)
                .faults(faults)
                .window_waves(window_waves),
        );
        dropped += outcome.dropped;
        late += outcome.late;
    }
    assert!(dropped > 0 && late > 0, "nothing went wrong");
}

#[test]
fn members_join_streams_close_nodes_start_again_and_filters_fail_while_everything_goes_wrong() {
    for seed in 0..200 {
        let mut chance = Chance::new(seed ^ 0x5eed);
        let faults = FaultPlan::NONE
            .count(chance.below(10))
            .within(Duration::from_millis(60))
            .hits_members(chance.one_in(3))
            .only_deaths(chance.one_in(2))
            .slows(seed % 2 == 1)
            .stalls(seed % 4 == 1);
        let shape = [&[10, 8][..], &[3, 4, 5], &[2, 3, 3, 3]][chance.below(3)].to_vec();
        let plan = Plan::default()
            .shape(shape)
            .seed(seed)
            .waves(60)
            .packets(30)
            .streams(2)
            .has_failing_filter(chance.one_in(2))
            .reopens(chance.one_in(2))
            .joining(chance.below(12))
            .restarts(chance.one_in(2))
            .scatters(chance.one_in(2))
            .faults(faults)
            .window_waves(16);
        holds(&plan);
    }
}

#[test]
fn a_member_that_comes_back_beside_its_successor_is_sent_away_and_no_wave_is_lost() {
    for seed in 0..60 {
        let mut chance = Chance::new(seed);
        let faults = FaultPlan::NONE
            .count(2 + chance.below(4))
            .within(Duration::from_millis(60))
            .hits_members(chance.one_in(2))
            .only_deaths(false);
        let shape = [&[2, 3][..], &[3, 2, 2], &[5, 2]][chance.below(3)].to_vec();
        // Long enough that those who were given up come back while there are waves.
        holds(
            &Plan::default()
                .shape(shape)
                .seed(seed)
                .waves(800)
                .packets(30)
                .streams(1 + chance.below(2))
                .reopens(chance.one_in(4))
                .restarts(chance.one_in(4))
                .scatters(chance.one_in(4))
                .successors(true)
                .faults(faults)
                .window_waves(16)
                .front_end_pause(Duration::from_millis(700)),
        );
    }
}

#[test]
fn records_without_waves_are_all_accounted_for_when_others_take_the_places_of_members_that_come_back() {
    let mut dropped = 0;
    for seed in 0..60 {
        let mut chance = Chance::new(seed);
        let faults = FaultPlan::NONE
            .count(2 + chance.below(6))
            .within(Duration::from_millis(60))
            .hits_members(chance.one_in(2))
            .only_deaths(false);
        let shape = [&[2, 3][..], &[3, 2, 2], &[5, 2]][chance.below(3)].to_vec();
        let outcome = holds(
            &Plan::default()
                .shape(shape)
                .seed(seed)
                // Long enough that those who were given up come back while there are records.
                .waves(500)
                .packets(30)
                .streams(3)
                .synchronisations(["all", "none", "none lossy"].iter().map(|kind| kind.parse().unwrap()).collect())
                .sifts(seed % 2 == 0)
                .has_failing_filter(chance.one_in(4))
                .reopens(chance.one_in(4))
                .restarts(chance.one_in(2))
                .successors(true)
                .joining(chance.below(3))
                .faults(faults)
                .window_waves(16)
                .window_bytes(500 + chance.below(4000))
                .front_end_pause(Duration::from_millis(700)),
        );
        dropped += outcome.dropped;
    }
    assert!(dropped > 0, "nothing was lost");
}

#[test]
fn members_that_hold_waves_up_are_given_up_and_no_wave_is_lost() {
    let mut lost = [0; 2];
    for seed in 0..60 {
        let mut chance = Chance::new(seed);
        let faults = FaultPlan::NONE
            .count(2 + chance.below(6))
            .within(Duration::from_millis(60))
            .hits_members(true)
            .only_deaths(false)
            .slows(true);
        let shape = [&[2, 3][..], &[3, 2, 2], &[5, 2]][chance.below(3)].to_vec();
        let successors = chance.one_in(2);
        let limits = [None, Some(Duration::from_millis(200 + chance.below(2_000) as u64))];
        for (lost, unanswered) in lost.iter_mut().zip(limits) {
            let plan = Plan::default()
                .shape(shape.clone())
                .seed(seed)
                .waves(300)
                .packets(30)
                .successors(successors)
                .unanswered(unanswered);
            *lost += holds(&plan.faults(faults).window_waves(16).streams(2)).lost;
        }
    }
    assert!(lost[1] > lost[0], "{lost:?} without and with a limit");
}

#[test]
fn inner_nodes_that_come_back_bring_nobody_back_to_life_who_died_below_them() {
    for seed in 0..300 {
        let mut chance = Chance::new(seed);
        let faults = FaultPlan::NONE
            .count(1 + chance.below(3))
            .within(Duration::from_millis(60))
            .hits_members(true)
            .only_deaths(false)
            .stalls(true);
        let shape = [&[2, 2, 2][..], &[3, 2, 2, 2], &[2, 3, 4]][chance.below(3)].to_vec();
        // Long enough that there are waves to come when they are back.
        holds(
            &Plan::default()
                .shape(shape)
                .seed(seed)
                .waves(400)
                .packets(30)
                .streams(1 + chance.below(2))
                .restarts(chance.one_in(4))
                .successors(chance.one_in(4))
                .faults(faults)
                .window_waves(16),
        );
    }
}

#[test]
fn members_that_were_late_and_keep_pace_are_in_every_wave_again() {
    let mut late = 0;
    for seed in 0..40 {
        let mut chance = Chance::new(seed);
        let faults = FaultPlan::NONE
            .count(1 + chance.below(3))
            .within(Duration::from_secs(2))
            .hits_members(true)
            .only_deaths(false)
            .stalls(chance.one_in(4));
        let shape = [&[4, 4][..], &[2, 2, 2], &[6, 1]][chance.below(3)].to_vec();
        late += holds(
            &Plan::default()
                .shape(shape)
                .seed(seed)
                // So long that there are waves to come when everyone is back.
                .waves(1_800)
                .synchronisations(vec![format!("timeout {}ms", 100 + chance.below(300)).parse().unwrap()])
                .faults(faults)
                // More waves than come in the time of a test: nobody hears by an acknowledgement how far the others are.
                .window_waves(10_000)
                .pace(Duration::from_millis(20)),
        )
        .late;
    }
    assert!(late > 0, "nobody was late");
}

#[test]
fn records_of_which_filters_make_none_or_several_come_once_and_are_all_accounted_for() {
    let (mut filtered, mut moves) = (0, 0);
    for seed in 0..200 {
        let mut chance = Chance::new(seed);
        let faults = FaultPlan::NONE
            .count(chance.below(8))
            .within(Duration::from_millis(60))
            .hits_members(chance.one_in(3))
            .only_deaths(chance.one_in(2))
            .slows(seed % 4 == 1)
            .stalls(seed % 8 == 2);
        let shape = [&[3, 4, 5][..], &[2, 2, 2, 2], &[6, 4], &[2, 9]][chance.below(4)].to_vec();
        // A front-end that pauses does not see how far a process came, of whose last records nothing was made, when another
        // has taken its place meanwhile.
        let restarts = chance.one_in(3);
        let pause = if restarts { 0 } else { chance.below(2) as u64 * 100 };
        let outcome = holds(
            &Plan::default()
                .shape(shape)
                .seed(seed)
                .waves(120)
                .packets(30)
                .streams(2)
                .synchronisations(["none", "none lossy"].iter().map(|kind| kind.parse().unwrap()).collect())
                .sifts(true)
                .has_failing_filter(chance.one_in(3))
                .reopens(chance.one_in(4))
                .restarts(restarts)
                .joining(chance.below(3))
                .faults(faults)
                .window_waves(16)
                .window_bytes(if chance.one_in(2) { 300 + chance.below(3000) } else { 4 << 20 })
                .front_end_pause(Duration::from_millis(pause)),
        );
        filtered += outcome.filtered;
        moves += outcome.moves;
    }
    assert!(filtered > 10_000 && moves > 200, "{filtered} records were filtered, {moves} nodes moved");
}

#[test]
fn without_faults_every_record_is_delivered_or_filtered() {
    for seed in 0..20 {
        let synchronisations = ["none", "none lossy"].iter().map(|kind| kind.parse().unwrap()).collect();
        let plan =
            Plan::default().shape(vec![3, 4, 5]).seed(seed).streams(2).synchronisations(synchronisations).sifts(true);
        let outcome = holds(&plan);
        assert_eq!((outcome.dropped, outcome.late), (0, 0), "seed {seed}");
        assert!(outcome.filtered > 0, "seed {seed}");
    }
}

/// Seeds that found something.
#[test]
fn what_failed_once_holds() {
    let timeouts = |timeout: &str| vec!["all".parse().unwrap(), timeout.parse().unwrap()];
    let within = Duration::from_millis(60);
    let faults =
        |count, hits_members| FaultPlan::NONE.count(count).within(within).hits_members(hits_members).only_deaths(false);
    let plan = Plan::default().waves(60).packets(30).streams(2).window_waves(16);
    // A stream that was opened while some of its members were adrift did not keep its packets for them.
    holds(
        &plan
            .clone()
            .shape(vec![2, 3])
            .seed(1433)
            .synchronisations(timeouts("timeout 234ms"))
            .has_failing_filter(true)
            .reopens(true)
            .restarts(true)
            .successors(true)
            .scatters(true)
            .faults(faults(8, false)),
    );
    // A newcomer that was cut off when it had heard where it begins told the next parent, which did not know that yet, and
    // never again.
    holds(
        &plan
            .clone()
            .shape(vec![3, 2, 2])
            .seed(1260)
            .synchronisations(timeouts("timeout 61ms"))
            .has_failing_filter(true)
            .reopens(true)
            .restarts(true)
            .successors(true)
            .joining(5)
            .faults(faults(7, true)),
    );
    // Orphans asked the same dead agents several times in one pass, each time in vain for a second, and were given up.
    holds(
        &plan
            .clone()
            .shape(vec![10, 18])
            .seed(4255)
            .streams(1)
            .has_failing_filter(true)
            .faults(faults(9, false).only_deaths(true)),
    );
    // Orphans dialled one dead agent after the other, each for a second, and were given up.
    holds(
        &plan
            .clone()
            .shape(vec![10, 18])
            .seed(20_508)
            .has_failing_filter(true)
            .reopens(true)
            .successors(true)
            .scatters(true)
            .joining(8)
            .faults(faults(10, false).only_deaths(true)),
    );
    // Newcomers missed packets that were sent to them while word of them was on its way, and were not told. Others missed
    // some because they came to an agent that had asked where a newcomer begins.
    let kinds = ["timeout 120ms", "none", "none lossy drop-newest", "interval time 1 from 0"];
    let of_all_kinds = plan
        .shape(vec![3, 4, 5])
        .packets(120)
        .streams(4)
        .synchronisations(kinds.iter().map(|kind| kind.parse().unwrap()).collect())
        .has_failing_filter(true)
        .reopens(true)
        .restarts(true)
        .chooses(true)
        .ahead_packets(28)
        .joining(4)
        .faults(faults(9, false).stalls(true));
    for seed in [260, 312, 695, 2053, 2259] {
        holds(&of_all_kinds.clone().seed(seed));
    }
}

/// A fixed set of seeds, trees of about 200 nodes, every kind of fault. In every other of them members join, nodes start again
/// and others take their places, streams are of all kinds, and links and nodes are slow.
fn thousand(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let mut chance = Chance::new(seed);
        let shapes: [&[usize]; 6] = [&[4, 48], &[10, 18], &[3, 8, 7], &[5, 5, 7], &[3, 3, 4, 5], &[2, 3, 3, 3, 3]];
        let faults = FaultPlan::NONE
            .count(chance.below(12))
            .within(Duration::from_millis(60))
            .hits_members(chance.one_in(2))
            .only_deaths(chance.one_in(3))
            .slows(seed % 2 == 1)
            .stalls(seed % 4 == 1);
        let shape = shapes[chance.below(shapes.len())].to_vec();
        let streams = 1 + chance.below(2);
        let reduces = chance.one_in(4);
        let plan = Plan::default()
            .shape(shape)
            .seed(seed)
            .waves(60)
            .packets(30)
            .streams(streams)
            .reduces(reduces)
            .faults(faults);
        let plan = plan.window_waves(16);
        holds(&on_links(if seed % 2 == 1 { varied(plan, &mut chance) } else { plan }));
    }
}

/// The same over links that are filled, or beside which there is memory, and with members that answer.
fn on_links(plan: Plan) -> Plan {
    let mut chance = Chance::new(plan.seed ^ 0xf111);
    let answers = chance.one_in(4);
    let packets = if answers { plan.waves } else { plan.packets };
    let packet_bytes = [8, 8, 8, 100, 1_000, 5_000][chance.below(6)];
    let (ahead_packets, ahead_bytes) = match chance.one_in(2) {
        true => (AHEAD_PACKETS, AHEAD_BYTES),
        // One packet may be larger than that.
        false => (4096, 1 << (10 + chance.below(8))),
    };
    let shares_memory = chance.one_in(2);
    plan.answers(answers)
        .packets(packets)
        .packet_bytes(packet_bytes)
        .ahead_packets(ahead_packets)
        .ahead_bytes(ahead_bytes)
        .shares_memory(shares_memory)
}

#[test]
fn packets_of_any_length_pass_links_that_are_full_and_members_that_answer_are_answered() {
    for seed in 0..100 {
        let mut chance = Chance::new(seed ^ 0xa5);
        let faults = FaultPlan::NONE
            .count(chance.below(6))
            .within(Duration::from_millis(60))
            .hits_members(chance.one_in(2))
            .only_deaths(chance.one_in(3))
            .slows(chance.one_in(2))
            .stalls(chance.one_in(4));
        let shape = [&[6, 6][..], &[3, 3, 3], &[2, 2, 2, 2]][chance.below(3)].to_vec();
        holds(
            &Plan::default()
                .shape(shape)
                .seed(seed)
                .waves(60)
                .packets(60)
                .streams(1 + chance.below(2))
                .scatters(chance.one_in(2))
                .joining(chance.below(3))
                .restarts(chance.one_in(3))
                .answers(chance.one_in(2))
                .packet_bytes([8, 2_000, 20_000][chance.below(3)])
                .ahead_packets(4096)
                .ahead_bytes(1 << (10 + chance.below(12)))
                .shares_memory(chance.one_in(2))
                .faults(faults)
                .window_waves(16),
        );
    }
}

#[test]
fn packets_for_some_members_reach_these_once_and_in_order_and_nobody_else_while_everything_goes_wrong() {
    let mut moves = 0;
    for seed in 0..300 {
        let mut chance = Chance::new(seed ^ 0xc405e);
        let faults = FaultPlan::NONE
            .count(chance.below(10))
            .within(Duration::from_millis(60))
            .hits_members(chance.one_in(3))
            .only_deaths(chance.one_in(2))
            .slows(seed % 4 == 1)
            .stalls(seed % 4 == 3);
        let shape = [&[3, 4, 5][..], &[2, 2, 2, 2], &[10, 4], &[2, 3, 4]][chance.below(4)].to_vec();
        moves += holds(
            &Plan::default()
                .shape(shape)
                .seed(seed)
                // More packets than the front-end may be ahead: it hears from those that they are not for.
                .packets(120)
                .waves(60)
                .streams(1 + chance.below(3))
                .synchronisations(kinds(seed)[chance.below(3)..].to_vec())
                .chooses(true)
                .scatters(chance.one_in(3))
                .has_failing_filter(chance.one_in(4))
                .reopens(chance.one_in(4))
                .joining(if chance.one_in(2) { chance.below(8) } else { 0 })
                .restarts(chance.one_in(3))
                .successors(chance.one_in(4))
                .ahead_packets(4 + chance.below(40))
                .shares_memory(chance.one_in(2))
                .faults(faults)
                .window_waves(16),
        )
        .moves;
    }
    assert!(moves > 300, "nobody moved");
}

/// The same with everything else that may happen in a network, some of it each time.
fn varied(plan: Plan, chance: &mut Chance) -> Plan {
    let kinds = kinds(plan.seed);
    let unanswered = chance.one_in(3).then(|| Duration::from_millis(500 + chance.below(5_000) as u64));
    let (only_deaths, choose) = (plan.faults.only_deaths, plan.seed.is_multiple_of(3));
    let synchronisations = (0..plan.streams).map(|_| kinds[chance.below(kinds.len())].clone()).collect();
    plan
        // More happens to each of them.
        .waves(40)
        .synchronisations(synchronisations)
        .has_failing_filter(chance.one_in(4))
        .reopens(chance.one_in(4))
        .scatters(chance.one_in(4))
        .chooses(choose)
        .joining(chance.below(8))
        .restarts(chance.one_in(2))
        .successors(chance.one_in(3))
        // Where nodes only die nobody who lives may be given up.
        .unanswered(unanswered.filter(|_| !only_deaths))
}

#[test]
fn what_nodes_know_of_each_others_clocks_is_true_while_everything_goes_wrong() {
    let faults =
        FaultPlan::NONE.count(8).within(Duration::from_secs(4)).only_deaths(false).hits_members(true).slows(true);
    let (mut told, mut moves) = (0, 0);
    for seed in 0..60 {
        let plan = Plan::default().shape(vec![3, 3, 4]).seed(seed).waves(60).pace(Duration::from_millis(100));
        let outcome = holds(&plan.faults(faults).shares_memory(seed % 2 == 0));
        (told, moves) = (told + outcome.clocks, moves + outcome.moves);
    }
    assert!(told > 60 * 48 * 5 && moves > 60, "told {told} times, {moves} moves");
}

#[test]
fn without_faults_every_node_knows_the_clock_of_the_front_end_to_a_few_milliseconds() {
    for seed in 0..10 {
        let outcome =
            holds(&Plan::default().shape(vec![3, 3, 4]).seed(seed).waves(40).pace(Duration::from_millis(100)));
        // Messages take up to half a millisecond at each of three levels.
        assert!(outcome.clock_bound < 3_000_000, "seed {seed}: {} ns", outcome.clock_bound);
    }
}

#[test]
fn a_thousand_seeds_hold_first_quarter() {
    thousand(0..250);
}

#[test]
fn a_thousand_seeds_hold_second_quarter() {
    thousand(250..500);
}

#[test]
fn a_thousand_seeds_hold_third_quarter() {
    thousand(500..750);
}

#[test]
fn a_thousand_seeds_hold_fourth_quarter() {
    thousand(750..1000);
}

#[test]
fn a_slow_front_end_slows_members_and_no_node_holds_more_than_the_window_allows() {
    let pause = Duration::from_millis(500);
    let outcome = holds(&Plan::default().shape(vec![4, 8]).waves(600).front_end_pause(pause));
    assert_eq!(outcome.waves, 600);
    // Numbers of 8 bytes, 600 waves: without windows an agent would hold all of its 8 members, 38,400 bytes.
    let window = 64 * 8;
    assert!(outcome.held <= window * (1 + 2 * 8) + 2 * 1024, "a node held {} bytes", outcome.held);
}
