//! Stamps that travel with a program's own messages, so that observers know which event was before which.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use banyan_ndr::Record;

use crate::clock::stamp;
use crate::process;
use crate::sensor::Sensor;

/// A moment of a process, to be passed along with a message of the program's own. Who receives it calls [`witness`].
///
/// Clocks of two hosts differ. With this an observer knows that everything behind the receipt was later than everything before the
/// sending, and orders events so, whatever the clocks say.
///
/// ```
/// use banyan_sensor::{MessageStamp, witness};
///
/// let message = MessageStamp::now().to_bytes(); // sent with the message
/// witness(MessageStamp::from_bytes(message)); // where it is received
/// ```
#[derive(Record, Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageStamp {
    /// The number of the process, as its segment has it; 0 if it has none.
    pub process: u64,
    /// The moment, by the clock of that process.
    pub stamp: u64,
}

/// The number of this process; 0 until it is known.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// This process has a segment with this number, or none any more.
pub(crate) fn set_number(number: u64) {
    NUMBER.store(number, Ordering::Relaxed);
}

impl MessageStamp {
    /// This moment of this process. Takes as long as a stamp.
    #[inline]
    pub fn now() -> MessageStamp {
        let number = match NUMBER.load(Ordering::Relaxed) {
            0 => find_number(),
            number => number,
        };
        MessageStamp { process: number, stamp: stamp() }
    }

    /// As bytes of a message.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.process.to_le_bytes());
        bytes[8..].copy_from_slice(&self.stamp.to_le_bytes());
        bytes
    }

    /// From bytes of a message, which may be any.
    pub fn from_bytes(bytes: [u8; 16]) -> MessageStamp {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]));
        MessageStamp { process: word(0), stamp: word(8) }
    }
}

#[cold]
fn find_number() -> u64 {
    process::ensure();
    NUMBER.load(Ordering::Relaxed)
}

/// Says that this thread has received a message with this stamp: an event of the sensor `banyan.witness`. While nobody
/// watches that, it costs a few nanoseconds.
pub fn witness(message: MessageStamp) {
    static SENSOR: OnceLock<Option<Sensor<MessageStamp>>> = OnceLock::new();
    let description = "messages received: whose, and when they were sent";
    let sensor = SENSOR.get_or_init(|| Sensor::options("banyan.witness").description(description).build().ok());
    if let Some(sensor) = sensor.as_ref().filter(|_| message.process != 0) {
        sensor.emit(&message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_come_back_from_messages_as_they_were_sent() {
        let sent = MessageStamp { process: u64::MAX - 1, stamp: 0x0102_0304_0506_0708 };
        assert_eq!(MessageStamp::from_bytes(sent.to_bytes()), sent);
    }
}
