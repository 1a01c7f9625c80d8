//! `top` within a host, a job and a user: real processes are found on every host, however greedy others are.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::look::{HOSTS, PROCESSES, assert_page, assert_screen, host, process};
use crate::pseudo_terminal::PseudoTerminal;
use crate::workshop::{Workshop, json_lines};

/// Only so that a broken command does not hang the tests.
const PATIENCE: Duration = Duration::from_secs(120);

/// More than a host tells of everyone's processes.
const GREEDY: usize = 60;

/// Processes of a session of their own, ended with it.
struct Session(Child);

impl Session {
    /// Runs a line of shell, and gives the first lines that it prints.
    fn start(shop: &Workshop, line: &str, lines: usize) -> (Session, Vec<String>) {
        let mut command = Command::new("setsid");
        command.args(["sh", "-c", line]).current_dir(shop.path("")).stdin(Stdio::piped()).stdout(Stdio::piped());
        // These are to be no job of Slurm, though the tests may be one.
        command.env_remove("SLURM_JOB_ID");
        command.env("OMPI_COMM_WORLD_RANK", "7");
        let mut session = Session(command.spawn().expect("a shell"));
        let out = BufReader::new(session.0.stdout.take().expect("a pipe"));
        let said: Vec<String> = out.lines().map_while(Result::ok).take(lines).collect();
        assert_eq!(said.len(), lines, "it ended: {said:?}");
        (session, said)
    }

    /// With little to do and much memory, so that they are greedier than whoever sleeps.
    fn of_greedy_processes(shop: &Workshop) -> Session {
        let memory = "x=$(head -c 4000000 /dev/zero | tr '\\0' x); exec 3<&0";
        let line = format!("{memory}; for n in $(seq {GREEDY}); do (read line <&3) & done; echo ready; wait");
        Session::start(shop, &line, 1).0
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-s", "KILL", "--", &group]).status();
        let _ = self.0.wait();
    }
}

/// A job: three processes that sleep, of a program of its own.
struct Job {
    shop: Workshop,
    session: Session,
    program: String,
    ids: Vec<u64>,
}

impl Job {
    fn start(stem: &str) -> Job {
        let (shop, program) = (Workshop::new(), format!("{stem}-{}", std::process::id()));
        std::fs::copy("/bin/sleep", shop.path(&program)).expect("room");
        let line = format!("for n in 1 2 3; do ./{program} 1000 & echo $!; done; wait");
        let (session, said) = Session::start(&shop, &line, 3);
        let ids: Vec<u64> = said.iter().map(|id| id.parse().expect("a number")).collect();
        let deadline = Instant::now() + PATIENCE;
        for id in &ids {
            // Until then it is a shell that has not come so far.
            let name = || std::fs::read_to_string(format!("/proc/{id}/comm")).expect("it is there");
            while name().trim_end() != program {
                assert!(Instant::now() < deadline, "{}", name());
                std::thread::yield_now();
            }
        }
        Job { shop, session, program, ids }
    }

    /// What is called a job here: the session, unless something has put all processes into units or jobs.
    fn name(&self) -> String {
        let session = format!("session {}", self.session.0.id());
        let cgroup = std::fs::read_to_string(format!("/proc/{}/cgroup", self.ids[0])).expect("it is there");
        let is_unit = |part: &&str| part.ends_with(".service") || part.ends_with(".scope");
        cgroup.trim_end().split('/').rfind(is_unit).map_or(session + " (sh)", str::to_owned)
    }

    /// One look at two hosts.
    fn look(&self, options: &[&str]) -> Value {
        let common = ["top", "--act", "2", "--once", "--json", "--every", "200ms"];
        json_lines(&self.shop.well(&[&common[..], options].concat())).remove(0)
    }

