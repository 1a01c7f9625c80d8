//! `banyan stack` as its users run it: on processes that hang, on an MPI job, without permission, on several hosts.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fields::assert_documented;
use crate::shape::assert_shape;
use crate::workshop::{Workshop, skip};

/// A time after which a test has failed; nothing takes a tenth of it.
const PATIENCE: Duration = Duration::from_secs(120);

/// Processes that are ended with the test.
pub(crate) struct Job(pub(crate) Vec<Child>);

impl Job {
    /// So many ranks, one of which hangs, all where they will stay.
    pub(crate) fn start(program: &Path, ranks: u32, hanging: u32) -> Job {
        Job::start_with(program, ranks, &[hanging])
    }

    /// So many ranks, none of which hangs, each with so many threads beside its first.
    pub(crate) fn start_threads(program: &Path, ranks: u32, threads: u32) -> Job {
        Job::start_with(program, ranks, &[u32::MAX, threads])
    }

    fn start_with(program: &Path, ranks: u32, arguments: &[u32]) -> Job {
        let mut job = Job(Vec::new());
        for rank in 0..ranks {
            let mut command = Command::new(program);
            command.arg(rank.to_string()).args(arguments.iter().map(u32::to_string)).env("PMI_RANK", rank.to_string());
            job.add(&mut command);
        }
        job
    }

    /// Starts a command, and waits until it has said that it is ready, and sleeps.
    fn add(&mut self, command: &mut Command) {
        self.add_until(command, ") S ");
    }

    /// The same, until all its threads are in this state.
    pub(crate) fn add_until(&mut self, command: &mut Command, state: &str) {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a program that is there");
        let output = child.stdout.take().expect("a pipe");
        self.0.push(child);
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).expect("a pipe");
        assert_eq!(line, "ready\n");
        let deadline = Instant::now() + PATIENCE;
        let path = format!("/proc/{}/task", self.0[self.0.len() - 1].id());
        let is_in_state = |task: io::Result<fs::DirEntry>| {
            fs::read_to_string(task.expect("a thread").path().join("stat")).expect("it is there").contains(state)
        };
        while !fs::read_dir(&path).expect("it is there").all(is_in_state) {
            assert!(Instant::now() < deadline, "{path}: never{state}");
            std::thread::yield_now();
        }
    }

    pub(crate) fn pids(&self) -> String {
        self.0.iter().map(|child| child.id().to_string()).collect::<Vec<_>>().join(",")
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Compiles the program whose ranks hang.
pub(crate) fn compiled(shop: &Workshop) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../banyan-stack/tests/programs/ranks.c");
    let path = shop.path("ranks");
    let done = Command::new("cc").args(["-O2", "-pthread", "-o"]).arg(&path).arg(source).status();
    assert!(done.expect("cc, which links Rust programs too").success());
    path
}

/// The text with times and numbers of processes replaced, and without what the system does before `main`.
pub(crate) fn golden(text: &str) -> String {
    let replaced = |line: &str| {
        let line = line.split_once("; stopped for").map_or(line, |(heading, _)| heading);
        match line.split_once("(pid ") {
            Some((before, after)) => {
                format!("{before}(pid N{}", after.trim_start_matches(|digit: char| digit.is_ascii_digit()))
            }
            None => line.to_owned(),
        }
    };
    let before_main = ["_start", "__libc_start_main", "__libc_start_call_main"];
    let is_ours =
        |line: &&str| !before_main.iter().any(|name| line.trim_start_matches([' ', '4', '0', '-', '3']) == *name);
    text.lines().filter(is_ours).map(|line| replaced(line) + "\n").collect()
}

#[test]
fn the_rank_that_hangs_elsewhere_comes_first() {
    let shop = Workshop::new();
    let job = Job::start(&compiled(&shop), 4, 2);
    let expected = "\
4 processes, 2 classes

     1  2      exchange → wait_for_neighbour → … → read  (pid N)
     3  0-1,3  solve → wait_in_barrier → … → read

               main
     1  2      ├─ exchange
               │  wait_for_neighbour
               │  until_the_end
               │  read
     3  0-1,3  └─ solve
                  wait_in_barrier
                  until_the_end
                  read
";
    assert_eq!(golden(&shop.well(&["stack", "--pid", &job.pids()])), expected);
    let samples = shop.well(&["stack", "--pid", &job.pids(), "--samples", "3", "--every", "1ms"]);
    assert_eq!(golden(&samples), expected.replace("4 processes,", "4 processes, 12 stacks,"));
}

