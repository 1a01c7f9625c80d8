//! What the codec promises, on links that lose nothing and from peers that mean ill.

mod examples;
mod hostile;
mod link;
mod messages;
mod round_trip;

use std::fmt::Write;

use banyan_link::Frame;

use super::{AddressBook, Decoder, Encoder, LONGEST_MESSAGE, WireError};
use crate::message::Message;

/// The frames of some messages, as one link would carry them.
fn frames(messages: &[Message], book: &AddressBook, max_payload: usize) -> Vec<Frame> {
    let mut encoder = Encoder::new(max_payload);
    let mut frames = Vec::new();
    messages.iter().for_each(|message| encoder.encode(message, book, &mut frames));
    assert!(frames.iter().all(|frame| frame.payload.len() <= max_payload));
    frames
}

/// The messages of all frames of a link.
fn messages(frames: &[Frame], book: &mut AddressBook) -> Result<Vec<Message>, WireError> {
    let mut decoder = Decoder::new(LONGEST_MESSAGE);
    frames.iter().filter_map(|frame| decoder.decode(frame, book).transpose()).collect()
}

/// What messages say, whatever they look like in memory: a run is the same as its parts.
fn meaning(messages: &[Message]) -> String {
    let mut text = String::new();
    for message in messages {
        let Message::Run(run) = message else {
            writeln!(text, "{message:?}").unwrap();
            continue;
        };
        for at in 0..run.len() {
            let (stream, members, marks) = (run.stream, &run.members, (run.is_fresh, run.is_partial));
            write!(text, "{stream}, {} of {members:?}, {marks:?}:", run.first.after(at)).unwrap();
            let bodies = run.bodies_of(at).filter(|_| !run.bodies.are_absent());
            bodies.for_each(|body| {
                write!(text, " {} {} {:?}", run.bodies.format(), run.bodies.tag(), run.bodies.get(body)).unwrap()
            });
            text.push('\n');
        }
    }
    text
}
