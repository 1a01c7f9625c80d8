//! The lowest layer: the message is copied from one place in memory to another, by one process.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::path::{Cause, Path, check_bytes, message};

/// Bytes that are copied between two looks at the clock, so that these weigh nothing.
const BATCH: usize = 1 << 16;

/// See the module.
#[derive(Default)]
pub(super) struct Copy {
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Copy {
    fn prepare(&mut self, bytes: usize) {
        if self.from.len() != bytes {
            self.from = message(bytes);
            self.to = vec![0; bytes];
        }
    }

    fn copy(&mut self) {
        black_box(&mut self.to[..]).copy_from_slice(black_box(&self.from));
    }
}

impl Path for Copy {
    /// There and back is two copies. Each time is that of many divided by their number.
    fn round_trips(&mut self, bytes: usize, count: u64) -> Result<Vec<f64>, Cause> {
        self.prepare(bytes);
        let batch = (BATCH / bytes).max(1);
        let times = (0..count).map(|_| {
            let begin = Instant::now();
            (0..2 * batch).for_each(|_| self.copy());
            begin.elapsed().as_secs_f64() / batch as f64
        });
        Ok(times.collect())
    }

    fn messages(&mut self, bytes: usize, count: u64) -> Result<Duration, Cause> {
        self.prepare(bytes);
        let begin = Instant::now();
        (0..count).for_each(|_| self.copy());
        let took = begin.elapsed();
        check_bytes(&self.to, bytes);
        Ok(took)
    }
}
