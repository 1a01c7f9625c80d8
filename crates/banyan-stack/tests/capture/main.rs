//! Stacks of real processes: what is found, what is left behind, and what happens to those that cannot be read.

mod program;

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use banyan_stack::{Choice, Kind, Report, SamplerOptions, Target, Unread, take};
use program::{Running, Shop};

fn targets(processes: &[Running]) -> Vec<Target> {
    pids(&processes.iter().map(Running::pid).collect::<Vec<_>>())
}

fn pids(pids: &[u32]) -> Vec<Target> {
    pids.iter().zip(0..).map(|(pid, rank)| Target { pid: *pid, rank, command: "test".into() }).collect()
}

fn look(targets: &[Target]) -> Report {
    take(targets, &SamplerOptions::default()).expect("a thread")
}

/// The functions of the classes from `main` on, with who is in each.
fn classes(report: &Report) -> Vec<(String, Vec<String>)> {
    let from_main = |stack: &Vec<&banyan_stack::Frame>| {
        let names: Vec<String> = stack.iter().map(ToString::to_string).collect();
        let main = names.iter().position(|name| name == "main").unwrap_or(0);
        names[main..].join(" ")
    };
    let classes = report.tree.classes();
    classes.iter().map(|class| (class.ranks.to_string(), class.stacks.iter().map(from_main).collect())).collect()
}

#[test]
fn one_of_sixteen_that_hangs_elsewhere_is_a_class_of_its_own() {
    let shop = Shop::new();
    let program = shop.compile("ranks", &["-O2"]);
    let processes: Vec<Running> = (0..16).map(|rank| Running::start(&program, &[rank, 3], 'S')).collect();
    let report = look(&targets(&processes));
    let odd = ("3".into(), vec!["main exchange wait_for_neighbour until_the_end read".into()]);
    let rest = ("0-2,4-15".into(), vec!["main solve wait_in_barrier until_the_end read".into()]);
    assert_eq!(classes(&report), [odd, rest]);
    assert_eq!(report.unread().count(), 0);
    for process in processes {
        assert_eq!(process.end(), Some(0), "it goes on as if nothing had been");
    }
}

#[test]
fn with_threads_every_thread_has_a_stack() {
    let shop = Shop::new();
    let program = shop.compile("ranks", &["-O2"]);
    let process = [Running::start(&program, &[0, 1, 3], 'S')];
    let options = SamplerOptions::default().threads(true);
    let report = take(&targets(&process), &options).expect("a thread");
    assert_eq!(report.processes.values().map(|process| process.stacks).sum::<u64>(), 4);
    let [(_, stacks)] = &classes(&report)[..] else { panic!("one process is one class") };
    assert!(stacks.iter().any(|stack| stack.contains("wait_for_work pause")), "{stacks:?}");
    assert!(stacks.iter().any(|stack| stack.contains("solve wait_in_barrier")), "{stacks:?}");
    assert_eq!((report.tree.threads().count(), report.tree.threads().ranks().len()), (4, 1));
}

#[test]
fn a_thread_counts_once_however_often_it_is_looked_at() {
    let shop = Shop::new();
    let program = shop.compile("ranks", &["-O2"]);
    let processes = [Running::start(&program, &[0, 2, 3], 'S'), Running::start(&program, &[1, 2, 3], 'S')];
    let every = std::time::Duration::from_millis(1);
    let options = SamplerOptions::default().threads(true).samples(5).every(every);
    let report = take(&targets(&processes), &options).expect("a thread");
    assert_eq!(report.processes.values().map(|process| process.stacks).sum::<u64>(), 40);
    assert_eq!(report.tree.threads().count(), 8);
    let main = report.tree.steps().into_iter().find(|step| &*step.frame.function == "main").expect("main");
    assert_eq!((main.ranks.to_string().as_str(), main.threads.count()), ("0-1", 2));
    let none = take(&targets(&processes), &SamplerOptions::default()).expect("a thread");
    assert_eq!(none.tree.threads().count(), 0, "who did not ask for threads is not told of them");
}

