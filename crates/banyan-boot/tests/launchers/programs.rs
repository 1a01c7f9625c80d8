//! The front-end and the member of the tests' sessions.

use std::process::ExitCode;
use std::time::Duration;

use banyan_boot::{Event, HostSet, Launcher, Member, Output, ProcessDistribution, Session, SessionOptions};
use bytes::Bytes;

/// Members on each host.
pub(crate) const PROCESSES: u32 = 4;

/// The variable that names another agent program, which all hosts have, …
pub(crate) const AGENT: &str = "BANYAN_TEST_AGENT";

/// … or only this machine.
pub(crate) const OWN_AGENT: &str = "BANYAN_TEST_OWN_AGENT";

/// `slurm`, `auto`, or the template of a command; hosts may be `-` for those of the allocation.
pub(crate) fn front_end(launcher: &str, fanout: &str, hosts: &str, what: &str) -> ExitCode {
    let launcher = match launcher {
        "slurm" => Launcher::Slurm { arguments: Vec::new() },
        "auto" => Launcher::Auto,
        template => Launcher::Command { template: template.into() },
    };
    let own_agent = std::env::var_os(OWN_AGENT);
    let host_deadline = Duration::from_secs(match what {
        // To bring it takes time, where others work too.
        "impatient" | "enough" if own_agent.is_some() => 20,
        "impatient" | "enough" => 5,
        _ => 30,
    });
    let mut options = SessionOptions::default()
        .launcher(launcher)
        .fanout(fanout.parse().unwrap())
        .host_deadline(host_deadline)
        .min_hosts((what == "enough").then_some(3));
    (options.agent, options.installed_agent) = (own_agent.map(Into::into), std::env::var(AGENT).ok());
    let mut members =
        ProcessDistribution::new(std::env::current_exe().unwrap(), ["member", what]).output(Output::Forward);
    if hosts != "-" {
        members = HostSet::parse(hosts).unwrap().iter().fold(members, |members, host| members.on(host, PROCESSES));
    }
    match Session::launch(&[members], &options) {
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
        Ok(session) => {
            session.missing().iter().for_each(|problem| println!("left out: {problem}"));
            println!("{}", String::from_utf8_lossy(&session.recv_user_data().unwrap()));
            while let Ok(event) = session.recv_event() {
                if let Event::Problem(problem) = event {
                    println!("{problem}");
                }
            }
            let outcome = session.wait().unwrap();
            ExitCode::from(outcome.exit_status())
        }
    }
}

/// Gathers ranks and hosts at the master, which tells the front-end; then ends, or waits to be ended.
pub(crate) fn member(what: &str) -> ExitCode {
    let mut member = Member::join().unwrap();
    let gathered = member.gather(Bytes::copy_from_slice(&member.rank().to_le_bytes())).unwrap();
    if let Some(parts) = gathered {
        let in_order = parts.iter().zip(0u32..).all(|(part, rank)| part[..] == rank.to_le_bytes());
        member.send_user_data(format!("{} members in order: {in_order}", parts.len())).unwrap();
    }
    member.barrier().unwrap();
    if what == "wait" {
        loop {
            std::thread::park();
        }
    }
    ExitCode::SUCCESS
}
