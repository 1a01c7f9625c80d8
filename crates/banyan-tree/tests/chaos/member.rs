//! A member that sends what it is asked for.

use std::collections::HashMap;
use std::process::ExitCode;

use banyan_ndr::Record;
use banyan_tree::{BackEnd, StreamId, TreeError};

/// What the front-end asks for: one record for this wave.
#[derive(Record, Debug, Clone, Copy)]
pub(crate) struct Order {
    pub(crate) wave: u64,
}

/// What a member answers.
#[derive(Record)]
pub(crate) struct Answer {
    /// The bit of its rank: a sum of these says exactly who is in it, and a member that is in it twice makes it wrong.
    pub(crate) bit: u64,
    /// The wave that it was asked for.
    pub(crate) wave: u64,
    pub(crate) process: u32,
}

pub(crate) fn run() -> ExitCode {
    match serve() {
        Ok(()) | Err(TreeError::Ended) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve() -> Result<(), TreeError> {
    let mut back_end = BackEnd::join()?;
    // The first wave of each stream that this member is not part of yet.
    let mut next: HashMap<StreamId, u64> = HashMap::new();
    loop {
        let incoming = back_end.recv()?;
        let Order { wave } = incoming.read()?;
        let next = next.entry(incoming.stream).or_default();
        // Whoever was stopped for long hears old requests, whose waves went on without it.
        if wave < *next {
            continue;
        }
        let answer = Answer { bit: 1 << back_end.rank(), wave, process: std::process::id() };
        *next = back_end.send(incoming.stream, &answer)?.0 + 1;
    }
}
