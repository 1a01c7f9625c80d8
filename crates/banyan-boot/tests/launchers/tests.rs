//! What holds for agents that are started together.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::cluster::{PATIENCE, assert_clean, command, said, wait_for_processes};
use crate::programs::AGENT;

pub(crate) const HOSTS: &str = "h[1-4]";

pub(crate) fn this_program() -> String {
    std::env::current_exe().unwrap().to_str().unwrap().to_owned()
}

pub(crate) fn front_end(words: [&str; 4]) -> Command {
    let mut front_end = command(&this_program());
    front_end.arg("front-end").args(words);
    front_end
}

pub(crate) fn in_allocation(words: [&str; 4]) -> Command {
    let mut salloc = command("salloc");
    let allocation = ["--quiet", "--nodes=4", "--ntasks-per-node=4", "--nodelist=h[1-4]"];
    salloc.args(allocation).arg(this_program()).arg("front-end").args(words);
    salloc
}

pub(crate) fn assert_all_in_order(mut front_end: Command) {
    let output = front_end.output().unwrap();
    let said = said(&output);
    assert!(output.status.success() && said.contains("16 members in order: true"), "{said}");
    assert_clean();
}

pub(crate) fn assert_fails(mut front_end: Command, parts: &[&str]) {
    let output = front_end.output().unwrap();
    let said = said(&output);
    assert!(!output.status.success(), "{said}");
    parts.iter().for_each(|part| assert!(said.contains(part), "{part:?} is missing in: {said}"));
    assert_clean();
}

pub(crate) fn a_step_inside_an_allocation_starts_all_agents() {
    assert_all_in_order(in_allocation(["auto", "32", HOSTS, "meet"]));
    // With one child each the tree is a chain: agents find other agents.
    assert_all_in_order(in_allocation(["auto", "1", HOSTS, "meet"]));
}

pub(crate) fn an_allocation_gives_the_hosts_if_none_are_named() {
    assert_all_in_order(in_allocation(["slurm", "2", "-", "meet"]));
}

pub(crate) fn without_an_allocation_one_is_made() {
    assert_all_in_order(front_end(["slurm", "2", HOSTS, "meet"]));
}

pub(crate) fn pdsh_starts_agents() {
    assert_all_in_order(front_end(["pdsh -R ssh -w {hosts} {agent}", "2", HOSTS, "meet"]));
}

pub(crate) fn mpirun_starts_agents() {
    let template = "mpirun -host {hosts} -np {count} --map-by ppr:1:node {agent}";
    assert_all_in_order(front_end([template, "2", HOSTS, "meet"]));
}

pub(crate) fn hydra_starts_agents() {
    let template = "mpiexec.hydra -launcher ssh -hosts {hosts} -ppn 1 -n {count} {agent}";
    assert_all_in_order(front_end([template, "2", HOSTS, "meet"]));
}

/// An agent program that fails on the fourth host; removed when this is dropped.
struct LameAgent(std::path::PathBuf);

impl LameAgent {
    fn new() -> LameAgent {
        let path = std::env::current_exe().unwrap().with_file_name(format!("lame-agent-{}", std::process::id()));
        let script = format!("#!/bin/sh\n[ $(hostname) = h4 ] && exit 1\nexec {} \"$@\"\n", this_program());
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        LameAgent(path)
    }
}

impl Drop for LameAgent {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Three hosts of four are enough: the session is started over without the fourth.
fn assert_enough(launcher: &str) {
    let agent = LameAgent::new();
    let output = front_end([launcher, "2", HOSTS, "enough"]).env(AGENT, &agent.0).output().unwrap();
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("left out: host h4: ") && said.contains("12 members in order: true"), "{said}");
    assert_clean();
}

pub(crate) fn enough_hosts_are_enough_for_slurm() {
    assert_enough("slurm");
}

pub(crate) fn enough_hosts_are_enough_for_a_command() {
    assert_enough("pdsh -R ssh -w {hosts} {agent}");
}

pub(crate) fn a_command_that_fails_is_named_with_what_to_check() {
    let parts = ["hosts h[1-4]: no agent came: the command that starts them", "check with: false h1,h2,h3,h4 hostname"];
    assert_fails(front_end(["false {hosts} {agent}", "32", HOSTS, "meet"]), &parts);
}

pub(crate) fn a_host_whose_agent_never_comes_is_named() {
    // The last host is left out of what is started.
    let template = "pdsh -R ssh -w h1,h2,h3 {agent}";
    let parts = ["1 of 4 hosts", "host h4: no agent answered within 5 s", "(members 12-15)"];
    assert_fails(front_end([template, "32", HOSTS, "impatient"]), &parts);
}

