//! The process that looks at one host, on behalf of a front-end elsewhere.

use std::process::ExitCode;

use banyan_stack::{FindError, Found, Report, take};
use banyan_tree::BackEnd;

use super::message::{self, Answer, FIND, Order, TAKE, Text};
use crate::failure::{Failure, Outcome};

/// Does what the front-end asks for, until it goes away.
pub(super) fn run() -> Outcome {
    let mut back_end = BackEnd::join().map_err(Failure::usage)?;
    // The end of the network is how this ends.
    while let Ok(incoming) = back_end.recv() {
        let Text { text } = incoming.read().map_err(Failure::new)?;
        let answer = match incoming.tag {
            FIND => Answer::new(find(&text)?).text(),
            TAKE => look(&text)?.to_short_json().to_string(),
            _ => continue,
        };
        back_end.send(incoming.stream, &Text { text: answer }).map_err(Failure::new)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The processes of this host; that there are none is for the front-end to judge, which knows of other hosts.
fn find(text: &str) -> Result<Vec<Found>, Failure> {
    let choice = message::choice(text).ok_or_else(|| Failure::new("the front-end is of another version"))?;
    match choice.find() {
        Ok(found) => Ok(found),
        Err(FindError::Nothing(_)) => Ok(Vec::new()),
        Err(error) => Err(Failure::new(error)),
    }
}

fn look(text: &str) -> Result<Report, Failure> {
    let order = Order::parse(text).ok_or_else(|| Failure::new("the front-end is of another version"))?;
    let mut report = take(&order.targets, &order.options).map_err(Failure::new)?;
    let processes = std::mem::take(&mut report.processes);
    report.processes = processes.into_iter().map(|((_, pid), process)| ((order.host.clone(), pid), process)).collect();
    Ok(report)
}