#[test]
fn json_has_the_classes_the_tree_and_the_processes() {
    let shop = Workshop::new();
    let program = compiled(&shop);
    let _job = Job::start(&program, 4, 2);
    let ran = shop.run(&["stack", "--json", "--match", &program.display().to_string()]);
    let [report] = &ran.json()[..] else { panic!("one object, not: {}", ran.out) };
    assert_eq!((report["count"].as_u64(), report["ranks"].as_str()), (Some(4), Some("0-3")));
    let [median, most] = ["median_stop_us", "longest_stop_us"].map(|name| report[name].as_f64().expect("a time"));
    assert!(0.0 < median && median <= most, "{median} {most}");
    let classes = report["classes"].as_array().expect("a list");
    let ranks: Vec<&str> = classes.iter().filter_map(|class| class["ranks"].as_str()).collect();
    assert_eq!(ranks, ["2", "0-1,3"]);
    assert_eq!(classes[0]["stacks"][0].as_array().and_then(|stack| stack.last()), Some(&Value::from("read")));
    for (number, node) in report["tree"].as_array().expect("a list").iter().enumerate() {
        let has = |name: &str| node[name].is_string();
        assert!(has("function") && has("module") && has("ranks") && has("here") && node["count"].is_u64(), "{node}");
        assert!(node["parent"].as_u64().map_or(number == 0, |parent| (parent as usize) < number), "{node}");
    }
    for process in report["processes"].as_array().expect("a list") {
        assert!(process["pid"].is_u64() && process["rank"].is_u64() && process["stopped_us"].is_f64(), "{process}");
        assert!(process["command"].as_str().is_some_and(|command| command.contains("ranks")), "{process}");
    }
}

#[test]
fn pictures_and_flame_graphs_are_written_to_files() {
    let shop = Workshop::new();
    let job = Job::start(&compiled(&shop), 4, 2);
    let write = |format: &str| {
        shop.well(&["stack", "--pid", &job.pids(), "--as", format, "-o", format]);
        String::from_utf8(shop.read(format)).expect("text")
    };
    let folded = write("folded");
    let counts: Vec<&str> = folded.lines().filter_map(|line| line.rsplit(' ').next()).collect();
    assert_eq!(counts, ["1", "3"]);
    assert!(folded.contains(";main;exchange;wait_for_neighbour;until_the_end;read 1"), "{folded}");
    let dot = write("dot");
    assert!(dot.starts_with("digraph stacks {\n") && dot.ends_with("}\n") && dot.contains("1: 2"), "{dot}");
    let svg = write("svg");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains("prefers-color-scheme:dark"));
    assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
}

#[test]
fn what_cannot_be_read_is_named_and_changes_the_status() {
    let shop = Workshop::new();
    let job = Job::start(&compiled(&shop), 1, 0);
    let ran = shop.run(&["stack", "--pid", &job.pids(), "--pid", "4194303"]);
    assert_eq!(ran.status, 1, "{}", ran.out);
    assert!(ran.out.contains("not read:\n     1  1  (pid 4194303): there is no such process\n"), "{}", ran.out);
    for wrong in [&["stack"][..], &["stack", "--match", "("], &["stack", "--pid", "1", "--mpi", "1"]] {
        assert_eq!(shop.run(wrong).status, 2, "{wrong:?}");
    }
    let nothing = shop.run(&["stack", "--match", "no process has a name like this one"]);
    assert!(nothing.status == 1 && nothing.err.contains("pgrep"), "{}", nothing.err);
}

#[test]
fn processes_that_are_not_there_are_not_counted() {
    let shop = Workshop::new();
    for hosts in [&[][..], &["-w", "localhost"]] {
        let ran = shop.run(&[&["stack", "--pid", "4194303"], hosts].concat());
        let heading = ran.out.lines().next().unwrap_or_default().replace(" on 1 host", "");
        assert_eq!((heading.as_str(), ran.status), ("0 processes, 0 classes", 1), "{}", ran.out);
    }
}

