//! Arrays and lists: which source item becomes which target item.

use super::build::{Builder, Draft, TypePair};
use super::steps::{Action, ItemsFrom, ItemsTo, ItemsWalk, SourceDim, TargetDim};
use super::template::{Template, zero_is_valid};
use crate::kernel::program::Instruction;
use crate::{Dim, Field, Order, Type};

/// The lengths and the element order of an array.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape<'a> {
    pub(super) lengths: &'a [usize],
    pub(super) order: Order,
}

impl Shape<'_> {
    /// The number of an element by its indices; `None` when it has no such element.
    fn number(&self, indices: &[usize]) -> Option<usize> {
        let inside = indices.iter().zip(self.lengths).all(|(index, length)| index < length);
        let add = |number: usize, (index, length): (&usize, &usize)| number * length + index;
        let pairs = indices.iter().zip(self.lengths);
        inside.then(|| match self.order {
            Order::Row => pairs.fold(0, add),
            Order::Column => pairs.rev().fold(0, add),
        })
    }

    /// The next element in memory.
    fn advance(&self, indices: &mut [usize]) {
        let step = |(index, length): (&mut usize, &usize)| {
            *index = (*index + 1) % length;
            *index != 0
        };
        let mut pairs = indices.iter_mut().zip(self.lengths);
        match self.order {
            Order::Row => pairs.rev().any(step),
            Order::Column => pairs.any(step),
        };
    }

    /// How many elements there are. The caller has checked that they can be counted.
    pub(super) fn count(&self) -> usize {
        self.lengths.iter().product()
    }

    /// Whether elements with the same number have the same indices.
    pub(super) fn same_as(&self, other: Shape<'_>) -> bool {
        self.lengths == other.lengths
            && (self.order == other.order || self.lengths.iter().filter(|length| **length > 1).count() <= 1)
    }
}

/// For each element of `target`, in memory order, the number of the same element in `source`.
pub(super) fn origins<'a>(source: Shape<'a>, target: Shape<'a>) -> impl Iterator<Item = Option<usize>> + 'a {
    let mut indices = vec![0; target.lengths.len()];
    (0..target.count()).map(move |_| {
        let origin = source.number(&indices);
        target.advance(&mut indices);
        origin
    })
}

/// Target elements that are treated alike.
enum Group {
    /// From source elements that follow each other.
    Run { first: usize, from: usize, count: usize },
    /// From source elements in any order.
    Scattered { first: usize, from: Vec<u32> },
    /// From no source element.
    Lacking { first: usize, count: usize },
}

/// Most items of a fixed array whose places change one by one: the plan remembers each. A short description can ask for
/// thousands of millions.
const MOST_REORDERED: usize = 1 << 20;

fn groups(source: Shape<'_>, target: Shape<'_>) -> Vec<Group> {
    if source.same_as(target) {
        return vec![Group::Run { first: 0, from: 0, count: target.count() }];
    }
    let mut groups: Vec<Group> = Vec::new();
    for (number, origin) in origins(source, target).enumerate() {
        match (origin, groups.last_mut()) {
            (None, Some(Group::Lacking { count, .. })) => *count += 1,
            (None, _) => groups.push(Group::Lacking { first: number, count: 1 }),
            (Some(origin), Some(Group::Scattered { from, .. })) => from.push(origin as u32),
            (Some(origin), _) => groups.push(Group::Scattered { first: number, from: vec![origin as u32] }),
        }
    }
    groups.into_iter().map(straighten).collect()
}

/// Makes a run of what is one.
fn straighten(group: Group) -> Group {
    match group {
        Group::Scattered { first, from } if from.windows(2).all(|pair| pair[0] + 1 == pair[1]) => {
            Group::Run { first, from: from[0] as usize, count: from.len() }
        }
        other => other,
    }
}

