//! `banyan bench exchange`: what one exchange of records costs, part by part, in the shape of the first figure of the PBIO
//! papers: a record is encoded, travels and is decoded, and so is the answer.
//!
//! Two processes over TCP on this machine, with the record of those papers. One side has this machine's layout, the other
//! the same, the other byte order, or another layout as well; so that foreign exchanges convert from this byte order to
//! the other on the way there, and from the other to this one on the way back. Beside them stand the same bytes without
//! records. All four take turns. Every part of every exchange is timed where it happens, by the clock that all processes of
//! a machine share; what looking at the clock costs is subtracted. A figure is the mean of the middle half of its times: it
//! is as steady as a median, and tells apart what is shorter than the steps of a clock.

mod layout;
mod picture;
mod rows;
mod side;

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use banyan_ndr::Record;

use crate::channel::Channel;
use crate::pace::{Spread, fill};
use crate::peer::{Peer, be_peer};
use crate::records::mesh::{Elem, Mesh10, Mesh104, Mesh1040};
use side::{Side, now};

pub use layout::Layout;
pub use picture::exchange_plot;
pub use rows::{ExchangePart, ExchangeRow, exchange_json, exchange_table, exchange_words};

/// The first argument of the process on the other side.
const ROLE: &str = "bench-exchange-peer";

/// The records, by their number in the arguments of that process.
const RECORDS: usize = 4;

/// How often the clock is looked at to find out what that costs.
const LOOKS: usize = 10_001;

/// How often the clock is looked at between the beginning of an exchange and its end.
const LOOKS_IN_AN_EXCHANGE: f64 = 6.0;

/// How long to measure.
#[derive(Debug, Clone, Copy)]
pub struct ExchangeEffort {
    /// How often all of it is done.
    pub repetitions: usize,
    /// How long one kind of exchange is repeated within that.
    pub within: Duration,
}

impl ExchangeEffort {
    /// For a first look.
    pub const QUICK: ExchangeEffort = ExchangeEffort { repetitions: 3, within: Duration::from_millis(50) };
    /// For figures worth publishing.
    pub const FULL: ExchangeEffort = ExchangeEffort { repetitions: 9, within: Duration::from_millis(200) };
}

/// Why the bench could not be run.
#[derive(Debug, thiserror::Error)]
#[error("{}, {bytes} B: {cause}; look at `ulimit -n` and `ulimit -u`", layout.title())]
#[non_exhaustive]
pub struct ExchangeError {
    /// Which exchange did not work.
    pub layout: Layout,
    /// With a record of how many bytes.
    pub bytes: usize,
    /// Why.
    #[source]
    pub cause: io::Error,
}

/// Measures everything.
///
/// # Errors
/// If a process cannot be started or does not answer.
pub fn run(effort: ExchangeEffort, progress: &mut dyn FnMut(&str)) -> Result<Vec<ExchangeRow>, ExchangeError> {
    let mut rows = Vec::new();
    for number in 0..RECORDS {
        rows.extend(match number {
            0 => exchanges(number, &Elem::sample(1), effort, progress),
            1 => exchanges(number, &*Mesh10::sample(), effort, progress),
            2 => exchanges(number, &*Mesh104::sample(), effort, progress),
            _ => exchanges(number, &*Mesh1040::sample(), effort, progress),
        }?);
    }
    Ok(rows)
}

/// All kinds of exchanges of one record, in turn.
fn exchanges<T: Record + PartialEq>(
    number: usize,
    record: &T,
    effort: ExchangeEffort,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<ExchangeRow>, ExchangeError> {
    let bytes = size_of::<T>();
    let failed = |layout| move |cause| ExchangeError { layout, bytes, cause };
    let look = cost_of_a_look();
    let mut partners = Vec::new();
    for layout in Layout::ALL {
        partners.push((layout, Partner::start(number, layout, record).map_err(failed(layout))?, Vec::new()));
    }
    for repetition in 1..=effort.repetitions {
        for (layout, partner, figures) in &mut partners {
            progress(&format!("{bytes} B, {}, {repetition} of {}", layout.title(), effort.repetitions));
            let times = partner.fill(effort.within, look).map_err(failed(*layout))?;
            // What was shorter than looking at the clock took no time that could be told.
            figures.push(times.map(|times| middle_mean(times).max(0.0)));
        }
    }
    let row = |layout: Layout, figures: &[[f64; ExchangePart::COUNT]], part: ExchangePart| {
        let spread = Spread::of(figures.iter().map(|figures| figures[part as usize]).collect());
        ExchangeRow::new(layout, part, bytes, spread)
    };
    let rows = partners.iter().flat_map(|(layout, _, figures)| {
        let parts = ExchangePart::ALL.into_iter().filter(move |part| *layout != Layout::Bytes || !part.is_work());
        parts.map(move |part| row(*layout, figures, part))
    });
    Ok(rows.collect())
}

/// Nanoseconds of each part of some exchanges.
type Times = [Vec<f64>; ExchangePart::COUNT];

/// The process on the other side, and this side.
struct Partner<'r, T> {
    channel: Channel,
    side: Side<'r, T>,
    _peer: Peer,
}

