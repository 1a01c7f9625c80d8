//! Running a plan: kernels for the flat parts, whole runs of items at a time, and a work list for everything behind
//! references, so that no data nests calls.
//!
//! Work is bounded by the body: the bytes that references lead to, shared ones counted once, must not be more than it
//! has. Paths are not kept while all goes well; when something fails the conversion is run again with tracing on.

use std::collections::HashMap;

use super::Plan;
use super::arrays::{Shape, origins};
use super::build::join;
use super::steps::{
    Action, CaseWalk, ItemId, ItemsFrom, ItemsTo, ItemsWalk, Otherwise, SourceDim, TargetDim, Text, TextKind,
    ValueFrom, ValueTo, ValueWalk, VariantWalk, Walk,
};
use super::template::{self, Template};
use crate::kernel::{StepErrorKind, locate};
use crate::wire::{Slots, read_int, read_uint, write_uint};
use crate::{Buffer, DecodeError};

/// Most parts of a path that an error shows.
const SHOWN_PARTS: usize = 32;

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
    seen: HashMap<(usize, ItemId), usize, foldhash::fast::RandomState>,
    /// Bytes that may still be led to.
    budget: usize,
    /// Most bytes of the output.
    most: usize,
    trail: Option<Vec<Origin>>,
}

type Done = Result<(), Box<DecodeError>>;

impl<'a> Walker<'a> {
    pub(super) fn new(plan: &'a Plan, body: &'a [u8], out: &'a mut Buffer, interpreted: bool, traced: bool) -> Self {
        let source = Slots { order: plan.source.order(), pointer: plan.source.pointer() };
        let target = Slots { order: plan.target.order(), pointer: plan.target.pointer() };
        Walker {
            plan,
            body,
            out,
            source,
            target,
            interpreted,
            open: Vec::new(),
            seen: HashMap::default(),
            budget: body.len(),
            most: plan.most.min(target.most()),
            trail: traced.then(Vec::new),
        }
    }

    /// Converts the root and all it leads to. The output holds the root's place already.
    pub(super) fn run(mut self) -> Done {
        self.start(Run { item: 0, src: 0, dst: 0, count: 1, first: 0, trail: 0 })?;
        let plan = self.plan;
        while let Some(run) = self.open.pop() {
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
        }
        Ok(())
    }

    /// Runs the kernel, and leaves the walks for later. Both places lie in the body and the output.
    fn start(&mut self, run: Run) -> Done {
        if run.count == 0 {
            return Ok(());
        }
        let item = &self.plan.items[run.item];
        let src = &self.body[run.src..run.src + run.count * item.program().src_size];
        let dst = &mut self.out[run.dst..run.dst + run.count * item.program().dst_size];
        let ran = match self.interpreted {
            false => item.kernel.run(src, dst, run.count),
            true => item.kernel.run_interpreted(src, dst, run.count),
        };
        if let Err(failed) = ran {
            return Err(self.kernel_error(run, failed.item));
        }
        if !item.walks.is_empty() {
            self.open.push(run);
        }
        Ok(())
    }

    /// Starts a run that a walk has led to.
    fn follow(&mut self, from: Spot, listed: bool, mut run: Run) -> Done {
        if let Some(trail) = &mut self.trail {
            trail.push(Origin { from, listed });
            run.trail = trail.len();
        }
        self.start(run)
    }

