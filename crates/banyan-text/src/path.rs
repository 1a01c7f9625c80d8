//! Where in a record a reader or writer is, and how deep: bounded, so that a walk cannot exhaust the stack.

use std::fmt;

use banyan_ndr::Limits;

/// A way from the root down, shown as `mesh.elems[3].temp`. It is not walked back after an error, so that it then
/// leads to the cause.
#[derive(Default)]
pub(super) struct Path<'f>(Vec<Step<'f>>);

#[derive(Clone, Copy)]
enum Step<'f> {
    Name(&'f str),
    Index(usize),
    Shared(usize),
}

impl<'f> Path<'f> {
    /// Into a field or case.
    pub(super) fn enter(&mut self, name: &'f str) {
        self.0.push(Step::Name(name));
    }

    /// Into an item of a list.
    pub(super) fn enter_item(&mut self, index: usize) {
        self.0.push(Step::Index(index));
    }

    /// Into an entry of the table of shared values.
    pub(super) fn enter_shared(&mut self, number: usize) {
        self.0.push(Step::Shared(number));
    }

    /// Back up.
    pub(super) fn leave(&mut self) {
        self.0.pop();
    }

    /// Whether it leads to the root itself.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As text, or what the root is called.
    pub(super) fn or(&self, root: &str) -> String {
        if self.is_empty() { root.to_owned() } else { self.to_string() }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Name(name) if position == 0 => write!(f, "{name}")?,
                Step::Name(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Shared(number) => write!(f, "shared[{number}]")?,
            }
        }
        Ok(())
    }
}

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
