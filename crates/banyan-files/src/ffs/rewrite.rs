//! Carries out a [`Plan`]: one foreign record becomes one body.
//!
//! Whatever references lead to is copied behind the fixed part, each thing to a place of its own; only what *pointers*
//! lead to stays shared. So the body keeps the rule that a byte belongs to one owner, even where the writer let two
//! arrays share theirs. The walk follows references with a list of things to do, not by recursion, and stops when the
//! body outgrows a fixed multiple of the record.

use std::collections::{HashMap, HashSet};

use super::description::FloatForm;
use super::plan::{ItemSteps, Length, Plan, Step};
use banyan_ndr::wire::{read_int, read_uint, write_uint};
use banyan_ndr::{Buffer, ByteOrder, DecodeError, Limits};

/// Bodies may be this many times as long as their foreign records, plus [`SLACK`]. Without sharing, alignment and the
/// counts of lists make at most three times; the rest is for what writers let several owners share.
const GROWTH: usize = 16;

/// See [`GROWTH`].
const SLACK: usize = 4096;

/// Rewrites the record in `source`, which begins with its fixed part.
pub(super) fn rewrite(plan: &Plan, source: &[u8], limits: &Limits) -> Result<Buffer, DecodeError> {
    let root = &plan.blocks[0];
    if source.len() < root.size {
        return Err(DecodeError::Size { found: source.len(), wanted: root.size });
    }
    let longest = source.len().saturating_mul(GROWTH).saturating_add(SLACK);
    let mut rewriting = Rewriting {
        plan,
        source,
        body: Buffer::new(),
        longest: longest.min(limits.body_bytes).min(plan.slots.most()),
        shared: HashMap::new(),
        todo: Vec::new(),
    };
    rewriting.allocate(root.align, root.size, 0)?;
    rewriting.todo.push(Items { item: 0, from: 0, to: 0, count: 1, parent: 0 });
    while let Some(items) = rewriting.todo.pop() {
        rewriting.items(items)?;
    }
    Ok(rewriting.body)
}

/// Items whose place in the body is set and whose bytes lie in the record; their contents are still to be written.
#[derive(Clone, Copy)]
struct Items {
    /// Their block.
    item: usize,
    from: usize,
    to: usize,
    count: usize,
    /// The record they belong to, which may count arrays in them.
    parent: usize,
}

/// What a pointer leads to: the same one is written once.
#[derive(PartialEq, Eq, Hash)]
struct Target {
    at: usize,
    item: usize,
    /// 0 for records: the same bytes are the same record whoever refers to them.
    parent: usize,
}

struct Rewriting<'r> {
    plan: &'r Plan,
    source: &'r [u8],
    body: Buffer,
    /// Bytes the body may have.
    longest: usize,
    /// Where in the body the targets of pointers are.
    shared: HashMap<Target, usize>,
    todo: Vec<Items>,
}

