//! A time limit for what reaches no hosts; verbs that do have one that hosts know of, too.

use std::thread;
use std::time::Duration;

use clap::Args;

use crate::failure::Failure;
use crate::hosts::time;
use crate::status;
use crate::unfinished::discard_unfinished;

/// The option `--timeout`.
#[derive(Args)]
pub struct Limit {
    /// Stop after this time, such as 30s, 10m or 2h, with exit status 4
    // Verbs below inherit it, with the place that it has here; it belongs behind their own options.
    #[arg(long, value_name = "TIME", value_parser = time, global = true, display_order = 900)]
    timeout: Option<Duration>,
}

impl Limit {
    /// From now on the time counts.
    pub(crate) fn begin(&self) -> Result<(), Failure> {
        self.timeout.map_or(Ok(()), end_after)
    }

    /// Starts the limit, with something to clean up before this process ends.
    pub fn begin_with(&self, clean_up: fn()) -> Result<(), Failure> {
        self.timeout.map_or(Ok(()), |time| end_after_with(time, clean_up))
    }
}

/// When this time has passed this process ends, whatever it does then; agents, members and the processes of benches end
/// with it, other starters that a bench compares with have a limit of their own. Files that it was writing are gone.
pub(crate) fn end_after(time: Duration) -> Result<(), Failure> {
    end_after_with(time, || {})
}

fn end_after_with(time: Duration, clean_up: fn()) -> Result<(), Failure> {
    let watch = move || {
        thread::sleep(time);
        discard_unfinished();
        clean_up();
        let told = format!("not done within {} s (--timeout); give it more time", time.as_secs_f64());
        Failure::with_status(told, status::TIME_LIMIT).end();
    };
    let watching = thread::Builder::new().name("time limit".into()).spawn(watch);
    watching.map(drop).map_err(|error| Failure::system("--timeout", &error))
}
