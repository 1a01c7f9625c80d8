//! What every rival must do.

/// A record format, holding one record in memory and encoded.
pub trait Rival {
    /// Its name in the rows.
    fn system(&self) -> &'static str;

    /// Encodes the record into a buffer that is reused. Gives the encoded length.
    fn encode(&mut self) -> usize;

    /// Decodes what `encode` wrote to the struct.
    fn decode(&mut self);

    /// Whether what is decoded equals the record.
    fn is_right(&mut self) -> bool;
}
