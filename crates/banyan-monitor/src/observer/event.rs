//! An event at the observer.

use std::cell::RefCell;
use std::sync::Arc;

use banyan_ndr::typed::Read;
use banyan_ndr::{DecodeError, Decoder, DynRecord, Format, Limits, Record};
use bytes::Bytes;

use crate::catalogue::{Process, SensorInfo};

thread_local! {
    /// Knows the formats of events that were read as Rust types in this thread.
    static DECODER: RefCell<(Decoder, usize)> = RefCell::default();
}

/// Formats that a thread remembers before it begins anew.
const MOST_FORMATS: usize = 1024;

/// An event of a program, as a tap gives it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Event {
    /// The process that emitted it.
    pub process: Arc<Process>,
    /// The sensor that emitted it.
    pub sensor: Arc<SensorInfo>,
    /// The version of the tap that gives it, from 1.
    pub version: u32,
    /// The thread that emitted it, as the kernel of its host numbers it.
    pub thread: u32,
    /// Counts the events of this sensor in this thread's ring, from 0. Gaps are events that were dropped, or that no observer
    /// wanted.
    pub sequence: u64,
    /// When it was emitted, by the clock of its process.
    pub stamp: u64,
    /// When it was emitted: nanoseconds of this machine's `CLOCK_MONOTONIC`.
    pub time: i64,
    /// By how much `time` is wrong at most.
    pub bound: i64,
    /// The record as it was emitted, in the format of its sensor.
    pub body: Bytes,
}

impl Event {
    /// The record as a Rust type. Fields are matched by name.
    ///
    /// # Errors
    /// When the record is no value of the type.
    pub fn read<R>(&self) -> Result<R, DecodeError>
    where
        R: Record + for<'a> Read<'a>,
    {
        let format = self.format()?;
        DECODER.with_borrow_mut(|(decoder, formats)| {
            if decoder.format(format.id()).is_none() {
                *formats += 1;
                if *formats > MOST_FORMATS {
                    (*decoder, *formats) = (Decoder::new(), 1);
                }
            }
            let id = decoder.learn(format)?;
            decoder.decode(id, &self.body)
        })
    }

    /// The record without a compiled type.
    ///
    /// # Errors
    /// When the bytes are no record of their format.
    pub fn record(&self) -> Result<DynRecord, DecodeError> {
        DynRecord::from_body(self.format()?, &self.body, &Limits::default())
    }

    /// Events have one; that of a sensor which says that it has none cannot be read.
    fn format(&self) -> Result<&Format, DecodeError> {
        let nobody = banyan_ndr::FormatId::from_bytes([0; 16]);
        self.sensor.format.as_ref().ok_or(DecodeError::UnknownFormat(nobody))
    }
}
