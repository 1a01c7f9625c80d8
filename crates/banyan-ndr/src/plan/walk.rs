//! Running a plan: kernels for the flat parts, whole runs of items at a time, and a work list for everything behind
//! references, so that no data nests calls.
//!
//! Work is bounded by the body: the bytes that references lead to, shared ones counted once, must not be more than it
//! has. Paths are not kept while all goes well; when something fails the conversion is run again with tracing on.

mod errors;
mod items;

use std::collections::HashMap;

use super::Plan;
use super::steps::{
    Action, CaseWalk, ItemId, Otherwise, Payload, Text, TextKind, ValueFrom, ValueTo, ValueWalk, VariantWalk, WalkStep,
};
use super::template::{self, Template};
use crate::wire::{Slots, read_uint, write_uint};
use crate::{Buffer, DecodeError};

/// Bytes that a converted body may have besides its fixed part, however short the sender's is.
const GROWTH_AT_LEAST: usize = 1 << 20;

/// Items that lie one behind the other on both sides. Their kernel has run, their walks have not.
#[derive(Clone, Copy)]
struct Run {
    item: ItemId,
    src: usize,
    dst: usize,
    count: usize,
    /// The index of the first of them, for people.
    first: usize,
    /// Where it came from, an index into the trail.
    trail: usize,
}

/// One item of a run with the path of the walk that works on it.
#[derive(Clone, Copy)]
struct Spot {
    src: usize,
    dst: usize,
    item: ItemId,
    index: usize,
    trail: usize,
    path: u32,
}

/// How a run was come to.
struct Origin {
    from: Spot,
    listed: bool,
}

/// Converts one body.
pub(super) struct Walker<'a> {
    plan: &'a Plan,
    body: &'a [u8],
    out: &'a mut Buffer,
    source: Slots,
    target: Slots,
    interpreted: bool,
    open: Vec<Run>,
    /// Where shared targets lie in the output, by source position and item.
    seen: Option<Seen>,
    /// Bytes that may still be led to.
    budget: usize,
    /// Most bytes of the output, and the limit that says so.
    most: usize,
    limit: &'static str,
    trail: Option<Vec<Origin>>,
}

/// Made when first needed: most records share nothing.
type Seen = HashMap<(usize, ItemId), usize, foldhash::fast::RandomState>;

type Done = Result<(), Box<DecodeError>>;

impl<'a> Walker<'a> {
    pub(super) fn new(plan: &'a Plan, body: &'a [u8], out: &'a mut Buffer, interpreted: bool, traced: bool) -> Self {
        let source = Slots { order: plan.source.order(), pointer: plan.source.pointer() };
        let target = Slots { order: plan.target.order(), pointer: plan.target.pointer() };
        let most = plan.most.min(target.most());
        let grown = plan.growth.saturating_mul(body.len()).saturating_add(out.len() + GROWTH_AT_LEAST);
        let (most, limit) = if grown < most { (grown, "growth") } else { (most, "body_bytes") };
        Walker {
            plan,
            body,
            out,
            source,
            target,
            interpreted,
            open: Vec::new(),
            seen: None,
            budget: body.len(),
            most,
            limit,
            trail: traced.then(Vec::new),
        }
    }

    /// Converts the root and all it leads to. The output holds the root's place already.
    pub(super) fn run(mut self) -> Done {
        let plan = self.plan;
        let root = Run { item: 0, src: 0, dst: 0, count: 1, first: 0, trail: 0 };
        self.run_kernel(root)?;
        let mut next = Some(root);
        while let Some(run) = next {
            let item = &plan.items[run.item];
            for index in 0..run.count {
                let src = run.src + index * item.program().src_size;
                let dst = run.dst + index * item.program().dst_size;
                for walk in &item.walks {
                    let index = run.first + index;
                    let spot = Spot { src, dst, item: run.item, index, trail: run.trail, path: walk.path };
                    self.walk(walk, spot)?;
                }
            }
            next = self.open.pop();
        }
        Ok(())
    }

    /// Runs the kernel, and leaves the walks for later. Both places lie in the body and the output.
    fn start(&mut self, run: Run) -> Done {
        if run.count == 0 {
            return Ok(());
        }
        self.run_kernel(run)?;
        if !self.plan.items[run.item].walks.is_empty() {
            self.open.push(run);
        }
        Ok(())
    }

    fn run_kernel(&mut self, run: Run) -> Done {
        let item = &self.plan.items[run.item];
        let src = &self.body[run.src..run.src + run.count * item.program().src_size];
        let dst = &mut self.out[run.dst..run.dst + run.count * item.program().dst_size];
        let ran = match self.interpreted {
            false => item.kernel.run(src, dst, run.count),
            true => item.kernel.run_interpreted(src, dst, run.count),
        };
        ran.map_err(|failed| self.kernel_error(run, failed.item))
    }

