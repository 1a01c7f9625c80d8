//! Files that are truncated, overwritten, removed; observers that write nonsense.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use crate::child::Step;
use crate::harness::Program;

/// Opens a file to write, whatever its mode says.
fn force(path: &Path) -> File {
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
    OpenOptions::new().write(true).open(path).unwrap()
}

fn board(segment: &Path) -> PathBuf {
    segment.with_extension("observers")
}

#[test]
fn files_are_of_their_user_alone_and_a_segment_cannot_be_written() {
    let program = Program::start("steps");
    let segment = program.segments().remove(0);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(&segment), mode(&board(&segment))), (0o400, 0o600));
}

#[test]
fn a_directory_that_others_can_enter_is_refused_and_the_program_goes_on() {
    let directory = tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o755)).tempdir().unwrap();
    let mut program = Program::start_in(directory, "steps", &[]);
    program.tell("emit 1000");
    program.send("status");
    let status = program.expect("status");
    assert!(status.contains("others can enter it"), "{status}");
}

#[test]
fn without_memory_for_a_segment_a_program_goes_on() {
    let mut program = Program::start_limited("always", 10);
    program.tell("emit 1000");
    program.send("status");
    let status = program.expect("status");
    assert!(status.contains("ulimit -f"), "{status}");
    assert_eq!(std::fs::read_dir(program.directory.path()).unwrap().count(), 0);
}

#[test]
fn without_memory_for_a_ring_events_are_counted() {
    let mut program = Program::start_limited("steps", 400);
    let mut observer = program.observe("step");
    program.tell("emit 1000");
    program.tell("thread 10");
    assert_eq!(observer.drain(|_| ()).unwrap(), 0);
    let account = observer.accounts().remove(0);
    assert_eq!((account.emitted, account.dropped.no_room, account.in_flight()), (1010, 1010, 0));
}

#[test]
fn truncated_files_end_neither_program_nor_observer() {
    for what in 0..3 {
        let mut program = Program::start("steps");
        let mut observer = program.observe("step");
        program.tell("emit 1000");
        observer.drain(|_| ()).unwrap();
        let segment = program.segments().remove(0);
        if what != 1 {
            force(&segment).set_len(0).unwrap();
        }
        if what != 0 {
            force(&board(&segment)).set_len(0).unwrap();
        }
        program.tell("emit 100000");
        program.tell("thread 1000");
        // Whatever it finds.
        for _ in 0..3 {
            let _ = observer.drain(|event| assert!(event.view::<Step>().unwrap().is_whole()));
            let _ = observer.accounts();
        }
        drop(observer);
        program.tell("emit 1000");
        assert!(program.is_running());
    }
}

#[test]
fn removed_files_are_missed_by_nobody() {
    let mut program = Program::start("steps");
    let mut observer = program.observe("step");
    program.segments().into_iter().for_each(|path| {
        std::fs::remove_file(board(&path)).unwrap();
        std::fs::remove_file(path).unwrap();
    });
    program.tell("emit 1000");
    program.tell("thread 1000");
    assert_eq!(observer.drain(|_| ()).unwrap(), 2000);
}

#[test]
fn a_sender_of_sigbus_is_not_taken_for_a_truncated_file() {
    let mut program = Program::start("steps");
    program.observe("step");
    let pid = rustix::process::Pid::from_child(&program.child);
    // The handler of Rust's runtime takes the first for its own, and leaves the next to the kernel.
    crate::harness::wait_until("its end", || {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::BUS);
        !program.is_running()
    });
    let status = program.child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(rustix::process::Signal::BUS.as_raw()));
}

/// Where the lease of the first slot is in the observers' file.
const FIRST_LEASE: u64 = (32 + 3) * 8;

#[test]
fn an_observer_that_is_silent_for_too_long_costs_nothing_and_may_come_back() {
    let mut program = Program::start("steps");
    let mut observer = program.observe("step");
    let board = OpenOptions::new().write(true).open(board(&program.segments()[0])).unwrap();
    // As if it had last drained at the first stamp of all.
    board.write_at(&1u64.to_ne_bytes(), FIRST_LEASE).unwrap();
    program.tell("emit 1000");
    let emitted = observer.accounts()[0].emitted;
    assert!(emitted < 1000, "its slot was freed at the end of a block: {emitted}");
    program.tell("emit 1000");
    assert_eq!(observer.accounts()[0].emitted, emitted, "nobody watches");
    assert_eq!((observer.drain(|_| ()).unwrap(), observer.lapses()), (emitted, 1));
    program.tell("emit 10");
    assert_eq!((observer.drain(|_| ()).unwrap(), observer.lapses()), (10, 1));
    let account = &observer.accounts()[0];
    assert_eq!((account.emitted, account.delivered), (emitted + 10, emitted + 10));
}

/// Writes random words where an observer may write.
fn scribble(board: &File, words: &[(u16, u64)]) {
    let length = board.metadata().unwrap().len();
    for (at, word) in words {
        let at = u64::from(*at) * 8 % length;
        board.write_at(&word.to_ne_bytes(), at).unwrap();
    }
}

fn word() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 0..70_000u64, Just(u64::MAX), Just(0)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nothing_that_observers_write_makes_a_program_misbehave(
        role in prop::sample::select(vec!["steps", "newest", "block", "latest"]),
        rounds in prop::collection::vec(prop::collection::vec((any::<u16>(), word()), 1..300), 1..5),
    ) {
        let mut program = Program::start(role);
        let path = program.segments().remove(0);
        let board = OpenOptions::new().write(true).read(true).open(board(&path)).unwrap();
        let mut reader = program.segment().read().unwrap();
        for words in rounds {
            program.send("emit 20000");
            scribble(&board, &words);
            program.expect("done");
            reader.drain(|event| assert!(event.view::<Step>().unwrap().is_whole())).unwrap();
        }
        prop_assert!(program.is_running());
        prop_assert_eq!(reader.damaged(), 0);
    }

    #[test]
    fn a_damaged_segment_makes_neither_program_nor_reader_misbehave(
        words in prop::collection::vec((any::<u16>(), word()), 1..300),
    ) {
        let mut program = Program::start("always");
        program.tell("emit 20000");
        let path = program.segments().remove(0);
        let mut reader = program.segment().read().unwrap();
        reader.drain(|_| ()).unwrap();
        scribble(&force(&path), &words);
        let _ = reader.drain(|_| ());
        let _ = reader.accounts();
        if let Ok(segment) = banyan_sensor::observe::Segment::open(&path)
            && let Ok(mut reader) = segment.read()
        {
            let _ = reader.drain(|_| ());
        }
        program.tell("emit 20000");
        prop_assert!(program.is_running());
    }
}
