//! What the front-end of the floor tells all processes before bytes follow that only make sense to those who know it.

use std::io::{self, Read};

/// Integers are as long as this everywhere, in this machine's byte order.
pub(super) const INTEGER: usize = 8;

/// Bytes of an order.
pub(super) const LENGTH: usize = 2 * INTEGER;

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FloorWork {
    /// An integer goes down, the sum of everyone's integer comes up.
    RoundTrips = 1,
    /// Leaves send integers, as many at once as fit.
    Waves = 2,
    /// Leaves send integers, each by a call of its own, and everyone above reads and sends them so.
    WavesOneByOne = 3,
    /// Leaves send arrays.
    ArraySums = 4,
    /// Arrays go down; at last everyone says that all have come.
    Broadcasts = 5,
}

/// What is done, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FloorOrder {
    pub(super) work: FloorWork,
    pub(super) count: u64,
}

impl FloorOrder {
    pub(super) fn to_bytes(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..INTEGER].copy_from_slice(&(self.work as u64).to_ne_bytes());
        bytes[INTEGER..].copy_from_slice(&self.count.to_ne_bytes());
        bytes
    }

    /// The next order; none when there will be no more.
    pub(super) fn read(stream: &mut impl Read) -> io::Result<Option<FloorOrder>> {
        let mut bytes = [0; LENGTH];
        match stream.read_exact(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let integer = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let known = [
            FloorWork::RoundTrips,
            FloorWork::Waves,
            FloorWork::WavesOneByOne,
            FloorWork::ArraySums,
            FloorWork::Broadcasts,
        ];
        let work = known.into_iter().find(|work| *work as u64 == integer(0));
        let work = work.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "an order that nobody knows"))?;
        Ok(Some(FloorOrder { work, count: integer(INTEGER) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_was_written_and_none_at_the_end() {
        let order = FloorOrder { work: FloorWork::ArraySums, count: 1 << 40 };
        let bytes = order.to_bytes();
        let mut stream = &bytes[..];
        assert_eq!(FloorOrder::read(&mut stream).expect("an order"), Some(order));
        assert_eq!(FloorOrder::read(&mut stream).expect("the end"), None);
        assert!(FloorOrder::read(&mut &[9; LENGTH][..]).is_err());
    }
}
