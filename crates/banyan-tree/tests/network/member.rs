//! Members of the tests.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::process::ExitCode;
use std::sync::Once;
use std::time::{Duration, Instant};

use banyan_boot::Member;
use banyan_ndr::Record;
use banyan_tree::{BackEnd, Incoming, Report, StreamId, TreeError, WaveNumber};

use crate::setup::{ECHO, END, Order, SEND, Text, Value, compute, value};

/// The same record as the others send, of another machine's making: other types in another order.
#[derive(Record)]
struct Other {
    ones: u8,
    name: String,
    value: i32,
}

/// What is sent at a time.
#[derive(Record)]
struct Timed {
    time: f64,
    ones: u32,
}

/// A text at a time.
#[derive(Record)]
struct Tick {
    time: i64,
    text: String,
}

/// The same as the others send, and more.
#[derive(Record)]
struct Padded {
    value: i64,
    ones: u32,
    padding: Vec<u8>,
}

/// The same as the others send, of an older program.
#[derive(Record)]
struct Ones {
    ones: u32,
}

/// When and for how long member 0 sleeps.
const NAP_AFTER: u64 = 20;
const NAP: Duration = Duration::from_secs(1);

/// A time of day, as members know it.
const NOW: f64 = 1_800_000_000.0;

/// Bytes that are more.
const PADDING: usize = 500;

/// A large array.
#[derive(Record)]
struct Array {
    values: Vec<f64>,
}

/// The tag that a member gives a number: none to some, the same to some that follow each other.
pub(crate) fn tag(rank: u32, text: &str) -> u32 {
    let number: u32 = text.parse().expect("it is a number");
    if number.is_multiple_of(5) { 0 } else { 1000 * (1 + rank) + number / 3 }
}

pub(crate) fn run(behaviour: &str) -> ExitCode {
    if behaviour == "late" {
        // Longer than an agent would wait for a member that has joined and is silent.
        compute(Duration::from_secs(5));
    }
    if behaviour == "never" {
        compute(Duration::from_secs(600));
    }
    if behaviour == "end-early" {
        let said = std::io::stderr().write_all(b"one word\nand the last\n");
        return ExitCode::from(if said.is_ok() { 7 } else { 1 });
    }
    if behaviour == "join-in-time" {
        let begun = Instant::now();
        let joined = BackEnd::join_timeout(begun + Duration::from_millis(300));
        return ExitCode::from(if joined.is_err() && begun.elapsed() < Duration::from_secs(5) { 9 } else { 1 });
    }
    match serve(behaviour) {
        Ok(()) | Err(TreeError::Ended) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{error}\n"));
            ExitCode::FAILURE
        }
    }
}

