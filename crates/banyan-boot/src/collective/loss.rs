//! A member that takes part no more, and what that means for those who wait for it.
//!
//! In a GONE frame: `stream` is its rank, `sequence` the first collective that it makes fail. The payload is one byte,
//! 1 if it had entered that collective but not sent its data and else 0; then who else is in it
//! ([`KnownCalls`]); then why it is gone, as text.

use bytes::BufMut;

use super::{Number, REASON_LIMIT, known_calls::KnownCalls};

/// A member is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Loss {
    pub(super) rank: u32,
    /// The first collective that fails.
    pub(super) number: Number,
    /// It had entered that collective and owes its data.
    pub(super) owes_data: bool,
    /// Others that are known to be in that collective.
    pub(super) known: KnownCalls,
    /// What happened: `member 5 on host n3 exited with status 1`.
    pub(super) why: String,
}

impl Loss {
    /// Without knowledge of others.
    pub(super) fn new(rank: u32, number: Number, owes_data: bool, mut why: String) -> Self {
        why.truncate(why.floor_char_boundary(REASON_LIMIT));
        Self { rank, number, owes_data, known: KnownCalls::default(), why }
    }

    /// The payload of a GONE frame.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        payload.put_u8(self.owes_data.into());
        self.known.encode(&mut payload);
        payload.put_slice(self.why.as_bytes());
        payload
    }

    /// Reads the payload of a GONE frame.
    pub(super) fn decode(rank: u32, number: Number, payload: &[u8]) -> Option<Self> {
        let (flag, mut rest) = payload.split_first()?;
        let known = KnownCalls::decode(&mut rest)?;
        let why = std::str::from_utf8(rest).ok().filter(|why| why.len() <= REASON_LIMIT)?.to_owned();
        (*flag <= 1).then_some(Self { rank, number, owes_data: *flag == 1, known, why })
    }

    /// Why the collective fails.
    pub(super) fn reason(&self) -> String {
        let Self { number, why, .. } = self;
        let call = self.known.only_call().map(|call| format!(" ({call})")).unwrap_or_default();
        let mut reason = match self.owes_data {
            true => format!("{why} in collective {number}{call} before it had sent all its data"),
            false => format!("{why} before it entered collective {number}{call}"),
        };
        if let Some(waiting) = self.known.waiting() {
            reason.push_str("; ");
            reason.push_str(&waiting);
        }
        reason
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Call, *};

    fn loss(owes_data: bool) -> Loss {
        let mut loss = Loss::new(5, Number(3), owes_data, "member 5 on host n3 exited with status 1".into());
        loss.known.add(Call::Barrier, [(0, 4), (6, 7)]);
        loss
    }

    #[test]
    fn a_reason_names_the_member_the_cause_and_those_who_wait() {
        assert_eq!(
            loss(false).reason(),
            "member 5 on host n3 exited with status 1 before it entered collective 3 (barrier); \
             members 0-4,6-7 wait in it"
        );
        assert_eq!(
            loss(true).reason(),
            "member 5 on host n3 exited with status 1 in collective 3 (barrier) before it had sent all its data; \
             members 0-4,6-7 wait in it"
        );
        let alone = Loss { known: KnownCalls::default(), ..loss(false) };
        assert_eq!(alone.reason(), "member 5 on host n3 exited with status 1 before it entered collective 3");
    }

    #[test]
    fn a_loss_is_what_was_sent() {
        let loss = loss(true);
        assert_eq!(Loss::decode(5, Number(3), &loss.encode()), Some(loss));
    }

    #[test]
    fn long_causes_are_cut_between_characters() {
        let long = Loss::new(5, Number(3), false, "x".to_owned() + &"ä".repeat(REASON_LIMIT));
        assert_eq!(long.why.len(), REASON_LIMIT - 1);
        assert_eq!(Loss::decode(5, Number(3), &long.encode()), Some(long));
    }
}
