//! `banyan top`: how the hosts are doing and who uses them, live or once.

mod ask;
mod column;
mod cost;
mod counters;
mod detail;
mod fit;
mod job;
mod keys;
mod known;
mod live;
mod member;
mod merge;
mod metric;
mod names;
mod page;
mod process;
mod report;
mod sample;
mod screen;
mod sight;
mod terminal;
mod tick;
mod usage;
mod view;
mod watch;

use std::io::{IsTerminal, Write};
use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use crate::config::Config;
use crate::failure::{Failure, Outcome, warn};
use crate::hosts::{HEADING, HostChoice, time};
use crate::output;
use crate::speech::paints;
use crate::status;
pub(crate) use member::become_member_if_asked;
pub(crate) use merge::register;
use view::{By, Model, View};
use watch::{FrontCost, Watch, Within};

/// How long hosts may take to answer for the first time, if no time limit is given.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a tick waits for hosts that are behind the first: at most three quarters of the time until the next one, so
/// that one that hangs does not hold up the others. Less would call hosts silent that have much to do, …
const BEHIND: RangeInclusive<Duration> = Duration::from_millis(250)..=Duration::from_secs(2);
/// … and when there is only one look, everyone should be in it.
const BEHIND_ONCE: Duration = Duration::from_secs(10);

/// Asking more often would show little but its own cost.
const SHORTEST: Duration = Duration::from_millis(100);

/// Show load, memory, pressure, network and disks of hosts, and the jobs and users behind them
///
/// A process on each host samples /proc. The agents merge the samples into minimum, median, 99th percentile and
/// maximum, the outliers, and a strip with one cell per host. Rows are hosts, jobs, users or processes; enter opens a
/// row and shows its processes. The second line shows what the sampling costs.
#[derive(Args)]
#[command(after_help = "\
Keys: q quits, arrows choose a row and the column to sort by, enter opens a host, job or user, esc goes back, \
r reverses the order, / filters by name, b changes what a row is, p pauses.

Exit status: 0 success; 1 with --once: no such job or user; 2 wrong usage; 3 a host could not be reached or was lost; \
4 time limit.

Examples:
  banyan top
  banyan top -w node[1-128]
  banyan top -w @all --by job --sort memory
  banyan top -w node[1-128] --job 4711 --once
  banyan top --once
  banyan top -w node[1-128] --once --json | jq '.summary.cpu.max'")]
pub(crate) struct Top {
    /// Simulate N hosts on this machine, to try top without a cluster
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    act: Option<u32>,
    /// What each row shows
    #[arg(long, value_name = "WHAT", default_value = "host")]
    by: By,
    /// Show the processes of this job on all hosts; a name from --by job, or the id of a Slurm job
    #[arg(long, value_name = "NAME", conflicts_with_all = ["by", "user"], value_parser = job)]
    job: Option<String>,
    /// Show the processes of this user on all hosts
    #[arg(long, value_name = "NAME", conflicts_with = "by", value_parser = NonEmptyStringValueParser::new())]
    user: Option<String>,
    /// The column to sort by, such as memory, disk_write, host or name
    #[arg(long, value_name = "COLUMN", default_value = "cpu")]
    sort: String,
    /// Show only rows whose name contains TEXT
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,
    /// Time between two samples
    #[arg(long, alias = "interval", value_name = "TIME", value_parser = interval, default_value = "1s")]
    every: Duration,
    /// Print one sample and exit
    #[arg(long)]
    once: bool,
    /// One JSON object per sample
    #[arg(long)]
    json: bool,
    #[command(flatten, next_help_heading = HEADING)]
    hosts: HostChoice,
}