fn serve(behaviour: &str) -> Result<(), TreeError> {
    if behaviour == "suspicious" {
        let member = Member::join()?;
        assert!(member.note().is_empty(), "the secret of the network is for agents");
    }
    let mut back_end = BackEnd::join()?;
    loop {
        let incoming = match back_end.recv() {
            Err(TreeError::Unfiltered { stream, cause, .. }) => {
                let text = format!("{}:failed: {cause}", back_end.rank());
                back_end.send(stream, &Text { text })?;
                continue;
            }
            incoming => incoming?,
        };
        match incoming.tag {
            ECHO if behaviour == "clock" => {
                let known = back_end.clock();
                let text = known.map_or_else(String::new, |clock| format!("{} {}", clock.low, clock.high));
                _ = back_end.send(incoming.stream, &Text { text })?;
            }
            ECHO if behaviour == "dynamic" => {
                let record = incoming.read_dyn()?;
                let body = record.to_body().expect("it was read");
                let hostile = back_end.send_body(incoming.stream, &record.format, &vec![0xff; body.len()]);
                assert!(matches!(hostile, Err(TreeError::Body(_))), "{hostile:?}");
                if back_end.rank() == 0 {
                    back_end.send_dyn(incoming.stream, &record)?;
                } else {
                    back_end.send_body(incoming.stream, &record.format, &body)?;
                }
            }
            ECHO if behaviour == "tagged" => {
                let record: Text = incoming.read()?;
                let tag = tag(back_end.rank(), &record.text);
                back_end.send_tagged(incoming.stream, tag, &record)?;
            }
            ECHO => {
                let Text { text } = incoming.read()?;
                let missed =
                    std::iter::from_fn(|| back_end.try_recv_event().ok().flatten()).find_map(|event| match event {
                        Report::Skipped { packets, .. } => Some(format!(" after {packets} that are gone")),
                        _ => None,
                    });
                let text = format!("{}:{text}{}", back_end.rank(), missed.unwrap_or_default());
                back_end.send(incoming.stream, &Text { text })?;
            }
            END if behaviour == "leave" => return back_end.leave(),
            END if behaviour == "leave-at-once" => return back_end.leave_timeout(Instant::now()),
            END => return Ok(()),
            SEND if matches!(behaviour, "fill-window" | "leave" | "leave-at-once") => {
                fill_window(&mut back_end, &incoming)?
            }
            SEND if behaviour == "withdrawn" => send_too_late(&mut back_end, &incoming)?,
            SEND if behaviour == "impatient" => send_impatiently(&mut back_end, &incoming)?,
            SEND if behaviour == "numbered" => send_numbered(&mut back_end, &incoming)?,
            SEND if behaviour == "naps" => keep_pace(&mut back_end, &incoming)?,
            SEND => {
                if behaviour == "meddle" && back_end.rank() == 2 {
                    MEDDLING.call_once(meddle);
                }
                if behaviour == "scribble" && back_end.rank() == 2 {
                    let order: Order = incoming.read()?;
                    (0..order.first).try_for_each(|wave| scribble(value(2, wave)))?;
                }
                send(&mut back_end, &incoming, behaviour)?;
            }
            _ => {}
        }
    }
}

/// One thread does.
static MEDDLING: Once = Once::new();

/// From now on writes nonsense, all the time, to whatever memory this member has in common with all others and can write.
fn meddle() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let common = maps.lines().find(|line| line.contains("banyan-signals")).unwrap();
    let (begin, end) = common.split(' ').next().and_then(|range| range.split_once('-')).unwrap();
    let begin = u64::from_str_radix(begin, 16).unwrap();
    let length = (u64::from_str_radix(end, 16).unwrap() - begin) as usize;
    std::thread::spawn(move || {
        let memory = OpenOptions::new().write(true).open("/proc/self/mem").unwrap();
        for nonsense in (0..=u8::MAX).cycle() {
            // Until the network is over, and the memory is gone.
            if memory.write_all_at(&vec![nonsense; length], begin).is_err() {
                return;
            }
            compute(Duration::from_millis(1));
        }
    });
}

/// Writes nonsense to what this member says of itself in memory that it shares with its agent: in the place where this value
/// lies that it has sent.
fn scribble(sent: i64) -> io::Result<()> {
    let memory = OpenOptions::new().read(true).write(true).open("/proc/self/mem")?;
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    for line in maps.lines().filter(|line| line.contains("banyan-place")) {
        let range = line.split(' ').next().and_then(|range| range.split_once('-')).unwrap();
        let (begin, end) = (u64::from_str_radix(range.0, 16).unwrap(), u64::from_str_radix(range.1, 16).unwrap());
        let mut bytes = vec![0; (end - begin) as usize];
        memory.read_exact_at(&mut bytes, begin)?;
        if let Some(at) = bytes.windows(8).position(|window| window == sent.to_ne_bytes()) {
            let place = (at as u64 / 4 - 33_792) / 1024;
            memory.write_all_at(&[0x7f; 64], begin + 4 * (33_792 + 1024 * place + 16))?;
        }
    }
    Ok(())
}

