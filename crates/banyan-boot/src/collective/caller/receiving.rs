//! What a member gets in one collective, while it comes.

use banyan_link::{Frame, Kind};
use bytes::Bytes;

use super::{CallOutcome, CollectiveError};
use crate::{
    collective::{
        MESSAGE_LIMIT,
        bundle::{is_bundle, messages},
    },
    message::MORE,
};

/// What is still to come, and what has.
#[derive(Debug)]
pub(super) enum Receiving {
    /// Nothing more.
    Nothing(CallOutcome),
    /// One message.
    One(Kind, ReceivedMessage),
    /// A message from each member, by rank, and how many are not complete.
    Each(Kind, Vec<ReceivedMessage>, usize),
}

/// A message of one frame or several. The bytes of a single frame are not copied.
#[derive(Debug, Default)]
pub(super) struct ReceivedMessage {
    parts: Vec<u8>,
    whole: Option<Bytes>,
}

impl Receiving {
    /// The outcome is known.
    pub(super) fn nothing(outcome: CallOutcome) -> Self {
        Self::Nothing(outcome)
    }

    /// One message of this kind.
    pub(super) fn one(kind: Kind) -> Self {
        Self::One(kind, ReceivedMessage::default())
    }

    /// A message of each member; `own`, if it is given, is that of the master and does not travel.
    pub(super) fn each(kind: Kind, size: u32, own: Option<Bytes>) -> Self {
        let mut messages: Vec<ReceivedMessage> = (0..size).map(|_| ReceivedMessage::default()).collect();
        let missing = messages.len() - usize::from(own.is_some());
        if let Some(master) = messages.first_mut() {
            master.whole = own;
        }
        Self::Each(kind, messages, missing)
    }

    pub(super) fn is_done(&self) -> bool {
        match self {
            Receiving::Nothing(_) => true,
            Receiving::One(_, message) => message.whole.is_some(),
            Receiving::Each(_, _, missing) => *missing == 0,
        }
    }

    /// Takes a frame of data. Another kind is from members that are in another collective: it is dropped, and the
    /// reason why all fail will follow.
    pub(super) fn take(&mut self, frame: Frame) -> Result<(), CollectiveError> {
        let wrong = CollectiveError::protocol(&frame);
        let is_last = frame.flags & MORE == 0;
        match self {
            Receiving::One(kind, _) | Receiving::Each(kind, ..) if *kind != frame.kind => Ok(()),
            Receiving::Nothing(_) => Ok(()),
            Receiving::One(..) if is_bundle(&frame) => Err(wrong),
            Receiving::One(_, message) if message.whole.is_some() => Err(wrong),
            Receiving::One(_, message) => message.take(frame.payload, is_last),
            Receiving::Each(_, each, missing) if is_bundle(&frame) => {
                for message in messages(&frame) {
                    let message = message.map_err(|_| wrong.clone())?;
                    let of = each.get_mut(message.rank as usize).filter(|of| of.is_untouched()).ok_or(wrong.clone())?;
                    of.whole = Some(message.bytes(&frame.payload));
                    *missing -= 1;
                }
                Ok(())
            }
            Receiving::Each(_, each, missing) => {
                let of = each.get_mut(frame.stream as usize).filter(|of| of.whole.is_none()).ok_or(wrong)?;
                of.take(frame.payload, is_last)?;
                *missing -= usize::from(of.whole.is_some());
                Ok(())
            }
        }
    }

    /// What has come. To be called when it is done.
    pub(super) fn outcome(self) -> CallOutcome {
        match self {
            Receiving::Nothing(outcome) => outcome,
            Receiving::One(_, message) => CallOutcome::Bytes(message.whole.unwrap_or_default()),
            Receiving::Each(_, messages, _) => {
                CallOutcome::Parts(messages.into_iter().map(|message| message.whole.unwrap_or_default()).collect())
            }
        }
    }
}

impl ReceivedMessage {
    /// Nothing of it has come.
    fn is_untouched(&self) -> bool {
        self.whole.is_none() && self.parts.is_empty()
    }

    fn take(&mut self, bytes: Bytes, is_last: bool) -> Result<(), CollectiveError> {
        let length = self.parts.len() + bytes.len();
        if length as u64 > MESSAGE_LIMIT {
            return Err(CollectiveError::TooLong(length));
        }
        if is_last && self.parts.is_empty() {
            self.whole = Some(bytes);
            return Ok(());
        }
        self.parts.extend_from_slice(&bytes);
        if is_last {
            self.whole = Some(std::mem::take(&mut self.parts).into());
        }
        Ok(())
    }
}