impl Rewriting<'_> {
    /// Writes items and all that lies within them. Recursive, but only as deep as the format is nested in place.
    fn items(&mut self, items: Items) -> Result<(), DecodeError> {
        let plan = self.plan;
        let block = &plan.blocks[items.item];
        if block.is_solid() {
            self.copy(items.from, items.to, items.count * block.size);
            return Ok(());
        }
        for index in 0..items.count {
            let (from, to) = (items.from + index * block.foreign_size, items.to + index * block.size);
            let parent = if block.is_record { from } else { items.parent };
            let mut has_null = false;
            for step in &block.steps {
                self.step(step, from, to, parent)?;
                has_null |= matches!(step, Step::Counted { at, as_list: false, .. } if self.is_null(from + at));
            }
            if has_null {
                self.empty_null_arrays(block, from, to)?;
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, from: usize, to: usize, parent: usize) -> Result<(), DecodeError> {
        match *step {
            Step::Copy { at, len } => self.copy(from + at, to + at, len),
            Step::Bool { at, width } => {
                let value = self.source[from + at..][..width].iter().any(|byte| *byte != 0);
                write_uint(&mut self.body[to + at..][..width], value.into(), self.plan.slots.order);
            }
            Step::Float { at, width } => {
                self.copy(from + at, to + at, width);
                reorder(&mut self.body[to + at..][..width], self.plan.floats, self.plan.slots.order);
            }
            Step::LongDouble { at, width, form } => {
                let double = form.to_f64(&self.source[from + at..][..width], self.plan.floats);
                write_uint(&mut self.body[to + at..][..8], double.to_bits().into(), self.plan.slots.order);
            }
            Step::Text { at, path } => self.text(from + at, to + at, path)?,
            Step::Pointer { at, item, path } => self.pointer(from + at, to + at, item, parent, path)?,
            Step::Counted { at, item, ref lengths, as_list, path } => {
                let count = self.count(lengths, parent, path)?;
                let listed = if as_list { Some(self.count(&lengths[..1], parent, path)?) } else { None };
                self.counted(from + at, to + at, Items { item, from: 0, to: 0, count, parent }, listed, path)?;
            }
            Step::Inline { at, item, count } => {
                self.items(Items { item, from: from + at, to: to + at, count, parent })?;
            }
        }
        Ok(())
    }

    fn copy(&mut self, from: usize, to: usize, len: usize) {
        self.body[to..to + len].copy_from_slice(&self.source[from..from + len]);
    }

    fn text(&mut self, from: usize, to: usize, path: usize) -> Result<(), DecodeError> {
        let Some(target) = self.target(from, path)? else { return Ok(()) };
        let tail = &self.source[target..];
        let Some(end) = tail.iter().position(|byte| *byte == 0) else {
            return Err(self.out_of_bounds(target, tail.len() + 1, path));
        };
        let place = self.allocate(1, end + 1, path)?;
        self.copy(target, place, end);
        self.refer(to, place);
        Ok(())
    }

    fn pointer(&mut self, from: usize, to: usize, item: usize, parent: usize, path: usize) -> Result<(), DecodeError> {
        let Some(target) = self.target(from, path)? else { return Ok(()) };
        let block = &self.plan.blocks[item];
        if item == 0 && target < block.size {
            // Writers cannot say 0 for the root; they say the length of the header, which lies within it.
            self.refer(to, 0);
            return Ok(());
        }
        let key = Target { at: target, item, parent: if block.is_record { 0 } else { parent } };
        let place = match self.shared.get(&key) {
            Some(place) => *place,
            None => {
                let place = self.place(block, target, 1, path)?;
                self.shared.insert(key, place);
                self.todo.push(Items { item, from: target, to: place, count: 1, parent });
                place
            }
        };
        self.refer(to, place);
        Ok(())
    }

    /// Writes an array of `items` for the reference at `from`; when `listed`, with a span of that many before it.
    fn counted(
        &mut self,
        from: usize,
        mut to: usize,
        mut items: Items,
        listed: Option<usize>,
        path: usize,
    ) -> Result<(), DecodeError> {
        let target = self.target(from, path)?;
        if let (Some(listed), Some(_)) = (listed, target) {
            let width = self.plan.slots.pointer.bytes();
            let span = self.allocate(width, 2 * width, path)?;
            self.refer(to, span);
            to = span;
            write_uint(&mut self.body[span + width..][..width], listed as u128, self.plan.slots.order);
        }
        // A null array of the record itself gets a length of 0, once all lengths are written.
        if let Some(target) = target
            && items.count > 0
        {
            items.from = target;
            items.to = self.place(&self.plan.blocks[items.item], target, items.count, path)?;
            self.refer(to, items.to);
            self.todo.push(items);
        }
        Ok(())
    }

    /// Gives null arrays of a record a length of 0, whatever their length fields say: the writer's program has no items
    /// there. An error where a field says the length of others, too, that have items.
    fn empty_null_arrays(&mut self, block: &ItemSteps, from: usize, to: usize) -> Result<(), DecodeError> {
        let arrays = block.steps.iter().filter_map(|step| match step {
            Step::Counted { at, lengths, as_list: false, path, .. } => Some((from + at, lengths, *path)),
            _ => None,
        });
        let (null, others): (Vec<_>, Vec<_>) = arrays.partition(|(slot, ..)| self.is_null(*slot));
        let needed: HashSet<Length> = others.iter().flat_map(|(_, lengths, _)| lengths.iter().copied()).collect();
        for (_, lengths, path) in null {
            if self.count(lengths, from, path)? == 0 {
                continue;
            }
            let free = lengths.iter().find_map(|length| match *length {
                Length::Field { at, width, .. } if !needed.contains(length) => Some((at, width)),
                _ => None,
            });
            let Some((at, width)) = free else {
                return Err(self.invalid("a null pointer", "array of the length that its fields say", path));
            };
            self.body[to + at..][..width].fill(0);
        }
        Ok(())
    }

    /// Whether a reference leads nowhere.
    fn is_null(&self, from: usize) -> bool {
        self.source[from..][..self.plan.slots.pointer.bytes()].iter().all(|byte| *byte == 0)
    }

    /// Reads a reference, which counts from the start of the record, 0 being null.
    fn target(&self, from: usize, path: usize) -> Result<Option<usize>, DecodeError> {
        let slots = self.plan.slots;
        let stored = read_uint(&self.source[from..][..slots.pointer.bytes()], slots.order) as u64;
        match usize::try_from(stored) {
            Ok(0) => Ok(None),
            Ok(target) if target < self.source.len() => Ok(Some(target)),
            _ => Err(DecodeError::OutOfBounds {
                path: self.path(path),
                target: stored,
                count: 1,
                body: self.source.len(),
            }),
        }
    }

    /// The product of lengths that fields of the record at `parent` say.
    fn count(&self, lengths: &[Length], parent: usize, path: usize) -> Result<usize, DecodeError> {
        let mut count = 1_usize;
        for length in lengths {
            let length = match *length {
                Length::Fixed(len) => i128::from(len),
                Length::Field { at, width, signed } => {
                    let bytes = &self.source[parent + at..][..width];
                    let order = self.plan.slots.order;
                    if signed { read_int(bytes, order) } else { read_uint(bytes, order) as i128 }
                }
            };
            let product = usize::try_from(length).ok().and_then(|length| count.checked_mul(length));
            count =
                product.ok_or_else(|| self.invalid(&format!("a length of {length}"), "length of an array", path))?;
        }
        Ok(count)
    }

    /// Checks that the record has `count` items at `from`, and makes room for them.
    fn place(&mut self, block: &ItemSteps, from: usize, count: usize, path: usize) -> Result<usize, DecodeError> {
        let len = block.foreign_size.saturating_mul(count);
        if len > self.source.len() - from {
            return Err(self.out_of_bounds(from, len, path));
        }
        self.allocate(block.align, block.size * count, path)
    }

    /// Makes room at the end of the body, filled with zeros.
    fn allocate(&mut self, align: usize, len: usize, path: usize) -> Result<usize, DecodeError> {
        let place = self.body.len().next_multiple_of(align);
        match place.checked_add(len).filter(|end| *end <= self.longest) {
            Some(end) => self.body.set_len(end),
            None => {
                return Err(DecodeError::Overlap { path: self.path(path), body: self.source.len() });
            }
        }
        Ok(place)
    }

    fn refer(&mut self, at: usize, place: usize) {
        self.plan.slots.set_reference(&mut self.body[at..], Some(place));
    }

    fn path(&self, path: usize) -> String {
        self.plan.paths.get(path).cloned().unwrap_or_default()
    }

    fn out_of_bounds(&self, target: usize, count: usize, path: usize) -> DecodeError {
        DecodeError::OutOfBounds {
            path: self.path(path),
            target: target as u64,
            count: count as u64,
            body: self.source.len(),
        }
    }

    fn invalid(&self, found: &str, wanted: &'static str, path: usize) -> DecodeError {
        DecodeError::Invalid { path: self.path(path), found: found.into(), wanted }
    }
}

/// Puts the bytes of a floating-point number into the order of integers.
fn reorder(bytes: &mut [u8], form: FloatForm, order: ByteOrder) {
    match form {
        FloatForm::Big => bytes.reverse(),
        FloatForm::Mixed if bytes.len() == 8 => bytes.rotate_left(4),
        FloatForm::Mixed | FloatForm::Little => {}
    }
    if order == ByteOrder::Big {
        bytes.reverse();
    }
}
