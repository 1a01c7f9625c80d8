//! Records that members send with tags.

use std::collections::BTreeMap;

use banyan_boot::RankSet;
use banyan_tree::{StreamOptions, Synchronisation};
use rustix::process::{Signal, kill_process};

use crate::member::tag;
use crate::relatives::agents;
use crate::setup::{ECHO, Text, deadline, network};

pub(crate) fn a_wave_has_the_tag_of_its_lowest_rank() {
    let network = network("2x2x2", "tagged");
    let some: RankSet = "3,5-7".parse().unwrap();
    for options in [StreamOptions::collect(), StreamOptions::filter("trace", "up")] {
        let stream = network.open(&some.clone().into(), options).unwrap();
        for number in 0..40 {
            stream.send(ECHO, &Text { text: number.to_string() }).unwrap();
        }
        for number in 0..40 {
            let wave = stream.recv_timeout(deadline()).unwrap();
            assert_eq!((wave.number(), wave.members()), (number, &some));
            assert_eq!(wave.tag(), tag(3, &number.to_string()), "wave {number}");
        }
    }
}

pub(crate) fn records_without_waves_have_their_own_tags_when_an_agent_is_killed() {
    let network = network("2x2", "tagged");
    let options = StreamOptions::default().synchronised(Synchronisation::None);
    let stream = network.open(&network.everyone(), options).unwrap();
    let mut next: BTreeMap<u32, u32> = BTreeMap::new();
    let records = 600;
    for number in 0..records {
        stream.send(ECHO, &Text { text: number.to_string() }).unwrap();
        if number == records / 3 {
            kill_process(agents()[0].1, Signal::KILL).unwrap();
        }
    }
    for _ in 0..4 * records {
        let record = stream.recv_timeout(deadline()).unwrap();
        let (rank, text) = (record.members().only().unwrap(), record.read::<Text>().unwrap().text);
        let number = next.entry(rank).or_default();
        assert_eq!(text, number.to_string());
        assert_eq!(record.tag(), tag(rank, &text), "record {number} of member {rank}");
        *number += 1;
    }
}
