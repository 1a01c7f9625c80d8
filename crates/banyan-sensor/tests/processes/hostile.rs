//! Observers that write nonsense into the mailbox, or are killed while they steer.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

use banyan_ndr::Value;
use banyan_sensor::observe::{Answer, KnobInfo, Mailbox, Request, Segment, When};

use crate::harness::{LIMIT, Program, ROLE, wait_until};

/// Numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// Words of the observers' file, as docs/segment.md has them.
const BELL: u64 = 24;
const MAILBOX_TABLE: u64 = 20;
const SLOTS: u64 = 16;
const SLOT_WORDS: u64 = 152;

struct Board {
    file: File,
    words: u64,
    mailbox: u64,
}

impl Board {
    fn open(segment: &Path) -> Board {
        let file = OpenOptions::new().read(true).write(true).open(segment.with_extension("observers")).unwrap();
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, MAILBOX_TABLE * 8).unwrap();
        let words = file.metadata().unwrap().len() / 8;
        Board { file, words, mailbox: u64::from_ne_bytes(bytes) / 8 }
    }

    fn write(&self, at: u64, word: u64) {
        self.file.write_all_at(&word.to_ne_bytes(), at * 8).unwrap();
    }
}

/// Anything, but more often what means something.
fn word(random: &mut Random) -> u64 {
    match random.below(6) {
        0 => random.next(),
        1 => random.below(9),
        2 => random.below(2000),
        3 => u64::MAX,
        4 => random.one_of(&[0.25, 1e-6, 1.0, 0.0, -1.0, f64::NAN, f64::INFINITY, 2.0]).to_bits(),
        _ => 0,
    }
}

/// A request that could almost be one.
fn almost(random: &mut Random) -> Vec<u64> {
    let mut words = vec![0; SLOT_WORDS as usize];
    words[0] = random.one_of(&[0, 1, 2, 3, u64::MAX]) ^ random.below(1 << 20);
    words[3] = random.one_of(&[0, u64::MAX, u64::MAX / 2]);
    words[4] = random.below(4);
    words[5] = random.below(10);
    words[6] = random.below(4);
    words[7] = random.one_of(&[0, 1, u64::MAX]).wrapping_add(random.below(200_000));
    words[8] = random.one_of(&[1, 4, 8, 8, 16, 40, 64, 1024, 1025, u64::MAX]);
    for word_of_it in &mut words[16..] {
        *word_of_it = if random.below(4) == 0 { word(random) } else { 0 };
    }
    words[24] = word(random);
    words
}

/// One round of nonsense: single words anywhere in the mailbox, or requests word by word in any order.
fn scribble(board: &Board, random: &mut Random, whole_file: bool) {
    if random.below(2) == 0 {
        for _ in 0..random.below(200) {
            let at =
                if whole_file { random.below(board.words) } else { board.mailbox + random.below(SLOTS * SLOT_WORDS) };
            board.write(at, word(random));
        }
    } else {
        let slot = board.mailbox + random.below(SLOTS) * SLOT_WORDS;
        let request = almost(random);
        let first = random.below(SLOT_WORDS);
        for at in (0..SLOT_WORDS).map(|at| (at + first) % SLOT_WORDS) {
            board.write(slot + at, request[at as usize]);
        }
    }
    board.write(BELL, word(random));
}

fn dt(segment: &Segment) -> KnobInfo {
    segment.knobs().unwrap().into_iter().find(|knob| knob.name == "solver.dt").unwrap()
}

/// Sets the length of steps, and says whether the program did so.
fn sets(segment: &Segment, value: f64) -> bool {
    let dt = dt(segment);
    let mut mailbox = Mailbox::open(segment, "the last one").unwrap();
    let ticket = mailbox.send(&Request::set(&dt, dt.body(value).unwrap())).unwrap();
    matches!(mailbox.wait(ticket, LIMIT), Answer::Done { .. })
}

/// Thousands of rounds beside a program that steps, gets and emits. Its values are ones that they can be.
fn rounds_of_nonsense(seed: u64, whole_file: bool) -> Program {
    let mut program = Program::start("steady");
    let mut events = program.segment().read().unwrap();
    let board = Board::open(&program.segments()[0]);
    let mut random = Random(seed);
    for round in 0..4000 {
        scribble(&board, &mut random, whole_file);
        if round % 100 == 0 {
            events.drain(|_| ()).unwrap();
            program.send("report");
            assert_eq!(program.expect("wrong "), "0", "seed {seed} round {round}");
        }
    }
    assert_eq!(events.damaged(), 0);
    program
}

