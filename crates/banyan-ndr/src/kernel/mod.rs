//! Flat conversions: programs that turn source items without references into target items.

pub(crate) mod half;
pub(crate) mod locate;
mod number;
#[expect(dead_code, reason = "nothing merges programs yet")]
pub(crate) mod program;

use program::Program;

/// A program, ready to run.
#[derive(Debug)]
pub(crate) struct Kernel(Program);

/// Why an item could not be converted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StepError {
    /// The number of the item in the run.
    pub(crate) item: usize,
}

/// What was wrong with the value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StepErrorKind {
    /// The target cannot hold the number.
    OutOfRange { value: String, wanted: String },
    /// No value of the enumeration.
    Unknown { value: String },
    /// Absent, but needed.
    Absent,
}

impl Kernel {
    pub(crate) fn new(program: Program) -> Kernel {
        Kernel(program)
    }

    pub(crate) fn program(&self) -> &Program {
        &self.0
    }

    pub(crate) fn run(&self, src: &[u8], dst: &mut [u8], count: usize) -> Result<(), StepError> {
        let (from, to) = (src.chunks_exact(self.0.src_size), dst.chunks_exact_mut(self.0.dst_size));
        for (item, (src, dst)) in from.zip(to).take(count).enumerate() {
            locate::run(&self.0, src, dst).map_err(|_| StepError { item })?;
        }
        Ok(())
    }

    pub(crate) fn run_interpreted(&self, src: &[u8], dst: &mut [u8], count: usize) -> Result<(), StepError> {
        self.run(src, dst, count)
    }

    pub(crate) fn compile(&self) -> bool {
        false
    }

    pub(crate) fn pays(&self) -> bool {
        false
    }
}