    /// Those of the job's own processes that have a row, and where.
    fn seen(&self, object: &Value) -> BTreeSet<(u64, String)> {
        let own = |row: &Value| {
            let id = row["pid"].as_f64()? as u64;
            let host = row["host"].as_str()?.to_owned();
            self.ids.contains(&id).then_some((id, host))
        };
        object["rows"].as_array().expect("rows").iter().filter_map(own).collect()
    }

    /// All of them on both hosts: both are this machine.
    fn everywhere(&self) -> BTreeSet<(u64, String)> {
        let on = |id: &u64| ["local1", "local2"].map(|host| (*id, host.to_owned()));
        self.ids.iter().flat_map(on).collect()
    }

    /// The table of its own processes, by host.
    fn table(&self) -> String {
        let row = |host: &str| process(&self.program, &user(), host);
        let rows: String = ["local1", "local2"].iter().flat_map(|host| [row(host), row(host), row(host)]).collect();
        format!("{PROCESSES}\n{rows}")
    }
}

fn user() -> String {
    let out = Command::new("id").arg("-un").output().expect("id");
    String::from_utf8_lossy(&out.stdout).trim_end().to_owned()
}

#[test]
fn processes_of_a_job_a_user_or_a_name_are_found_among_many_that_are_greedier() {
    let job = Job::start("idle");
    let _greedy = Session::of_greedy_processes(&job.shop);
    let everyone = job.look(&["--by", "process"]);
    assert_eq!(job.seen(&everyone), BTreeSet::new(), "others are greedier: {everyone}");
    assert!(everyone["others"]["rows"].as_u64() >= Some(6), "{everyone}");
    assert_eq!(everyone["of"], Value::Null);

    let of_job = job.look(&["--job", &job.name()]);
    assert_eq!(job.seen(&of_job), job.everywhere(), "{of_job}");
    let own = |row: &&Value| row["name"] == job.program;
    let told: Vec<&Value> = of_job["rows"].as_array().expect("rows").iter().filter(own).collect();
    let command = format!("./{} 1000", job.program);
    let is_told = |row: &&Value| row["rank"] == 7.0 && row["state"] == "S" && row["command"] == command;
    assert!(told.len() == 6 && told.iter().all(is_told), "{told:?}");
    assert_eq!((&of_job["by"], &of_job["of"]), (&json!("process"), &json!({ "job": job.name() })));
    if job.name().starts_with("session") {
        let rows = of_job["rows"].as_array().map(Vec::len);
        assert_eq!((rows, &of_job["others"]), (Some(8), &Value::Null), "its shell and nobody else: {of_job}");
    }
    let named = job.look(&["--by", "process", "--filter", &job.program.to_uppercase()]);
    assert_eq!(job.seen(&named), job.everywhere(), "{named}");
    assert_eq!((named["rows"].as_array().map(Vec::len), &named["others"]), (Some(6), &Value::Null), "{named}");
    // The name of a host is a name, too: its processes are told as without a filter.
    let on_one = job.look(&["--by", "process", "--filter", "local2"]);
    let rows = on_one["rows"].as_array().expect("rows");
    assert!(rows.len() == 50 && rows.iter().all(|row| row["host"] == "local2"), "{on_one}");

    let of_user = job.look(&["--user", &user(), "--filter", &job.program]);
    assert_eq!(job.seen(&of_user), job.everywhere(), "{of_user}");
    assert_eq!(of_user["of"], json!({ "user": user() }));
    let of_user = job.look(&["--user", &user()]);
    let rows = of_user["rows"].as_array().expect("rows");
    assert!(rows.len() > 50 && rows.iter().all(|row| row["user"] == user()), "{of_user}");
}