#[test]
fn a_pattern_that_matches_nothing_is_named_with_a_remedy_here_and_on_hosts() {
    let shop = Workshop::new();
    let pattern = "no such 'program' runs";
    let here = shop.run(&["stack", "--match", pattern]);
    assert!(here.status == 1 && here.err.contains(&format!("{pattern:?}; look with: pgrep -af")), "{}", here.err);
    let there = shop.run(&["stack", "--match", pattern, "--launcher", "local", "-w", "n[1-2]"]);
    let says = format!("banyan: no process of n[1-2] has a command line that matches {pattern:?}; look with: ");
    let remedy = "banyan run -w n[1-2] -- pgrep -af 'no such '\\''program'\\'' runs'";
    assert_eq!((there.err, there.status), (format!("{says}{remedy}\n"), 1));
}

#[test]
fn the_time_limit_ends_it_without_hosts_too_and_blames_no_tables() {
    let shop = Workshop::new();
    let job = Job::start(&compiled(&shop), 1, 0);
    let begin = Instant::now();
    let ran =
        shop.run(&["stack", "--pid", &job.pids(), "--samples", "1000000", "--every", "100ms", "--timeout", "300ms"]);
    assert!(begin.elapsed() < PATIENCE);
    assert_eq!(ran.status, 4, "{}", ran.err);
    // So short that the limit passes before, while or after it looks.
    for limit in ["1ms", "2ms", "4ms", "8ms", "16ms"] {
        let ran = shop.run(&["stack", "--pid", &job.pids(), "--timeout", limit]);
        assert!([0, 4].contains(&ran.status), "{limit}: {}: {}{}", ran.status, ran.out, ran.err);
        assert!(!ran.out.contains("damaged"), "{}", ran.out);
    }
}

#[test]
fn without_permission_the_reason_and_the_remedy_are_told() {
    let own = fs::metadata("/proc/self").expect("/proc").uid();
    if own != 0 || Command::new("setpriv").arg("--version").output().is_err() {
        return skip("only root can become another user, with setpriv");
    }
    let shop = Workshop::new();
    let job = Job::start(&compiled(&shop), 1, 0);
    // Through a descriptor, since the other user may not go where the program is.
    let banyan = env!("CARGO_BIN_EXE_banyan");
    let line = format!(
        "exec 9< {banyan}; cd /; setpriv --reuid=65534 --regid=65534 --clear-groups /proc/self/fd/9 stack --pid {}",
        job.pids()
    );
    let ran = shop.shell(&line);
    assert_eq!(ran.status, 5, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("it belongs to user 0; run this as that user, or as root"), "{}", ran.out);
    assert!(ran.out.contains("ranks is sleeping"), "what /proc tells: {}", ran.out);
}

#[test]
fn the_ranks_of_another_users_mpirun_are_told_as_not_permitted() {
    let own = fs::metadata("/proc/self").expect("/proc").uid();
    if own != 0 || Command::new("setpriv").arg("--version").output().is_err() {
        return skip("only root can become another user, with setpriv");
    }
    let shop = Workshop::new();
    let program = compiled(&shop);
    let mut job = Job(Vec::new());
    let mut launcher = Command::new("sh");
    launcher.args(["-c", "PMI_RANK=0 \"$0\" 0 1; exit"]).arg(&program);
    job.add(&mut launcher);
    let ran = shop.shell(&format!(
        "exec 9< {}; cd /; setpriv --reuid=65534 --regid=65534 --clear-groups /proc/self/fd/9 stack --mpi {}",
        env!("CARGO_BIN_EXE_banyan"),
        job.pids()
    ));
    assert_eq!(ran.status, 5, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("it belongs to user 0; run this as that user, or as root"), "{}", ran.out);
    assert!(ran.out.contains("ranks is sleeping"), "what /proc tells: {}", ran.out);
}

