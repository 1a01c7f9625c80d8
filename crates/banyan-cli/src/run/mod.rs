//! `banyan run`: a command on every host, its output by line, and one exit status for all.

mod hosts;
mod input;
mod interrupt;
mod screen;
mod show;
mod summary;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use banyan_boot::process::Limits;
use banyan_boot::{Event, Input, LaunchError, ProblemKind, ProcessDistribution, Session, SessionOptions, Stdio};
use clap::Args;

use crate::failure::{Failure, Outcome, warn};
pub(crate) use hosts::{HostChoice, named_hosts};
use show::{Form, Show};
use summary::Summary;

/// Some member failed.
const MEMBER_FAILED: u8 = 1;
/// Some host could not be reached or was lost.
const UNREACHABLE: u8 = 3;
/// A time limit has passed.
const TIME_LIMIT: u8 = 4;

/// Run a command on many hosts, or many times on this machine
///
/// What the members write is shown line by line behind their rank and host; their errors go to standard error. Standard
/// input goes to all of them. ^C is forwarded to the members; a second one ends them. In the end standard error says who
/// failed and why. When this command ends, in whatever way, everything it started has ended too.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 all well; 1 some member failed; 2 wrong usage; 3 some host could not be reached or was lost;
4 time limit. With --worst-status the worst status of the members instead of 1.

Examples:
  banyan run -n 4 -- sh -c 'echo I am $$'
  banyan run -w node[1-8] -x node3 -- uptime
  banyan run --hostfile hosts --min-hosts 60 --timeout 30s -- df -h /tmp
  banyan run -w node[1-8] --json -- hostname | jq -r 'select(.event == \"output\") | .line'
  tar cz data | banyan run -w node[1-8] -- tar xzC /scratch")]
pub(crate) struct Run {
    #[command(flatten)]
    hosts: HostChoice,
    /// How many times on each host
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    per_host: u32,
    /// Children of a node in the tree of agents at most
    #[arg(long, value_name = "N", default_value_t = SessionOptions::default().fanout,
          value_parser = clap::value_parser!(u32).range(1..))]
    fanout: u32,
    /// End everything after this time, such as 30s, 10m or 2h
    #[arg(long, value_name = "TIME", value_parser = time)]
    timeout: Option<Duration>,
    /// How long one host may take to answer
    #[arg(long, value_name = "TIME", value_parser = time)]
    host_timeout: Option<Duration>,
    /// Go on without hosts that cannot be reached, as long as so many remain
    #[arg(long, value_name = "N")]
    min_hosts: Option<usize>,
    /// Do not encrypt between hosts; agents and members are authenticated all the same
    #[arg(long)]
    no_encrypt: bool,
    /// Who gets standard input
    #[arg(long, value_name = "WHO", default_value = "all")]
    input: Who,
    /// What each member may use, such as time=10m,nice=5,nofile=1024,cpu=60s,as=2g
    #[arg(long, value_name = "LIMITS", value_parser = |text: &str| text.parse::<Limits>())]
    limit: Option<Limits>,
    /// One JSON object for each event, and one summary
    #[arg(long)]
    json: bool,
    /// Put rank and host before each line (the default)
    #[arg(long, overrides_with = "no_label")]
    label: bool,
    /// Show lines as they are
    #[arg(long, overrides_with = "label")]
    no_label: bool,
    /// End with the worst exit status of the members where it would be 1
    #[arg(short = 'S', long)]
    worst_status: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Who gets standard input.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Who {
    /// Every member gets all of it
    All,
    /// Member 0 alone
    Master,
    /// Nobody: it is empty
    None,
}

/// The session while it runs, for the threads that forward signals and standard input.
#[derive(Clone, Default)]
struct Shared(Arc<RwLock<Option<Session>>>);

impl Shared {
    fn read(&self) -> RwLockReadGuard<'_, Option<Session>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a session in, or takes it out.
    fn replace(&self, session: Option<Session>) -> Option<Session> {
        std::mem::replace(&mut *self.0.write().unwrap_or_else(PoisonError::into_inner), session)
    }
}