#[test]
fn a_stripped_optimised_program_has_as_many_frames_as_one_with_symbols() {
    let (named, stripped) = (Shop::new(), Shop::new());
    let how = ["-O3", "-fomit-frame-pointer"];
    let named = named.compile("ranks", &how);
    let stripped_program = stripped.compile("ranks", &[how[0], how[1], "-s"]);
    let processes = [Running::start(&named, &[0, 0], 'S'), Running::start(&stripped_program, &[0, 0], 'S')];
    let report = look(&targets(&processes));
    let stacks = report.tree.stacks();
    let depths: Vec<usize> = stacks.iter().map(|(stack, ..)| stack.len()).collect();
    assert!(depths[0] == depths[1] && depths[0] >= 7, "{stacks:?}");
    let unnamed = stacks.iter().find(|(_, ranks, _)| ranks.contains(1)).expect("rank 1");
    assert!(unnamed.0.iter().filter(|frame| frame.function.starts_with("ranks+0x")).count() >= 4, "{unnamed:?}");
    assert_eq!(&*unnamed.0.last().expect("frames").function, "read");
}

#[test]
fn lines_of_the_source_are_shown_where_the_compiler_left_them_compressed_or_not() {
    for compression in ["none", "zlib", "zlib-gnu"] {
        let (line, report) = with_lines(compression, |_| {});
        let [(_, stacks)] = &classes(&report)[..] else { panic!("one class") };
        assert!(stacks[0].contains(&format!("exchange at ranks.c:{line} ")), "-gz={compression}: {stacks:?}");
        assert_eq!(report.processes.values().find_map(|process| process.note.clone()), None);
    }
}

#[test]
fn lines_that_are_compressed_in_another_way_are_named_with_the_remedy() {
    let (_, report) = with_lines("zlib", |program| {
        // Few compilers know zstd; the heads of the sections say it all the same.
        let mut bytes = std::fs::read(program).expect("it was compiled");
        let is_head = |head: &[u8]| head[..8] == 1u64.to_le_bytes() && head[16..] == *b"\x01\0\0\0\0\0\0\0\x78";
        let heads: Vec<usize> = (0..bytes.len() - 25).filter(|at| is_head(&bytes[*at..at + 25])).collect();
        assert!(!heads.is_empty(), "no section was compressed");
        heads.into_iter().for_each(|at| bytes[at] = 2);
        std::fs::write(program, bytes).expect("it is ours");
    });
    assert!(classes(&report)[0].1[0].contains("exchange wait_for_neighbour"), "{:?}", classes(&report));
    let note = report.processes.values().find_map(|process| process.note.clone()).expect("a note");
    assert!(note.contains("the lines of ranks are compressed with zstd; make them readable with: objcopy"), "{note}");
    assert!(note.ends_with("/ranks"), "the whole path: {note}");
}

/// A report with lines of a program whose tables are compressed so, then changed; and the line in which it hangs.
fn with_lines(compression: &str, change: impl Fn(&Path)) -> (usize, Report) {
    let shop = Shop::new();
    let program = shop.compile("ranks", &["-O1", "-g", &format!("-gz={compression}")]);
    change(&program);
    let process = [Running::start(&program, &[0, 0], 'S')];
    let options = SamplerOptions::default().lines(true);
    let report = take(&targets(&process), &options).expect("a thread");
    let source = include_str!("../programs/ranks.c");
    let line = 1 + source.lines().position(|line| line.trim() == "wait_for_neighbour();").expect("the call");
    (line, report)
}

#[test]
fn a_program_whose_file_was_removed_is_read_all_the_same() {
    let shop = Shop::new();
    let program = shop.compile("ranks", &["-O2"]);
    let process = [Running::start(&program, &[0, 0], 'S')];
    std::fs::remove_file(&program).expect("it is ours");
    let report = look(&targets(&process));
    assert!(classes(&report)[0].1[0].contains("exchange wait_for_neighbour"), "{:?}", classes(&report));
}

#[test]
fn a_stopped_process_is_read_and_stays_stopped() {
    let shop = Shop::new();
    let program = shop.compile("ranks", &["-O2"]);
    let process = Running::start(&program, &[0, 0], 'S');
    process.signal("STOP");
    process.wait_for('T');
    for _ in 0..3 {
        let report = look(&pids(&[process.pid()]));
        assert!(classes(&report)[0].1[0].contains("exchange wait_for_neighbour"));
        assert_eq!((process.state(), process.status("TracerPid").as_str()), ('T', "0"));
    }
    process.signal("CONT");
    process.wait_for('S');
    assert_eq!(process.end(), Some(0));
}