#[test]
fn a_command_that_a_host_sees_asking_is_not_what_it_asks_for() {
    let shop = Workshop::new();
    let program = compiled(&shop);
    // Where some have ranks, others are left out in any case.
    let mut job = Job(Vec::new());
    job.add(Command::new(&program).args(["0", "1"]));
    // Agents that do not come from the command, as those of ssh.
    let ran = shop.shell(&format!(
        "timeout 60 banyan stack --json -w \"$(uname -n)\" --launcher 'command:setsid -f {{agent}}' --match '{}'",
        program.display()
    ));
    assert_eq!(ran.status, 0, "{}", ran.err);
    let report = &ran.json()[0];
    assert_eq!(report["count"], 1, "{report}");
}

#[test]
fn the_hosts_of_a_job_are_reached_with_the_configured_arguments_of_ssh() {
    let shop = Workshop::new();
    fs::create_dir_all(shop.path("bin")).expect("room");
    crate::doctor::program(&shop, "squeue", "echo n1");
    crate::doctor::program(&shop, "ssh", &format!("echo \"$*\" >>{}; exit 255", shop.path("asked").display()));
    shop.write("config.toml", "[defaults]\nssh-args = [\"-Fconfigured\"]\n");
    let ran = shop.shell("PATH=\"$PWD/bin:$PATH\" BANYAN_CONFIG=config.toml banyan stack --slurm 7");
    assert_eq!(ran.status, 3, "{}", ran.err);
    let asked = String::from_utf8(shop.read("asked")).expect("text");
    assert!(asked.contains(" -Fconfigured -- n1 "), "{asked}");
}

#[test]
fn an_object_names_hosts_that_were_left_out() {
    let shop = Workshop::new();
    let program = compiled(&shop);
    let _job = Job::start(&program, 1, 0);
    // One host is this machine, another is out of reach.
    fs::create_dir_all(shop.path("bin")).expect("room");
    let ssh = "for word; do script=$word; done; case \"$*\" in *' n1 '*) exec sh -c \"$script\";; *) exit 255; esac";
    crate::doctor::program(&shop, "ssh", ssh);
    let ran = shop.shell(&format!(
        "export PATH=\"$PWD/bin:$PATH\" XDG_CACHE_HOME=\"$PWD\"\n\
         banyan stack --json -w n1,dead1 --min-hosts 1 --match '^{}'",
        program.display()
    ));
    assert_eq!(ran.status, 0, "{}", ran.err);
    let report = &ran.json()[0];
    let problem = json!({ "host": "text", "kind": "text", "cause": "text", "remedy": "text", "members": "text" });
    assert_shape(&report["left_out"], &json!([problem]));
    assert_eq!(
        (&report["left_out"][0]["host"], &report["left_out"][0]["kind"]),
        (&"dead1".into(), &"Unreachable".into())
    );
    assert_eq!(report["count"], 1, "{report}");
}

#[test]
fn threads_are_counted_in_objects_that_came_from_a_host_too() {
    let shop = Workshop::new();
    let job = Job::start_threads(&compiled(&shop), 2, 3);
    for host in [&[][..], &["--launcher", "local", "-w", "n1"]] {
        let words = ["stack", "--pid", &job.pids(), "--threads", "--json"];
        let report = &shop.run(&[&words[..], host].concat()).json()[0];
        assert_documented("command-stack.md", report);
        let tree = report["tree"].as_array().expect("a list");
        let of = |name: &str| tree.iter().find(|step| step["function"] == name).expect("it is there");
        assert_eq!((&of("main")["count"], &of("main")["threads"]), (&2.into(), &2.into()));
        assert_eq!((&of("wait_for_work")["count"], &of("wait_for_work")["threads"]), (&2.into(), &6.into()));
        let here: Vec<Value> = (1..4).map(|thread| json!({ "thread": thread, "ranks": "0-1" })).collect();
        assert_eq!(of("pause")["threads_here"], json!(here));
        assert_eq!(of("wait_for_work")["threads_here"], json!([]));
    }
}

#[test]
fn samples_that_were_taken_are_shown_when_the_time_is_over() {
    let shop = Workshop::new();
    let program = compiled(&shop);
    let job = Job::start(&program, 2, 1);
    let (pids, pattern) = (job.pids(), format!("^{}", program.display()));
    let here = ["--pid", &pids];
    let hosts = ["--match", &pattern, "-w", "left,right", "--launcher", "local"];
    for which in [&here[..], &hosts[..]] {
        let words = ["stack", "--json", "--samples", "1000", "--every", "100ms", "--timeout", "3s"];
        let ran = shop.run(&[&words[..], which].concat());
        assert_eq!(ran.status, 4, "{which:?}: {}", ran.err);
        let report = &ran.json()[0];
        assert_eq!((&report["cut_short"], &report["count"]), (&true.into(), &2.into()), "{which:?}: {report}");
        assert!(report["processes"][0]["stacks"].as_u64().is_some_and(|stacks| stacks > 1), "{which:?}: {report}");
    }
}

