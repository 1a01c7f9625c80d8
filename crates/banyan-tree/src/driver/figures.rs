//! What the links of a node have done.

use super::Driver;
use crate::node::LinkFigures;

impl Driver {
    pub(super) fn link_figures(&self) -> LinkFigures {
        let refused = self.listeners.iter().map(|listener| listener.refused().total()).sum();
        let mut figures = LinkFigures { refused, ..LinkFigures::default() };
        for link in self.links.values() {
            let (counters, shared) = (link.link().counters(), link.shared());
            figures.frames_sent += counters.frames_sent + shared.frames_sent;
            figures.frames_received += counters.frames_received + shared.frames_received;
            figures.bytes_sent += counters.bytes_sent + counters.pool_bytes_sent + shared.bytes_sent;
            figures.bytes_received += counters.bytes_received + counters.pool_bytes_received + shared.bytes_received;
            figures.credit_stalls += counters.credit_stalls;
            figures.queued += link.protocol().queued() as u64;
        }
        figures
    }
}
