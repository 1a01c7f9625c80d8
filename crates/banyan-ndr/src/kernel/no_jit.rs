//! Stands in for the code generator where there is none: without the feature `jit`, on processors that Cranelift has no
//! backend for, and under Miri. Generating code always fails, so the interpreter does everything.

use super::merge::Merged;
use super::program::Program;

/// Whether code for a program of this length can be had.
pub(super) fn is_possible(_length: usize) -> bool {
    false
}

/// Machine code; there is none.
#[derive(Debug)]
pub(super) enum Code {}

impl Code {
    pub(super) fn generate(_program: &Program, _merged: &Merged) -> Option<Code> {
        None
    }

    pub(super) fn run(&self, _src: &[u8], _dst: &mut [u8], _count: usize) -> bool {
        match *self {}
    }
}