#[test]
fn a_process_that_cannot_be_interrupted_is_given_up_and_others_are_read() {
    let shop = Shop::new();
    let stuck = Running::start(&shop.compile("uninterruptible", &["-O1"]), &[], 'D');
    let program = shop.compile("ranks", &["-O2"]);
    let others = [Running::start(&program, &[0, 0], 'S'), Running::start(&program, &[0, 0], 'S')];
    let report = look(&pids(&[others[0].pid(), stuck.pid(), others[1].pid()]));
    let unread: Vec<_> = report.unread().map(|(_, process, unread)| (process.rank, unread.kind)).collect();
    assert_eq!(unread, [(1, Kind::Stuck)]);
    let facts = report.unread().next().and_then(|(_, _, unread)| unread.facts.clone()).expect("what /proc tells");
    assert_eq!((facts.name.as_str(), facts.state.word()), ("uninterruptible", "uninterruptible"));
    assert_eq!(report.tree.stacks().len(), 1);
    assert_eq!(report.tree.stacks()[0].1.to_string(), "0,2");
    assert_eq!(stuck.status("TracerPid"), "0", "nobody traces it any more");
    assert_eq!(stuck.end(), Some(0));
}

#[test]
fn a_program_whose_tables_go_in_a_circle_is_given_up_and_others_are_read() {
    let shop = Shop::new();
    let trap = Running::start(&shop.compile("endless", &["-O1"]), &[], 'S');
    let other = Running::start(&shop.compile("ranks", &["-O2"]), &[0, 0], 'S');
    let targets = pids(&[trap.pid(), other.pid()]);
    // Enough for the other one on a machine with much to do; no time is enough for the trap.
    let patience = std::time::Duration::from_secs(3);
    let options = SamplerOptions::default().patience(patience).samples(6);
    let report = take(&targets, &options).expect("a thread");
    let unread: Vec<_> = report.unread().map(|(_, process, unread)| (process.rank, unread)).collect();
    // After so short a time nothing is known of its tables.
    let is_hurried = |why: &str| why.contains("not unwound within 3 s") && !why.contains("damaged");
    assert!(matches!(unread[..], [(0, Unread { kind: Kind::OutOfTime, why, .. })] if is_hurried(why)), "{unread:?}");
    let stacks: Vec<u64> = report.processes.values().map(|process| process.stacks).collect();
    assert!(stacks == [0, 6] || stacks == [6, 0], "it was tried again and again: {stacks:?}");
    assert_eq!(report.tree.stacks()[0].1.to_string(), "1");
    assert_eq!(trap.end(), Some(0));
}

#[test]
fn ended_and_unknown_processes_are_told_apart() {
    let shop = Shop::new();
    let program = shop.compile("ranks", &["-O2"]);
    let dead = Running::start(&program, &[0, 0], 'S');
    dead.signal("KILL");
    dead.wait_for('Z');
    let report = look(&pids(&[dead.pid(), u32::MAX / 4]));
    let kinds: Vec<_> = report.unread().map(|(_, process, unread)| (process.rank, unread.kind)).collect();
    assert_eq!(kinds, [(0, Kind::Zombie), (1, Kind::Gone)]);
    assert_eq!(report.tree.ranks().to_string(), "0-1");
    assert_eq!(dead.end(), None, "its end is still there for its parent to see");
}

#[test]
fn processes_that_are_killed_meanwhile_do_no_harm() {
    let shop = Shop::new();
    let program = shop.compile("ranks", &["-O2"]);
    let processes: Vec<Running> = (0..24).map(|rank| Running::start(&program, &[rank, 3], 'S')).collect();
    let targets = targets(&processes);
    let report = std::thread::scope(|scope| {
        scope.spawn(|| processes.iter().rev().for_each(|process| process.signal("KILL")));
        take(&targets, &SamplerOptions::default().samples(20).every(std::time::Duration::ZERO))
    });
    let report = report.expect("a thread");
    for (place, process, unread) in report.unread() {
        assert!(matches!(unread.kind, Kind::Gone | Kind::Zombie), "{place:?} {process:?}");
    }
    assert_eq!(report.processes.len(), 24);
}

#[test]
fn signals_that_arrive_while_a_process_is_looked_at_reach_it() {
    let shop = Shop::new();
    let program = shop.compile("ranks", &["-O2"]);
    let mut process = Running::start(&program, &[0, 0], 'S');
    let (targets, done) = (pids(&[process.pid()]), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert_eq!(look(&targets).unread().count(), 0);
            }
        });
        for _ in 0..40 {
            process.signal("USR1");
            assert_eq!(process.line(), "signal\n");
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(process.end(), Some(0));
}