    fn walk(&mut self, walk: &Walk, spot: Spot) -> Done {
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
                    self.seen.insert((src, value.item), dst);
                }
                dst
            }
        };
        self.follow(spot, false, Run { item: value.item, src, dst, count: 1, first: 0, trail: 0 })
    }

    /// Where a shared source value has been put. The root is the item 0 at the start of both bodies.
    fn known(&self, src: usize, item: ItemId) -> Option<usize> {
        if (src, item) == (0, 0) { Some(0) } else { self.seen.get(&(src, item)).copied() }
    }

    fn variant(&mut self, variant: &VariantWalk, spot: Spot) -> Done {
        let at = spot.src + variant.src as usize;
        let tag = read_uint(&self.body[at..at + usize::from(variant.src_tag)], self.source.order) as u64;
        let (tag, payload) = match variant.cases.get(&tag) {
            Some(CaseWalk::Known { tag, payload }) => (*tag, *payload),
            Some(CaseWalk::Unknown { name }) => {
                return Err(self.invalid(spot, format!("the case {name}"), "case that the receiver knows"));
            }
            None => return Err(self.invalid(spot, format!("the tag {tag}"), "case of the variant")),
        };
        let at = spot.dst + variant.dst as usize;
        let order = self.target.order;
        write_uint(&mut self.out[at..at + usize::from(variant.dst_tag)], u128::from(tag), order);
        let Some(item) = payload else { return Ok(()) };
        let (src, dst) = (spot.src + variant.src_payload as usize, spot.dst + variant.dst_payload as usize);
        self.follow(spot, false, Run { item, src, dst, count: 1, first: 0, trail: 0 })
    }

    fn items(&mut self, items: &ItemsWalk, spot: Spot) -> Done {
        let item = &self.plan.items[items.item];
        let size = item.program().src_size;
        // The common case, without the lengths of dimensions.
        if let (ItemsFrom::List { at: from }, ItemsTo::List { at: to }) = (&items.from, &items.to) {
            let (src, count) = self.span(spot.src + *from as usize, size, spot)?;
            let dst = self.allocate_items(count, items.item, spot)?;
            self.target.set_span(&mut self.out[spot.dst + *to as usize..], dst, count);
            return self.follow(spot, true, Run { item: items.item, src, dst, count, first: 0, trail: 0 });
        }
        let (src, from) = self.source_items(&items.from, size, spot)?;
        let (dst, to) = self.target_items(items, &from, spot)?;
        if from.contains(&0) {
            return Ok(());
        }
        let run = Run { item: items.item, src, dst, count: 0, first: 0, trail: 0 };
        let from = Shape { lengths: &from, order: items.from_order };
        let to = Shape { lengths: &to, order: items.to_order };
        if from.same_as(to) {
            return self.follow(spot, true, Run { count: to.count(), ..run });
        }
        if let ([from], [to]) = (from.lengths, to.lengths) {
            return self.follow(spot, true, Run { count: *from.min(to), ..run });
        }
        for (first, origin) in origins(from, to).enumerate() {
            let Some(origin) = origin else { continue };
            let (src, dst) = (src + origin * size, dst + first * item.program().dst_size);
            self.follow(spot, true, Run { src, dst, count: 1, first, ..run })?;
        }
        Ok(())
    }

    /// Where the source's items lie, and the lengths of their dimensions.
    fn source_items(
        &mut self,
        from: &ItemsFrom,
        size: usize,
        spot: Spot,
    ) -> Result<(usize, Vec<usize>), Box<DecodeError>> {
        match from {
            ItemsFrom::Place { at, dims } => {
                Ok((spot.src + *at as usize, dims.iter().map(|dim| *dim as usize).collect()))
            }
            ItemsFrom::List { at } => {
                let (at, count) = self.span(spot.src + *at as usize, size, spot)?;
                Ok((at, vec![count]))
            }
            ItemsFrom::Sized { at, dims } => {
                let mut lengths = Vec::with_capacity(dims.len());
                for dim in dims {
                    lengths.push(self.source_length(dim, spot)?);
                }
                if lengths.contains(&0) {
                    return Ok((0, lengths));
                }
                let bytes = lengths.iter().try_fold(size, |bytes, length| bytes.checked_mul(*length));
                let Some(at) = self.reference(spot.src + *at as usize, spot)? else {
                    return Err(self.invalid(spot, "null".into(), "array of the length that its fields say"));
                };
                self.lead_to(at, bytes, spot)?;
                Ok((at, lengths))
            }
        }
    }

    fn source_length(&self, dim: &SourceDim, spot: Spot) -> Result<usize, Box<DecodeError>> {
        let (at, width, signed) = match dim {
            SourceDim::Fixed(length) => return Ok(*length as usize),
            SourceDim::Field { at, width, signed } => (spot.src + *at as usize, usize::from(*width), *signed),
        };
        let bytes = &self.body[at..at + width];
        let length = if signed {
            usize::try_from(read_int(bytes, self.source.order))
                .map_err(|_| read_int(bytes, self.source.order).to_string())
        } else {
            let length = read_uint(bytes, self.source.order);
            usize::try_from(length).map_err(|_| length.to_string())
        };
        length.map_err(|found| self.invalid(spot, found, "length"))
    }

    /// Makes room for the target's items and says how many there are in each dimension.
    fn target_items(
        &mut self,
        items: &ItemsWalk,
        from: &[usize],
        spot: Spot,
    ) -> Result<(usize, Vec<usize>), Box<DecodeError>> {
        match &items.to {
            ItemsTo::Place { at, dims, fill } => {
                let to: Vec<usize> = dims.iter().map(|dim| *dim as usize).collect();
                let too_long = from.iter().zip(&to).find(|(from, to)| from > to);
                if let (Some((from, to)), false) = (too_long, items.cut) {
                    return Err(self.wrong_length(spot, *from, *to));
                }
                let at = spot.dst + *at as usize;
                if let Some(fill) = fill
                    && from.iter().zip(&to).any(|(from, to)| from < to)
                {
                    self.constant(fill, at, spot)?;
                }
                Ok((at, to))
            }
            ItemsTo::List { at } => {
                let count = if from.contains(&0) { 0 } else { from.iter().product() };
                let dst = self.allocate_items(count, items.item, spot)?;
                self.target.set_span(&mut self.out[spot.dst + *at as usize..], dst, count);
                Ok((dst, vec![count]))
            }
            ItemsTo::Sized { at, dims } => {
                let to = self.target_lengths(dims, from, items.cut, spot)?;
                // No longer than the source's in any dimension, unless there are none.
                let count = if to.contains(&0) { 0 } else { to.iter().product() };
                let dst = self.allocate_items(count, items.item, spot)?;
                self.target.set_reference(&mut self.out[spot.dst + *at as usize..], (count > 0).then_some(dst));
                Ok((dst, to))
            }
        }
    }

    /// The lengths of a target that other fields size, written to those fields.
    fn target_lengths(
        &mut self,
        dims: &[TargetDim],
        from: &[usize],
        cut: bool,
        spot: Spot,
    ) -> Result<Vec<usize>, Box<DecodeError>> {
        let is_field = |dim: &TargetDim| matches!(dim, TargetDim::Field { .. });
        let empty = dims.iter().zip(from).any(|(dim, from)| is_field(dim) && *from == 0);
        let mut to = Vec::with_capacity(dims.len());
        for (dim, from) in dims.iter().zip(from) {
            match *dim {
                TargetDim::Fixed(length) => {
                    let length = length as usize;
                    if !empty && *from != length && !(cut && *from > length) {
                        return Err(self.wrong_length(spot, *from, length));
                    }
                    to.push(length);
                }
                TargetDim::Field { at, width, signed, first } => {
                    self.set_length(spot, spot.dst + at as usize, (width, signed), *from, first)?;
                    to.push(*from);
                }
            }
        }
        Ok(to)
    }

    fn set_length(&mut self, spot: Spot, at: usize, (width, signed): (u8, bool), length: usize, first: bool) -> Done {
        let bits = 8 * u32::from(width) - u32::from(signed);
        if bits < 128 && (length as u128) >> bits != 0 {
            let value = format!("a length of {length}");
            return Err(self
                .error(spot, DecodeError::OutOfRange { path: String::new(), value, wanted: format!("{bits} bits") }));
        }
        let order = self.target.order;
        let place = &mut self.out[at..at + usize::from(width)];
        if first {
            write_uint(place, length as u128, order);
            return Ok(());
        }
        let there = read_uint(place, order) as usize;
        if there == length { Ok(()) } else { Err(self.wrong_length(spot, length, there)) }
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
        self.out[end..at].fill(0);
        Ok(at)
    }

    fn too_long(&self, spot: Spot, found: u64) -> Box<DecodeError> {
        let limit = self.most as u64;
        self.error(spot, DecodeError::Limit { path: String::new(), found, limit, name: "body_bytes" })
    }

    fn wrong_length(&self, spot: Spot, found: usize, wanted: usize) -> Box<DecodeError> {
        let (value, wanted) = (format!("a length of {found}"), format!("the receiver's {wanted}"));
        self.error(spot, DecodeError::OutOfRange { path: String::new(), value, wanted })
    }

    fn invalid(&self, spot: Spot, found: String, wanted: &'static str) -> Box<DecodeError> {
        self.error(spot, DecodeError::Invalid { path: String::new(), found, wanted })
    }

    fn error(&self, spot: Spot, error: DecodeError) -> Box<DecodeError> {
        Box::new(error.within(&self.path_of(spot)))
    }

    /// What a kernel failed at: found again in the plainest way, which says more.
    fn kernel_error(&self, run: Run, number: usize) -> Box<DecodeError> {
        let program = self.plan.items[run.item].program();
        let src = &self.body[run.src + number * program.src_size..][..program.src_size];
        let mut scratch = vec![0; program.dst_size];
        let failed = locate::run(program, src, &mut scratch).expect_err("a kernel fails where its program does");
        let error = match failed.kind {
            StepErrorKind::OutOfRange { value, wanted } => {
                DecodeError::OutOfRange { path: String::new(), value, wanted }
            }
            StepErrorKind::Unknown { value } => DecodeError::Invalid {
                path: String::new(),
                found: value,
                wanted: "value of the enumeration that the receiver knows",
            },
            StepErrorKind::Absent => DecodeError::Absent { path: String::new() },
        };
        let place = self.run_path(run.trail, run.first + number);
        let within = with_indices(&program.paths[failed.path as usize], &failed.indices);
        Box::new(error.within(&join(&place, &within)))
    }

    fn path_of(&self, spot: Spot) -> String {
        join(&self.run_path(spot.trail, spot.index), &self.plan.items[spot.item].program().paths[spot.path as usize])
    }

    /// The path of an item of a run.
    fn run_path(&self, trail: usize, index: usize) -> String {
        let Some(origins) = &self.trail else { return String::new() };
        let (mut trail, mut index) = (trail, index);
        let mut parts = Vec::new();
        while let Some(origin) = trail.checked_sub(1).map(|trail| &origins[trail]) {
            if parts.len() == SHOWN_PARTS {
                parts.push("...".to_owned());
                break;
            }
            let field = &self.plan.items[origin.from.item].program().paths[origin.from.path as usize];
            parts.push(if origin.listed { format!("{field}[{index}]") } else { field.clone() });
            (trail, index) = (origin.from.trail, origin.from.index);
        }
        parts.iter().rev().fold(String::new(), |path, part| join(&path, part))
    }
}

/// Puts indices into the brackets of a path: `[]`, or `[+n]` where counting begins at n.
fn with_indices(path: &str, indices: &[usize]) -> String {
    let mut indices = indices.iter();
    let mut result = String::new();
    let mut rest = path;
    while let Some((before, (inside, after))) =
        rest.split_once('[').and_then(|(before, rest)| Some((before, rest.split_once(']')?)))
    {
        let first: usize = inside.strip_prefix('+').and_then(|first| first.parse().ok()).unwrap_or(0);
        let index = first + indices.next().copied().unwrap_or(0);
        result.push_str(&format!("{before}[{index}]"));
        rest = after;
    }
    result + rest
}
