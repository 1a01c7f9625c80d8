//! Whom a listener did not let in: counts by reason, which can be added up, told to others and shown.

use std::fmt;
use std::ops::AddAssign;

use banyan_ndr::Record;

/// Those that were not let in, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Record)]
#[non_exhaustive]
pub struct Refused {
    /// Did not speak the protocol, or said nothing and went: a port scan, another program.
    pub garbage: u64,
    /// Took too long.
    pub slow: u64,
    /// Did not know the secret.
    pub wrong_secret: u64,
    /// Began well, but could not go on: somebody repeats what another one said.
    pub replay: u64,
    /// Began well, and went: a peer that died just then, or has come by another way meanwhile.
    pub left: u64,
    /// Had to go, silent or silent after a good beginning, because others were waiting.
    pub too_many: u64,
    /// Speak another version.
    pub wrong_version: u64,
    /// Named a session or peer that is not expected.
    pub unknown_peer: u64,
    /// Named a peer that is connected already in this incarnation or a later one.
    pub duplicate: u64,
    /// Are processes of another user of this host.
    pub other_user: u64,
}

impl Refused {
    /// Each reason, by the name of its field, and how many there were.
    pub fn by_reason(&self) -> [(&'static str, u64); 10] {
        let Refused {
            garbage,
            slow,
            wrong_secret,
            replay,
            left,
            too_many,
            wrong_version,
            unknown_peer,
            duplicate,
            other_user,
        } = *self;
        [
            ("garbage", garbage),
            ("slow", slow),
            ("wrong_secret", wrong_secret),
            ("replay", replay),
            ("left", left),
            ("too_many", too_many),
            ("wrong_version", wrong_version),
            ("unknown_peer", unknown_peer),
            ("duplicate", duplicate),
            ("other_user", other_user),
        ]
    }

    /// Without those that have shown that they know the secret: who dials a listener by several of its addresses at once, as
    /// one may, is refused by all but one.
    pub fn strangers(self) -> Refused {
        Refused { left: 0, duplicate: 0, ..self }
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.by_reason().into_iter().fold(0, |sum, (_, count)| sum.saturating_add(count))
    }
}

/// Those of several listeners. Some may come from other hosts: there is no number that is too large.
impl AddAssign for Refused {
    fn add_assign(&mut self, other: Refused) {
        let Refused {
            garbage,
            slow,
            wrong_secret,
            replay,
            left,
            too_many,
            wrong_version,
            unknown_peer,
            duplicate,
            other_user,
        } = self;
        let own =
            [garbage, slow, wrong_secret, replay, left, too_many, wrong_version, unknown_peer, duplicate, other_user];
        for (own, (_, count)) in own.into_iter().zip(other.by_reason()) {
            *own = own.saturating_add(count);
        }
    }
}

/// The reasons that there were: `3 garbage, 1 wrong secret`.
impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons = self.by_reason().into_iter().filter(|(_, count)| *count > 0);
        let shown: Vec<String> = reasons.map(|(name, count)| format!("{count} {}", name.replace('_', " "))).collect();
        f.write_str(&shown.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_added_by_reason_and_never_too_large() {
        let mut sum = Refused { garbage: 2, duplicate: 1, ..Refused::default() };
        sum += Refused { garbage: 1, wrong_secret: 1, duplicate: u64::MAX, ..Refused::default() };
        assert_eq!(sum, Refused { garbage: 3, wrong_secret: 1, duplicate: u64::MAX, ..Refused::default() });
        assert_eq!(sum.total(), u64::MAX);
    }

    #[test]
    fn only_reasons_that_there_were_are_shown() {
        let refused = Refused { garbage: 3, wrong_secret: 1, ..Refused::default() };
        assert_eq!((refused.total(), refused.to_string().as_str()), (4, "3 garbage, 1 wrong secret"));
        assert_eq!(Refused::default().to_string(), "");
    }
}