    /// Starts a run that a walk has led to.
    fn follow(&mut self, from: Spot, listed: bool, mut run: Run) -> Done {
        if let Some(trail) = &mut self.trail {
            trail.push(Origin { from, listed });
            run.trail = trail.len();
        }
        self.start(run)?;
        if let Some(trail) = &mut self.trail
            && self.plan.items[run.item].walks.is_empty()
        {
            trail.pop();
        }
        Ok(())
    }

    fn walk(&mut self, walk: &WalkStep, spot: Spot) -> Done {
        match &walk.action {
            Action::Text(text) => self.text(text, spot),
            Action::Value(value) => self.value(value, spot),
            Action::Items(items) => self.items(items, spot),
            Action::Variant(variant) => self.variant(variant, spot),
            Action::Constant { dst, template } => self.constant(template, spot.dst + *dst as usize, spot),
        }
    }

    fn text(&mut self, text: &Text, spot: Spot) -> Done {
        let (at, count) = match text.from {
            TextKind::CStr => match self.reference(spot.src + text.src as usize, spot)? {
                Some(at) => (at, self.c_string_length(at, spot)?),
                None => return self.otherwise(&text.otherwise, spot.dst + text.dst as usize, spot),
            },
            TextKind::Str | TextKind::Bytes => self.span(spot.src + text.src as usize, 1, spot)?,
        };
        let body = self.body;
        let bytes = &body[at..at + count];
        let slot = spot.dst + text.dst as usize;
        match text.to {
            TextKind::CStr => {
                if text.from != TextKind::CStr && bytes.contains(&0) {
                    return Err(self.invalid(spot, "text with a NUL".into(), "C string"));
                }
                let to = self.allocate(count + 1, 1, spot)?;
                self.out[to..to + count].copy_from_slice(bytes);
                self.out[to + count] = 0;
                self.target.set_reference(&mut self.out[slot..], Some(to));
            }
            TextKind::Str | TextKind::Bytes => {
                if text.from == TextKind::CStr && std::str::from_utf8(bytes).is_err() {
                    return Err(self.invalid(spot, format!("\"{}\"", bytes.escape_ascii()), "UTF-8 text"));
                }
                let to = self.allocate(count, 1, spot)?;
                self.out[to..to + count].copy_from_slice(bytes);
                self.target.set_span(&mut self.out[slot..], to, count);
            }
        }
        Ok(())
    }

    fn value(&mut self, value: &ValueWalk, spot: Spot) -> Done {
        let item = &self.plan.items[value.item];
        let found = match value.from {
            ValueFrom::Place { at } => Some(spot.src + at as usize),
            ValueFrom::Flagged { flag, at } => {
                (self.body[spot.src + flag as usize] != 0).then_some(spot.src + at as usize)
            }
            ValueFrom::Pointer { at } => self.reference(spot.src + at as usize, spot)?,
            ValueFrom::IfSet { at } => {
                let at = spot.src + at as usize;
                self.reference(at, spot)?.map(|_| at)
            }
        };
        let Some(src) = found else {
            return self.otherwise(&value.otherwise, spot.dst + value.to.start() as usize, spot);
        };
        let behind = matches!(value.from, ValueFrom::Pointer { .. });
        if behind
            && let ValueTo::Pointer { at, shared: true } = value.to
            && let Some(known) = self.known(src, value.item)
        {
            self.target.set_reference(&mut self.out[spot.dst + at as usize..], Some(known));
            return Ok(());
        }
        if behind {
            self.lead_to(src, Some(item.program().src_size), spot)?;
        }
        let dst = match value.to {
            ValueTo::Place { at } => spot.dst + at as usize,
            ValueTo::Flagged { flag, at } => {
                self.out[spot.dst + flag as usize] = 1;
                spot.dst + at as usize
            }
            ValueTo::Pointer { at, shared } => {
                let dst = self.allocate(item.program().dst_size, item.align, spot)?;
                self.target.set_reference(&mut self.out[spot.dst + at as usize..], Some(dst));
                if shared && behind {
                    self.seen.get_or_insert_default().insert((src, value.item), dst);
                }
                dst
            }
        };
        self.follow(spot, false, Run { item: value.item, src, dst, count: 1, first: 0, trail: 0 })
    }

    /// Where a shared source value has been put. The root is the item 0 at the start of both bodies.
    fn known(&self, src: usize, item: ItemId) -> Option<usize> {
        if (src, item) == (0, 0) { Some(0) } else { self.seen.as_ref()?.get(&(src, item)).copied() }
    }