#[test]
fn samples_that_were_taken_are_shown_when_it_is_interrupted() {
    let shop = Workshop::new();
    let job = Job::start(&compiled(&shop), 2, 1);
    let mut command = Command::new(env!("CARGO_BIN_EXE_banyan"));
    command.args(["stack", "--json", "--samples", "1000000", "--every", "50ms", "--pid", &job.pids()]);
    let child = command.stdout(Stdio::piped()).spawn().expect("it was built");
    let caught = || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it is there");
        let signals = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("a line");
        u64::from_str_radix(signals.trim(), 16).expect("signals") & 2 != 0
    };
    let deadline = Instant::now() + PATIENCE;
    while !caught() {
        assert!(Instant::now() < deadline, "it does not watch for ^C");
        std::thread::yield_now();
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    let report: Value = serde_json::from_slice(&output.stdout).expect("an object");
    assert_eq!((&report["cut_short"], &report["count"]), (&true.into(), &2.into()), "{report}");
}

#[test]
fn hosts_are_looked_at_through_the_tree() {
    let shop = Workshop::new();
    let program = compiled(&shop);
    let _job = Job::start(&program, 3, 1);
    let hosts = ["-w", "left,right", "--launcher", "local"];
    let ran = shop.run(&[&["stack", "--json", "--match", &program.display().to_string()], &hosts[..]].concat());
    assert_eq!(ran.status, 0, "{}", ran.err);
    let report = &ran.json()[0];
    // Both hosts are this one, so both see each rank.
    let ranks: Vec<&str> =
        report["classes"].as_array().expect("a list").iter().filter_map(|it| it["ranks"].as_str()).collect();
    assert_eq!(ranks, ["1", "0,2"]);
    let processes = report["processes"].as_array().expect("a list");
    assert!(processes.iter().all(|process| process["host"] == "left"), "{report}");
}

#[test]
fn members_of_run_know_their_ranks_and_are_shown_by_them() {
    let shop = Workshop::new();
    let script = "echo $BANYAN_RANK $BANYAN_SIZE $$; sleep 600; :";
    let mut run = Command::new(env!("CARGO_BIN_EXE_banyan"));
    run.args(["run", "-n", "3", "--input", "none", "--no-label", "--", "sh", "-c", script]).stdout(Stdio::piped());
    let mut job = Job(vec![run.spawn().expect("the command was built")]);
    let output = job.0[0].stdout.take().expect("a pipe");
    let lines = BufReader::new(output).lines().take(3).map(|line| line.expect("a pipe"));
    let numbers = |line: String| line.split(' ').map(|word| word.parse().expect("a number")).collect::<Vec<u64>>();
    let mut members: Vec<Vec<u64>> = lines.map(numbers).collect();
    members.sort_unstable();
    assert!(members.iter().enumerate().all(|(rank, member)| member[..2] == [rank as u64, 3]), "{members:?}");
    // Not in their order, which they would be numbered by if they had no ranks.
    let pids = members.iter().rev().map(|member| member[2].to_string()).collect::<Vec<_>>().join(",");
    let report: Value = serde_json::from_str(&shop.well(&["stack", "--pid", &pids, "--json"])).expect("JSON");
    for process in report["processes"].as_array().expect("a list") {
        assert!(members.iter().any(|member| process["rank"] == member[0] && process["pid"] == member[2]), "{process}");
    }
}

#[test]
fn the_ranks_of_an_open_mpi_job_are_found_below_its_launcher() {
    let launcher = ["mpirun.openmpi", "--mca", "mpi_yield_when_idle", "1", "--oversubscribe"];
    finds_the_ranks_of("mpicc.openmpi", &launcher, "packages openmpi-bin and libopenmpi-dev");
}