impl Run {
    pub(crate) fn run(self) -> Outcome {
        let begin = Instant::now();
        let deadline = self.timeout.and_then(|time| begin.checked_add(time));
        let (distribution, options) = (self.distribution()?, self.options());
        let shared = Shared::default();
        interrupt::watch(shared.clone()).map_err(|error| Failure::new(format!("signals: {error}")))?;
        let mut show = Show::new(self.form());
        let session = match Session::launch(&[distribution], &options) {
            Ok(session) => session,
            Err(error) => return self.not_launched(&error, &mut show),
        };
        let mut summary = Summary::new(&session, begin);
        shared.replace(Some(session));
        match self.input {
            Who::None => {}
            Who::All | Who::Master => input::forward(shared.clone()),
        }
        self.follow(&shared, deadline, &mut summary, &mut show)?;
        if let Some(Err(error)) = shared.replace(None).map(Session::kill) {
            warn(format!("the session could not be ended: {error}; its agents end it when this command is gone"));
        }
        let status = summary.exit_status(self.worst_status);
        if self.json {
            show.object(&summary.to_json(status))?;
        } else {
            summary.tell();
        }
        Ok(ExitCode::from(status))
    }

    /// Shows what happens until all has ended.
    fn follow(
        &self,
        shared: &Shared,
        deadline: Option<Instant>,
        summary: &mut Summary,
        show: &mut Show,
    ) -> Result<(), Failure> {
        let guard = shared.read();
        let Some(session) = guard.as_ref() else { return Ok(()) };
        let mut until = deadline;
        loop {
            let event = match session.next_event(Some(Instant::now())) {
                Some(event) => Some(event),
                None => {
                    // Nothing is there at the moment: what was gathered is shown before waiting.
                    show.flush()?;
                    session.next_event(until)
                }
            };
            match event {
                Some(event) => {
                    summary.note(&event);
                    show.event(&event)?;
                }
                None if until.is_some_and(|until| Instant::now() >= until) && !summary.all_ended() => {
                    summary.timed_out();
                    session.stop();
                    until = None;
                }
                None => return show.flush(),
            }
        }
    }

    fn not_launched(&self, error: &LaunchError, show: &mut Show) -> Outcome {
        let status = launch_status(error);
        if self.json {
            show.object(&summary::not_launched(error, status))?;
        }
        Err(Failure::with_status(error, status))
    }

    fn distribution(&self) -> Result<ProcessDistribution, Failure> {
        let [program, arguments @ ..] = &self.command[..] else {
            return Err(Failure::usage("no command was given; write it behind --"));
        };
        let mut distribution = ProcessDistribution::new(program, arguments.iter().cloned());
        for host in self.hosts.hosts()?.iter() {
            distribution = distribution.on(host, self.per_host);
        }
        distribution.limits = self.limit.clone().unwrap_or_default();
        let input = match self.input {
            Who::All => Input::Everyone,
            Who::Master => Input::Master,
            Who::None => Input::Nobody,
        };
        Ok(distribution.stdio(Stdio { input, ..Stdio::default() }))
    }

    fn options(&self) -> SessionOptions {
        let defaults = SessionOptions::default();
        SessionOptions {
            launcher: self.hosts.launcher(),
            fanout: self.fanout,
            host_deadline: self.host_timeout.unwrap_or(defaults.host_deadline),
            deadline: self.timeout,
            min_hosts: self.min_hosts,
            encrypt: !self.no_encrypt,
            ..defaults
        }
    }

    fn form(&self) -> Form {
        match (self.json, self.no_label) {
            (true, _) => Form::Json,
            (false, true) => Form::Bare,
            (false, false) => Form::Labelled,
        }
    }
}

/// The exit status of a launch that failed.
pub(crate) fn launch_status(error: &LaunchError) -> u8 {
    match error {
        LaunchError::NoHosts | LaunchError::BadHost(..) | LaunchError::TooMany | LaunchError::Launcher(_) => 2,
        LaunchError::Problems { problems, .. } => {
            let only_members = problems.iter().all(|problem| problem.kind == ProblemKind::NotStarted);
            if only_members { MEMBER_FAILED } else { UNREACHABLE }
        }
        LaunchError::TooSlow { .. } => TIME_LIMIT,
        _ => 1,
    }
}

/// A time as limits are written, so that there is one way to write it.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let limits: Limits = format!("time={text}").parse().map_err(|_| "write for example 500ms, 30s, 10m or 2h")?;
    limits.time.filter(|time| !time.is_zero()).ok_or_else(|| "write more than nothing, for example 30s".into())
}

/// Whether an event tells that a host was lost.
fn is_loss(event: &Event) -> bool {
    matches!(event, Event::Problem(problem) if problem.kind != ProblemKind::NotStarted)
}
