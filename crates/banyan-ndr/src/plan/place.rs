//! How a value in one place becomes a value in another: the rules for each pair of types.

use std::collections::BTreeMap;

use super::build::{Builder, Draft, TypePair};
use super::matching::case_name;
use super::numbers::NumberConversion;
use super::steps::{Action, CaseWalk, Otherwise, Payload, Text, TextKind, ValueFrom, ValueTo, ValueWalk, VariantWalk};
use crate::kernel::program::Instruction;
use crate::{Case, DefId, EnumerationDef, Type, Value, VariantDef};

impl Builder<'_> {
    /// Adds what converts `pair`. The steps write every byte of the target place.
    pub(super) fn place(&mut self, draft: &mut Draft, pair: TypePair<'_>) {
        if self.numbers(draft, pair, 1) {
            return;
        }
        match (pair.source, pair.target) {
            (Type::Record(s), Type::Record(d)) => self.record(draft, (*s, pair.src), (*d, pair.dst)),
            (Type::Variant(_), Type::Variant(_)) if self.is_flat(pair.source, pair.target) => {
                let len = self.target_size(pair.target);
                draft.steps.push(Instruction::Copy { src: pair.src, dst: pair.dst, len });
            }
            (Type::Variant(s), Type::Variant(d)) => self.variant(draft, pair, self.source.variant(*s), *d),
            (Type::Enum(s), Type::Variant(d)) => {
                self.variant(draft, pair, &without_data(self.source.enumeration(*s)), *d);
            }
            (Type::Optional { .. }, _) if self.is_flat(pair.source, pair.target) => self.flat_optional(draft, pair),
            (Type::Optional { item, value_at, .. }, _) => {
                let from = ValueFrom::Flagged { flag: pair.src, at: pair.src + value_at };
                self.value(draft, pair, from, item);
            }
            (Type::Ref { item, .. }, _) => self.value(draft, pair, ValueFrom::Pointer { at: pair.src }, item),
            (Type::CStr, Type::Optional { .. } | Type::Ref { .. }) => {
                self.value(draft, pair, ValueFrom::IfSet { at: pair.src }, pair.source);
            }
            (_, Type::Optional { item, value_at, size }) => {
                draft.fill(pair.dst, vec![1]);
                self.optional_value(draft, TypePair { target: item, ..pair }, *value_at, *size);
            }
            (_, Type::Ref { .. }) => self.value(draft, pair, ValueFrom::Place { at: pair.src }, pair.source),
            (Type::Array { .. }, Type::Array { .. }) if self.is_flat(pair.source, pair.target) => {
                self.flat_array(draft, pair);
            }
            (
                Type::Array { .. } | Type::List { .. } | Type::Sized { .. },
                Type::Array { .. } | Type::List { .. } | Type::Sized { .. },
            ) => self.items(draft, pair),
            _ => self.text(draft, pair),
        }
    }

    /// `count` numbers, one behind the other. False when the types are no numbers.
    pub(super) fn numbers(&mut self, draft: &mut Draft, pair: TypePair<'_>, count: u32) -> bool {
        match NumberConversion::between((self.source, pair.source), (self.target, pair.target), &mut self.renumberings)
        {
            None => return false,
            Some(Err(why)) => self.wrong(draft, why),
            Some(Ok(conversion)) => {
                if let Some(loss) = &conversion.loss {
                    self.lossy(draft, loss.clone());
                }
                let step = conversion.step(pair.src, pair.dst, count, self.options.loss, || draft.path_index());
                draft.steps.push(step);
            }
        }
        true
    }

    /// The value of an optional target and the bytes around it; `pair.target` is the type of the value.
    fn optional_value(&mut self, draft: &mut Draft, pair: TypePair<'_>, value_at: u32, size: u32) {
        let end = value_at + self.target_size(pair.target);
        draft.zero(pair.dst + 1, value_at - 1);
        self.place(draft, TypePair { dst: pair.dst + value_at, default: None, ..pair });
        draft.zero(pair.dst + end, size - end);
    }

    /// An optional source whose value the kernel converts.
    fn flat_optional(&mut self, draft: &mut Draft, pair: TypePair<'_>) {
        let Type::Optional { item, value_at, .. } = pair.source else { return };
        let present = TypePair { source: item, src: pair.src + value_at, default: None, ..pair };
        let size = self.target_size(pair.target) as usize;
        let otherwise = match pair.target {
            Type::Optional { .. } => vec![0; size],
            _ => match pair.default {
                Some(value) => match self.template(draft, pair.target, value) {
                    Some(template) => template.fixed,
                    None => return,
                },
                None => {
                    self.lossy(draft, "may be absent, but the receiver needs it");
                    let path = draft.path_index();
                    draft.steps.push(Instruction::Require { src: pair.src, path });
                    return self.place(draft, present);
                }
            },
        };
        let steps = draft.steps_of(|draft| match pair.target {
            Type::Optional { item, value_at, size } => {
                draft.fill(pair.dst, vec![1]);
                self.optional_value(draft, TypePair { target: item, ..present }, *value_at, *size);
            }
            _ => self.place(draft, present),
        });
        draft.steps.push(Instruction::IfPresent { src: pair.src, dst: pair.dst, otherwise: otherwise.into(), steps });
    }

    /// A value that the kernel cannot reach, or that it must not write: behind a pointer, or in an optional with
    /// references in it.
    fn value(&mut self, draft: &mut Draft, pair: TypePair<'_>, from: ValueFrom, source_item: &Type) {
        let (to, target_item) = match pair.target {
            Type::Optional { item, value_at, .. } => {
                (ValueTo::Flagged { flag: pair.dst, at: pair.dst + value_at }, &**item)
            }
            Type::Ref { item, shared, .. } => (ValueTo::Pointer { at: pair.dst, shared: *shared }, &**item),
            other => (ValueTo::Place { at: pair.dst }, other),
        };
        let may_lack = match (&from, pair.source) {
            (ValueFrom::Place { .. }, _) => false,
            (_, Type::Ref { nullable, .. }) => *nullable,
            _ => true,
        };
        if let (Type::Ref { shared: true, .. }, false) =
            (pair.source, matches!(pair.target, Type::Ref { shared: true, .. }))
        {
            self.lossy(draft, "what is shared becomes copies");
        }
        let Some(otherwise) = self.otherwise(draft, pair, may_lack) else { return };
        draft.zero(pair.dst, self.target_size(pair.target));
        let item = self.item(source_item, target_item, draft);
        draft.walk(Action::Value(Box::new(ValueWalk { from, to, item, otherwise })));
    }

    /// What stands for a value that is not there; `None` when the default is wrong.
    fn otherwise(&mut self, draft: &mut Draft, pair: TypePair<'_>, may_lack: bool) -> Option<Otherwise> {
        if pair.target.may_be_null() {
            return Some(Otherwise::Null);
        }
        if let Some(value) = pair.default {
            let template = self.template(draft, pair.target, value)?;
            return Some(Otherwise::Constant(Box::new(template)));
        }
        if may_lack {
            self.lossy(draft, "may be absent, but the receiver needs it");
        }
        Some(Otherwise::Error)
    }

    fn text(&mut self, draft: &mut Draft, pair: TypePair<'_>) {
        let (from, to) = match (text_kind(pair.source), text_kind(pair.target)) {
            (Some(from), Some(to)) if (from == TextKind::Bytes) == (to == TextKind::Bytes) => (from, to),
            _ => return self.mismatch(draft, pair),
        };
        match (from, to) {
            (TextKind::Str, TextKind::CStr) => self.lossy(draft, "text with a NUL is no C string"),
            (TextKind::CStr, TextKind::Str) => self.lossy(draft, "a C string need not be UTF-8"),
            _ => {}
        }
        let Some(otherwise) = self.otherwise(draft, pair, from == TextKind::CStr) else { return };
        draft.zero(pair.dst, self.target_size(pair.target));
        draft.walk(Action::Text(Text { src: pair.src, from, dst: pair.dst, to, otherwise }));
    }

    pub(super) fn mismatch(&mut self, draft: &Draft, pair: TypePair<'_>) {
        let (from, to) = (self.source.type_name(pair.source), self.target.type_name(pair.target));
        self.wrong(draft, format!("{from} does not become {to}"));
    }

    fn variant(&mut self, draft: &mut Draft, pair: TypePair<'_>, from: &VariantDef, d: DefId) {
        let size = self.target_size(pair.target);
        let (to, options) = (self.target.variant(d), self.options);
        let mut cases = BTreeMap::new();
        for case in &from.cases {
            let name = case_name(from, case, options);
            let Some(known) = self.target.case_of(d, name) else {
                self.lossy(draft, format!("the receiver does not know the case {name}"));
                cases.insert(case.tag, CaseWalk::Unknown { name: case.name.clone() });
                continue;
            };
            let payload = draft.at(name, |draft| match (&case.payload, &known.payload) {
                (Some(s), Some(d)) => Some(Payload::Item(self.item(s, d, draft))),
                (Some(_), None) => {
                    self.lossy(draft, "the receiver's case carries nothing");
                    None
                }
                (None, Some(d)) => match self.target.unspoken_payload(known) {
                    Some(Value::Null) => None,
                    Some(value) => {
                        let template = self.template(draft, d, &value);
                        template.map(|template| Payload::Constant(Box::new(template)))
                    }
                    None => {
                        self.missing(draft);
                        None
                    }
                },
                (None, None) => None,
            });
            cases.insert(case.tag, CaseWalk::Known { tag: known.tag, payload });
        }
        draft.zero(pair.dst, size);
        draft.walk(Action::Variant(Box::new(VariantWalk {
            src: pair.src,
            src_tag: from.tag_width,
            src_payload: pair.src + from.payload_at,
            dst: pair.dst,
            dst_tag: to.tag_width,
            dst_payload: pair.dst + to.payload_at,
            cases,
        })));
    }
}

/// An enumeration as the variant that it becomes when one of its cases gets data: tags for numbers, and no payloads.
fn without_data(enumeration: &EnumerationDef) -> VariantDef {
    let width = u32::from(enumeration.width);
    let bits = u64::MAX >> (64 - 8 * width);
    let case = |(name, value): &(String, i128)| Case { name: name.clone(), tag: *value as u64 & bits, payload: None };
    VariantDef {
        name: enumeration.name.clone(),
        size: width,
        align: width,
        tag_width: enumeration.width,
        payload_at: width,
        cases: enumeration.names.iter().map(case).collect(),
    }
}

fn text_kind(ty: &Type) -> Option<TextKind> {
    match ty {
        Type::Str => Some(TextKind::Str),
        Type::CStr => Some(TextKind::CStr),
        Type::Bytes => Some(TextKind::Bytes),
        _ => None,
    }
}