#[test]
fn a_job_that_nobody_has_is_said_to_be_none() {
    let shop = Workshop::new();
    let look = ["top", "--act", "1", "--once", "--every", "200ms"];
    for (option, name, said) in [("--job", "4294967295", "job slurm 4294967295"), ("--user", "no one", "user no one")] {
        let ran = shop.run(&[&look[..], &[option, name]].concat());
        let says = format!("banyan: no process on these hosts is of {said}; see who is there with: banyan top --by ");
        assert!(ran.status == 1 && ran.err.starts_with(&says), "{} {}", ran.status, ran.err);
        assert!(ran.out.starts_with(&format!("banyan top  1 host  processes of {said}  every 0.2 s\n")), "{}", ran.out);
    }
    for (words, says) in [
        (&["--job", "a", "--by", "host"][..], "cannot be used with"),
        (&["--job", "a", "--user", "b"], "cannot be used with"),
        (&["--job", ""], "a job has a name"),
        (
            &["--job", "a", "--sort", "processes"],
            "--sort processes: there are name, user, host, pid, rank, state, cpu, memory",
        ),
    ] {
        let ran = shop.run(&[&look[..], words].concat());
        assert!(ran.status == 2 && ran.err.contains(says), "{words:?}: {} {}", ran.status, ran.err);
    }
}

#[test]
fn one_look_at_a_job_is_a_page() {
    let job = Job::start("page");
    let (name, program) = (job.name(), &job.program);
    let look = ["top", "--act", "2", "--once", "--every", "200ms", "--sort", "host"];
    let page = job.shop.well(&[&look[..], &["--job", &name, "--filter", program]].concat());
    let first = format!("banyan top  2 hosts  processes of job {name}  every 0.2 s  only {program:?}");
    assert_page(&page, &first, 2, &job.table());
}

#[test]
fn the_whole_screen_of_hosts_of_a_host_of_jobs_and_of_a_job() {
    let job = Job::start("seen");
    let mut command = Command::new(env!("CARGO_BIN_EXE_banyan"));
    command.args(["top", "--act", "2", "--sort", "host", "--every", "200ms"]);
    command.env("TERM", "xterm-256color").env("BANYAN_CONFIG", "").env_remove("NO_COLOR");
    let mut terminal = PseudoTerminal::start(&mut command, 130, 30);
    let hosts = format!("{HOSTS}\n{}{}", host("local1"), host("local2"));
    assert_screen(&mut terminal, "banyan top  2 hosts  by host  every 0.2 s", 2, ("local", 2), (&hosts, None));

    let program = job.program.clone();
    let runs = format!("./{program} 1000");
    terminal.press("\x1b[B\r");
    terminal.wait_for("processes of local2");
    terminal.press(&format!("/{program}\r"));
    let first = format!("banyan top  2 hosts  processes of local2  every 0.2 s  only {program:?}");
    let on_one: String =
        job.table().lines().filter(|line| !line.contains("local1")).map(|line| format!("{line}\n")).collect();
    assert_screen(&mut terminal, &first, 2, (&program, 3), (&on_one, Some(&runs)));

    terminal.press("\x1b");
    terminal.wait_for("by host");
    let name = job.name();
    terminal.press(&format!("b/{name}\r"));
    let first = format!("banyan top  2 hosts  by job  every 0.2 s  only {name:?}");
    let heading = format!("{:<40} processes     hosts      CPU▼    memory", "job");
    let row = format!("{name:<40}         #         #         #         #");
    assert_screen(&mut terminal, &first, 2, (&name, 1), (&format!("{heading}\n{row}\n"), None));

    terminal.press("\r");
    terminal.wait_for(&format!("processes of job {name}"));
    terminal.press(&format!("/{program}\r"));
    let first = format!("banyan top  2 hosts  processes of job {name}  every 0.2 s  only {program:?}");
    assert_screen(&mut terminal, &first, 2, (&program, 6), (&job.table(), Some(&runs)));
    terminal.press("\x1b");
    terminal.wait("all jobs", |screen| screen[0] == "banyan top  2 hosts  by job  every 0.2 s");
    terminal.press("q");
    let (status, restored, _) = terminal.end();
    assert!(status.success() && restored, "{status}, settings restored: {restored}");
}
