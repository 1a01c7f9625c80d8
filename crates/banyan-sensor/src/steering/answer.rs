//! What a program answers to a request.

/// Why a program refuses a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Nobody may steer the process.
    #[error("the program does not allow steering; ask its owner, or start it without BANYAN_STEERING=off")]
    Off = 1,
    /// There is no such knob or action.
    #[error("there is no such knob or action; list them again")]
    Unknown = 2,
    /// Only the program sets the knob.
    #[error("the knob is read-only; only the program sets it")]
    ReadOnly = 3,
    /// The bytes are not a value of the knob's type.
    #[error("it is not a value of the knob's type; look at the knob's format")]
    NotAValue = 4,
    /// The value lies outside the knob's range.
    #[error("it lies outside the knob's range")]
    Range = 5,
    /// The value takes more room than values have.
    #[error("the value is too long; values have at most 1,024 bytes")]
    TooLong = 6,
    /// The program has reached the step, or has never said which step it is at.
    #[error("the program has reached that step already, or does not count steps; choose a later step")]
    Passed = 7,
    /// Another change of the knob is held for the same step, or too much is held.
    #[error("another change is held for that step, or too many are held; try again, or choose another step")]
    Busy = 8,
}

impl Refusal {
    const ALL: [Refusal; 8] = [
        Refusal::Off,
        Refusal::Unknown,
        Refusal::ReadOnly,
        Refusal::NotAValue,
        Refusal::Range,
        Refusal::TooLong,
        Refusal::Passed,
        Refusal::Busy,
    ];

    pub(crate) fn from_number(number: u64) -> Option<Refusal> {
        Refusal::ALL.into_iter().find(|refusal| *refusal as u64 == number)
    }
}

/// What became of a request. The numbers stand in answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It waits for its sender's decision.
    Held = 1,
    /// It was decided that it is to be done; it waits for its moment.
    Committed = 2,
    Done = 3,
    Refused = 4,
    /// Its sender has decided so, has taken it back, or was not heard of in time.
    Cancelled = 5,
    /// Its step came before a decision.
    Missed = 6,
}

impl Outcome {
    pub(crate) fn from_number(number: u64) -> Option<Outcome> {
        let all =
            [Outcome::Held, Outcome::Committed, Outcome::Done, Outcome::Refused, Outcome::Cancelled, Outcome::Missed];
        all.into_iter().find(|outcome| *outcome as u64 == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_others_are_not() {
        for refusal in Refusal::ALL {
            assert_eq!(Refusal::from_number(refusal as u64), Some(refusal));
        }
        for outcome in 1..=6 {
            assert_eq!(Outcome::from_number(outcome).map(|outcome| outcome as u64), Some(outcome));
        }
        assert_eq!((Refusal::from_number(0), Refusal::from_number(9)), (None, None));
        assert_eq!((Outcome::from_number(0), Outcome::from_number(7)), (None, None));
    }
}
