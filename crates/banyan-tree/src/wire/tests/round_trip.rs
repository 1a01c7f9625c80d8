//! Whatever is sent arrives.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use super::messages::{any_message, any_run};
use super::{frames, meaning, messages};
use crate::message::Message;
use crate::wire::{AddressBook, BODY_ALIGN, COPIED_BODIES, SHORTEST_PAYLOAD};

proptest! {
    #[test]
    fn messages_arrive_as_they_were_sent(
        sent in vec(any_message(), 1..6), max_payload in prop::sample::select(vec![SHORTEST_PAYLOAD, 10_001, 65_536]),
    ) {
        let frames = frames(&sent, &AddressBook::new(), max_payload);
        let received = messages(&frames, &mut AddressBook::new()).unwrap();
        prop_assert_eq!(meaning(&received), meaning(&sent));
    }

    #[test]
    fn runs_that_fit_into_a_frame_stay_whole_and_all_others_fit(run in any_run()) {
        let max_payload = 65_536;
        let frames = frames(&[Message::Run(run.clone())], &AddressBook::new(), max_payload);
        let received = messages(&frames, &mut AddressBook::new()).unwrap();
        prop_assert_eq!(received.len() == 1, run.size() <= max_payload || run.len() == 1);
        for message in received {
            let Message::Run(part) = message else { panic!("{message:?}") };
            // What filters made of one record stays together, in pieces where it is longer.
            prop_assert!(part.bodies.size() <= max_payload || part.len() == 1);
        }
    }

    #[test]
    fn bodies_are_parts_of_the_payload_they_came_in_and_begin_at_a_multiple_of_16(run in any_run()) {
        let frames = frames(&[Message::Run(run)], &AddressBook::new(), 1 << 20);
        let received = messages(&frames, &mut AddressBook::new()).unwrap();
        for message in &received {
            let Message::Run(run) = message else { panic!("{message:?}") };
            let bodies = run.bodies.bytes().as_ptr_range();
            let offset = frames.iter().find_map(|frame| {
                let payload = frame.payload.as_ptr_range();
                let is_within = payload.start <= bodies.start && bodies.end <= payload.end;
                is_within.then(|| bodies.start.addr() - payload.start.addr())
            });
            let expected = if run.bodies.size() > COPIED_BODIES { Some(0) } else { None };
            prop_assert!(run.bodies.size() == 0 || offset.is_some_and(|offset| offset % BODY_ALIGN == 0));
            prop_assert!(expected.is_none() || offset == expected);
        }
    }

    #[test]
    fn long_bodies_are_not_copied_to_be_sent(run in any_run()) {
        let bodies = run.bodies.bytes().as_ptr_range();
        let frames = frames(&[Message::Run(run.clone())], &AddressBook::new(), 1 << 20);
        let is_within = |at: *const u8| bodies.start <= at && at < bodies.end;
        let shared = frames.iter().any(|frame| is_within(frame.payload.as_ptr()));
        prop_assert_eq!(shared, run.bodies.size() > COPIED_BODIES);
    }

    #[test]
    fn equal_sets_are_the_same_in_memory_at_the_receiver(sent in vec(any_run(), 1..20)) {
        let sent: Vec<Message> = sent.into_iter().map(Message::Run).collect();
        let received = messages(&frames(&sent, &AddressBook::new(), 1 << 20), &mut AddressBook::new()).unwrap();
        let sets = received.iter().filter_map(|message| match message {
            Message::Run(run) => Some(&run.members),
            _ => None,
        });
        let sets: Vec<_> = sets.collect();
        for (one, other) in sets.iter().zip(&sets[1..]) {
            prop_assert_eq!(one == other, Arc::ptr_eq(one, other));
        }
    }
}
