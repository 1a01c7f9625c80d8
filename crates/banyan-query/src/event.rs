//! Events as hosts take them.

/// The process that an event is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process<'a> {
    /// The name of its host.
    pub host: &'a str,
    /// The job that it belongs to.
    pub job: Option<&'a str>,
    /// Its rank in its job.
    pub rank: Option<u32>,
    /// Its number on its host.
    pub pid: u32,
}

/// An event with what is known of it beside its record.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// Whose it is.
    pub process: &'a Process<'a>,
    /// The thread within the process.
    pub thread: u64,
    /// The number of the event in its thread.
    pub sequence: u64,
    /// The corrected time: nanoseconds of the observer's clock.
    pub time: i64,
    /// The record, in the format of its selector.
    pub body: &'a [u8],
}
