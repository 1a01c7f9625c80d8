//! `run`: what a person at a terminal and a program at a pipe get from it, with members on this machine.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::fields::assert_documented;
use crate::shape::assert_shape;
use crate::workshop::{Ran, Workshop, skip};

fn run(arguments: &[&str]) -> Ran {
    Workshop::new().run(&[&["run", "--launcher", "local"], arguments].concat())
}

fn sorted_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn every_line_comes_behind_rank_and_host_and_errors_stay_errors() {
    let ran = run(&["-w", "a,b", "-n", "2", "--", "sh", "-c", "echo out; echo err >&2"]);
    assert_eq!(sorted_lines(&ran.out), ["0 a: out", "1 a: out", "2 b: out", "3 b: out"]);
    assert_eq!(sorted_lines(&ran.err), ["0 a: err", "1 a: err", "2 b: err", "3 b: err"]);
    assert_eq!(ran.status, 0);
}

#[test]
fn two_hundred_agents_on_one_machine_are_no_more_than_it_can_bear() {
    let ran = run(&["-w", "n[1-200]", "-b", "--", "echo", "here"]);
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.status), ("=== n[1-200] (200 of 200)\nhere\n", "", 0));
}

#[test]
fn without_hosts_it_runs_here_and_without_labels_lines_are_as_they_are() {
    let ran = Workshop::new().run(&["run", "--no-label", "--", "printf", "one\\ntwo"]);
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.status), ("one\ntwo", "", 0));
}

#[test]
fn one_member_without_labels_is_a_pipe() {
    let zeros = run(&["-n1", "--no-label", "--", "head", "-c", "1000000", "/dev/zero"]);
    assert_eq!((zeros.out.len(), zeros.err.as_str(), zeros.status), (1_000_000, "", 0));
    let shop = Workshop::new();
    shop.write("bytes", noise(300_000));
    let ran = shop.shell("banyan run --no-label -- cat \"$PWD/bytes\" | cmp - bytes");
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.status), ("", "", 0));
    let ran = shop.shell("banyan run --no-label -- sh -c \"cat '$PWD/bytes' >&2\" 2>&1 >out | cmp - bytes");
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.status), ("", "", 0));
}

#[test]
fn the_label_may_be_the_host_alone() {
    let ran = run(&["-w", "a,b", "--label", "host", "--", "sh", "-c", "echo out; printf err >&2"]);
    assert_eq!((sorted_lines(&ran.out), sorted_lines(&ran.err)), (vec!["a: out", "b: out"], vec!["a: err", "b: err"]));
    let ran = run(&["--label", "none", "--", "echo", "out"]);
    assert_eq!(ran.out, "out\n");
}

#[test]
fn one_word_with_blanks_is_a_line_of_shell_unless_a_program_is_called_so() {
    let ran = run(&["--no-label", "echo a; echo $BANYAN_RANK"]);
    let told = "banyan: no program is called \"echo a; echo $BANYAN_RANK\"; it is run as a line of shell: sh -c \"echo a; echo $BANYAN_RANK\"\n";
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.status), ("a\n0\n", told, 0));
    let shop = Workshop::new();
    shop.write("a program", "#!/bin/sh\necho it ran\n");
    let ran = shop.shell("chmod +x 'a program'; banyan run --no-label \"$PWD/a program\"");
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.status), ("it ran\n", "", 0));
}

#[test]
fn processes_that_members_leave_are_named_and_ended_unless_they_may_live() {
    let script = "sleep 1000 >/dev/null 2>&1 & echo $!";
    let left = |options: &[&str]| {
        let ran = run(&[options, &["-w", "a", "--no-label", "--", "sh", "-c", script]].concat());
        assert_eq!(ran.status, 0, "{}", ran.err);
        let pid = ran.out.trim().to_owned();
        let lives = || std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty());
        (lives(), pid.clone(), ran.err)
    };
    let (lives, pid, told) = left(&[]);
    assert!(!lives, "{pid}");
    assert!(told.starts_with("banyan: host a: processes that were left running are ended: "), "{told}");
    assert!(told.contains(&format!("(pid {pid})")) && told.ends_with("; --detach lets them live\n"), "{told}");
    let (lives, pid, told) = left(&["--detach"]);
    let ended = Command::new("kill").args(["-9", &pid]).status().expect("a shell's tools");
    assert!(lives && ended.success(), "{pid}");
    assert_eq!(told, "");
}

