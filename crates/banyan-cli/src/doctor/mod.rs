//! `banyan doctor`: what would not work here or on hosts, why, and how to repair it.

mod connection;
mod facts;
mod finding;
mod here;
mod judge;
mod report;
mod time;
mod visit;

use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::process::ExitCode;

use banyan_boot::{Fallback, HostSet, Problem};
use banyan_clock::{Estimate, PeerClock};
use clap::Args;
use serde_json::json;

use crate::config::Config;
use crate::failure::{Failure, Outcome};
use crate::hosts::{ALLOCATION, HEADING, HostChoice, THIS_MACHINE};
use crate::output;
use crate::paint::Paint;
use crate::speech::paints;
use crate::status;
use connection::Connection;
use facts::Facts;
use finding::{Finding, Level};
use time::{TIME, Time};
use visit::Visit;

/// What this command calls itself.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Clocks further apart make logs of several hosts hard to read.
const CLOCK_LIMIT: i64 = 100_000_000;

/// Hosts that cannot be reached whose keys are looked for; the others fail for the same reasons.
const KEYS_LOOKED_FOR: usize = 16;

/// Find what would not work here or on hosts, and explain how to fix it
///
/// Checks limits, kernel permissions, ssh and its keys, Slurm, and the configuration file of this machine. With -w, or
/// in a Slurm allocation, doctor also connects to each host and checks its limits, versions, clock and free space. Each
/// finding has a cause and a remedy.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 no finding; 1 warnings or problems; 2 wrong usage; 3 a host could not be reached; 4 time limit.

Examples:
  banyan doctor
  banyan doctor -w node[1-128]
  banyan doctor -w @all --json | jq -r 'select(.level == \"problem\") | [.host, .name, .cause] | @tsv'")]
pub(crate) struct Doctor {
    /// One JSON object for each finding, and one summary
    #[arg(long)]
    json: bool,
    #[command(flatten, next_help_heading = HEADING)]
    hosts: HostChoice,
    /// Tell the facts of this machine, then the time for each line of standard input
    #[arg(long, hide = true)]
    answer: bool,
    /// With --answer: where to try to connect to
    #[arg(long, hide = true, value_name = "ADDRESS:PORT")]
    connect: Vec<SocketAddr>,
}

impl Doctor {
    pub(crate) fn run(self) -> Outcome {
        if self.answer {
            return answer(&self.connect);
        }
        // A configuration that cannot be read is a finding, and has no limit to tell.
        let time = Time::new(self.hosts.timeout().ok().flatten());
        let mut findings = judge::judge(&Facts::here(time), VERSION);
        findings.extend(here::look(time));
        let mut of_hosts = Vec::new();
        if Config::get().is_err() {
            findings.extend(self.names_others().then(unvisited));
        } else if let Some(hosts) = self.others()? {
            of_hosts = self.visited(&hosts, time)?;
        }
        findings.extend(time.finding());
        if self.hosts.uses_ssh().unwrap_or(false) && !of_hosts.is_empty() && !of_hosts.iter().any(is_unreached) {
            findings.iter_mut().for_each(here::excuse_keys);
        }
        let mut findings: Vec<Finding> = findings.into_iter().map(|finding| finding.on(THIS_MACHINE)).collect();
        findings.extend(of_hosts);
        let status = status_of(&findings);
        let mut out = output::stdout();
        if self.json {
            findings.iter().try_for_each(|finding| writeln!(out, "{}", finding.to_json()))?;
            writeln!(out, "{}", summary(&findings, status))?;
        } else {
            let color = Config::get().ok().and_then(|config| config.defaults.color);
            report::write(&mut out, &findings, Paint(paints(&std::io::stdout(), color)))?;
        }
        out.flush()?;
        Ok(ExitCode::from(status))
    }

    /// Whether there are hosts to look at beside this machine: some are named, or this is in an allocation.
    fn names_others(&self) -> bool {
        self.hosts.names_some() || std::env::var_os(ALLOCATION).is_some()
    }

    /// Those hosts.
    fn others(&self) -> Result<Option<HostSet>, Failure> {
        let hosts = self.names_others().then(|| self.hosts.hosts()).transpose()?;
        let is_this_machine = |hosts: &HostSet| !self.hosts.names_some() && hosts.iter().eq([THIS_MACHINE]);
        Ok(hosts.filter(|hosts| !is_this_machine(hosts)))
    }

    fn visited(&self, hosts: &HostSet, time: Time) -> Result<Vec<Finding>, Failure> {
        let options = self.hosts.options(hosts.len())?;
        let visit = if time.is_over() { Visit::default() } else { visit::visit(hosts, options, time)? };
        self.of_hosts(hosts, &visit, time)
    }