pub(crate) fn hosts_that_only_miss_their_parents_are_not_blamed() {
    // A chain: the front-end, h1, h2, h3, h4.
    let template = "pdsh -R ssh -w h1,h4 {agent}";
    let parts = ["2 of 4 hosts", "hosts h[2-3]: no agent answered"];
    assert_fails(front_end([template, "1", HOSTS, "impatient"]), &parts);
}

pub(crate) fn a_node_that_slurm_does_not_know_is_named() {
    assert_fails(front_end(["slurm", "32", "nowhere", "meet"]), &["nowhere", "check with: "]);
}

pub(crate) fn a_drained_node_is_named_at_once_with_who_and_why() {
    let _drained = Drained::new("h4");
    let parts = [
        "1 of 4 hosts",
        "host h4: Slurm gives it to no job (IDLE+DRAIN, test [root@",
        "(members 12-15); check with: scontrol show node h4",
    ];
    assert_fails(front_end(["slurm", "2", HOSTS, "meet"]), &parts);
}

pub(crate) fn a_drained_node_is_left_out_where_others_are_enough() {
    let _drained = Drained::new("h4");
    let output = front_end(["slurm", "2", HOSTS, "enough"]).output().unwrap();
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("left out: host h4: Slurm gives it to no job"), "{said}");
    assert!(said.contains("12 members in order: true"), "{said}");
    assert_clean();
}

/// A front-end whose members wait to be ended, at work.
fn at_work(mut front_end: Command) -> (Child, BufReader<ChildStdout>) {
    let mut child = front_end.stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "16 members in order: true\n");
    (child, output)
}

pub(crate) fn a_cancelled_allocation_is_named_and_leaves_nothing() {
    let (mut salloc, mut output) = at_work(in_allocation(["auto", "2", HOSTS, "wait"]));
    let jobs = command("squeue").args(["--noheader", "--states=R", "--nodelist=h1", "--format=%i"]).output().unwrap();
    let jobs = said(&jobs);
    assert!(command("scancel").args(jobs.split_whitespace()).status().unwrap().success(), "{jobs}");
    let mut problems = String::new();
    output.read_to_string(&mut problems).unwrap();
    salloc.wait().unwrap();
    // The front-end's children are two of the four hosts.
    for host in ["h1", "h3"] {
        let start = format!("host {host}: ");
        let is_named = |line: &str| line.starts_with(&start) && line.contains("CANCELLED AT") && line.contains("ended");
        assert!(problems.lines().any(is_named), "{problems}");
    }
    assert_clean();
}

pub(crate) fn a_killed_front_end_leaves_nothing() {
    let (mut child, _output) = at_work(front_end(["slurm", "2", HOSTS, "wait"]));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_clean();
}

/// A node that Slurm gives to nobody until this is dropped.
struct Drained(&'static str);

impl Drained {
    fn new(node: &'static str) -> Drained {
        assert!(Drained::update(node, &["state=drain", "reason=test"]));
        Drained(node)
    }

    fn update(node: &str, how: &[&str]) -> bool {
        let update = ["update".to_owned(), format!("nodename={node}")];
        command("scontrol").args(update).args(how).status().unwrap().success()
    }
}

impl Drop for Drained {
    fn drop(&mut self) {
        Drained::update(self.0, &["state=resume"]);
    }
}

/// A node that a job has for itself until this is dropped.
struct Busy(String);

impl Busy {
    fn new(node: &str) -> Busy {
        let name = format!("busy-{}", std::process::id());
        let alone = ["--no-shell", "--exclusive", "--nodelist", node, "--job-name", &name];
        let made = command("salloc").args(alone).output().unwrap();
        assert!(made.status.success(), "{}", said(&made));
        Busy(name)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = command("scancel").args(["--name", &self.0]).status();
        wait_for_jobs(0);
    }
}

/// Waits until so many jobs are in Slurm's queue.
fn wait_for_jobs(count: usize) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let jobs = said(&command("squeue").args(["--noheader", "--format=%i %t"]).output().unwrap());
        if jobs.lines().count() == count {
            return;
        }
        assert!(Instant::now() < deadline, "{jobs}");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

pub(crate) fn a_front_end_killed_while_it_queues_leaves_no_job() {
    wait_for_jobs(0);
    let _busy = Busy::new("h4");
    let mut child = front_end(["slurm", "2", HOSTS, "wait"]).spawn().unwrap();
    wait_for_jobs(2);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for_jobs(1);
    assert_clean();
}

pub(crate) fn a_roster_goes_with_a_front_end_that_is_killed_before_all_came() {
    // The last host is left out of what is started, so the front-end waits.
    let mut child = front_end(["pdsh -R ssh -w h1,h2,h3 {agent}", "32", HOSTS, "impatient"]).spawn().unwrap();
    // The front-end, and on each host keeper and worker.
    wait_for_processes(1 + 3 * 2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_clean();
}