#[test]
fn json_has_nothing_raw_that_talks_to_a_terminal() {
    let ran = run(&["--json", "--", "printf", "\\302\\233 \\342\\200\\256 \\177\\n"]);
    assert!(!ran.out.contains(['\u{9b}', '\u{202e}', '\u{7f}']), "{}", ran.out);
    assert_eq!(ran.json()[0]["line"], "\u{9b} \u{202e} \u{7f}");
    let ran = Workshop::new().run(&["copy", "--json", "--launcher", "local", "-w", "n1", "no\u{9b}file", "/tmp/x"]);
    assert!(!ran.out.contains('\u{9b}') && ran.out.contains("no\\u009bfile"), "{}", ran.out);
}

#[test]
fn far_too_many_members_are_refused_before_they_take_memory() {
    let ran = Workshop::new().shell("ulimit -v 2000000; banyan run -n 4000000000 -- true");
    assert_eq!(ran.status, 2, "{}", ran.err);
    assert!(ran.err.contains("at most 4,194,304 members"), "{}", ran.err);
}

#[test]
fn at_the_limit_of_processes_everything_is_named_and_nothing_panics() {
    if !rustix::process::getuid().is_root() || Command::new("setpriv").arg("--version").output().is_err() {
        return skip("only root can become a user with a limit of processes, with setpriv");
    }
    let shop = Workshop::new();
    // A user without any other process, whatever runs beside this.
    let user = 0x4000_0000 + std::process::id();
    let limited = |limit: u32, words: &str| {
        // Through a descriptor, since that user may not go where the program is.
        shop.shell(&format!(
            "exec 9< {}; cd /; export BANYAN_CONFIG= RUST_BACKTRACE=0\n\
             setpriv --reuid={user} --regid={user} --clear-groups prlimit --nproc={limit}:{limit} /proc/self/fd/9 {words}",
            env!("CARGO_BIN_EXE_banyan")
        ))
    };
    let told = ["too many processes", "no process or thread can be added"];
    for limit in [1, 2, 3, 4, 5, 6, 7, 8, 16] {
        let ran = limited(limit, "run -n 40 -- sleep 1");
        assert!([1, 3].contains(&ran.status) && !ran.err.contains("panicked"), "{limit}: {}", ran.err);
        assert!(
            told.iter().any(|told| ran.err.contains(told)) && !ran.err.contains("os error"),
            "{limit}: {}",
            ran.err
        );
    }
    for limit in [1, 3, 4, 5, 6] {
        for words in [
            "doctor -w a --launcher local",
            "top --once --json",
            "copy -w a --launcher local /etc/hosts /proc/nowhere/",
        ] {
            let ran = limited(limit, words);
            assert!(!ran.err.contains("panicked"), "{limit}, {words}: {}", ran.err);
        }
    }
}

#[test]
fn long_lines_stay_whole_behind_one_label() {
    let script = "head -c 300000 /dev/zero | tr '\\0' $BANYAN_RANK; echo; printf end";
    let lines = |rank: u32, label: &str| {
        let line = rank.to_string().repeat(300_000);
        [format!("{label}{line}"), format!("{label}end")]
    };
    let labelled = run(&["-w", "a,b", "-n", "2", "--", "sh", "-c", script]);
    let expected: Vec<String> =
        (0..4).flat_map(|rank| lines(rank, &format!("{rank} {}: ", ["a", "b"][rank as usize / 2]))).collect();
    assert!(sorted_lines(&labelled.out) == expected, "{:.200}", labelled.out);
    assert!(labelled.out.ends_with('\n'));
    let bare = run(&["-n", "2", "--no-label", "--", "sh", "-c", script]);
    let mut expected: Vec<String> = (0..2).flat_map(|rank| lines(rank, "")).collect();
    expected.sort_unstable();
    assert!(sorted_lines(&bare.out) == expected, "{:.200}", bare.out);
}

