//! `banyan clock`: how the clocks of hosts stand to each other, for each edge of the tree.

mod member;
mod table;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use banyan_boot::{ProcessDistribution, Stdio};
use banyan_tree::{ClockEdge, Network, NetworkOptions, TreeError};
use clap::Args;

use crate::failure::{Failure, Outcome};
use crate::hosts::{HEADING, HostChoice, Missing, launch_status, time};
use crate::output;
use crate::progress::Progress;
use crate::{signals, status};
pub(crate) use member::become_member_if_asked;

/// The program of the agent itself, as a process that it starts sees it.
const AGENT: &str = "/proc/self/exe";

/// How long hosts may take to answer, if no time limit is given.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asking more often would show nothing new: clocks are compared about once a second.
const SHORTEST: Duration = Duration::from_millis(100);

/// To the first line of the terminal, and nothing below it.
const CLEAR: &str = "\x1b[H\x1b[J";

/// Compare the clocks of hosts, for each edge of the tree
///
/// Each host exchanges messages with the host above it and learns how far its clock (CLOCK_MONOTONIC) is ahead, how fast
/// that changes, and a bound on the error. The last column compares it with this machine. doctor compares the time of
/// day instead.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 success; 2 wrong usage; 3 a host could not be reached or did not answer; 4 time limit.

Examples:
  banyan clock -w node[1-8]
  banyan clock -w @all --watch
  banyan clock -w node[1-8] --measure 30s --json | jq 'select(.front_end_bound_ns > 50000)'")]
pub(crate) struct Clock {
    /// Show the table again and again, until ^C
    #[arg(long)]
    watch: bool,
    /// Time between two tables of --watch
    #[arg(long, value_name = "TIME", value_parser = interval, default_value = "1s", requires = "watch")]
    every: Duration,
    /// How long hosts compare their clocks before the first table; the bound on the drift shrinks with it
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "2s")]
    measure: Duration,
    /// One JSON object for each edge
    #[arg(long)]
    json: bool,
    #[command(flatten, next_help_heading = HEADING)]
    hosts: HostChoice,
}

impl Clock {
    pub(crate) fn run(self) -> Outcome {
        let deadline = self.hosts.deadline(Instant::now())?;
        let (network, missing) = self.launch()?;
        missing.tell();
        // Questions of hosts are answered at once, while this thread sleeps.
        let background = network.background().map_err(failure)?;
        let mut due = Instant::now() + self.measure;
        let nodes = network.nodes().len();
        loop {
            sleep(due, deadline)?;
            let patience = Instant::now() + PATIENCE;
            let limit = deadline.map_or(patience, |deadline| deadline.min(patience));
            let edges = network.clocks(limit).map_err(failure)?;
            self.print(&edges)?;
            if !self.watch {
                drop(background);
                let is_over = deadline.is_some_and(|deadline| deadline <= Instant::now());
                let are_silent = edges.len() < nodes || missing.are_needed();
                let status = if is_over { status::TIME_LIMIT } else { status::of_hosts(are_silent) };
                return Ok(ExitCode::from(status));
            }
            due = (due + self.every).max(Instant::now());
        }
    }

    /// A network of one member on each host, which does nothing.
    fn launch(&self) -> Result<(Network, Missing), Failure> {
        let hosts = self.hosts.hosts()?;
        let mut session = self.hosts.network_options(&hosts)?;
        let members = ProcessDistribution::new(AGENT, [member::ROLE])
            .stdio(Stdio::default().output(banyan_boot::Output::Discard));
        let members = hosts.iter().fold(members, |members, host| members.on(host, 1));
        // The time that everything may take is this command's own business: the session need not end by itself.
        session.deadline = None;
        signals::tell_awaited()?;
        let network = Network::launch(&members, &NetworkOptions::default().session(session)).map_err(failure)?;
        let missing = Missing::of(&self.hosts, network.session().missing())?;
        Ok((network, missing))
    }

    fn print(&self, edges: &[ClockEdge]) -> Result<(), Failure> {
        let mut out = output::stdout();
        if self.json {
            edges.iter().try_for_each(|edge| writeln!(out, "{}", table::to_json(edge, edges)))?;
        } else {
            if self.watch && std::io::stdout().is_terminal() {
                write!(out, "{CLEAR}")?;
            }
            write!(out, "{}", table::of(edges))?;
            if self.watch && !std::io::stdout().is_terminal() {
                writeln!(out)?;
            }
        }
        Ok(out.flush()?)
    }
}

/// Until it is time, if that is before the deadline.
fn sleep(due: Instant, deadline: Option<Instant>) -> Result<(), Failure> {
    let mut progress = Progress::beside_output();
    let until = deadline.map_or(due, |deadline| deadline.min(due));
    while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        progress.tell(|| format!("hosts compare their clocks, {:.0} s more", left.as_secs_f64()));
        std::thread::sleep(left.min(SHORTEST));
    }
    match deadline {
        Some(deadline) if deadline <= due => {
            Err(Failure::with_status("the time of --timeout has passed", status::TIME_LIMIT))
        }
        _ => Ok(()),
    }
}

fn failure(error: TreeError) -> Failure {
    match error {
        TreeError::Launch(error) => Failure::with_status(&error, launch_status(&error)),
        error => Failure::with_status(error, status::UNREACHABLE),
    }
}

/// How often to look.
fn interval(text: &str) -> Result<Duration, String> {
    let interval = time(text)?;
    if interval < SHORTEST {
        return Err(format!("more often than every {SHORTEST:?} would show nothing new"));
    }
    Ok(interval)
}