impl Top {
    pub(crate) fn run(self) -> Outcome {
        let is_live = !self.once && !self.json;
        if is_live && !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
            return Err(Failure::usage("the live view needs a terminal; elsewhere use --once or --json"));
        }
        let view = self.view()?;
        let deadline = self.hosts.deadline(Instant::now())?;
        let colors = paints(&std::io::stdout(), Config::get()?.defaults.color);
        let mut watch = Watch::start(&self.hosts, self.act, self.patience())?;
        watch.missing.tell();
        watch.list(view.wanted())?;
        let mut model = Model { hosts: watch.hosts.clone(), interval: self.every.as_secs_f64(), ..Model::default() };
        // From here on rates are known: everyone has taken a first look.
        self.look(&mut watch, &mut model, deadline)?;
        // What it cost to come so far is not what it costs to go on.
        model.cost = FrontCost::default();
        if is_live {
            return live::show(&mut watch, model, view, colors, deadline).map(ExitCode::from);
        }
        let mut due = Instant::now() + self.every;
        loop {
            pause(due, deadline)?;
            // A tick that is late does not make the next ones come faster.
            due = (due + self.every).max(Instant::now());
            self.look(&mut watch, &mut model, deadline)?;
            self.print(&model, &view, colors)?;
            if self.once {
                return Ok(ExitCode::from(self.status(&watch, &model)));
            }
        }
    }

    fn patience(&self) -> Duration {
        if self.once { BEHIND_ONCE } else { (self.every / 4 * 3).clamp(*BEHIND.start(), *BEHIND.end()) }
    }

    /// How one look ends. Whoever asks for a job by name wants to know that there is none.
    fn status(&self, watch: &Watch, model: &Model) -> u8 {
        let of_hosts = watch.status(&model.silent);
        if of_hosts != 0 {
            return of_hosts;
        }
        let is_empty = model.used.used.is_empty() && self.filter.is_empty();
        let (what, name) = match (&self.job, &self.user) {
            (Some(name), _) if is_empty => ("job", name),
            (_, Some(name)) if is_empty => ("user", name),
            _ => return 0,
        };
        warn(format!("no process on these hosts is of {what} {name}; see who is there with: banyan top --by {what}"));
        status::MEMBER_FAILED
    }

    /// How it is looked at, if there is such a column.
    fn view(&self) -> Result<View, Failure> {
        let (by, within) = match (&self.job, &self.user) {
            (Some(job), _) => (By::Job, Some(Within::Job(job.clone()))),
            (_, Some(user)) => (By::User, Some(Within::User(user.clone()))),
            _ => (self.by, None),
        };
        let view = View { sort: self.sort.clone(), filter: self.filter.clone(), within, ..View::new(by) };
        let keys: Vec<&str> = view.columns().iter().map(|column| column.key).collect();
        if keys.contains(&self.sort.as_str()) {
            return Ok(view);
        }
        Err(Failure::usage(format!("--sort {}: there are {}", self.sort, keys.join(", "))))
    }

    fn print(&self, model: &Model, view: &View, colors: bool) -> Result<(), Failure> {
        let mut out = output::stdout();
        if self.json {
            writeln!(out, "{}", report::to_json(model, view))?;
        } else {
            report::write(&mut out, model, view, terminal::width(), colors)?;
        }
        Ok(out.flush()?)
    }

    /// Asks everyone and waits for the answer.
    fn look(&self, watch: &mut Watch, model: &mut Model, deadline: Option<Instant>) -> Result<(), Failure> {
        let deadline = Some(deadline.unwrap_or_else(|| Instant::now() + PATIENCE));
        watch.ask()?;
        model.tick = watch.wait_for_tick(deadline)?;
        model.silent = watch.silent(&model.tick);
        model.used = watch.wait_for_listing(deadline)?.unwrap_or_default();
        model.cost = watch.cost()?;
        Ok(())
    }
}

/// Until the next look, if there is one before the deadline.
fn pause(due: Instant, deadline: Option<Instant>) -> Result<(), Failure> {
    let until = deadline.map_or(due, |deadline| deadline.min(due));
    std::thread::sleep(until.saturating_duration_since(Instant::now()));
    match deadline {
        Some(deadline) if deadline <= due => Err(out_of_time()),
        _ => Ok(()),
    }
}

fn out_of_time() -> Failure {
    Failure::with_status("the time of --timeout has passed", status::TIME_LIMIT)
}

/// The name of a job: numbers are those of Slurm.
fn job(text: &str) -> Result<String, String> {
    match text {
        "" => Err("a job has a name; see which there are with: banyan top --by job".into()),
        number if number.bytes().all(|byte| byte.is_ascii_digit()) => Ok(format!("slurm {number}")),
        name => Ok(name.to_owned()),
    }
}

/// How often to look.
fn interval(text: &str) -> Result<Duration, String> {
    let interval = time(text)?;
    if interval < SHORTEST {
        return Err(format!("more often than every {SHORTEST:?} would show little but its own cost"));
    }
    Ok(interval)
}