#[test]
fn what_json_has_joins_to_what_was_written() {
    let shop = Workshop::new();
    let written = [noise(300_000), b"\nshort\n\n".to_vec(), vec![b'x'; 17 << 20], "\u{fc}".into()].concat();
    shop.write("bytes", &written);
    let ran = shop.run(&["run", "--json", "--", "cat", &shop.path("bytes").display().to_string()]);
    let outputs: Vec<Value> = ran.json().into_iter().filter(|it| it["event"] == "output").collect();
    assert!(outputs.iter().any(|it| it["line"] == "short" && it.get("partial").is_none()));
    assert!(joined(&outputs) == written, "{} bytes", joined(&outputs).len());
}

/// The bytes that objects of `--json` stand for, by the rule that the chapter gives.
fn joined(outputs: &[Value]) -> Vec<u8> {
    let bytes = |output: &Value| {
        let hex = output["hex"].as_str().map(|hex| {
            hex.as_bytes()
                .chunks(2)
                .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
                .collect()
        });
        let mut bytes: Vec<u8> = hex.unwrap_or_else(|| output["line"].as_str().expect("text").into());
        bytes.extend((output["partial"] != true).then_some(b'\n'));
        bytes
    };
    outputs.iter().flat_map(bytes).collect()
}

/// Bytes without order, the same each time; some are newlines, many are no text.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(count).collect()
}

#[test]
fn from_its_first_word_on_everything_belongs_to_the_command() {
    for (words, shown) in [
        (&["echo", "a"][..], "a"),
        (&["echo", "-q", "--json", "-w", "b"], "-q --json -w b"),
        (&["--", "echo", "-q", "--", "-x"], "-q -- -x"),
        (&["echo", "--", "-x"], "-- -x"),
    ] {
        let ran = Workshop::new().run(&[&["run", "--no-label"], words].concat());
        assert_eq!((ran.out, ran.err.as_str(), ran.status), (format!("{shown}\n"), "", 0), "{words:?}");
    }
    let ran = Workshop::new().run(&["run", "--no-such-option", "echo"]);
    assert!(ran.status == 2 && ran.err.contains("unexpected argument '--no-such-option'"), "{}", ran.err);
}

#[test]
fn members_have_the_environment_and_the_directory_they_are_given() {
    let shop = Workshop::new();
    let here = shop.path("").canonicalize().expect("it is there").display().to_string();
    let script = "echo $ONE $TWO; pwd";
    let given = ["--env", "ONE=a=b", "--env", "TWO=", "--env", "ONE=c d", "--chdir", &here];
    let ran = run(&[&["-w", "n1", "--no-label"], &given[..], &["sh", "-c", script]].concat());
    assert_eq!((ran.out, ran.err.as_str()), (format!("c d\n{here}\n"), ""));
    for wrong in ["ONE", "=a", ""] {
        let ran = run(&["--env", wrong, "true"]);
        assert!(ran.status == 2 && ran.err.contains("write NAME=VALUE"), "{}", ran.err);
    }
    let ran = run(&["--chdir", "/no/such/directory", "true"]);
    assert!(ran.status == 1 && ran.err.contains("/no/such/directory"), "{}", ran.err);
}

#[test]
fn the_members_get_standard_input_all_of_them_or_the_master_or_nobody() {
    let shop = Workshop::new();
    let count = |who: &str| {
        let ran = shop.run_with_input(&["run", "-n", "2", "--input", who, "--", "wc", "-c"], &[b'x'; 300_000]);
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{who}");
        ran.out
    };
    assert_eq!(sorted_lines(&count("all")), ["0 localhost: 300000", "1 localhost: 300000"]);
    assert_eq!(sorted_lines(&count("master")), ["0 localhost: 300000", "1 localhost: 0"]);
    assert_eq!(sorted_lines(&count("none")), ["0 localhost: 0", "1 localhost: 0"]);
}