#[test]
fn several_may_look_at_one_process_at_once() {
    let shop = Shop::new();
    let program = shop.compile("ranks", &["-O2"]);
    let processes: Vec<Running> = (0..4).map(|rank| Running::start(&program, &[rank, 3], 'S')).collect();
    let targets = targets(&processes);
    let options = SamplerOptions::default().samples(25).every(std::time::Duration::ZERO);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(take(&targets, &options).expect("a thread").unread().next(), None));
        }
    });
}

#[test]
fn frames_are_those_that_eu_stack_finds() {
    if Command::new("eu-stack").arg("--version").output().is_err() {
        return skip("eu-stack (package elfutils) is not installed");
    }
    let shop = Shop::new();
    let program = shop.compile("ranks", &["-O2", "-fomit-frame-pointer"]);
    let process = Running::start(&program, &[0, 0], 'S');
    let output = Command::new("eu-stack").args(["-p", &process.pid().to_string()]).output().expect("eu-stack");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let bare = |name: &str| name.split('@').next().unwrap_or(name).trim_start_matches('_').to_owned();
    let theirs: Vec<String> = text
        .lines()
        .filter(|line| line.starts_with('#'))
        .filter_map(|line| Some(bare(line.split_whitespace().nth(2)?)))
        .collect();
    let report = look(&pids(&[process.pid()]));
    let ours: Vec<String> = report.tree.stacks()[0].0.iter().rev().map(|frame| bare(&frame.function)).collect();
    assert_eq!(ours, theirs);
}

#[test]
fn the_functions_of_a_python_program_are_shown_with_py_spy() {
    if Command::new("py-spy").arg("--version").output().is_err() {
        return skip("py-spy is not installed; get it with: pip install py-spy");
    }
    let code = "import sys\ndef wait_for_data():\n    sys.stdin.read()\ndef train():\n    wait_for_data()\n\
                print('ready', flush=True)\ntrain()\n";
    let shop = Shop::new();
    let path = shop.write("train.py", code);
    let process = Running::start_command(Command::new("python3").arg(path), 'S');
    let options = SamplerOptions::default().python(true).lines(true);
    let report = take(&pids(&[process.pid()]), &options).expect("a thread");
    let note = report.processes.values().find_map(|process| process.note.clone());
    assert_eq!(note, None);
    let stack: Vec<String> = report.tree.stacks()[0].0.iter().map(ToString::to_string).collect();
    assert_eq!(stack, ["<module> at train.py:7", "train at train.py:5", "wait_for_data at train.py:3"]);
}

#[test]
fn ranks_come_from_the_environment_and_jobs_are_found_by_it() {
    let shop = Shop::new();
    let program = shop.compile("ranks", &["-O2"]);
    let job = format!("test-{}", std::process::id());
    let start = |rank: u32, variable: &str| {
        let mut command = Command::new(&program);
        command.args([rank.to_string(), "9".into()]).env(variable, rank.to_string()).env("SLURM_JOB_ID", &job);
        Running::start_command(&mut command, 'S')
    };
    let processes = [start(7, "OMPI_COMM_WORLD_RANK"), start(2, "PMI_RANK"), start(5, "SLURM_PROCID")];
    let found = Choice::SlurmJob(job).find().expect("three of them");
    let expected = [(Some(2), processes[1].pid()), (Some(5), processes[2].pid()), (Some(7), processes[0].pid())];
    assert_eq!(sorted_pairs(&found), expected);
    let regex = banyan_stack::pattern(&format!("{} 2 9", program.display())).expect("a pattern");
    assert_eq!(sorted_pairs(&regex.find().expect("one of them")), expected[..1]);
    let mpi = Choice::Mpi(std::process::id()).find().expect("at least these");
    assert!(expected.iter().all(|it| sorted_pairs(&mpi).contains(it)));
}

fn sorted_pairs(found: &[banyan_stack::Found]) -> Vec<(Option<u32>, u32)> {
    found.iter().map(|it| (it.rank, it.pid)).collect()
}

#[expect(clippy::print_stderr, reason = "whoever runs the tests wants to know what was left out")]
fn skip(why: &str) {
    eprintln!("left out: {why}");
}
