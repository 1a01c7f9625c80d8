//! The crate `tracing`, with a subscriber that writes lines into memory.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::subscriber::DefaultGuard;
use tracing_subscriber::fmt::MakeWriter;

use super::Step;

/// Bytes after which it begins again at the start.
const MEMORY: usize = 256 << 10;

#[derive(Clone)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.len() + bytes.len() > MEMORY {
            memory.clear();
        }
        memory.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Memory {
    type Writer = Memory;

    fn make_writer(&self) -> Memory {
        self.clone()
    }
}

/// The subscriber of this thread while it lives.
pub(super) struct TracingRival {
    _guard: DefaultGuard,
}

impl TracingRival {
    pub(super) fn new() -> TracingRival {
        let memory = Memory(Arc::new(Mutex::new(Vec::with_capacity(MEMORY))));
        let subscriber = tracing_subscriber::fmt().with_writer(memory).finish();
        TracingRival { _guard: tracing::subscriber::set_default(subscriber) }
    }

    #[inline]
    pub(super) fn event(&self, step: Step) {
        tracing::info!(number = step.number, residual = step.residual);
    }
}