fn send(back_end: &mut BackEnd, incoming: &Incoming, behaviour: &str) -> Result<(), TreeError> {
    let order: Order = incoming.read()?;
    let rank = back_end.rank();
    for wave in order.first..order.first + order.waves {
        let value = value(rank, wave);
        if behaviour == "noisy" {
            writeln!(io::stdout(), "{}", "noise ".repeat(40_000))?;
        }
        match behaviour {
            "array" => {
                let same = f64::from(rank) + wave as f64;
                let values = (0..131_072).map(|at| f64::from(at % 1000) + same).collect();
                back_end.send(incoming.stream, &Array { values })?;
            }
            "gaps" if rank % 2 == 1 && wave % 2 == 1 => {}
            "gaps" => _ = back_end.send(incoming.stream, &Timed { time: wave as f64 * 50.0, ones: 1 })?,
            "passes" if rank % 2 == 1 && wave > 0 => back_end.pass_until(incoming.stream, wave as f64 * 10.0)?,
            "passes" => _ = back_end.send(incoming.stream, &Timed { time: wave as f64 * 10.0, ones: 1 })?,
            "clock" => _ = back_end.send(incoming.stream, &Timed { time: wave as f64 + f64::from(rank), ones: 1 })?,
            "unix" => _ = back_end.send(incoming.stream, &Timed { time: NOW + wave as f64, ones: 1 })?,
            "ticks" => {
                let time = wave as i64 * 5;
                back_end.send(incoming.stream, &Tick { time, text: format!("{rank}@{time}") })?;
            }
            "mixed" if rank % 2 == 1 => {
                let value = i32::try_from(value).unwrap_or(i32::MAX);
                back_end.send(incoming.stream, &Other { ones: 1, name: format!("member {rank}"), value })?;
            }
            "lacking" if rank < 3 => _ = back_end.send(incoming.stream, &Ones { ones: 1 })?,
            "padded" => _ = back_end.send(incoming.stream, &Padded { value, ones: 1, padding: vec![1; PADDING] })?,
            _ => _ = back_end.send(incoming.stream, &Value { value, ones: 1 })?,
        }
        if behaviour == "slow" && rank == 5 {
            back_end.flush()?;
            compute(Duration::from_secs(1));
        }
        if order.pause > 0 {
            back_end.flush()?;
            compute(Duration::from_millis(order.pause.into()));
        }
    }
    Ok(())
}

/// Sends what belongs to each wave, by the number of the last one.
fn send_numbered(back_end: &mut BackEnd, incoming: &Incoming) -> Result<(), TreeError> {
    let order: Order = incoming.read()?;
    let (rank, mut next) = (back_end.rank(), order.first);
    for _ in 0..order.waves {
        let WaveNumber(wave) = back_end.send(incoming.stream, &Value { value: value(rank, next), ones: 1 })?;
        if wave > next {
            let is_told = |event| matches!(event, Report::WavesMissed { next, .. } if next.0 <= wave);
            assert!(
                std::iter::from_fn(|| back_end.try_recv_event().ok().flatten()).any(is_told),
                "{wave} is later than {next}"
            );
        }
        next = wave + 1;
        back_end.flush()?;
        compute(Duration::from_millis(order.pause.into()));
    }
    Ok(())
}

/// Sends at a steady pace, and nothing but that; member 0 sleeps for a second once, and is as steady from then on.
fn keep_pace(back_end: &mut BackEnd, incoming: &Incoming) -> Result<(), TreeError> {
    let order: Order = incoming.read()?;
    let (rank, mut due) = (back_end.rank(), Instant::now());
    for wave in order.first..order.first + order.waves {
        back_end.send(incoming.stream, &Value { value: value(rank, wave), ones: 1 })?;
        due += Duration::from_millis(order.pause.into());
        if rank == 0 && wave == order.first + NAP_AFTER {
            due += NAP;
        }
        compute(due.saturating_duration_since(Instant::now()));
    }
    Ok(())
}

