//! The interpreter on every kind of instructions, the generated code and a naive oracle agree.

mod edges;
#[path = "../../../tests/support/effort.rs"]
mod effort;
mod oracle;
mod random;

use super::interpret::Isa;
use super::program::Program;
use super::{Kernel, StepError};

/// Of a list of cases, every how many-th to try: all of them, or their share where every step is emulated. Odd, so that
/// none of the sizes and widths, which are powers of two, goes untried.
fn every() -> usize {
    (256 / effort::share(256) as usize).max(1) | 1
}

/// Converts `count` items of `src` in every way there is, and requires them to agree with the oracle.
fn agree(program: &Program, src: &[u8], count: usize) -> Result<Vec<u8>, StepError> {
    let kernel = Kernel::new(program.clone());
    interpreters_agree(&kernel, src, count);
    generated_code_agrees(&kernel, src, count);
    oracle::run(program, src, count)
}

fn interpreters_agree(kernel: &Kernel, src: &[u8], count: usize) {
    let expected = oracle::run(kernel.program(), src, count);
    for isa in Isa::all() {
        let mut dst = vec![0x5a; kernel.program().dst_size * count];
        let found = kernel.run_on(isa, src, &mut dst, count).map(|()| dst);
        assert_eq!(found, expected, "{isa:?}, merged: {:?}", kernel.merged);
    }
    let mut dst = vec![0x5a; kernel.program().dst_size * count];
    let found = kernel.run_interpreted(src, &mut dst, count).map(|()| dst);
    assert_eq!(found, expected, "merged: {:?}", kernel.merged);
}

/// Where code can be generated.
fn generated_code_agrees(kernel: &Kernel, src: &[u8], count: usize) {
    if !kernel.compile() {
        return;
    }
    let expected = oracle::run(kernel.program(), src, count);
    let mut dst = vec![0x5a; kernel.program().dst_size * count];
    let code = kernel.code.get().and_then(Option::as_ref).expect("it was generated");
    let found = code.run(src, &mut dst, count).then(|| dst.clone());
    assert_eq!(found.as_ref(), expected.as_ref().ok(), "merged: {:?}", kernel.merged);
    let found = kernel.run(src, &mut dst, count).map(|()| dst);
    assert_eq!(found, expected, "merged: {:?}", kernel.merged);
}
