//! What a link has done so far.

/// Counts since the link was made. Bytes are those of frames, before encryption.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Frames of users sent.
    pub frames_sent: u64,
    /// Frames of users received.
    pub frames_received: u64,
    /// Bytes handed to the system.
    pub bytes_sent: u64,
    /// Bytes taken from the system.
    pub bytes_received: u64,
    /// Bytes of payloads that the peer took, or is to take, from this side's pool: they are in no other count.
    pub pool_bytes_sent: u64,
    /// Bytes of payloads that were taken from the peer's pool.
    pub pool_bytes_received: u64,
    /// System calls that wrote.
    pub writes: u64,
    /// System calls that read.
    pub reads: u64,
    /// Heartbeats received.
    pub heartbeats: u64,
    /// Times that data had to wait because credit was used up.
    pub credit_stalls: u64,
}
