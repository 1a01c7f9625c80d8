//! Machine code for a merged program, by Cranelift.
//!
//! The generated function checks the lengths it is given before it touches memory, and gives up (returns false) at the
//! first number that does not fit; the interpreter then finds the exact error. Steps that are rare or slow anyway are
//! left to the interpreter, which the function calls back.

mod emit;
mod memory;
mod moves;
mod numbers;

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{AbiParam, Signature, types};
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use super::merge::Merged;
use super::program::Program;
use emit::{Called, Emitter};
use memory::Executable;

/// Steps and windows of a program that code is generated for: some milliseconds' work.
const MAX_LENGTH: usize = 2048;

/// Whether code for a program of this length can be had.
pub(super) fn is_possible(length: usize) -> bool {
    length <= MAX_LENGTH
}

/// Machine code that converts items.
#[derive(Debug)]
pub(super) struct Code {
    executable: Executable,
    #[expect(dead_code, reason = "kept alive for the generated code, which alone uses it")]
    called: Called,
}

impl Code {
    /// Generates code, where the processor and the length of the program allow.
    pub(super) fn generate(program: &Program, merged: &Merged) -> Option<Code> {
        let small = |size: usize| i32::try_from(size).is_ok();
        if !is_possible(merged.length()) || !small(program.src_size) || !small(program.dst_size) {
            return None;
        }
        let isa = isa()?;
        WORKSHOP.with_borrow_mut(|workshop| workshop.generate(isa, program, merged))
    }

    /// Converts `count` items that fill `src` and `dst`. False where a number does not fit, and where the lengths are
    /// not those of `count` items.
    pub(super) fn run(&self, src: &[u8], dst: &mut [u8], count: usize) -> bool {
        self.executable.call(src, dst, count)
    }
}

thread_local! {
    static WORKSHOP: RefCell<Workshop> =
        RefCell::new(Workshop { context: Context::new(), builder_context: FunctionBuilderContext::new() });
}

/// Memory that generating needs, kept from one function to the next: asking the system for it takes a good part of the
/// time.
struct Workshop {
    context: Context,
    builder_context: FunctionBuilderContext,
}

impl Workshop {
    fn generate(&mut self, isa: &'static dyn TargetIsa, program: &Program, merged: &Merged) -> Option<Code> {
        let Workshop { context, builder_context } = self;
        context.clear();
        context.func.signature = signature(isa);
        let mut emitter = Emitter::new(FunctionBuilder::new(&mut context.func, builder_context), isa);
        emitter.function(program, merged);
        let called = emitter.finish(isa);
        let compiled = context.compile(isa, &mut ControlPlane::default()).ok()?;
        // A relocation is a call of a helper that this processor needs and we do not bring.
        if !compiled.buffer.relocs().is_empty() {
            return None;
        }
        let executable = Executable::new(compiled.code_buffer())?;
        Some(Code { executable, called })
    }
}

/// Pointer and length of source and target, and the number of items; 0 is success.
fn signature(isa: &dyn TargetIsa) -> Signature {
    let mut signature = Signature::new(isa.default_call_conv());
    signature.params = vec![AbiParam::new(types::I64); 5];
    signature.returns = vec![AbiParam::new(types::I64)];
    signature
}

/// This machine, as Cranelift sees it.
fn isa() -> Option<&'static dyn TargetIsa> {
    static ISA: OnceLock<Option<Arc<dyn TargetIsa>>> = OnceLock::new();
    let isa = ISA.get_or_init(|| {
        let mut flags = settings::builder();
        // Chosen by measurement: code this simple gains nothing from Cranelift's optimiser, but twice the speed from
        // its slower register allocation.
        for (name, value) in [
            ("opt_level", "none"),
            ("regalloc_algorithm", "backtracking"),
            ("enable_verifier", "false"),
            ("unwind_info", "false"),
            ("enable_probestack", "false"),
            ("enable_alias_analysis", "false"),
        ] {
            flags.set(name, value).ok()?;
        }
        cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()
    });
    isa.as_deref()
}
