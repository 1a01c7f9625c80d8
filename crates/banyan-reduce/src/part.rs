//! What one child contributes to a wave, as filters see it.

use std::cell::RefCell;

use banyan_ndr::typed::Read;
use banyan_ndr::{Buffer, DecodeError, Decoder, Format, Record};
use banyan_ranks::RankSet;

use super::FilterError;

/// What one child contributes to a wave.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// The members that contributed to it: one, if it is a record of a member.
    pub members: &'a RankSet,
    /// The format of the body.
    pub format: &'a Format,
    /// A record.
    pub body: &'a [u8],
    /// Whether another node's filter made it.
    pub is_partial: bool,
}

thread_local! {
    /// Knows how records of a format become values of a type, once it has seen the two.
    static DECODER: RefCell<Decoder> = RefCell::default();
}

impl Part<'_> {
    /// The record as a value, whatever format it came in: fields are found by name.
    ///
    /// # Errors
    /// If it is no such record.
    pub fn read<R>(&self) -> Result<R, FilterError>
    where
        R: Record + for<'b> Read<'b>,
    {
        let read = DECODER.with_borrow_mut(|decoder| {
            let id = match decoder.learn(self.format) {
                Err(DecodeError::TooManyFormats(_)) => {
                    *decoder = Decoder::default();
                    decoder.learn(self.format)?
                }
                learnt => learnt?,
            };
            match self.body.as_ptr().align_offset(banyan_ndr::wire::BODY_ALIGN) {
                0 => decoder.decode(id, self.body),
                // Bodies of a run lie one behind the other; records are read from aligned memory.
                _ => decoder.decode(id, &Buffer::from_slice(self.body)),
            }
        });
        read.map_err(|error| FilterError::Read { members: self.members.clone(), error })
    }
}
