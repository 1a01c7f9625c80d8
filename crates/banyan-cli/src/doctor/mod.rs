//! `banyan doctor`: what would not work here or on hosts, why, and how to repair it.

mod facts;
mod finding;
mod here;
mod judge;
mod report;
mod visit;

use std::io::{BufRead, Write};
use std::process::ExitCode;

use banyan_boot::Problem;
use clap::Args;
use serde_json::json;

use crate::config::Config;
use crate::failure::{Failure, Outcome};
use crate::hosts::{HostChoice, THIS_MACHINE};
use crate::output;
use crate::paint::Paint;
use crate::speech::paints;
use crate::status;
use facts::Facts;
use finding::{Finding, Level};
use visit::{Clock, Visit};

/// What this command calls itself.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Clocks further apart make logs of several hosts hard to read.
const CLOCK_LIMIT: i128 = 100_000_000;

/// Hosts that cannot be reached whose keys are looked for; the others fail for the same reasons.
const KEYS_LOOKED_FOR: usize = 16;

/// Explain what would not work here, or on hosts, and how to repair it
///
/// Looks at limits, at what the kernel permits, at ssh and its keys, at Slurm and at the configuration file of this
/// machine; with -w reaches each host, and looks at its limits, versions, clock and room as well. Whatever is not well
/// comes with its cause and with what to do.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 all well; 1 there are warnings or problems; 3 some host could not be reached.

Examples:
  banyan doctor
  banyan doctor -w node[1-128]
  banyan doctor -w @all --json | jq -r 'select(.level == \"problem\") | [.host, .name, .cause] | @tsv'")]
pub(crate) struct Doctor {
    #[command(flatten)]
    hosts: HostChoice,
    /// One JSON object for each finding, and one summary
    #[arg(long)]
    json: bool,
    /// Tell the facts of this machine, then the time for each line of standard input
    #[arg(long, hide = true)]
    answer: bool,
}

impl Doctor {
    pub(crate) fn run(self) -> Outcome {
        if self.answer {
            return answer();
        }
        let mut findings = judge::judge(&Facts::here(), VERSION);
        findings.extend(here::look());
        let mut findings: Vec<Finding> = findings.into_iter().map(|finding| finding.on(THIS_MACHINE)).collect();
        // A configuration that cannot be read is a finding; without one there can still be hosts.
        let configured = Config::get().is_ok();
        if configured && let Some(hosts) = self.hosts.named.named()? {
            let visit = visit::visit(&hosts, self.hosts.options(hosts.len())?)?;
            findings.extend(self.of_hosts(hosts.iter(), &visit)?);
        }
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

    fn of_hosts<'h>(&self, hosts: impl Iterator<Item = &'h str>, visit: &Visit) -> Result<Vec<Finding>, Failure> {
        let arguments = self.hosts.ssh_arguments()?;
        let mut keys_left = KEYS_LOOKED_FOR;
        let mut findings = Vec::new();
        for host in hosts {
            let mut of_host = Vec::new();
            let problems = visit.problems.iter().filter(|problem| problem.host == host);
            of_host.extend(problems.map(not_reached));
            match visit.facts.get(host) {
                Some(facts) => {
                    of_host.push(Finding::ok(REACHED, "yes"));
                    of_host.extend(judge::judge(facts, VERSION));
                    of_host.extend(visit.clocks.get(host).map(|clock| judge_clock(*clock)));
                }
                None if !of_host.is_empty() && self.hosts.uses_ssh()? && keys_left > 0 => {
                    keys_left -= 1;
                    of_host.extend(here::known_key(host, &arguments));
                }
                None => {}
            }
            if of_host.is_empty() {
                of_host.push(silent());
            }
            findings.extend(of_host.into_iter().map(|finding| finding.on(host)));
        }
        Ok(findings)
    }
}

/// The finding that says whether there was a session with a host.
const REACHED: &str = "reached";

fn not_reached(problem: &Problem) -> Finding {
    Finding::bad(Level::Problem, REACHED, "no", &problem.cause, &problem.remedy)
}

/// A host on which there was a session, and nothing came of it.
fn silent() -> Finding {
    let cause = "the session came up, but what looks around there said nothing in time; is the machine overloaded?";
    Finding::bad(Level::Problem, REACHED, "without an answer", cause, "banyan run -w HOST -- uptime")
}

fn judge_clock(clock: Clock) -> Finding {
    let milliseconds = |nanoseconds: i128| nanoseconds as f64 / 1e6;
    let state = format!("{:+.1} ms, known within {:.1} ms", milliseconds(clock.ahead), milliseconds(clock.within));
    if clock.ahead.abs() - clock.within <= CLOCK_LIMIT {
        return Finding::ok("clock", state);
    }
    let cause = "its times do not compare with those of this machine";
    Finding::bad(Level::Warning, "clock", state, cause, "on the host: timedatectl set-ntp true, or look at its chrony")
}

fn status_of(findings: &[Finding]) -> u8 {
    let unreached = |finding: &Finding| finding.name == REACHED && finding.level > Level::Ok;
    match findings.iter().map(|finding| finding.level).max() {
        _ if findings.iter().any(unreached) => status::UNREACHABLE,
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

/// The side of a host: its facts, and the time whenever it is asked for.
fn answer() -> Outcome {
    let mut out = output::stdout();
    writeln!(out, "{}", Facts::here().to_json())?;
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
