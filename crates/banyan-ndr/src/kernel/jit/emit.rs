//! The frame of a generated function: checks, loops over items, branches, calls.

use std::sync::Arc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, Block, BlockArg, InstBuilder, MemFlagsData, SigRef, Signature, Value, types};
use cranelift_codegen::isa::TargetIsa;
use cranelift_frontend::FunctionBuilder;

use super::{memory, numbers};
use crate::kernel::interpret::WideLoop;
use crate::kernel::merge::Merged;
use crate::kernel::program::{Instruction, Program};
use crate::kernel::program::{reach, reach_of};

/// Windows in a loop from which on a call of the interpreter, with wider vectors, costs less than the loop itself.
const WIDE_LOOP: u64 = 32;

/// Writes one function.
pub(super) struct Emitter<'a> {
    pub(super) builder: FunctionBuilder<'a>,
    /// Returns failure.
    pub(super) failed: Block,
    interpret_step: SigRef,
    copy: SigRef,
    wide_loop: SigRef,
    called: Called,
}

/// What generated code calls, at the addresses it has been told.
#[derive(Debug, Default)]
pub(super) struct Called {
    steps: Vec<Arc<Instruction>>,
    wide_loops: Vec<Arc<WideLoop>>,
}

/// Where an item's source and target begin.
#[derive(Clone, Copy)]
pub(super) struct ItemPointers {
    pub(super) src: Value,
    pub(super) dst: Value,
}

