//! `banyan run`: a command on every host, its output by line, and one exit status for all.

mod arrival;
mod difference;
mod folded;
mod gather;
mod input;
mod interrupt;
mod job;
mod joiner;
mod names;
mod show;
mod side;
mod stream;
mod summary;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Instant;

use banyan_boot::process::Limits;
use banyan_boot::{
    HostSet, Input, LaunchError, Leftovers, Output, Problem, ProblemKind, ProcessDistribution, Session, Stdio,
};
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};

use crate::config::Config;
use crate::failure::{Failure, Outcome, warn};
use crate::hosts::{HEADING, HostChoice, Missing, launch_status};
use arrival::Arrival;
use folded::Folded;
use names::MemberNames;
use show::{EventForm, Show};
use summary::RunSummary;

/// Run a command on many hosts, or many times on this machine
///
/// Each line of output has the rank and the host of its member as a prefix. With --fold, identical outputs are printed once.
/// Standard error of the members goes to standard error. Standard input goes to all members. ^C is forwarded to the members, and
/// a second ^C ends them. ^Z stops them. At the end, standard error lists the members that failed, and why. When this command
/// ends, for whatever reason, so does everything that it started.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 success; 1 a member failed; 2 wrong usage; 3 a host could not be reached or was lost; \
4 time limit; 130 interrupted by ^C; 141 the output was closed. With --worst-status the worst status of the members \
instead of 1.

Examples:
  banyan run -n 4 -- sh -c 'echo I am $$'
  banyan run -w node[1-8] -x node3 -- uptime
  banyan run --hostfile hosts --min-hosts 60 --timeout 30s -- df -h /tmp
  banyan run -w node[1-8] --json -- hostname | jq -r 'select(.event == \"output\") | .line'
  tar cz data | banyan run -w node[1-8] -- tar xzC /scratch")]
pub(crate) struct Run {
    /// Start N members on each host
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    per_host: u32,
    /// Show the output at the end, identical outputs once
    #[arg(short = 'b', long, conflicts_with = "no_label")]
    fold: bool,
    /// Like --fold, but show minority outputs as a diff against the most common one
    #[arg(long, conflicts_with = "no_label")]
    diff: bool,
    /// Which members get standard input
    #[arg(long, value_name = "WHO", default_value = "all")]
    input: InputTo,
    /// Resource limits for each member, such as time=10m,nice=5,nofile=1024,cpu=60s,as=2g
    #[arg(long, value_name = "LIMITS", value_parser = |text: &str| text.parse::<Limits>())]
    limit: Option<Limits>,
    /// Set an environment variable for the members; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = OsStringValueParser::new().try_map(variable))]
    env: Vec<(OsString, OsString)>,
    /// The working directory of the members
    #[arg(long, value_name = "DIR")]
    chdir: Option<PathBuf>,
    /// One JSON object for each event, and one summary
    #[arg(long)]
    json: bool,
    /// The prefix of each line
    #[arg(long, value_name = "WHAT", default_value = "full", overrides_with = "no_label")]
    label: Label,
    /// Print lines without a prefix; the same as --label none
    #[arg(long, overrides_with = "label")]
    no_label: bool,
    /// Do not end processes that members leave behind, such as daemons
    #[arg(long)]
    detach: bool,
    /// Exit with the worst exit status of the members instead of 1
    #[arg(short = 'S', long)]
    worst_status: bool,
    /// Let members join the session, through file descriptors that they inherit
    #[arg(long)]
    join: bool,
    #[command(flatten, next_help_heading = HEADING)]
    hosts: HostChoice,
    /// The command and its arguments. Options after COMMAND are passed to COMMAND.
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// What stands before each line.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Label {
    /// Rank and host: 3 node2: line
    Full,
    /// The host alone: node2: line
    Host,
    /// Nothing
    None,
}

/// Who gets standard input.
#[derive(Clone, Copy, clap::ValueEnum)]
enum InputTo {
    /// Every member gets all of it
    All,
    /// Member 0 alone
    Master,
    /// Nobody: it is empty
    None,
}

/// The session while it runs, for the threads that forward signals and standard input.
#[derive(Clone, Default)]
struct SharedSession(Arc<RwLock<Option<Session>>>);

