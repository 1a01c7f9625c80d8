//! Flat conversions: programs that turn source items without references into target items.

pub(crate) mod naive;
pub(crate) mod program;

pub(crate) use program::Program;

/// A program, ready to run.
#[derive(Debug)]
pub(crate) struct Kernel(Program);

/// An item that could not be converted.
#[derive(Debug)]
pub(crate) struct StepError {
    /// Its number in the run.
    pub(crate) item: usize,
}

impl Kernel {
    pub(crate) fn new(program: Program) -> Kernel {
        Kernel(program)
    }

    pub(crate) fn run(&self, src: &[u8], dst: &mut [u8], count: usize) -> Result<(), StepError> {
        let (from, to) = (src.chunks_exact(self.0.src_size), dst.chunks_exact_mut(self.0.dst_size));
        for (item, (src, dst)) in from.zip(to).take(count).enumerate() {
            naive::run(&self.0, src, dst).map_err(|_| StepError { item })?;
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