    fn variant(&mut self, variant: &VariantWalk, spot: Spot) -> Done {
        let at = spot.src + variant.src as usize;
        let tag = read_uint(&self.body[at..at + usize::from(variant.src_tag)], self.source.order) as u64;
        let (tag, payload) = match variant.cases.get(&tag) {
            Some(CaseWalk::Known { tag, payload }) => (*tag, payload),
            Some(CaseWalk::Unknown { name }) => {
                return Err(self.invalid(spot, format!("the case {name}"), "case that the receiver knows"));
            }
            None => return Err(self.invalid(spot, format!("the tag {tag}"), "case of the variant")),
        };
        let at = spot.dst + variant.dst as usize;
        let order = self.target.order;
        write_uint(&mut self.out[at..at + usize::from(variant.dst_tag)], u128::from(tag), order);
        let (src, dst) = (spot.src + variant.src_payload as usize, spot.dst + variant.dst_payload as usize);
        match payload {
            None => Ok(()),
            Some(Payload::Constant(template)) => self.constant(template, dst, spot),
            Some(Payload::Item(item)) => {
                self.follow(spot, false, Run { item: *item, src, dst, count: 1, first: 0, trail: 0 })
            }
        }
    }

    fn otherwise(&mut self, otherwise: &Otherwise, at: usize, spot: Spot) -> Done {
        match otherwise {
            Otherwise::Error => Err(self.error(spot, DecodeError::Absent { path: String::new() })),
            Otherwise::Null => Ok(()),
            Otherwise::Constant(template) => self.constant(template, at, spot),
        }
    }

    fn constant(&mut self, template: &Template, at: usize, spot: Spot) -> Done {
        let heap_at = self.allocate(template.heap.len(), template.align, spot)?;
        template::place(template, self.target, self.out, at, heap_at);
        Ok(())
    }

    fn reference(&self, at: usize, spot: Spot) -> Result<Option<usize>, Box<DecodeError>> {
        self.source
            .reference(self.body, at)
            .map_err(|bad| self.error(spot, DecodeError::bad_reference(bad, String::new(), self.body.len())))
    }

    /// A span of items of `size`, checked.
    fn span(&mut self, at: usize, size: usize, spot: Spot) -> Result<(usize, usize), Box<DecodeError>> {
        let (target, count) = self
            .source
            .span(self.body, at)
            .map_err(|bad| self.error(spot, DecodeError::bad_reference(bad, String::new(), self.body.len())))?;
        self.lead_to(target, count.checked_mul(size), spot)?;
        Ok((target, count))
    }

    /// Checks that bytes lie in the body, and counts them. `None` is more than can be counted.
    fn lead_to(&mut self, target: usize, bytes: Option<usize>, spot: Spot) -> Done {
        let body = self.body.len();
        let inside = bytes.filter(|bytes| target.checked_add(*bytes).is_some_and(|end| end <= body));
        let Some(inside) = inside else {
            let count = bytes.map_or(u64::MAX, |bytes| bytes as u64);
            let error = DecodeError::OutOfBounds { path: String::new(), target: target as u64, count, body };
            return Err(self.error(spot, error));
        };
        let Some(budget) = self.budget.checked_sub(inside) else {
            return Err(self.error(spot, DecodeError::Overlap { path: String::new(), body }));
        };
        self.budget = budget;
        Ok(())
    }

    /// Bytes up to the NUL.
    fn c_string_length(&mut self, at: usize, spot: Spot) -> Result<usize, Box<DecodeError>> {
        let length = self.body[at..].iter().position(|byte| *byte == 0);
        self.lead_to(at, length.map_or(Some(self.body.len() - at + 1), |length| Some(length + 1)), spot)?;
        Ok(length.unwrap_or_default())
    }

    fn allocate_items(&mut self, count: usize, item: ItemId, spot: Spot) -> Result<usize, Box<DecodeError>> {
        let item = &self.plan.items[item];
        match count.checked_mul(item.program().dst_size) {
            Some(0) => Ok(0),
            Some(bytes) => self.allocate(bytes, item.align, spot),
            None => Err(self.too_long(spot, u64::MAX)),
        }
    }

    /// Room at the end of the output. The caller writes all of it.
    fn allocate(&mut self, len: usize, align: usize, spot: Spot) -> Result<usize, Box<DecodeError>> {
        let end = self.out.len();
        let at = end.next_multiple_of(align);
        match at.checked_add(len) {
            Some(total) if total <= self.most => self.out.set_len(total),
            total => return Err(self.too_long(spot, total.map_or(u64::MAX, |total| total as u64))),
        }
        if end < at {
            self.out[end..at].fill(0);
        }
        Ok(at)
    }
}