impl<'a> Emitter<'a> {
    pub(super) fn new(mut builder: FunctionBuilder<'a>, isa: &dyn TargetIsa) -> Emitter<'a> {
        let mut import = |params: usize, returns: usize| {
            let mut signature = Signature::new(isa.default_call_conv());
            signature.params = vec![AbiParam::new(types::I64); params];
            signature.returns = vec![AbiParam::new(types::I64); returns];
            builder.import_signature(signature)
        };
        let (interpret_step, copy, wide_loop) = (import(5, 1), import(3, 0), import(3, 0));
        let failed = builder.create_block();
        Emitter { builder, failed, interpret_step, copy, wide_loop, called: Called::default() }
    }

    /// Ends the function and returns what it calls the interpreter for.
    pub(super) fn finish(mut self, isa: &dyn TargetIsa) -> Called {
        self.builder.switch_to_block(self.failed);
        self.return_constant(1);
        self.builder.seal_all_blocks();
        self.builder.finalize(isa.frontend_config());
        self.called
    }

    /// The whole function: `src`, its length, `dst`, its length, number of items.
    pub(super) fn function(&mut self, program: &Program, merged: &Merged) {
        let entry = self.builder.create_block();
        self.builder.append_block_params_for_function_params(entry);
        self.builder.switch_to_block(entry);
        let &[src, src_len, dst, dst_len, count] = self.builder.block_params(entry) else {
            unreachable!("the signature has five parameters")
        };
        let (src_size, dst_size) = (program.src_size, program.dst_size);
        self.check_lengths(count, &[(src_len, src_size), (dst_len, dst_size)]);
        let mut start = (ItemPointers { src, dst }, count);
        if let Some(block) = &merged.block {
            let (src_size, dst_size) = (src_size * block.items, dst_size * block.items);
            start = self.items(start, &block.steps, block.items, (src_size, dst_size));
        }
        self.items(start, &merged.one, 1, (src_size, dst_size));
        self.return_constant(0);
    }

    /// Fails unless each length is that of `count` items of its size.
    fn check_lengths(&mut self, count: Value, lengths: &[(Value, usize)]) {
        // Sizes are below 2^31, so products of fewer than 2^32 items do not overflow.
        let high = self.builder.ins().ushr_imm_s(count, 32);
        // One branch for all of them: blocks are what generating code takes most time for.
        let wrong = lengths.iter().fold(high, |wrong, &(len, size)| {
            let wanted = self.builder.ins().imul_imm_s(count, size as i64);
            let difference = self.builder.ins().bxor(wanted, len);
            self.builder.ins().bor(wrong, difference)
        });
        self.fail_if(wrong);
    }

    /// Runs `steps` as long as there are `group` items left. Returns where that ends, and how many are left.
    fn items(
        &mut self,
        (item, count): (ItemPointers, Value),
        steps: &[Instruction],
        group: usize,
        sizes: (usize, usize),
    ) -> (ItemPointers, Value) {
        assert_reach(steps, sizes);
        let (head, body, done) =
            (self.builder.create_block(), self.builder.create_block(), self.builder.create_block());
        self.jump(head, &[item.src, item.dst, count]);
        let params: [Value; 3] = std::array::from_fn(|_| self.builder.append_block_param(head, types::I64));
        let [src, dst, left] = params;
        self.builder.switch_to_block(head);
        let enough = self.builder.ins().icmp_imm_s(IntCC::UnsignedGreaterThanOrEqual, left, group as i64);
        self.builder.ins().brif(enough, body, &[], done, &[]);
        self.builder.switch_to_block(body);
        self.steps(steps, ItemPointers { src, dst });
        let next = self.builder.ins().iadd_imm_s(src, sizes.0 as i64);
        let next_dst = self.builder.ins().iadd_imm_s(dst, sizes.1 as i64);
        let fewer = self.builder.ins().iadd_imm_s(left, -(group as i64));
        self.jump(head, &[next, next_dst, fewer]);
        self.builder.switch_to_block(done);
        (ItemPointers { src, dst }, left)
    }

    pub(super) fn steps(&mut self, steps: &[Instruction], item: ItemPointers) {
        for step in steps {
            self.step(step, item);
        }
    }

    fn step(&mut self, step: &Instruction, item: ItemPointers) {
        match *step {
            Instruction::Copy { src, dst, len } => self.copy(item, src, dst, len),
            Instruction::Swap { src, dst, width, count } => self.swap(item, (src, dst), width, count),
            Instruction::Zero { dst, len } if len <= 128 => self.fill(item, dst, &vec![0; len as usize]),
            Instruction::Fill { dst, ref bytes } if bytes.len() <= 128 => self.fill(item, dst, bytes),
            Instruction::Shuffle { ref windows } => windows.iter().for_each(|window| self.window(item, window)),
            Instruction::Number { src, dst, count, from, to, loss, .. } => match numbers::is_generated(from, to) {
                true => self.numbers(item, (src, dst, count), from, to, loss),
                false => self.call_back(step, item),
            },
            Instruction::Require { src, .. } => {
                let flag = self.flag(item, src);
                let absent = self.builder.ins().icmp_imm_s(IntCC::Equal, flag, 0);
                self.fail_if(absent);
            }
            Instruction::IfPresent { src, dst, ref otherwise, ref steps } if otherwise.len() <= 128 => {
                self.if_present(item, (src, dst), otherwise, steps);
            }
            Instruction::Repeat { src, dst, count, src_stride, dst_stride, ref steps } => {
                if let Some(wide) = wide_loop(step) {
                    return self.call_wide(wide, item);
                }
                let first = self.advance(item, src, dst);
                self.repeat(first, count, (src_stride, dst_stride), |emitter, item| emitter.steps(steps, item));
            }
            Instruction::Zero { .. }
            | Instruction::Fill { .. }
            | Instruction::IfPresent { .. }
            | Instruction::Renumber { .. }
            | Instruction::Permute { .. } => self.call_back(step, item),
        }
    }

    fn if_present(&mut self, item: ItemPointers, (src, dst): (u32, u32), otherwise: &[u8], steps: &[Instruction]) {
        let (present, absent, done) =
            (self.builder.create_block(), self.builder.create_block(), self.builder.create_block());
        let flag = self.flag(item, src);
        self.builder.ins().brif(flag, present, &[], absent, &[]);
        self.builder.switch_to_block(present);
        self.steps(steps, item);
        self.jump(done, &[]);
        self.builder.switch_to_block(absent);
        self.fill(item, dst, otherwise);
        self.jump(done, &[]);
        self.builder.switch_to_block(done);
    }

    /// Runs what `body` writes on `count` items.
    pub(super) fn repeat(
        &mut self,
        first: ItemPointers,
        count: u32,
        strides: (u32, u32),
        body: impl FnOnce(&mut Self, ItemPointers),
    ) {
        if count == 0 {
            return;
        }
        let (head, done) = (self.builder.create_block(), self.builder.create_block());
        let all = self.builder.ins().iconst(types::I64, i64::from(count));
        self.jump(head, &[first.src, first.dst, all]);
        let params: [Value; 3] = std::array::from_fn(|_| self.builder.append_block_param(head, types::I64));
        let [src, dst, left] = params;
        self.builder.switch_to_block(head);
        body(self, ItemPointers { src, dst });
        let next = self.advance(ItemPointers { src, dst }, strides.0, strides.1);
        let fewer = self.builder.ins().iadd_imm_s(left, -1);
        let again = [BlockArg::from(next.src), BlockArg::from(next.dst), BlockArg::from(fewer)];
        self.builder.ins().brif(fewer, head, &again, done, &[]);
        self.builder.switch_to_block(done);
    }

    /// Has the interpreter do `step`.
    fn call_back(&mut self, step: &Instruction, item: ItemPointers) {
        let (read, written) = reach(step);
        let step = Arc::new(step.clone());
        let address = Arc::as_ptr(&step).expose_provenance();
        self.called.steps.push(step);
        let arguments =
            [self.constant(address), item.src, self.constant(read as usize), item.dst, self.constant(written as usize)];
        let callee = self.constant(memory::interpret_step as *const () as usize);
        let call = self.builder.ins().call_indirect(self.interpret_step, callee, &arguments);
        let result = self.builder.inst_results(call)[0];
        self.fail_if(result);
    }

    /// Has the interpreter run a loop over parts of the item.
    fn call_wide(&mut self, wide: WideLoop, item: ItemPointers) {
        let wide = Arc::new(wide);
        let address = Arc::as_ptr(&wide).expose_provenance();
        self.called.wide_loops.push(wide);
        let arguments = [self.constant(address), item.src, item.dst];
        let callee = self.constant(memory::wide_loop as *const () as usize);
        self.builder.ins().call_indirect(self.wide_loop, callee, &arguments);
    }

    /// Calls memcpy.
    pub(super) fn call_copy(&mut self, item: ItemPointers, src: u32, dst: u32, len: u32) {
        let at = self.advance(item, src, dst);
        let arguments = [at.dst, at.src, self.constant(len as usize)];
        let callee = self.constant(memory::copy as *const () as usize);
        self.builder.ins().call_indirect(self.copy, callee, &arguments);
    }

    pub(super) fn advance(&mut self, item: ItemPointers, src: u32, dst: u32) -> ItemPointers {
        let mut by = |at: Value, offset: u32| match offset {
            0 => at,
            _ => self.builder.ins().iadd_imm_s(at, i64::from(offset)),
        };
        ItemPointers { src: by(item.src, src), dst: by(item.dst, dst) }
    }

    fn flag(&mut self, item: ItemPointers, src: u32) -> Value {
        self.builder.ins().load(types::I8, flags(), item.src, src as i32)
    }

    /// Gives up if `condition` is not 0.
    pub(super) fn fail_if(&mut self, condition: Value) {
        let go_on = self.builder.create_block();
        self.builder.ins().brif(condition, self.failed, &[], go_on, &[]);
        self.builder.switch_to_block(go_on);
    }

    fn jump(&mut self, block: Block, arguments: &[Value]) {
        let arguments: Vec<BlockArg> = arguments.iter().map(|value| BlockArg::from(*value)).collect();
        self.builder.ins().jump(block, &arguments);
    }

    fn constant(&mut self, value: usize) -> Value {
        self.builder.ins().iconst(types::I64, value as i64)
    }

    fn return_constant(&mut self, value: i64) {
        let value = self.builder.ins().iconst(types::I64, value);
        self.builder.ins().return_(&[value]);
    }
}

/// The interpreter's loop, where that is so much faster that it pays to call it.
fn wide_loop(step: &Instruction) -> Option<WideLoop> {
    let Instruction::Repeat { count, steps, .. } = step else { return None };
    let [Instruction::Shuffle { windows }] = steps.as_slice() else { return None };
    if u64::from(*count) * (windows.len() as u64) < WIDE_LOOP { None } else { WideLoop::new(step) }
}

/// For all loads and stores: they never trap, and need not be aligned.
pub(super) fn flags() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

/// What makes it right that loads and stores are not checked one by one.
fn assert_reach(steps: &[Instruction], sizes: (usize, usize)) {
    let (read, written) = reach_of(steps);
    assert!(read <= sizes.0 as u64 && written <= sizes.1 as u64, "steps leave their item");
}