#[test]
fn the_ranks_of_an_mpich_job_are_found_below_its_launcher() {
    finds_the_ranks_of("mpicc.mpich", &["mpiexec.mpich"], "packages mpich and libmpich-dev");
}

/// A job whose rank 2 hangs is looked at through the process that started it.
fn finds_the_ranks_of(compiler: &str, launcher: &[&str], packages: &str) {
    let installed = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !installed(launcher[0]) || !installed(compiler) {
        return skip(&format!("no {compiler} ({packages})"));
    }
    let shop = Workshop::new();
    shop.write("hung.c", include_str!("../programs/hung.c"));
    let made = shop.shell(&format!("{compiler} -O2 -o hung hung.c"));
    assert_eq!(made.status, 0, "{}", made.err);
    let mut command = Command::new(launcher[0]);
    command.args(&launcher[1..]).args(["-n", "4"]).arg(shop.path("hung"));
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("a launcher");
    let mut job = Job(vec![child]);
    let mut output = job.0[0].stdout.take().expect("a pipe");
    let mut said = String::new();
    // Launchers put lines of several ranks into one.
    while said.matches("ready").count() < 4 {
        let mut piece = [0; 64];
        let count = output.read(&mut piece).expect("a pipe");
        assert_ne!(count, 0, "it ended: {said}");
        said.push_str(&String::from_utf8_lossy(&piece[..count]));
    }
    let launcher = job.0[0].id().to_string();
    // A rank that has said it is ready may not have come far since.
    let deadline = Instant::now() + PATIENCE;
    let mut report = Value::Null;
    while report["classes"].as_array().is_none_or(|classes| !is_hung(classes)) {
        assert!(Instant::now() < deadline, "{report}");
        report = shop.run(&["stack", "--json", "--mpi", &launcher]).json().remove(0);
    }
    assert_eq!((&report["ranks"], report["classes"].as_array().map(Vec::len)), (&"0-3".into(), Some(2)));
    // What ranks do within the barrier can be seen, too.
    let all = shop.run(&["stack", "--json", "--all-frames", "--mpi", &launcher]).json().remove(0);
    let stacks = all["classes"].as_array().into_iter().flatten().map(|class| &class["stacks"][0]);
    let goes_on =
        |stack: &Value| stack.as_array().is_some_and(|stack| stack.iter().any(|frame| frame == "MPI_Barrier"));
    let deeper =
        |stack: &Value| stack.as_array().and_then(|stack| stack.last()).is_some_and(|last| last != "MPI_Barrier");
    assert!(stacks.filter(|stack| goes_on(stack)).any(deeper), "{all}");
    // It ends its ranks when it is asked to end, not when it is killed.
    let asked = Command::new("kill").arg(&launcher).status();
    assert!(asked.expect("kill").success());
    job.0[0].wait().expect("the launcher ends");
}

/// Whether rank 2 waits for its neighbour, and all others in the barrier.
fn is_hung(classes: &[Value]) -> bool {
    let waits = |class: &Value, function: &str| {
        class["stacks"][0].as_array().is_some_and(|stack| stack.iter().any(|frame| frame == function))
    };
    let (odd, rest): (Vec<&Value>, Vec<&Value>) = classes.iter().partition(|class| class["ranks"] == "2");
    odd.len() == 1 && waits(odd[0], "wait_for_neighbour") && rest.iter().all(|class| waits(class, "MPI_Barrier"))
}

#[test]
fn processes_at_different_places_of_a_function_without_a_name_do_the_same() {
    let installed = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !installed("cc") || !installed("strip") {
        return skip("no cc, or no strip");
    }
    let shop = Workshop::new();
    let steps = "a++; b += a; c ^= b; d -= c; a *= 3; b ^= d; c += a; d++;\n".repeat(40);
    let spin = format!(
        "static volatile long a, b, c, d;\n__attribute__((noinline)) static void spin(void) {{ for (;;) {{ {steps} }} }}\n"
    );
    shop.write(
        "spin.c",
        format!("#include <unistd.h>\n{spin}int main(void) {{ write(1, \"ready\\n\", 6); spin(); return (int) d; }}\n"),
    );
    let made = shop.shell("cc -O1 -o spin spin.c && strip spin");
    assert_eq!(made.status, 0, "{}", made.err);
    let mut job = Job(Vec::new());
    (0..8).for_each(|_| job.add_until(&mut Command::new(shop.path("spin")), ") R "));
    let report =
        shop.run(&["stack", "--json", "--samples", "3", "--every", "20ms", "--pid", &job.pids()]).json().remove(0);
    let classes = report["classes"].as_array().expect("a list");
    let stacks = classes.iter().flat_map(|class| class["stacks"].as_array().into_iter().flatten());
    let innermost: std::collections::HashSet<String> =
        stacks.map(|stack| stack[stack.as_array().map_or(0, Vec::len) - 1].to_string()).collect();
    assert!(
        innermost.len() == 1 && innermost.iter().all(|function| function.starts_with("\"spin+0x")),
        "{innermost:?}"
    );
    assert_eq!(classes.len(), 1, "{report}");
}