#[test]
fn a_summary_says_who_failed_and_why() {
    let script = "exit 3";
    let ran = run(&["-w", "n[1-3]", "-n", "2", "--", "sh", "-c", script]);
    assert_eq!(ran.status, 1);
    assert_eq!(ran.err, "banyan: 6 of 6 members failed\n  0-5 on n[1-3]: exited with status 3\n");
    let worst = run(&["-S", "--", "sh", "-c", "exit 7"]);
    assert_eq!(worst.status, 7);
    let killed = run(&["--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(killed.err, "banyan: 1 of 1 members failed\n  0 on localhost: killed by signal 9 (SIGKILL)\n");
}

#[test]
fn a_command_that_is_not_there_is_named_with_a_remedy() {
    let ran = run(&["--", "/no/such/command"]);
    assert_eq!(ran.status, 1);
    let cause = "cannot start /no/such/command: /no/such/command does not exist";
    let expected = format!(
        "banyan: host localhost: {cause} (member 0); install it, correct its path, or stage it\n\
         banyan: 1 of 1 members failed\n  0 on localhost: never started: {cause}\n"
    );
    assert_eq!(ran.err, expected);
    assert_eq!(run(&["-S", "--", "/no/such/command"]).status, 127);
    let ran = run(&["-w", "n[1-8]", "--", "/no/such/command"]);
    let lines: Vec<&str> = ran.err.lines().collect();
    let [once, "banyan: 8 of 8 members failed", all] = lines[..] else { panic!("{}", ran.err) };
    assert!(once.starts_with("banyan: 8 hosts (n[1-8]), such as host n"), "{once}");
    assert!(once.ends_with(&format!(": {cause}; install it, correct its path, or stage it")), "{once}");
    assert_eq!(all, format!("  0-7 on n[1-8]: never started: {cause}"));
}

#[test]
fn a_host_without_the_command_fails_alone() {
    let shop = Workshop::new();
    // Hosts that differ: a stand-in for ssh gives each a PATH and a home of its own.
    shop.write(
        "ssh",
        "#!/bin/sh\nfor last; do host=$command; command=$last; done\nexport HOME=$PWD/$host\n\
        PATH=$PWD/$host:$PATH\nexec sh -c \"$command\"\n",
    );
    shop.shell("chmod +x ssh; mkdir a b; printf '#!/bin/sh\\necho here\\n' >a/only-here; chmod +x a/only-here");
    let ran = shop.shell("PATH=$PWD:$PATH XDG_CACHE_HOME= banyan run --launcher ssh -w a,b -b --json -- only-here");
    let objects = ran.json();
    let of =
        |event: &str| objects.iter().find(|object| object["event"] == event).unwrap_or_else(|| panic!("{}", ran.out));
    assert_eq!((&of("folded")["hosts"], &of("folded")["text"]), (&"a".into(), &"here\n".into()), "{}", ran.out);
    assert_eq!((&of("problem")["host"], &of("problem")["members"]), (&"b".into(), &"1".into()));
    assert!(
        of("problem")["cause"].as_str().is_some_and(|cause| cause.starts_with("cannot start only-here: not found"))
    );
    assert_eq!(of("problem")["remedy"], "install it there, give its full path, or stage it");
    let failed = &of("summary")["failed"][0];
    assert_eq!((&failed["hosts"], &failed["status"], ran.status), (&"b".into(), &127.into(), 1));
}

#[test]
fn those_who_want_to_hear_nothing_hear_why_it_failed() {
    let limit = run(&["-q", "-n", "2", "--timeout", "1s", "--input", "none", "--", "sleep", "600"]);
    let told = "banyan: the time limit has passed; the members were ended (--timeout sets it)\n";
    assert_eq!((limit.status, limit.err.as_str()), (4, told));
    let failed = run(&["-q", "--", "sh", "-c", "exit 5"]);
    let told = "banyan: 1 of 1 members failed\n  0 on localhost: exited with status 5\n";
    assert_eq!((failed.status, failed.err.as_str()), (1, told));
}

#[test]
fn a_reader_that_goes_away_ends_the_members_and_the_status_says_so() {
    let shop = Workshop::new();
    let endless = "'while :; do echo again; sleep 0.05; done'";
    let ran = shop.shell(&format!("{{ banyan run --no-label -- sh -c {endless}; echo $? >status; }} | head -1"));
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("again\n", ""));
    assert_eq!(shop.read("status"), b"141\n");
}

#[test]
fn the_time_limit_ends_members_and_has_its_own_status() {
    let ran = run(&["-n", "2", "--timeout", "1s", "--input", "none", "--", "sleep", "600"]);
    assert_eq!(ran.status, 4);
    assert!(ran.err.starts_with("banyan: the time limit has passed; the members were ended"), "{}", ran.err);
}

#[test]
fn members_that_their_limit_has_ended_are_told_apart_from_those_that_were_killed() {
    let script = "case $BANYAN_HOST in a) kill $$;; esac; sleep 600";
    let ran = run(&["-w", "a,b", "--limit", "time=5s", "--input", "none", "--", "sh", "-c", script]);
    let expected = "\
banyan: the time of some members was over; they were ended (--limit time sets it)
banyan: 2 of 2 members failed
  0 on a: killed by signal 15 (SIGTERM)
  1 on b: ended by its limit of time
";
    assert_eq!((ran.status, ran.err.as_str()), (4, expected));
    let ran = run(&["-w", "a,b", "--limit", "time=5s", "--input", "none", "--json", "--", "sh", "-c", script]);
    let limits: Vec<Value> = ran.json().iter().filter(|it| it["rank"] == 1).map(|it| it["limit"].clone()).collect();
    assert_eq!(limits, ["time"]);
    let summary = ran.json().pop().expect("a summary");
    assert_eq!((&summary["timed_out"], &summary["exit_status"]), (&true.into(), &4.into()));
}

#[test]
fn json_has_one_object_for_each_event_and_one_summary() {
    let ran = run(&["-w", "a,b", "--json", "--", "sh", "-c", "echo out; echo err >&2; exit 5"]);
    let objects = ran.json();
    let of = |event: &str| -> Vec<&Value> { objects.iter().filter(|object| object["event"] == event).collect() };
    assert_eq!((of("output").len(), of("exited").len(), of("summary").len()), (4, 2, 1));
    assert!(of("output").iter().all(|line| line["line"] == if line["stream"] == "stdout" { "out" } else { "err" }));
    assert!(of("exited").iter().all(|exited| exited["status"] == 5));
    let line = json!({ "event": "text", "host": "text", "rank": "count", "stream": "text", "line": "text" });
    let end = json!({ "event": "text", "host": "text", "rank": "count", "state": "text", "status": "count" });
    assert_shape(&json!(of("output")), &json!([line]));
    assert_shape(&json!(of("exited")), &json!([end]));
    let summary = objects.last().expect("a summary");
    assert_eq!((&summary["members"], &summary["succeeded"]), (&2.into(), &0.into()));
    assert_eq!(summary["failed"][0]["members"], "0-1");
    assert_eq!((summary["exit_status"].as_u64(), ran.status), (Some(1), 1));
    let shape = json!({
        "event": "text", "exit_status": "count", "failed": "list", "left_out": "list", "members": "count",
        "refused": {}, "seconds": "number", "succeeded": "count", "timed_out": "flag", "unknown": "count",
    });
    assert_shape(summary, &shape);
}

#[test]
fn lines_that_are_no_text_keep_their_bytes_in_json() {
    let ran = run(&["--json", "--", "printf", "\\377\\n"]);
    assert_eq!(ran.json()[0]["hex"], "ff");
}

#[test]
fn wrong_usage_ends_with_status_2_and_says_what_to_write() {
    for (arguments, says) in [
        (&["-w", "a[", "--", "true"][..], "-w: "),
        (&["-w", "a", "-x", "a", "--", "true"], "no host is left"),
        (&["--launcher", "carrier-pigeon", "--", "true"], "there are auto, local, ssh, slurm"),
        (&["--timeout", "soon", "--", "true"], "write for example"),
        (&["--limit", "love=1", "--", "true"], "there is no limit called"),
        (&["--hostfile", "/no/such/file", "--", "true"], "/no/such/file"),
        (&["-n", "2"], "COMMAND"),
        (&["-n", "many", "--", "true"], "invalid value 'many' for '--per-host <N>': a whole number is wanted"),
        (&["--fanout", "", "--", "true"], "a whole number is wanted"),
    ] {
        let ran = Workshop::new().run(&[&["run"], arguments].concat());
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(says), "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn an_agent_explains_itself_and_refuses_to_be_started_by_hand() {
    let shop = Workshop::new();
    assert!(shop.well(&["agent", "--help"]).contains("starts the members of its host"));
    let ran = shop.run(&["agent"]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("banyan run -w HOSTS"), "{}", ran.err);
}

/// The command in the background, with members that say when they are ready.
fn start(script: &str) -> (Child, BufReader<impl Read>) {
    start_with(&[], script)
}

fn start_with(options: &[&str], script: &str) -> (Child, BufReader<impl Read>) {
    // Signals that are ignored here, as under `nohup`, would be there, too.
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", env!("CARGO_BIN_EXE_banyan")]);
    command.args(["run", "-n", "2", "--input", "none"]).args(options).args(["--", "sh", "-c", script]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command was built");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    for _ in 0..2 {
        let mut line = String::new();
        out.read_line(&mut line).expect("text");
        assert!(line.contains("ready"), "{line}");
    }
    (child, out)
}

fn interrupt(child: &Child) {
    send("-INT", child);
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("a shell's tools");
    assert!(sent.success());
}

#[test]
fn the_first_interrupt_is_forwarded_and_members_may_answer_it() {
    let (mut child, mut out) = start("trap 'echo caught; exit 0' INT; echo ready; while :; do sleep 0.1; done");
    interrupt(&child);
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    assert_eq!(sorted_lines(&rest), ["0 localhost: caught", "1 localhost: caught"]);
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "whatever they make of it");
}

#[test]
fn the_second_interrupt_ends_members_that_will_not_listen() {
    let (mut child, mut out) = start("trap 'echo no' INT; trap '' TERM; echo ready; while :; do sleep 0.1; done");
    interrupt(&child);
    let mut line = String::new();
    out.read_line(&mut line).expect("text");
    assert!(line.ends_with("no\n"), "{line}");
    interrupt(&child);
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
}

#[test]
fn a_directory_that_is_not_there_is_named_in_words() {
    let ran = run(&["--chdir", "/no/such/directory", "--", "true"]);
    let why = "cannot start true: working directory /no/such/directory: no such file or directory";
    let host = format!("banyan: host localhost: {why} (member 0); create it on this host or choose another\n");
    assert_eq!(ran.err, format!("{host}banyan: 1 of 1 members failed\n  0 on localhost: never started: {why}\n"));
    assert_eq!(ran.status, 1);
}

#[test]
fn a_signal_that_ends_the_members_is_the_exit_status_with_json_too() {
    for (signal, status) in [("-TERM", 143), ("-HUP", 129), ("-INT", 130)] {
        let (mut child, mut out) = start_with(&["--json", "-S"], "echo ready; exec sleep 600");
        send(signal, &child);
        let mut rest = String::new();
        out.read_to_string(&mut rest).expect("text");
        assert_eq!(child.wait().expect("it ends").code(), Some(status), "{signal}");
        let summary: Value = serde_json::from_str(rest.lines().last().unwrap_or_default()).expect("an object");
        assert_eq!((&summary["event"], &summary["exit_status"]), (&"summary".into(), &status.into()));
    }
}

#[test]
fn strangers_who_connect_are_counted_and_change_nothing() {
    let shop = Workshop::new();
    // Somebody scans the port and somebody speaks to it before the agent comes: both have gone by then.
    let starter = "#!/bin/bash\n\
                   port=$(grep -o '127.0.0.1:[0-9]*' \"${3#--roster=}\" | cut -d: -f2)\n\
                   : >\"/dev/tcp/127.0.0.1/$port\"\n\
                   echo hello >\"/dev/tcp/127.0.0.1/$port\"\n\
                   exec \"$@\"\n";
    shop.write("starter", starter);
    let ran = |how: &str| {
        let line = "banyan run -w \"$(uname -n)\" --launcher 'command:bash ./starter {agent}'";
        shop.shell(&format!("{line} {how} --no-label -- echo well"))
    };
    let told = ran("-v");
    assert_eq!((told.out.as_str(), told.status), ("well\n", 0), "{}", told.err);
    // Agents of other tests whose front-ends were killed may look for these at the same port.
    let is_told = |line: &str| line.contains(" connections were refused: 2 garbage");
    assert!(told.err.lines().any(is_told), "{}", told.err);
    let objects = ran("--json").json();
    assert_eq!(objects.last().map(|summary| &summary["refused"]["garbage"]), Some(&json!(2)), "{objects:?}");
    assert_documented("command-run.md", &objects.into());
}
