//! `banyan query`: asks about events of programs that run, and prints rows.

mod show;

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use banyan_monitor::{Happening, Job, MonitorError, Observer, ObserverOptions, Rows};
use banyan_query::{Query as Question, explain};
use banyan_tree::{NetworkOptions, TreeError};
use clap::Args;

use crate::failure::{Failure, Outcome, warn};
use crate::hosts::{HEADING, HostChoice, launch_status, time};
use crate::{output, signals, status};

/// How long to wait for the sensors of the query before it is said that there are none.
const NO_SENSORS: Duration = Duration::from_secs(3);

/// How often to look for what happens beside rows.
const LOOK: Duration = Duration::from_millis(200);

/// How long probes may take to say what became of events.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Ask about events of running programs with sensors
///
/// Programs that use banyan-sensor emit events. This starts a probe on each host, which reads them and throws away what
/// the query does not want. Agents aggregate the rest. The programs do not wait, and do not notice.
#[derive(Args)]
#[command(after_help = "\
JOB is one word or several: all, slurm:JOB, children:PID, sensor:NAME, executable:REGEX. Processes to which all of them \
apply are watched, also those that start later.

Exit status: 0 success; 2 wrong usage; 3 a host could not be reached or was lost; 4 time limit.

Examples:
  banyan query 'select * from solver.step limit 10'
  banyan query -w node[1-8] 'select host, max(residual), count() from solver.step group by host every 1s'
  banyan query -w @all --job slurm:4711 --for 1min --json 'select p99(ms) from solver.step every 10s'
  banyan query --explain 'select max(ms) from solver.step where level > 2 every 1s'")]
pub(crate) struct Query {
    /// The query
    #[arg(value_name = "QUERY")]
    text: String,
    /// Which processes
    #[arg(long, value_name = "JOB", default_value = "all")]
    job: String,
    /// Stop after this time
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    duration: Option<Duration>,
    /// Stop after this many rows
    #[arg(long, value_name = "N")]
    rows: Option<u64>,
    /// At the end, say what became of every event
    #[arg(long)]
    ledger: bool,
    /// Say which part of the query runs where, and stop
    #[arg(long)]
    explain: bool,
    /// One JSON object for each row; times are nanoseconds since 1970
    #[arg(long)]
    json: bool,
    #[command(flatten, next_help_heading = HEADING)]
    hosts: HostChoice,
}

impl Query {
    pub(crate) fn run(self) -> Outcome {
        let question: Question = self.text.parse().map_err(Failure::usage)?;
        if self.explain {
            write!(output::stdout(), "{}", explain(&question))?;
            return Ok(ExitCode::SUCCESS);
        }
        let job: Job = self.job.parse().map_err(Failure::usage)?;
        let begin = Instant::now();
        let deadline = self.hosts.deadline(begin)?;
        let observer = self.attach(&job)?;
        let rows = observer.query(&self.text).map_err(failure)?;
        let until = self.duration.and_then(|duration| Instant::now().checked_add(duration));
        let status = self.print(&observer, &rows, &question, [until, deadline])?;
        if self.ledger {
            let ledger = observer.ledger(LAST_WORDS).map_err(failure)?;
            let totals = ledger.totals(rows.number());
            let line = if self.json { show::totals_to_json(&totals) } else { format!("events: {totals}") };
            writeln!(output::stdout(), "{line}")?;
        }
        Ok(ExitCode::from(status))
    }

    fn attach(&self, job: &Job) -> Result<Observer, Failure> {
        let hosts = self.hosts.hosts()?;
        let mut session = self.hosts.network_options(&hosts)?;
        // The time that everything may take is this command's own business: the session need not end by itself.
        session.deadline = None;
        signals::tell_awaited()?;
        let options = ObserverOptions::default()
            .hosts(hosts.iter().map(|host| host.to_string()).collect::<Vec<_>>())
            .network(NetworkOptions::default().session(session));
        Observer::attach(job, &options).map_err(failure)
    }

    /// Prints rows until there are enough, or a time has passed: the first is the query's own, the second the limit.
    fn print(
        &self,
        observer: &Observer,
        rows: &Rows,
        question: &Question,
        [until, deadline]: [Option<Instant>; 2],
    ) -> Result<u8, Failure> {
        let mut out = output::stdout();
        let wall = show::WallTime::new();
        let (mut left, mut watch) = (self.rows, Watching::new(question));
        while left != Some(0) {
            watch.look(observer);
            let now = Instant::now();
            if deadline.is_some_and(|deadline| now >= deadline) {
                return Ok(status::TIME_LIMIT);
            }
            if until.is_some_and(|until| now >= until) {
                break;
            }
            let ends = [until, deadline].into_iter().flatten();
            match rows.recv_timeout(ends.fold(now + LOOK, Instant::min)) {
                Ok(mut row) => {
                    wall.correct(&mut row);
                    let line = if self.json { row.to_json() } else { show::line(&row, watch.is_first()) };
                    writeln!(out, "{line}")?;
                    out.flush()?;
                    left = left.map(|left| left - 1);
                }
                Err(MonitorError::TimedOut) => {}
                Err(error) => return Err(failure(error)),
            }
        }
        Ok(status::of_hosts(watch.has_lost_hosts))
    }
}

/// What is told beside rows.
struct Watching {
    sensors: Vec<String>,
    began: Instant,
    has_lost_hosts: bool,
    is_first: bool,
    is_told: bool,
}

impl Watching {
    fn new(question: &Question) -> Watching {
        let sensors = question.sensors().map(str::to_owned).collect();
        Watching { sensors, began: Instant::now(), has_lost_hosts: false, is_first: true, is_told: false }
    }

    /// Whether a row is the first.
    fn is_first(&mut self) -> bool {
        std::mem::take(&mut self.is_first)
    }

    /// Tells what has happened.
    fn look(&mut self, observer: &Observer) {
        while let Ok(Some(happening)) = observer.events().try_recv() {
            match happening {
                Happening::Refused { host, sensor, why, .. } => warn(format!("{host}: {sensor}: {why}")),
                Happening::Unwatchable { host, path, why } => warn(format!("{host}: {path}: {why}")),
                Happening::Trouble { why, .. } => warn(why),
                Happening::ProbesLost(hosts) => {
                    self.has_lost_hosts = true;
                    warn(format!("nothing comes from {} any more: the probe there is lost", hosts.join(", ")));
                }
                _ => {}
            }
        }
        if self.is_told || self.began.elapsed() < NO_SENSORS {
            return;
        }
        self.is_told = true;
        let known = observer.sensors();
        let missing = self.sensors.iter().filter(|name| !known.iter().any(|known| known.name == **name));
        let missing: Vec<&str> = missing.map(String::as_str).collect();
        if !missing.is_empty() {
            let names: Vec<&str> = known.iter().map(|sensor| sensor.name.as_str()).collect();
            let there =
                if names.is_empty() { "there are none".into() } else { format!("there are {}", names.join(", ")) };
            warn(format!("no process has a sensor {} so far; {there}", missing.join(" or ")));
        }
    }
}

fn failure(error: MonitorError) -> Failure {
    match error {
        MonitorError::Tree(TreeError::Launch(error)) => Failure::with_status(&error, launch_status(&error)),
        MonitorError::Query(error) => Failure::usage(error),
        MonitorError::Job(error) => Failure::usage(error),
        error => Failure::with_status(error, status::UNREACHABLE),
    }
}
