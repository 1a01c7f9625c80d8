//! The interpreter on every kind of instructions, the generated code and a naive oracle agree.

mod edges;
mod oracle;
mod random;

use super::interpret::Isa;
use super::program::Program;
use super::{Kernel, StepError};

/// Converts `count` items of `src` in every way there is, and requires them to agree with the oracle.
fn agree(program: &Program, src: &[u8], count: usize) -> Result<Vec<u8>, StepError> {
    let expected = oracle::run(program, src, count);
    let kernel = Kernel::new(program.clone());
    let converted = |run: &dyn Fn(&mut [u8]) -> Result<(), StepError>| {
        let mut dst = vec![0xa5; program.dst_size * count];
        run(&mut dst).map(|()| dst)
    };
    for isa in Isa::all() {
        let found = converted(&|dst| kernel.run_on(isa, src, dst, count));
        assert_eq!(found, expected, "{isa:?}, merged: {:?}", kernel.merged);
    }
    if kernel.compile() {
        assert!(kernel.is_compiled());
        let found = converted(&|dst| kernel.run(src, dst, count));
        assert_eq!(found, expected, "generated code, merged: {:?}", kernel.merged);
    }
    expected
}
