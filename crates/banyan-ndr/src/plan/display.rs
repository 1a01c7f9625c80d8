//! The text form of a plan: a listing of its items, with the steps of their kernels and their walks.

use std::fmt;

use super::Plan;
use super::steps::{Action, ItemPlan, WalkStep};
use crate::kernel::program::Instruction;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, target) = (self.source(), self.target());
        let [from, to] = [source, target].map(|format| format.name().escape_debug());
        writeln!(f, "plan {from} {} -> {to} {}", source.id(), target.id())?;
        if self.is_identity() {
            writeln!(f, "  nothing to convert: records can be viewed as they are")?;
        }
        self.items.iter().enumerate().try_for_each(|(number, item)| fmt_item(f, number, item))
    }
}

fn fmt_item(f: &mut fmt::Formatter<'_>, number: usize, item: &ItemPlan) -> fmt::Result {
    let program = item.program();
    writeln!(f, "item {number}: {} ({} -> {} bytes)", item.name.escape_debug(), program.src_size, program.dst_size)?;
    fmt_steps(f, &program.steps, &program.paths, 2)?;
    item.walks.iter().try_for_each(|walk| fmt_walk(f, walk, &program.paths))
}

fn fmt_steps(f: &mut fmt::Formatter<'_>, steps: &[Instruction], paths: &[String], indent: usize) -> fmt::Result {
    for step in steps {
        write!(f, "{:indent$}", "")?;
        match step {
            Instruction::Copy { src, dst, len } => writeln!(f, "copy {len} bytes {src} -> {dst}")?,
            Instruction::Swap { src, dst, width, count } => writeln!(f, "swap {count} x {width} bytes {src} -> {dst}")?,
            Instruction::Zero { dst, len } => writeln!(f, "zero {len} bytes -> {dst}")?,
            Instruction::Fill { dst, bytes } => writeln!(f, "default, {} bytes -> {dst}", bytes.len())?,
            Instruction::Number { src, dst, count, from, to, path, .. } => writeln!(
                f,
                "number {count} x {:?} {} -> {:?} {}, {src} -> {dst} ({})",
                from.kind,
                from.width,
                to.kind,
                to.width,
                paths[*path as usize].escape_debug()
            )?,
            Instruction::Renumber { src, dst, count, table, path, .. } => writeln!(
                f,
                "renumber {count} by {} values, {src} -> {dst} ({})",
                table.len(),
                paths[*path as usize].escape_debug()
            )?,
            Instruction::Require { src, path } => {
                writeln!(f, "require {src} ({})", paths[*path as usize].escape_debug())?
            }
            Instruction::IfPresent { src, dst, steps, .. } => {
                writeln!(f, "if present {src} -> {dst}")?;
                fmt_steps(f, steps, paths, indent + 2)?;
            }
            Instruction::Repeat { src, dst, count, src_stride, dst_stride, steps } => {
                writeln!(f, "repeat {count}: {src} by {src_stride} -> {dst} by {dst_stride}")?;
                fmt_steps(f, steps, paths, indent + 2)?;
            }
            Instruction::Permute { src, dst, order, src_stride, dst_stride, steps } => {
                writeln!(f, "permute {}: {src} by {src_stride} -> {dst} by {dst_stride}", order.len())?;
                fmt_steps(f, steps, paths, indent + 2)?;
            }
            Instruction::Shuffle { windows } => writeln!(f, "shuffle {} windows", windows.len())?,
        }
    }
    Ok(())
}

fn fmt_walk(f: &mut fmt::Formatter<'_>, walk: &WalkStep, paths: &[String]) -> fmt::Result {
    let path = paths[walk.path as usize].escape_debug();
    match &walk.action {
        Action::Text(text) => writeln!(f, "  {path}: {:?} {} -> {:?} {}", text.from, text.src, text.to, text.dst),
        Action::Value(value) => writeln!(f, "  {path}: {:?} -> {:?}, item {}", value.from, value.to, value.item),
        Action::Items(items) => writeln!(f, "  {path}: {:?} -> {:?}, item {}", items.from, items.to, items.item),
        Action::Variant(variant) => {
            writeln!(f, "  {path}: {} cases {} -> {}", variant.cases.len(), variant.src, variant.dst)
        }
        Action::Constant { dst, .. } => writeln!(f, "  {path}: default -> {dst}"),
    }
}