impl Builder<'_> {
    /// Fixed arrays whose items the kernel converts.
    pub(super) fn flat_array(&mut self, draft: &mut Draft, pair: TypePair<'_>) {
        let (
            Type::Array { item: source, dims: s_dims, order: s_order },
            Type::Array { item: target, dims: d_dims, order: d_order },
        ) = (pair.source, pair.target)
        else {
            return;
        };
        if !self.lengths_allow(draft, pair, s_dims, d_dims) {
            return;
        }
        let (s_lengths, d_lengths) = (lengths(s_dims), lengths(d_dims));
        let (from, to) =
            (Shape { lengths: &s_lengths, order: *s_order }, Shape { lengths: &d_lengths, order: *d_order });
        if !from.same_as(to) && to.count() > MOST_REORDERED {
            self.wrong(draft, format!("more than {MOST_REORDERED} items of a fixed array would change their places"));
            return;
        }
        let groups = groups(from, to);
        let fill = if groups.iter().any(|group| matches!(group, Group::Lacking { .. })) {
            let Some(fill) = self.fill_bytes(draft, pair, target) else { return };
            fill
        } else {
            Vec::new()
        };
        let (s_size, d_size) = (self.source.size_of(source) as u32, self.target_size(target));
        for group in groups {
            let (first, from, count) = match &group {
                Group::Run { first, from, count } => (*first, *from, *count),
                Group::Scattered { first, from } => (*first, 0, from.len()),
                Group::Lacking { first, count } => (*first, 0, *count),
            };
            let (src, dst) = (pair.src + from as u32 * s_size, pair.dst + first as u32 * d_size);
            let item = TypePair { source, src, target, dst, default: None };
            let index = if first == 0 { "[]".to_owned() } else { format!("[+{first}]") };
            draft.at(&index, |draft| match group {
                Group::Lacking { .. } => {
                    let at = first * d_size as usize;
                    draft.fill(dst, fill[at..at + count * d_size as usize].to_vec());
                }
                Group::Run { .. } => {
                    if !self.numbers(draft, item, count as u32) {
                        let steps = draft.steps_of(|draft| self.place(draft, TypePair { src: 0, dst: 0, ..item }));
                        let (src_stride, dst_stride) = (s_size, d_size);
                        draft.steps.push(Instruction::Repeat {
                            src,
                            dst,
                            count: count as u32,
                            src_stride,
                            dst_stride,
                            steps,
                        });
                    }
                }
                Group::Scattered { from, .. } => {
                    let steps = draft.steps_of(|draft| self.place(draft, TypePair { src: 0, dst: 0, ..item }));
                    let (order, src_stride, dst_stride) = (from.into(), s_size, d_size);
                    draft.steps.push(Instruction::Permute { src, dst, order, src_stride, dst_stride, steps });
                }
            });
        }
    }

    /// The bytes of a whole target array that has items the source lacks: its default, those of its items' fields, or zeros.
    fn fill_bytes(&mut self, draft: &mut Draft, pair: TypePair<'_>, item: &Type) -> Option<Vec<u8>> {
        if let Some(value) = pair.default {
            return self.template(draft, pair.target, value).map(|template| template.fixed);
        }
        match self.unset_items(draft, pair, item)? {
            Some(template) => Some(template.fixed),
            None => Some(vec![0; self.target_size(pair.target) as usize]),
        }
    }

    /// The target array with the defaults of the fields of its items; the inner `None` where there are none, and zeros
    /// will do.
    fn unset_items(&mut self, draft: &Draft, pair: TypePair<'_>, item: &Type) -> Option<Option<Template>> {
        let template = match Template::unset(self.target, pair.target) {
            Ok(None) if !zero_is_valid(self.target, item) => Err("its items need a default".to_owned()),
            other => other,
        };
        template.map_err(|why| self.wrong(draft, format!("the sender's array may be shorter, and {why}"))).ok()
    }

    /// Whether fixed arrays have lengths that can be converted.
    fn lengths_allow(&mut self, draft: &mut Draft, pair: TypePair<'_>, source: &[u32], target: &[u32]) -> bool {
        if source.len() != target.len() {
            self.mismatch(draft, pair);
            return false;
        }
        if source.iter().zip(target).any(|(source, target)| source > target) {
            if !self.options.cut_arrays {
                self.wrong(draft, format!("the sender's array {source:?} is longer than {target:?}; ask for cutting"));
                return false;
            }
            self.lossy(draft, "the array is cut");
        }
        true
    }

    /// Arrays and lists that a walk converts.
    pub(super) fn items(&mut self, draft: &mut Draft, pair: TypePair<'_>) {
        if let (Type::Array { dims: source, .. }, Type::Array { dims: target, .. }) = (pair.source, pair.target)
            && !self.lengths_allow(draft, pair, source, target)
        {
            return;
        }
        let (Some(source_item), Some(target_item)) = (pair.source.item(), pair.target.item()) else { return };
        if rank(pair.source) != rank(pair.target) {
            return self.mismatch(draft, pair);
        }
        let (Some(from), Some(to)) = (self.items_from(draft, pair), self.items_to(draft, pair, target_item)) else {
            return;
        };
        draft.zero(pair.dst, self.target_size(pair.target));
        let item = draft.at("[]", |draft| self.item(source_item, target_item, draft));
        draft.walk(Action::Items(Box::new(ItemsWalk {
            from,
            from_order: order(pair.source),
            to,
            to_order: order(pair.target),
            item,
            cut: self.options.cut_arrays,
        })));
    }

    fn items_from(&mut self, draft: &Draft, pair: TypePair<'_>) -> Option<ItemsFrom> {
        let at = pair.src;
        Some(match pair.source {
            Type::Array { dims, .. } => ItemsFrom::Place { at, dims: dims.clone() },
            Type::Sized { dims, .. } => {
                let Some((record, base)) = draft.frame.map(|frame| frame.source) else {
                    self.mismatch(draft, pair);
                    return None;
                };
                let fields = &self.source.record(record).fields;
                let dims = dims.iter().map(|dim| match dim {
                    Dim::Fixed(length) => SourceDim::Fixed(*length),
                    Dim::Field(number) => {
                        let (offset, width, signed) = length_field(&fields[usize::from(*number)]);
                        SourceDim::Field { at: base + offset, width, signed }
                    }
                });
                ItemsFrom::Sized { at, dims: dims.collect() }
            }
            _ => ItemsFrom::List { at },
        })
    }

    fn items_to(&mut self, draft: &mut Draft, pair: TypePair<'_>, item: &Type) -> Option<ItemsTo> {
        let at = pair.dst;
        Some(match pair.target {
            Type::Array { dims, .. } => {
                let may_lack = !matches!(pair.source, Type::Array { dims: source, .. } if source == dims);
                if may_lack && !matches!(pair.source, Type::Array { .. }) {
                    self.lossy(draft, "the array may be longer than the receiver's");
                }
                let fill = match pair.default {
                    Some(value) if may_lack => Some(Box::new(self.template(draft, pair.target, value)?)),
                    None if may_lack => self.unset_items(draft, pair, item)?.map(Box::new),
                    _ => None,
                };
                ItemsTo::Place { at, dims: dims.clone(), fill }
            }
            Type::Sized { dims, .. } => {
                let Some((record, base)) = draft.frame.map(|frame| frame.target) else {
                    self.mismatch(draft, pair);
                    return None;
                };
                let fields = &self.target.record(record).fields;
                let mut to = Vec::with_capacity(dims.len());
                for dim in dims {
                    to.push(match dim {
                        Dim::Fixed(length) => TargetDim::Fixed(*length),
                        Dim::Field(number) => {
                            let (offset, width, signed) = length_field(&fields[usize::from(*number)]);
                            let first = draft.lengths.insert(base + offset);
                            TargetDim::Field { at: base + offset, width, signed, first }
                        }
                    });
                }
                ItemsTo::Sized { at, dims: to }
            }
            _ => ItemsTo::List { at },
        })
    }
}

fn length_field(field: &Field) -> (u32, u8, bool) {
    match field.ty {
        Type::Int { width, signed } => (field.offset, width, signed),
        _ => unreachable!("formats admit only integers as lengths"),
    }
}

fn lengths(dims: &[u32]) -> Vec<usize> {
    dims.iter().map(|dim| *dim as usize).collect()
}

fn rank(ty: &Type) -> usize {
    match ty {
        Type::Array { dims, .. } => dims.len(),
        Type::Sized { dims, .. } => dims.len(),
        _ => 1,
    }
}

fn order(ty: &Type) -> Order {
    match ty {
        Type::Array { order, .. } | Type::Sized { order, .. } => *order,
        _ => Order::Row,
    }
}