impl<'r, T: Record + PartialEq> Partner<'r, T> {
    /// Starts the process, and looks whether a first exchange gives the right answer.
    fn start(number: usize, layout: Layout, record: &'r T) -> io::Result<Partner<'r, T>> {
        let (channel, theirs) = Channel::tcp()?;
        let peer = Peer::start(&[ROLE, layout.name(), &number.to_string()], theirs)?;
        let mut partner = Partner { channel, side: Side::first(layout, record), _peer: peer };
        partner.exchange(1, 0.0)?;
        assert!(partner.side.has_received(record), "the answer is not what was sent: this is a bug in Banyan");
        Ok(partner)
    }

    /// As many exchanges as fill the time.
    fn fill(&mut self, within: Duration, look: f64) -> io::Result<Times> {
        let mut times = Times::default();
        fill(within, 1, |count| {
            let begin = Instant::now();
            times = self.exchange(count, look)?;
            Ok::<_, io::Error>(begin.elapsed())
        })?;
        Ok(times)
    }

    fn exchange(&mut self, count: u64, look: f64) -> io::Result<Times> {
        self.channel.write_all(&count.to_ne_bytes())?;
        let mut own = Vec::new();
        for _ in 0..count {
            let begin = now();
            let ready = self.side.send(&mut self.channel)?;
            let (came, end) = self.side.receive(&mut self.channel)?;
            own.push([begin, ready, came, end]);
        }
        let mut times = Times::default();
        for [begin, ready, came, end] in own {
            let theirs = [self.stamp()?, self.stamp()?, self.stamp()?];
            let stamps = [begin, ready, theirs[0], theirs[1], theirs[2], came, end];
            for (times, ends) in times.iter_mut().zip(stamps.windows(2)) {
                times.push(ends[1].saturating_sub(ends[0]) as f64 - look);
            }
            times[ExchangePart::Whole as usize].push(end.saturating_sub(begin) as f64 - LOOKS_IN_AN_EXCHANGE * look);
        }
        Ok(times)
    }

    /// A time that the other side has noted.
    fn stamp(&mut self) -> io::Result<u64> {
        let mut stamp = [0; 8];
        self.channel.read_exact(&mut stamp)?;
        Ok(u64::from_ne_bytes(stamp))
    }
}

/// Nanoseconds between two looks at the clock with nothing between them.
fn cost_of_a_look() -> f64 {
    let looks: Vec<u64> = (0..LOOKS).map(|_| now()).collect();
    middle_mean(looks.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64).collect())
}

/// Never returns in a process that this bench has started. Call it first of all in `main`.
pub fn become_process_if_asked() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(ROLE) {
        let layout = arguments.next().and_then(|name| Layout::named(&name));
        let number = arguments.next().and_then(|number| number.parse().ok());
        be_peer("exchange", || match (layout, number) {
            (Some(layout), Some(0)) => serve(layout, &Elem::sample(1)),
            (Some(layout), Some(1)) => serve(layout, &*Mesh10::sample()),
            (Some(layout), Some(2)) => serve(layout, &*Mesh104::sample()),
            (Some(layout), Some(3)) => serve(layout, &*Mesh1040::sample()),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        })
    }
}

/// What the process on the other side does: answers so many records, and says then when it had done what.
fn serve<T: Record + PartialEq>(layout: Layout, record: &T) -> io::Result<()> {
    let mut channel = Channel::inherited()?;
    let mut side = Side::second(layout, record);
    let mut is_checked = false;
    let mut count = [0; 8];
    loop {
        match channel.read_exact(&mut count) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        let mut stamps = Vec::new();
        for _ in 0..u64::from_ne_bytes(count) {
            let (came, decoded) = side.receive(&mut channel)?;
            let encoded = side.send(&mut channel)?;
            stamps.extend([came, decoded, encoded].into_iter().flat_map(u64::to_ne_bytes));
        }
        if !is_checked {
            assert!(side.has_received(record), "the record is not what was sent: this is a bug in Banyan");
            is_checked = true;
        }
        channel.write_all(&stamps)?;
    }
}

/// The mean of the middle half: as steady as the median, and finer than the steps of a clock.
fn middle_mean(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    let middle = &figures[figures.len() / 4..figures.len() - figures.len() / 4];
    middle.iter().sum::<f64>() / middle.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::middle_mean;

    #[test]
    fn the_middle_half_tells_more_than_the_steps_of_a_clock() {
        assert_eq!(middle_mean(vec![0.0, 10.0, 0.0, 10.0, 10.0, 900.0, 10.0, -50.0]), 7.5);
        assert_eq!((middle_mean(vec![3.0]), middle_mean(Vec::new())), (3.0, 0.0));
    }
}
