//! What the bench tells the process at the other end before messages follow.

use std::io::{self, Read};

use super::LONGEST;
use super::path::NUMBER;

/// Bytes of an order.
pub(super) const LENGTH: usize = 3 * size_of::<u64>();

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LayerWork {
    /// Messages come, and each goes back.
    Echo = 1,
    /// Messages are sent as fast as they are taken.
    Send = 2,
}

/// What is done, with messages of how many bytes, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LayerOrder {
    pub(super) work: LayerWork,
    pub(super) bytes: usize,
    pub(super) count: u64,
}

impl LayerOrder {
    pub(super) fn to_bytes(self) -> [u8; LENGTH] {
        let mut out = [0; LENGTH];
        let words = [self.work as u64, self.bytes as u64, self.count];
        out.as_chunks_mut().0.iter_mut().zip(words).for_each(|(out, word)| *out = word.to_ne_bytes());
        out
    }

    /// The order in these bytes.
    pub(super) fn from_bytes(bytes: &[u8]) -> io::Result<LayerOrder> {
        let (words, _) = bytes.as_chunks();
        let unknown = || io::Error::new(io::ErrorKind::InvalidData, "an order that nobody knows");
        let [work, bytes, count] = *words else { return Err(unknown()) };
        let work =
            [LayerWork::Echo, LayerWork::Send].into_iter().find(|known| *known as u64 == u64::from_ne_bytes(work));
        let bytes = usize::try_from(u64::from_ne_bytes(bytes)).ok().filter(|bytes| (NUMBER..=LONGEST).contains(bytes));
        let (work, bytes) = work.zip(bytes).ok_or_else(unknown)?;
        Ok(LayerOrder { work, bytes, count: u64::from_ne_bytes(count) })
    }

    /// The next order; none when there will be no more.
    pub(super) fn read(stream: &mut impl Read) -> io::Result<Option<LayerOrder>> {
        let mut bytes = [0; LENGTH];
        match stream.read_exact(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            read => read.and_then(|()| LayerOrder::from_bytes(&bytes)).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_was_written_and_none_at_the_end() {
        let order = LayerOrder { work: LayerWork::Send, bytes: 64, count: 1 << 40 };
        let bytes = order.to_bytes();
        let mut stream = &bytes[..];
        assert_eq!(LayerOrder::read(&mut stream).expect("an order"), Some(order));
        assert_eq!(LayerOrder::read(&mut stream).expect("the end"), None);
    }

    #[test]
    fn what_is_no_order_is_refused() {
        let order = LayerOrder { work: LayerWork::Echo, bytes: LONGEST, count: 1 };
        for strange in [LayerOrder { bytes: 0, ..order }, LayerOrder { bytes: LONGEST + 1, ..order }] {
            assert!(LayerOrder::from_bytes(&strange.to_bytes()).is_err());
        }
        assert!(LayerOrder::from_bytes(&[9; LENGTH]).is_err() && LayerOrder::from_bytes(&[1; 3]).is_err());
    }
}
