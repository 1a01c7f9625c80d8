//! What the members of the tests do, by their first argument. A member that finds something wrong panics.

#![expect(clippy::print_stdout, reason = "members speak to their tests by their output")]

use std::io::{Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use banyan_boot::{Member, ReduceOp};
use banyan_ndr::Record;
use bytes::Bytes;

/// So that a bug is a failure and not a hang.
const PATIENCE: Duration = Duration::from_secs(25);

pub(crate) fn run(arguments: &[&str]) -> ExitCode {
    match arguments {
        ["collectives"] => collectives(&mut join()),
        ["told"] => told(),
        ["records"] => records(),
        ["small"] => small_collectives(),
        ["start"] => start(),
        ["rounds"] => rounds(),
        ["mismatch"] => mismatch(),
        ["leave", rank] => leave(rank.parse().unwrap()),
        ["wait", ..] => wait(),
        ["late", late @ ..] => late_members(late),
        ["meet"] => join().barrier().unwrap(),
        ["echo"] => echo(),
        ["gibibyte"] => gibibyte(),
        ["numbers-after-input", bytes] => {
            std::io::stdin().read_exact(&mut [0; 100_000]).unwrap();
            write_numbers(bytes.parse().unwrap());
        }
        ["numbers", bytes] => write_numbers(bytes.parse().unwrap()),
        other => panic!("no member behaves like {other:?}"),
    }
    ExitCode::SUCCESS
}

pub(crate) fn join() -> Member {
    let mut member = Member::join().unwrap();
    member.set_timeout(Some(PATIENCE));
    member
}

/// Bytes that differ from rank to rank and from place to place.
fn pattern(rank: u32, length: usize) -> Bytes {
    let period: Vec<u8> = (0..256).map(|at: u32| (at * 31 + rank * 7) as u8).collect();
    let mut bytes = period.repeat(length.div_ceil(period.len()));
    bytes.truncate(length);
    bytes.into()
}

/// The sum of the patterns of all ranks.
fn sum_of_patterns(size: u32, length: usize) -> Bytes {
    let period: Vec<u8> = (0..256).map(|at: u32| (0..size).map(|rank| at * 31 + rank * 7).sum::<u32>() as u8).collect();
    let mut bytes = period.repeat(length.div_ceil(period.len()));
    bytes.truncate(length);
    bytes.into()
}

/// Goes through all collectives whenever the front-end says so, until that is silent.
fn told() {
    let mut member = join();
    loop {
        let said = member.is_master().then(|| member.recv_user_data().unwrap());
        if member.broadcast(said).unwrap().is_empty() {
            return;
        }
        collectives(&mut member);
        if member.is_master() {
            member.send_user_data("well").unwrap();
        }
    }
}

fn collectives(member: &mut Member) {
    let (rank, size) = (member.rank(), member.size());
    for length in [0, 1, 4096, 4097, 1 << 20] {
        let sent = member.is_master().then(|| pattern(99, length));
        assert!(member.broadcast(sent).unwrap() == pattern(99, length), "broadcast of {length}");
        let parts = member.is_master().then(|| (0..size).map(|rank| pattern(rank, length)).collect());
        assert!(member.scatter(parts).unwrap() == pattern(rank, length), "scatter of {length}");
        let everyone = || (0..size).map(|rank| pattern(rank, length)).collect::<Vec<_>>();
        let gathered = member.gather(pattern(rank, length)).unwrap();
        assert!(gathered == member.is_master().then(everyone), "gather of {length}");
        assert!(member.all_gather(pattern(rank, length)).unwrap() == everyone(), "all_gather of {length}");
        let sum = member.all_reduce(ReduceOp::Sum, &pattern(rank, length)[..]).unwrap();
        assert!(sum == sum_of_patterns(size, length), "all_reduce of {length}");
        member.barrier().unwrap();
    }
    assert_eq!(member.all_reduce(ReduceOp::Max, &[u64::from(rank)]).unwrap(), [u64::from(size - 1)]);
    let sums = member.all_reduce(ReduceOp::Sum, &[f64::from(rank), -0.5]).unwrap();
    assert_eq!(sums, [f64::from(size * (size - 1) / 2), -0.5 * f64::from(size)]);
    assert_eq!(member.all_reduce(ReduceOp::Min, &[-(rank as i32)]).unwrap(), [1 - size as i32]);
    let bits = member.all_reduce(ReduceOp::Or, &[1.0f64]).unwrap_err().to_string();
    assert!(bits.contains("or is not defined for f64"), "{bits}");
}

/// Lengths around the bound of what goes through shared memory, and one after the other without waiting, so that some
/// go one way, some the other, and rings become full.
fn small_collectives() {
    let mut member = join();
    let (rank, size) = (member.rank(), member.size());
    for round in 0..40 {
        let length = |step: usize| [0, 1, 128, 1000, 1023, 1024, 1025, 3000][(round + step) % 8];
        for step in 0..6 {
            let everyone = || (0..size).map(|rank| pattern(rank, length(step))).collect::<Vec<_>>();
            let gathered = member.gather(pattern(rank, length(step))).unwrap();
            assert!(gathered == member.is_master().then(everyone), "gather {step} of round {round}");
        }
        let sent = member.is_master().then(|| pattern(99, length(1)));
        assert!(member.broadcast(sent).unwrap() == pattern(99, length(1)), "broadcast of round {round}");
        let uneven = |rank: u32| pattern(rank, length(rank as usize));
        let parts = member.is_master().then(|| (0..size).map(uneven).collect());
        assert!(member.scatter(parts).unwrap() == uneven(rank), "scatter of round {round}");
        let shared = member.all_gather(uneven(rank)).unwrap();
        assert!(shared == (0..size).map(uneven).collect::<Vec<_>>(), "all_gather of round {round}");
        let sum = member.all_reduce(ReduceOp::Sum, &pattern(rank, length(2))[..]).unwrap();
        assert!(sum == sum_of_patterns(size, length(2)), "all_reduce of round {round}");
        member.barrier().unwrap();
    }
}

/// What programs do when they start.
fn start() {
    let mut member = join();
    let (rank, size) = (member.rank(), member.size());
    for _ in 0..20 {
        for kind in [99, 98] {
            let sent = member.is_master().then(|| pattern(kind, 128));
            assert_eq!(member.broadcast(sent).unwrap(), pattern(kind, 128));
            member.barrier().unwrap();
        }
        let parts = member.is_master().then(|| (0..size).map(|rank| pattern(rank, 128)).collect());
        let part = member.scatter(parts).unwrap();
        assert_eq!(part, pattern(rank, 128));
        let gathered = member.gather(part).unwrap();
        assert!(gathered == member.is_master().then(|| (0..size).map(|rank| pattern(rank, 128)).collect()));
    }
}

/// Meets the others again and again until something goes wrong; then says what.
fn rounds() {
    let mut member = join();
    member.barrier().unwrap();
    if member.is_master() {
        println!("all are here");
    }
    let failure = loop {
        let sent = member.is_master().then(|| pattern(99, 128));
        let round = member.broadcast(sent).and_then(|_| member.barrier()).and_then(|()| member.gather(pattern(1, 64)));
        if let Err(error) = round {
            break error;
        }
    };
    println!("{failure}");
}

#[derive(Debug, Clone, PartialEq, Record)]
struct Address {
    rank: u32,
    host: String,
    ports: Vec<u16>,
}

fn address(rank: u32) -> Address {
    Address { rank, host: format!("host{rank}"), ports: (0..rank as u16).collect() }
}

fn records() {
    let mut member = join();
    let (rank, size) = (member.rank(), member.size());
    let word = member.is_master().then(|| address(77));
    assert_eq!(member.broadcast_record(word.as_ref()).unwrap(), address(77));
    let everyone: Vec<Address> = (0..size).map(address).collect();
    let parts = member.is_master().then_some(&everyone[..]);
    assert_eq!(member.scatter_records(parts).unwrap(), address(rank));
    let gathered = member.gather_records(&address(rank)).unwrap();
    assert_eq!(gathered.as_ref(), member.is_master().then_some(&everyone));
    assert_eq!(member.all_gather_records(&address(rank)).unwrap(), everyone);
}

/// Member 2 is in another collective than the others.
fn mismatch() {
    let mut member = join();
    let error = if member.rank() == 2 { member.gather(&b""[..]).map(drop) } else { member.barrier() };
    println!("{}", error.unwrap_err());
}

/// One member leaves before the second barrier.
fn leave(who: u32) {
    let mut member = join();
    member.barrier().unwrap();
    if member.rank() == who {
        std::process::exit(3);
    }
    println!("{}", member.barrier().unwrap_err());
}

/// Waits until all have joined, says so, and waits for ever in a barrier that member 0 never enters.
fn wait() {
    let mut member = join();
    member.barrier().unwrap();
    if member.is_master() {
        println!("all are here");
        loop {
            std::thread::park();
        }
    }
    println!("{}", member.barrier().unwrap_err());
}

/// Some are late for the second barrier, until the second line of standard input; the others wait for them since the first,
/// for a second, and then again.
fn late_members(late: &[&str]) {
    let mut member = join();
    member.barrier().unwrap();
    println!("all are here");
    let mut lines = std::io::stdin().lines().map(Result::unwrap);
    lines.next().unwrap();
    if late.contains(&&*member.rank().to_string()) {
        lines.next().unwrap();
    } else {
        member.set_timeout(Some(Duration::from_secs(1)));
        println!("{}", member.barrier().unwrap_err());
        println!("{}", member.gather(&b""[..]).unwrap_err());
        member.set_timeout(Some(PATIENCE));
    }
    member.barrier().unwrap();
    println!("met");
    collectives(&mut member);
}

/// A broadcast as long as one may be, and how much memory the agent had at most.
fn gibibyte() {
    const LENGTH: usize = 1 << 30;
    const PIECE: usize = 1 << 20;
    let mut member = Member::join().unwrap();
    member.set_timeout(Some(4 * PATIENCE));
    let sent = member.is_master().then(|| pattern(5, LENGTH));
    let received = member.broadcast(sent).unwrap();
    assert_eq!(received.len(), LENGTH);
    let piece = pattern(5, PIECE);
    assert!(received.chunks(PIECE).all(|received| received == piece), "the bytes are others");
    let status = std::fs::read_to_string(format!("/proc/{}/status", std::os::unix::process::parent_id())).unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let most = most.trim().trim_end_matches(" kB").to_owned();
    if let Some(all) = member.gather(most).unwrap() {
        member.send_user_data(all.join(&b' ')).unwrap();
    }
}

/// The master sends back what the front-end sends, until that is empty.
fn echo() {
    let mut member = join();
    while member.is_master() {
        let message = member.recv_user_data().unwrap();
        let last = message.is_empty();
        member.send_user_data(message).unwrap();
        if last {
            return;
        }
    }
}

/// Numbered lines of at least so many bytes, and ends at once.
pub(crate) fn write_numbers(bytes: usize) {
    std::io::stdout().write_all(&numbers(bytes)).unwrap();
}

pub(crate) fn numbers(bytes: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes + 1024);
    for number in 0.. {
        if text.len() >= bytes {
            break;
        }
        write!(text, "{number}").unwrap();
        text.extend_from_slice(&[b'.'; 990]);
        text.push(b'\n');
    }
    text
}