impl SharedSession {
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
        let deadline = self.hosts.deadline(begin)?;
        let hosts = self.hosts.hosts()?;
        let distribution = self.distribution(&hosts)?;
        // Each is a command of its own.
        let leftovers = if self.detach { Leftovers::Spare } else { Leftovers::Tell };
        let options = (self.hosts.patient_options(hosts.len())?).independent(true).leftovers(leftovers);
        let shared = SharedSession::default();
        interrupt::watch(shared.clone()).map_err(|error| Failure::system("signals cannot be handled", &error))?;
        let mut show = Show::new(self.form(), Config::get()?.defaults.color);
        let session = match Session::launch(&[distribution], &options) {
            Ok(session) => session,
            Err(error) => return self.not_launched(&error, &mut show),
        };
        let names = || MemberNames::new(session.hosts().map(str::to_owned).collect());
        let mut summary = RunSummary::new(names(), Missing::of(&self.hosts, session.missing())?, begin);
        if self.fold || self.diff {
            show.fold(Folded::new(names(), self.diff));
        } else if session.size() == 1 {
            show.only_one();
        }
        shared.replace(Some(session));
        match self.input {
            InputTo::None => {}
            InputTo::All | InputTo::Master => input::forward(shared.clone()).map_err(|error| {
                // Its members end with it.
                shared.replace(None);
                Failure::system("standard input cannot be forwarded", &error)
            })?,
        }
        self.follow(&shared, deadline, &mut summary, &mut show)?;
        show.unfold(summary.unreached())?;
        let session = shared.replace(None);
        session.iter().for_each(|session| summary.refused(session.refused()));
        if let Some(Err(error)) = session.map(Session::kill) {
            warn(format!("the session could not be ended: {error}; its agents end it when this command is gone"));
        }
        if let (Some(error), None) = (summary.why_nothing_ran(), interrupt::status()) {
            return self.not_launched(&error, &mut show);
        }
        let status = interrupt::status().unwrap_or_else(|| summary.exit_status(self.worst_status));
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
        shared: &SharedSession,
        deadline: Option<Instant>,
        summary: &mut RunSummary,
        show: &mut Show,
    ) -> Result<(), Failure> {
        let guard = shared.read();
        let Some(session) = guard.as_ref() else { return Ok(()) };
        let mut until = deadline;
        let mut arrival = Arrival::new(summary.begin());
        loop {
            let mut look_at = None;
            let event = match session.try_recv_event() {
                Ok(Some(event)) => Some(event),
                _ => {
                    // Nothing is there at the moment: what was gathered is shown before waiting.
                    show.flush()?;
                    end_if_unread(session, summary, show);
                    look_at = arrival.look(session, show);
                    if look_at.is_none() && !self.json {
                        // Every host has said by now what it could not start.
                        summary.tell_not_started();
                    }
                    session.recv_event_timeout(until.into_iter().chain(look_at).min()).ok()
                }
            };
            match event {
                Some(event) => {
                    summary.note(&event);
                    if !summary.is_of_unreached(&event) {
                        arrival.make_room();
                        show.event(&event)?;
                    }
                    end_if_unread(session, summary, show);
                    show.progress(|| summary.progress());
                }
                None if until.is_some_and(|until| Instant::now() >= until) && !summary.all_ended() => {
                    crate::arrival::tell();
                    summary.timed_out();
                    session.stop();
                    until = None;
                }
                None if look_at.is_some_and(|at| Instant::now() >= at) => {}
                None => {
                    if summary.all_ended() {
                        arrival.all_run(session);
                    }
                    show.finish(None)?;
                    return show.flush();
                }
            }
        }
    }

    fn not_launched(&self, error: &LaunchError, show: &mut Show) -> Outcome {
        let status = launch_status(error);
        if self.json {
            show.object(&summary::not_launched(error, status))?;
        }
        Err(Failure::with_status(error, status).told())
    }

    fn distribution(&self, hosts: &HostSet) -> Result<ProcessDistribution, Failure> {
        let mut distribution = match &self.command[..] {
            [] => return Err(Failure::usage("no command was given; write it behind the options")),
            [line] if is_line(line) => {
                warn(format_args!("no program is called {line:?}; it is run as a line of shell: sh -c {line:?}"));
                ProcessDistribution::new("sh", ["-c".into(), line.clone()])
            }
            [program, arguments @ ..] => ProcessDistribution::new(program, arguments.iter().cloned()),
        };
        for host in hosts.iter() {
            distribution = distribution.on(host, self.per_host);
        }
        for (name, value) in &self.env {
            distribution = distribution.env(name, value);
        }
        distribution.cwd.clone_from(&self.chdir);
        distribution.limits = self.limit.clone().unwrap_or_default();
        let input = match self.input {
            InputTo::All => Input::Everyone,
            InputTo::Master => Input::Master,
            InputTo::None => Input::Nobody,
        };
        distribution.plain = !self.join;
        Ok(distribution.stdio(Stdio::default().input(input).output(Output::Forward)))
    }

    fn form(&self) -> EventForm {
        match self.label {
            _ if self.json => EventForm::Json,
            _ if self.no_label => EventForm::Bare,
            Label::None => EventForm::Bare,
            Label::Host => EventForm::HostLabelled,
            Label::Full => EventForm::Labelled,
        }
    }
}

/// Whether a single word is a line for a shell, as those who know clush and pdsh write it: it has blanks in it, and no
/// program has such a name.
fn is_line(word: &OsStr) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_program = || Path::new(word).exists() || std::env::split_paths(&path).any(|place| place.join(word).exists());
    word.as_bytes().contains(&b' ') && !is_program()
}

/// A variable and its value.
fn variable(text: OsString) -> Result<(OsString, OsString), &'static str> {
    let bytes = text.as_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=').filter(|at| *at > 0);
    let at = at.ok_or("write NAME=VALUE; NAME=\"$NAME\" gives members the value it has here")?;
    Ok((OsStr::from_bytes(&bytes[..at]).to_owned(), OsStr::from_bytes(&bytes[at + 1..]).to_owned()))
}

/// Ends the members once nobody reads what they write, as the system ends a command.
fn end_if_unread(session: &Session, summary: &mut RunSummary, show: &Show) {
    if show.is_unread() && summary.unread() {
        session.stop();
    }
}

/// Whether a problem tells that a host was lost.
fn is_loss(problem: &Problem) -> bool {
    !Missing::is_told_by(problem) && !matches!(problem.kind, ProblemKind::NotStarted | ProblemKind::LeftRunning)
}