    fn of_hosts(&self, hosts: &HostSet, visit: &Visit, time: Time) -> Result<Vec<Finding>, Failure> {
        let arguments = self.hosts.ssh_arguments()?;
        let mut keys_left = KEYS_LOOKED_FOR;
        let mut findings = Vec::new();
        let is_many = self.hosts.options(hosts.len())?.fanout < hosts.len() as u32;
        for host in hosts.iter() {
            let mut of_host = Vec::new();
            let problems = visit.problems.iter().filter(|problem| problem.host == host);
            of_host.extend(problems.map(not_reached));
            match visit.facts.get(host) {
                Some(facts) => {
                    of_host.push(Finding::ok(REACHED, "yes"));
                    let is_ssh = self.hosts.uses_ssh()?;
                    of_host.extend(visit.connections.get(host).map(|connection| connection.finding(is_ssh)));
                    let fallbacks = visit.fallbacks.iter().filter(|fallback| fallback.host == host);
                    of_host.extend(fallbacks.map(|fallback| not_started_by_others(fallback, is_many)));
                    of_host.extend(judge::judge(facts, VERSION));
                    of_host.extend(visit.clocks.get(host).and_then(PeerClock::latest).map(judge_clock));
                }
                None if !of_host.is_empty() && self.hosts.uses_ssh()? && keys_left > 0 => {
                    keys_left -= 1;
                    of_host.extend(here::known_key(host, &arguments, time));
                }
                None => {}
            }
            if of_host.is_empty() {
                of_host.push(visit.refused.as_deref().map_or_else(|| silent(time), refused));
            }
            findings.extend(of_host.into_iter().map(|finding| finding.on(host)));
        }
        Ok(findings)
    }
}

/// Beside a host's facts: what came of its attempt to connect to this machine.
const CONNECTION: &str = "connection";

/// The finding that says whether there was a session with a host.
const REACHED: &str = "reached";

fn not_reached(problem: &Problem) -> Finding {
    Finding::bad(Level::Problem, REACHED, "no", &problem.cause, &problem.remedy)
}

/// A host that another one cannot start. The front-end does, which takes longer where they are many.
fn not_started_by_others(fallback: &Fallback, is_many: bool) -> Finding {
    const NAME: &str = "started by other hosts";
    let state = "no, but by this machine";
    if !is_many {
        return Finding::ok(NAME, state);
    }
    let cause =
        format!("with more hosts than --fanout they start each other, but {} cannot: {}", fallback.by, fallback.cause);
    let remedy =
        "give hosts keys for each other, in ~/.ssh there; until then this machine starts them all, which takes longer";
    Finding::bad(Level::Warning, NAME, state, cause, remedy)
}

/// Hosts that nobody can reach without knowing how.
fn unvisited() -> Finding {
    let cause = "the configuration says how hosts are reached, and cannot be read: none was looked at";
    Finding::bad(Level::Problem, "hosts", "not looked at", cause, "repair it, or set BANYAN_CONFIG= to go without")
}

/// A host to which there was no session, for a reason that is none of its own.
fn refused(cause: &str) -> Finding {
    Finding::bad(Level::Problem, REACHED, "no", cause, "repair what the cause names, or use another --launcher")
}

/// A host of which nothing is known: there was a session on it and nothing came, or no time for one.
fn silent(time: Time) -> Finding {
    if time.is_over() {
        let cause = "the time of --timeout has passed";
        return Finding::bad(Level::Problem, REACHED, "without an answer", cause, "give it more time");
    }
    let cause = "the session came up, but what looks around there said nothing in time; is the machine overloaded?";
    Finding::bad(Level::Problem, REACHED, "without an answer", cause, "banyan run -w HOST -- uptime")
}

fn judge_clock(clock: Estimate) -> Finding {
    let milliseconds = |nanoseconds: i64| nanoseconds as f64 / 1e6;
    let state = format!("{:+.1} ms, known within {:.1} ms", milliseconds(clock.offset()), milliseconds(clock.bound()));
    if clock.offset().abs() - clock.bound() <= CLOCK_LIMIT {
        return Finding::ok("clock", state);
    }
    let cause = "its times do not compare with those of this machine";
    Finding::bad(Level::Warning, "clock", state, cause, "on the host: timedatectl set-ntp true, or look at its chrony")
}

fn is_unreached(finding: &Finding) -> bool {
    finding.name == REACHED && finding.level > Level::Ok
}

fn status_of(findings: &[Finding]) -> u8 {
    match findings.iter().map(|finding| finding.level).max() {
        _ if findings.iter().any(|finding| finding.name == TIME) => status::TIME_LIMIT,
        _ if findings.iter().any(is_unreached) => status::UNREACHABLE,
        Some(Level::Warning | Level::Problem) => status::MEMBER_FAILED,
        _ => 0,
    }
}

fn summary(findings: &[Finding], status: u8) -> serde_json::Value {
    let count = |level: Level| findings.iter().filter(|finding| finding.level == level).count();
    json!({
        "event": "summary",
        "ok": count(Level::Ok),
        "warnings": count(Level::Warning),
        "problems": count(Level::Problem),
        "version": VERSION,
        "exit_status": status,
    })
}

/// The side of a host: its facts, whether it can connect to the machine that asks, and the time whenever it is asked for.
fn answer(front_end: &[SocketAddr]) -> Outcome {
    let mut out = output::stdout();
    let mut facts = Facts::here(Time::default()).to_json();
    facts[CONNECTION] = Connection::to(front_end).to_json();
    writeln!(out, "{facts}")?;
    out.flush()?;
    for line in std::io::stdin().lock().lines() {
        // Input that cannot be read has ended.
        if line.is_err() {
            break;
        }
        writeln!(out, "{}", json!({ "now": facts::now() }))?;
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}
