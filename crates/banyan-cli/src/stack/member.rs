//! The process that looks at one host, on behalf of a front-end elsewhere.

use std::process::ExitCode;

use banyan_stack::{FindError, Found, Report, ReportRecord, take};
use banyan_tree::BackEnd;

use super::message::{Answer, FIND, Search, StackRequest, TAKE};
use crate::failure::{Failure, Outcome};

/// Does what the front-end asks for, until it goes away.
pub(super) fn run() -> Outcome {
    let mut back_end = BackEnd::join().map_err(Failure::usage)?;
    // The end of the network is how this ends.
    while let Ok(incoming) = back_end.recv() {
        let sent = match incoming.tag {
            FIND => {
                let search: Search = incoming.read().map_err(Failure::new)?;
                back_end.send(incoming.stream, &Answer::new(find(search)?))
            }
            TAKE => {
                let order: StackRequest = incoming.read().map_err(Failure::new)?;
                back_end.send(incoming.stream, &ReportRecord::from(&look(&order)?))
            }
            _ => continue,
        };
        sent.map_err(Failure::new)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The processes of this host; that there are none is for the front-end to judge, which knows of other hosts.
fn find(search: Search) -> Result<Vec<Found>, Failure> {
    match search.choice()?.find() {
        Ok(found) => Ok(found),
        Err(FindError::Nothing(_)) => Ok(Vec::new()),
        Err(error) => Err(Failure::new(error)),
    }
}

fn look(order: &StackRequest) -> Result<Report, Failure> {
    let mut report = take(&order.targets, &order.options()).map_err(Failure::new)?;
    let processes = std::mem::take(&mut report.processes);
    report.processes = processes.into_iter().map(|((_, pid), process)| ((order.host.clone(), pid), process)).collect();
    Ok(report)
}
