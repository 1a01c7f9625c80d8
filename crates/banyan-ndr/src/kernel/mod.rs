//! Flat conversions: arrays of fixed-size items turned into arrays of other fixed-size items.
//!
//! A [`Kernel`] is made once from a [`Program`] and then runs any number of times, from any number of threads: by the
//! [interpreter](interpret) at once, and by [machine code](jit) after [`Kernel::compile`]. Both run the same
//! [merged](merge) steps and give the same bytes and the same errors. What a failed run has written is unspecified.
//!
//! Nothing here knows about references, formats or the wire.

mod direct;
mod interpret;
#[cfg(all(feature = "jit", not(miri), any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "s390x")))]
mod jit;
#[cfg(not(all(
    feature = "jit",
    not(miri),
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "s390x")
)))]
#[path = "no_jit.rs"]
mod jit;
pub(crate) mod locate;
mod merge;
pub(crate) mod number;
pub(crate) mod program;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use crate::Buffer;

use direct::Direct;
use interpret::Isa;
pub use interpret::reverse_numbers;
use merge::Merged;
use program::{Instruction, Program};

/// Items from which on wider instructions outweigh what the interpreter takes to start.
const WIDE_FROM: usize = 4;

/// A conversion of items, ready to run.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// As planned. Tells the exact error after a merged run has failed.
    program: Program,
    merged: Merged,
    /// How one item is converted where that needs no start.
    direct: Option<Direct>,
    /// Whether the interpreter has wider instructions for the loop over items than generated code.
    wide: bool,
    /// Set by the first [`Kernel::compile`]; empty where that did not work.
    code: OnceLock<Option<jit::Code>>,
}

/// Why an item could not be converted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StepError {
    /// Index into [`Program::paths`].
    pub(crate) path: u32,
    /// The number of the item in the run.
    pub(crate) item: usize,
    pub(crate) kind: StepErrorKind,
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
    /// Merges `program`.
    ///
    /// # Panics
    ///
    /// If a step reads or writes outside its item: the planner must not write such a program, and the code below this
    /// point relies on it.
    pub(crate) fn new(program: Program) -> Kernel {
        program::assert_within(&program.steps, program.src_size, program.dst_size);
        let merged = Merged::new(&program);
        let direct = Direct::new(&merged.one, (program.src_size, program.dst_size));
        let wide = merged.is_wide(Isa::best());
        Kernel { program, merged, direct, wide, code: OnceLock::new() }
    }

    /// The program as planned.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// Converts `count` items lying side by side, by machine code if there is some and it is faster.
    ///
    /// # Panics
    ///
    /// If `src` or `dst` is not exactly `count` items long.
    #[inline]
    pub(crate) fn run(&self, src: &[u8], dst: &mut [u8], count: usize) -> Result<(), StepError> {
        if count == 1 && self.run_direct(src, dst) { Ok(()) } else { self.run_generated(src, dst, count) }
    }

    /// As [`Kernel::run`], but never by machine code.
    pub(crate) fn run_interpreted(&self, src: &[u8], dst: &mut [u8], count: usize) -> Result<(), StepError> {
        if count == 1 && self.run_direct(src, dst) { Ok(()) } else { self.run_on(Isa::best(), src, dst, count) }
    }

    /// Converts one item into memory that is there already; false where there is no direct way or too little memory.
    #[inline(always)]
    pub(crate) fn run_direct_into(&self, src: &[u8], out: &mut Buffer) -> bool {
        // No closure: the compiler would not inline it.
        let Some(direct) = &self.direct else { return false };
        out.set_len_within(self.program.dst_size) && direct.run(src, out)
    }

    /// Converts one item; false where there is no direct way.
    #[inline]
    fn run_direct(&self, src: &[u8], dst: &mut [u8]) -> bool {
        self.direct.as_ref().is_some_and(|direct| direct.run(src, dst))
    }

    /// Converts by machine code if there is some, unless the interpreter has wider instructions for so many items.
    #[inline(never)]
    fn run_generated(&self, src: &[u8], dst: &mut [u8], count: usize) -> Result<(), StepError> {
        match self.code.get() {
            Some(Some(code)) if !(self.wide && count >= WIDE_FROM) && code.run(src, dst, count) => Ok(()),
            // The interpreter repeats what machine code gave up on, and finds the exact error.
            _ => self.run_on(Isa::best(), src, dst, count),
        }
    }

    /// Interprets with the given instructions.
    fn run_on(&self, isa: Isa, src: &[u8], dst: &mut [u8], count: usize) -> Result<(), StepError> {
        let Program { src_size, dst_size, .. } = self.program;
        assert_eq!(Some(src.len()), src_size.checked_mul(count), "source is not {count} items");
        assert_eq!(Some(dst.len()), dst_size.checked_mul(count), "target is not {count} items");
        match interpret::run_merged(isa, &self.merged, src, dst, count, (src_size, dst_size)) {
            Ok(()) => Ok(()),
            Err(_) => self.run_stepwise(src, dst, count),
        }
    }

    /// Runs the program as planned, item by item: errors come in the order of items and steps.
    fn run_stepwise(&self, src: &[u8], dst: &mut [u8], count: usize) -> Result<(), StepError> {
        let Program { src_size, dst_size, ref steps, .. } = self.program;
        for item in 0..count {
            interpret::run_steps(Isa::PORTABLE, steps, &src[item * src_size..], &mut dst[item * dst_size..])
                .map_err(|failure| StepError { path: failure.path, item, kind: failure.kind })?;
        }
        Ok(())
    }

    /// Whether machine code would beat the interpreter: not where one call of memcpy or one long byte swap does it all,
    /// nor for programs so long that generating code takes longer than most uses are worth.
    pub(crate) fn pays(&self) -> bool {
        jit::is_possible(self.merged.length())
            && !matches!(
                *self.merged.one,
                [] | [Instruction::Copy { .. } | Instruction::Swap { .. } | Instruction::Zero { .. }]
            )
    }

    /// Generates machine code, once. False where that is not possible: no backend, no executable memory, or a program
    /// that is too long.
    pub(crate) fn compile(&self) -> bool {
        self.code.get_or_init(|| jit::Code::generate(&self.program, &self.merged)).is_some()
    }
}
