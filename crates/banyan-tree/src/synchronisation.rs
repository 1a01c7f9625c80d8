//! Whom a wave of a stream waits for, and for how long.
//!
//! It has a text, which is what people write and nodes send: `all`, `timeout 250ms`, `none`, `none lossy drop-newest`,
//! `interval time 0.5`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use banyan_reduce::Interval;

/// When the contributions to a wave are combined, and when it is delivered.
///
/// ```
/// use std::time::Duration;
/// use banyan_tree::Synchronisation;
///
/// assert_eq!("timeout 250 ms".parse(), Ok(Synchronisation::Timeout(Duration::from_millis(250))));
/// let error = "timeout soon".parse::<Synchronisation>().unwrap_err();
/// assert_eq!(error.to_string(), "timeout: \"soon\" is not a time; write for example 250ms, 2s or 1min");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Synchronisation {
    /// A wave waits for everyone who is not lost.
    #[default]
    All,
    /// A wave waits for so long, from when the first contribution to it has come to the front-end; nodes below wait for
    /// less, the less the lower they are. It is delivered with those who are in it, and says who is missing.
    Timeout(Duration),
    /// There are no waves: each record comes once, in the order of its member, whatever happens to agents. A member waits while
    /// the front-end has not taken what it has sent before.
    None,
    /// There are no waves, and what there is no room for is dropped, the newest first: records come at most once, and those that
    /// get lost are counted. `none lossy drop-newest`
    Lossy,
    /// Waves are intervals of a field.
    Interval(Interval),
}

/// A synchronisation that there is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SynchronisationError {
    /// Another word.
    #[error(
        "there is no synchronisation {0:?}; write all, timeout TIME, none, none lossy drop-newest, or interval FIELD EVERY [from START]"
    )]
    Unknown(String),
    /// No duration.
    #[error("timeout: {0:?} is not a time; write for example 250ms, 2s or 1min")]
    Time(String),
    /// An interval without a field or a length.
    #[error(
        "interval: {0:?} is not an interval; write for example: interval time 0.5, or: interval time 0.5 from 1000"
    )]
    Interval(String),
}

impl Synchronisation {
    /// Whether records form waves.
    pub fn has_waves(&self) -> bool {
        !matches!(self, Synchronisation::None | Synchronisation::Lossy)
    }
}

impl FromStr for Synchronisation {
    type Err = SynchronisationError;

    fn from_str(text: &str) -> Result<Synchronisation, SynchronisationError> {
        let text = text.trim();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        match (word, rest) {
            ("" | "all", "") => Ok(Synchronisation::All),
            ("none", "") => Ok(Synchronisation::None),
            ("none", "lossy" | "lossy drop-newest") => Ok(Synchronisation::Lossy),
            ("timeout", time) => {
                duration(time).map(Synchronisation::Timeout).ok_or_else(|| SynchronisationError::Time(time.into()))
            }
            ("interval", rest) => {
                let interval = interval(rest).ok_or_else(|| SynchronisationError::Interval(rest.into()));
                interval.map(Synchronisation::Interval)
            }
            _ => Err(SynchronisationError::Unknown(text.into())),
        }
    }
}

/// Units of time, in nanoseconds, the longest first.
const UNITS: [(&str, u64); 5] =
    [("min", 60_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1), ("s", 1_000_000_000)];

fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = UNITS.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))?;
    let number: f64 = number.trim().parse().ok()?;
    let nanoseconds = number * unit as f64;
    (number > 0.0 && nanoseconds < u64::MAX as f64).then(|| Duration::from_nanos(nanoseconds as u64))
}

fn interval(text: &str) -> Option<Interval> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (field, every, start) = match words[..] {
        [field, every] => (field, every, "0"),
        [field, every, "from", start] => (field, every, start),
        _ => return None,
    };
    Interval::new(field, every.parse().ok()?, start.parse().ok()?)
}

impl fmt::Display for Synchronisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Synchronisation::All => f.write_str("all"),
            Synchronisation::None => f.write_str("none"),
            Synchronisation::Lossy => f.write_str("none lossy drop-newest"),
            Synchronisation::Timeout(time) => {
                let nanoseconds = time.as_nanos();
                let whole = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
                let (name, unit) = whole.into_iter().find(|(_, unit)| nanoseconds % unit == 0).unwrap_or(("ns", 1));
                write!(f, "timeout {}{name}", nanoseconds / unit)
            }
            Synchronisation::Interval(interval) => interval.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_synchronisation() -> impl Strategy<Value = Synchronisation> {
        let number = prop_oneof![(-1e6..1e6f64), (-1000i32..1000).prop_map(f64::from)];
        let interval = ("[a-z.]{1,9}", number.clone(), number).prop_filter_map("no length", |(field, every, start)| {
            Interval::new(field, every, start).map(Synchronisation::Interval)
        });
        prop_oneof![
            Just(Synchronisation::All),
            Just(Synchronisation::None),
            Just(Synchronisation::Lossy),
            (1u64..1 << 50).prop_map(|time| Synchronisation::Timeout(Duration::from_nanos(time))),
            interval,
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(synchronisation in any_synchronisation()) {
            prop_assert_eq!(synchronisation.to_string().parse(), Ok(synchronisation));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = text.parse::<Synchronisation>();
        }

        #[test]
        fn a_number_lies_in_its_interval(number in -1000i32..1000, every in 1i32..50, start in -500i32..500) {
            let interval = Interval::new("time", every.into(), start.into()).unwrap();
            let at = interval.of_integer(number.into());
            prop_assert_eq!(at, interval.of_float(number.into()));
            let bounds = at.map(|at| start + at as i32 * every..start + (at as i32 + 1) * every);
            prop_assert_eq!(bounds.is_none(), number < start);
            prop_assert!(bounds.is_none_or(|bounds| bounds.contains(&number)));
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_reason() {
        for text in [
            "some",
            "all 2",
            "none lossy drop-oldest",
            "timeout",
            "timeout 0s",
            "timeout -1s",
            "timeout 1",
            "timeout NaNs",
            "interval",
            "interval time",
            "interval time 0",
            "interval time 1 2",
            "interval time nan",
            "interval t 1 from inf",
        ] {
            let error = text.parse::<Synchronisation>().unwrap_err().to_string();
            assert!(error.contains("write"), "{text}: {error}");
        }
    }
}