/// Sends records, or records of times, until there is no room for one; says on another stream, whose number is in the order,
/// which one that is.
fn send_impatiently(back_end: &mut BackEnd, incoming: &Incoming) -> Result<(), TreeError> {
    let order: Order = incoming.read()?;
    let soon = || Some(Instant::now() + Duration::from_millis(100));
    let (rank, mut next) = (back_end.rank(), order.first);
    loop {
        let sent = match order.waves {
            0 => back_end.send_timeout(incoming.stream, &Value { value: value(rank, next), ones: 1 }, soon()),
            _ => back_end.send_timeout(incoming.stream, &Timed { time: next as f64, ones: 1 }, soon()),
        };
        match sent {
            Ok(WaveNumber(wave)) => assert_eq!(wave, next),
            Err(TreeError::FrontEndBehind { stream, records, bytes }) => {
                assert!(stream == incoming.stream && records > 0 && bytes > 0, "{records} records, {bytes} bytes");
                break;
            }
            Err(error) => return Err(error),
        }
        next += 1;
        assert!(next < order.first + 10_000, "there is always room");
    }
    let flushed = back_end.flush_timeout(soon());
    assert!(matches!(flushed, Err(TreeError::FrontEndBehind { .. })), "{flushed:?}");
    back_end.send(StreamId(order.pause), &Value { value: next as i64, ones: 1 })?;
    Ok(())
}

/// Says on another stream, whose number is in the order, that it is about to answer. Answers twice when the stream has been
/// closed, and says how many records were dropped.
fn send_too_late(back_end: &mut BackEnd, incoming: &Incoming) -> Result<(), TreeError> {
    let order: Order = incoming.read()?;
    let soon = || Some(Instant::now() + Duration::from_millis(20));
    back_end.send(StreamId(order.pause), &Value { value: 0, ones: 1 })?;
    let begun = Instant::now();
    while back_end.counters(incoming.stream).is_some() {
        let waited = back_end.recv_timeout(soon());
        assert!(matches!(waited, Err(TreeError::TimedOut)) && begun.elapsed() < Duration::from_secs(30), "{waited:?}");
    }
    for _ in 0..2 {
        let sent = back_end.send(incoming.stream, &Value { value: 1, ones: 1 });
        assert!(matches!(sent, Ok(WaveNumber(0))), "{sent:?}");
    }
    let never = back_end.send(StreamId(4711), &Value { value: 1, ones: 1 });
    assert!(matches!(never, Err(TreeError::NoStream(_))), "{never:?}");
    let dropped = back_end.dropped_for_closed() as i64;
    back_end.send(StreamId(order.pause), &Value { value: dropped, ones: 1 })?;
    Ok(())
}

/// Has one record under way and one that is held back, then receives what nobody has sent, and says so on another
/// stream, whose number is in the order.
fn fill_window(back_end: &mut BackEnd, incoming: &Incoming) -> Result<(), TreeError> {
    let order: Order = incoming.read()?;
    let rank = back_end.rank();
    for wave in [order.first, order.first + 1] {
        back_end.send(incoming.stream, &Value { value: value(rank, wave), ones: 1 })?;
    }
    // So long that an alarm ends it.
    let received = back_end.recv_timeout(Instant::now() + Duration::from_millis(250));
    assert!(matches!(received, Err(TreeError::TimedOut)), "{received:?}");
    assert!(back_end.try_recv()?.is_none());
    assert!(matches!(back_end.recv_event_timeout(Duration::from_millis(1)), Err(TreeError::TimedOut)));
    assert!(back_end.try_recv_event()?.is_none());
    let counters = back_end.counters(incoming.stream).expect("it is open");
    assert!(counters.kept_bytes > 0 && counters.traffic.stalls > 0, "{counters:?}");
    back_end.send(StreamId(order.pause), &Value { value: 0, ones: 1 })?;
    Ok(())
}
