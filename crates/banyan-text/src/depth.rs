//! How deep a walk is, bounded so that it cannot exhaust the stack.

use banyan_ndr::Limits;

/// Levels of any kind (lists, optionals, pointers) for each level of records that [`Limits::nesting`] allows.
const LEVELS_PER_RECORD: usize = 2;

/// Position of a walk: records within each other, and levels of any kind.
#[derive(Clone, Copy)]
pub(super) struct Depth {
    records: usize,
    levels: usize,
    nesting: usize,
}

impl Depth {
    /// At the root.
    pub(super) fn root(limits: &Limits) -> Depth {
        Depth { records: 0, levels: 0, nesting: limits.nesting }
    }

    /// One level down, which is not a record's.
    pub(super) fn level(self) -> Result<Depth, String> {
        let levels = self.levels + 1;
        if levels > self.nesting.saturating_mul(LEVELS_PER_RECORD) {
            return Err(format!("nested deeper than {LEVELS_PER_RECORD} × {} (Limits::nesting)", self.nesting));
        }
        Ok(Depth { levels, ..self })
    }

    /// Down into a record or variant.
    pub(super) fn record(self) -> Result<Depth, String> {
        if self.records == self.nesting {
            return Err(format!("records are nested deeper than {} (Limits::nesting)", self.nesting));
        }
        Depth { records: self.records + 1, ..self }.level()
    }
}
