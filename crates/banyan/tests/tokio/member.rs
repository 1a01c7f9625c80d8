//! The member of the tests, which runs on tokio itself.

use std::process::ExitCode;

use banyan::tokio::AsyncBackEnd;
use banyan::{BackEnd, Record, TreeError};

use crate::waiting::runtime;

/// What members are told: to send so many records, unless they are these.
#[derive(Record, Clone, Copy)]
pub(crate) struct Order {
    pub(crate) records: u64,
    pub(crate) all_but: u32,
}

/// What members send.
#[derive(Record)]
pub(crate) struct One {
    one: u64,
}

/// Obeys until the network ends.
pub(crate) fn run() -> ExitCode {
    let ended = runtime().block_on(async {
        let mut back_end = AsyncBackEnd::new(BackEnd::join()?)?;
        loop {
            let order = match back_end.recv().await {
                Err(TreeError::Ended) => return Ok::<(), Box<dyn std::error::Error>>(()),
                order => order?,
            };
            let Order { records, all_but } = order.read()?;
            let records = if back_end.rank() == all_but { 0 } else { records };
            for _ in 0..records {
                back_end.send(order.stream, &One { one: 1 })?;
            }
        }
    });
    if ended.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