#[test]
fn nothing_in_the_mailbox_makes_a_program_misbehave_and_others_still_steer_it() {
    for seed in [1, 2, 3] {
        let mut program = rounds_of_nonsense(seed, false);
        assert!(sets(&program.segment(), 0.125), "seed {seed}");
        program.send("report");
        assert_eq!(program.expect("wrong "), "0");
    }
}

#[test]
fn nothing_in_the_whole_observers_file_makes_a_steered_program_misbehave() {
    for seed in [4, 5] {
        rounds_of_nonsense(seed, true);
    }
}

/// Not a test of its own: a child that steers until it is killed.
#[test]
fn steers_as_a_child() {
    let Ok(path) = std::env::var("SENSOR_TEST_STEERED") else { return };
    let segment = Segment::open(path.as_ref()).unwrap();
    let dt = dt(&segment);
    let mut mailbox = Mailbox::open(&segment, "to be killed").unwrap();
    for number in 0u64.. {
        let value = 0.25 + (number % 64) as f64 / 128.0;
        let request = Request::set(&dt, dt.body(value).unwrap());
        let step = segment.step().unwrap_or(0);
        let request = match number % 3 {
            0 => request,
            1 => request.when(When::Step(step + 2)),
            _ => request.when(When::Step(step + 2)).proposed(),
        };
        let ticket = mailbox.send(&request).unwrap();
        if number % 3 == 2 {
            mailbox.commit(ticket).unwrap();
        }
        mailbox.wait(ticket, LIMIT);
    }
}

#[test]
fn observers_that_are_killed_while_they_steer_leave_nothing_that_blocks() {
    let mut program = Program::start("steady");
    let path = program.segments().remove(0);
    let segment = program.segment();
    for round in 0..20 {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "hostile::steers_as_a_child", "--nocapture"]).env_remove(ROLE);
        let mut observers: Vec<_> =
            (0..2).map(|_| command.env("SENSOR_TEST_STEERED", &path).stdout(Stdio::null()).spawn().unwrap()).collect();
        let before = segment.shown_value(&dt(&segment)).unwrap().changes;
        // Each round is killed at another moment.
        wait_until("changes", || segment.shown_value(&dt(&segment)).is_ok_and(|shown| shown.changes > before + round));
        for observer in &mut observers {
            observer.kill().unwrap();
            observer.wait().unwrap();
        }
        assert!(sets(&segment, 0.0625), "round {round}");
        program.send("report");
        assert_eq!(program.expect("wrong "), "0");
    }
}

#[test]
fn a_held_change_of_an_observer_that_is_silent_for_too_long_is_cancelled_by_the_program() {
    let mut program = Program::start("steered");
    let step = |program: &mut Program, number: u64| {
        program.send(&format!("step {number}"));
        program.expect("with ").parse::<f64>().unwrap()
    };
    program.tell("patience 60000");
    step(&mut program, 1);
    let segment = program.segment();
    let dt = dt(&segment);
    let mut mailbox = Mailbox::open(&segment, "silent").unwrap();
    let proposal = |at: u64| Request::set(&dt, dt.body(Value::from(0.25)).unwrap()).when(When::Step(at)).proposed();
    let ticket = mailbox.send(&proposal(3)).unwrap();
    assert_eq!(step(&mut program, 2), 0.5);
    // As if it had last been heard of at the first stamp of all.
    let board = Board::open(&program.segments()[0]);
    (0..SLOTS).for_each(|slot| board.write(board.mailbox + slot * SLOT_WORDS + 3, 1));
    assert_eq!(step(&mut program, 3), 0.5, "without a wait for the decision");
    assert_eq!(mailbox.answer(ticket), Answer::Cancelled);
    let again = mailbox.send(&proposal(5)).unwrap();
    assert_eq!(step(&mut program, 4), 0.5);
    mailbox.commit(again).unwrap();
    assert_eq!(step(&mut program, 5), 0.25, "what is committed stays");
}
