//! How many hosts are enough: a number, or a share of those that are named.

use std::fmt;
use std::str::FromStr;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Least {
    Number(usize),
    Percent(usize),
}

impl Least {
    /// Of so many hosts. A share is rounded up, and none is not enough.
    pub(crate) fn of(self, hosts: usize) -> usize {
        match self {
            Least::Number(number) => number,
            Least::Percent(percent) => (hosts * percent).div_ceil(100).max(1),
        }
    }
}

impl FromStr for Least {
    type Err = String;

    fn from_str(text: &str) -> Result<Least, String> {
        let read = match text.strip_suffix('%') {
            Some(percent) => percent.parse().ok().filter(|percent| *percent <= 100).map(Least::Percent),
            None => text.parse().ok().map(Least::Number),
        };
        read.ok_or_else(|| "write a number of hosts such as 60, or a share of them such as 90%".into())
    }
}

impl fmt::Display for Least {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Least::Number(number) => number.fmt(f),
            Least::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_rounded_up_to_whole_hosts() {
        let of = |text: &str, hosts: usize| text.parse::<Least>().map(|least| least.of(hosts));
        assert_eq!(
            [of("90%", 64), of("90%", 10), of("100%", 7), of("0%", 7), of("3", 7)].map(Result::unwrap),
            [58, 9, 7, 1, 3]
        );
        for wrong in ["", "%", "101%", "-1", "many", "9.5%"] {
            assert!(of(wrong, 7).is_err_and(|error| error.contains("such as 90%")), "{wrong}");
        }
    }
}
