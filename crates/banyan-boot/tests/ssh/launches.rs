//! Launches that work.

use std::io::Write;
use std::process::{Command, Stdio};

use banyan_boot::{ProcessDistribution, Session};

use crate::cluster::{GOOD, GREETS, assert_clean, each, name, on, run, ssh, with_keys_here_alone};
use crate::setup::{all_succeed, members, shell, this_program};

pub(crate) fn hosts_without_the_agent_program_get_it_once() {
    for host in GOOD {
        run(host, "rm -rf .cache/banyan");
    }
    let look = || {
        let script = "hostname; stat -c '%i %z %a' ~/.cache/banyan/agents/* ~/.cache/banyan/agents/.[!.]* 2>/dev/null";
        let members = each(shell(&format!("{script}; true")), &GOOD, 1);
        let heard = all_succeed(Session::launch(&[members], &on(&name())).unwrap());
        (0..GOOD.len() as u32).map(|rank| heard.text(rank)).collect::<Vec<String>>()
    };
    let first = look();
    for (text, host) in first.iter().zip(GOOD) {
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() == 2 && lines[0] == host && lines[1].ends_with(" 700"), "{lines:?}");
    }
    assert_eq!(look(), first, "the second launch starts the same files");
    assert_clean(&name());
}

pub(crate) fn collectives_work_over_hosts_that_start_each_other() {
    let options = on(&name()).fanout(2);
    let session = Session::launch(&[each(members(&["collectives"]), &GOOD, 2)], &options).unwrap();
    assert_eq!(session.size(), 16);
    all_succeed(session);
    assert_clean(&name());
}

pub(crate) fn hosts_that_others_cannot_start_are_started_by_the_front_end() {
    let place = tempfile::tempdir().unwrap();
    for fanout in [1, 3] {
        let options = with_keys_here_alone(&name(), place.path()).fanout(fanout);
        let session = Session::launch(&[each(members(&["collectives"]), &GOOD, 2)], &options).unwrap();
        let fallbacks = session.fallbacks();
        assert_eq!(fallbacks.len(), GOOD.len() - fanout as usize, "{fallbacks:?}");
        for fallback in fallbacks {
            assert!(GOOD.contains(&&*fallback.host) && GOOD.contains(&&*fallback.by), "{fallback:?}");
            assert!(fallback.cause.contains("ssh_config"), "{fallback:?}");
        }
        all_succeed(session);
        assert_clean(&name());
    }
}

pub(crate) fn a_host_that_greets_and_prints_garbage_works() {
    let session = Session::launch(&[shell("hostname").on(GREETS, 2)], &on(&name())).unwrap();
    let heard = all_succeed(session);
    assert_eq!(heard.text(1), format!("{GREETS}\n"));
    assert_clean(&name());
}

pub(crate) fn members_attach_from_hosts_without_an_agent() {
    // h1 has the agent; h2 has none, nor has this machine.
    let session = Session::launch(&[ProcessDistribution::attached().on(GOOD[0], 3)], &on(&name())).unwrap();
    let (variable, ticket) = session.ticket().unwrap().to_env();
    let program = this_program().display().to_string();
    let start = |mut command: Command| {
        let mut member = command.stdin(Stdio::piped()).spawn().unwrap();
        member.stdin.take().unwrap().write_all(ticket.expose()).unwrap();
        member
    };
    let on_host = |host: &str| {
        let mut command = ssh(host);
        command.arg(format!("exec env {variable}=fd:0 {program} member meet"));
        command
    };
    let mut here = Command::new(&program);
    here.args(["member", "meet"]).env(variable, "fd:0");
    let members = [on_host(GOOD[0]), on_host(GOOD[1]), here].map(start);
    for mut member in members {
        assert!(member.wait().unwrap().success());
    }
    all_succeed(session);
    assert_clean(&name());
}