#[test]
fn a_number_that_is_none_is_refused_with_what_is_wanted() {
    let ran = Workshop::new().run(&["stack", "--pid", "abc"]);
    assert_eq!(ran.status, 2);
    assert!(
        ran.err.contains("invalid value 'abc' for '--pid <PID>': a whole number is wanted, such as 4"),
        "{}",
        ran.err
    );
}

#[test]
fn agents_within_an_allocation_are_no_ranks() {
    let shop = Workshop::new();
    let mut run = Command::new(env!("CARGO_BIN_EXE_banyan"));
    run.args(["run", "--launcher", "local", "-w", "n1", "--input", "none", "--no-label", "--", "sh", "-c"]);
    run.arg("echo ready; SLURM_PROCID=5 exec sleep 1000");
    run.env("SLURM_JOB_ID", "777123").env("SLURM_PROCID", "0");
    let mut job = Job(Vec::new());
    job.add(&mut run);
    let ran = shop.run(&["stack", "--slurm", "777123", "--launcher", "local", "-w", "n1", "--json"]);
    let report = ran.json().remove(0);
    let commands: Vec<&Value> = report["processes"].as_array().into_iter().flatten().map(|it| &it["command"]).collect();
    assert_eq!(commands, ["sleep 1000"], "{report}");
}

#[test]
fn without_py_spy_it_says_how_to_get_it_and_shows_the_interpreter() {
    let Some(python) = interpreter() else { return skip("no python3") };
    let shop = Workshop::new();
    let mut job = Job(Vec::new());
    job.add(Command::new(python).args(["-c", "import sys; print('ready', flush=True); sys.stdin.read()"]));
    let mut command = Command::new(env!("CARGO_BIN_EXE_banyan"));
    command.args(["stack", "--python", "--pid", &job.pids()]).env("PATH", shop.path(""));
    let output = command.output().expect("the command was built");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    assert!(text.contains("get it with: pip install py-spy") && text.contains("Py_RunMain"), "{text}");
}

#[test]
fn a_py_spy_that_does_not_end_is_ended_and_the_interpreter_is_shown() {
    let Some(python) = interpreter() else { return skip("no python3") };
    let shop = Workshop::new();
    fs::create_dir(shop.path("bin")).expect("room");
    shop.write("bin/py-spy", "#!/bin/sh\necho $$ > spy.pid\nexec /bin/sleep 1000\n");
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(shop.path("bin/py-spy"), executable).expect("it is ours");
    let mut job = Job(Vec::new());
    job.add(Command::new(python).args(["-c", "import sys; print('ready', flush=True); sys.stdin.read()"]));
    let mut command = Command::new(env!("CARGO_BIN_EXE_banyan"));
    command.args(["stack", "--python", "--timeout", "8s", "--pid", &job.pids()]);
    let output = command.current_dir(shop.path("")).env("PATH", shop.path("bin")).output().expect("it was built");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("py-spy did not read the stacks of Python within 2.0 s, and was ended"), "{text}");
    assert!(text.contains("Py_RunMain"), "{text}");
    let spy = String::from_utf8(shop.read("spy.pid")).expect("a number");
    assert!(!Path::new(&format!("/proc/{}", spy.trim())).exists(), "it is still there");
}

/// The interpreter itself, not what chooses one.
fn interpreter() -> Option<PathBuf> {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().into()).filter(|path: &PathBuf| path.is_absolute())
}
