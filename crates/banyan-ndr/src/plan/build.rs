//! Making a plan: one item for each pair of types that meet behind a reference or in a walk.
//!
//! Pairs are remembered, so recursive definitions end, and taken from a work list, so that long chains of definitions
//! do not nest. What cannot be converted or is missing is noted, with its path, until the end; what can lose something
//! only for those who ask.

use std::collections::{HashMap, HashSet};

use super::ConvertOptions;
use super::findings::Routes;
use super::findings::{ItemPath, NamedFields, Noted};
use super::layout::Layouts;
use super::matching::{FieldsByName, default_of, definitions_with_references, has_reference};
use super::numbers::{Renumberings, number};
use super::steps::{Action, ItemId, ItemPlan, WalkStep};
use super::template::{Template, extents};
use crate::kernel::Kernel;
use crate::kernel::program::{Instruction, Program};
use crate::{DecodeError, DefId, Dim, Field, Format, RecordDef, Type, Value};

/// Most fields in one plan, counted as often as they lie in different places: twice those of the widest record. Formats
/// can nest records so that a short description means thousands of millions of places.
const MOST_PLACES: usize = 1 << 17;

/// Most paths' bytes in one plan. Steps that can fail know their path, and short formats can have long ones.
const MOST_PATH_BYTES: usize = 16 << 20;

/// What is known when all pairs have been visited.
pub(super) struct Findings {
    pub(super) items: Vec<ItemPlan>,
    /// Target fields that the source lacks.
    pub(super) missing: NamedFields,
    /// Fields that cannot be converted, and why.
    pub(super) wrong: NamedFields,
    /// Fields that can lose something, and what; empty unless asked for.
    pub(super) lossy: NamedFields,
}

impl Findings {
    /// The items, or the error that names what is wrong.
    pub(super) fn into_items(self, format: &Format) -> Result<Vec<ItemPlan>, DecodeError> {
        let format = format.name().to_owned();
        if !self.wrong.is_empty() {
            let NamedFields { fields, more } = self.into_wrong();
            return Err(DecodeError::NotConvertible { format, fields, more });
        }
        if !self.missing.is_empty() {
            let NamedFields { fields, more } = self.missing;
            return Err(DecodeError::Missing {
                format,
                fields: fields.into_iter().map(|(path, _)| path).collect(),
                more,
            });
        }
        Ok(self.items)
    }

    /// Everything that stands in the way of a conversion.
    pub(super) fn into_wrong(self) -> NamedFields {
        let missing =
            self.missing.fields.into_iter().map(|(path, _)| (path, "the sender has no such field".to_owned()));
        let fields = self.wrong.fields.into_iter().chain(missing).collect();
        NamedFields { fields, more: self.wrong.more + self.missing.more }
    }
}

/// Whether a plan is made to convert, or to hear what converting would lose.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Convert,
    Compare,
}

/// Visits all pairs of types that a conversion meets.
pub(super) fn build(source: &Format, target: &Format, options: &ConvertOptions, purpose: Purpose) -> Findings {
    let mut builder = Builder {
        source,
        target,
        options,
        target_references: definitions_with_references(target),
        layouts: Layouts::new(source, target, options),
        ids: HashMap::new(),
        open: Vec::new(),
        ways: Routes::default(),
        flat: HashMap::new(),
        renumberings: Renumberings::new(),
        places: 0,
        path_bytes: 0,
        purpose,
        missing: Noted::default(),
        wrong: Noted::default(),
        lossy: Noted::default(),
    };
    builder.open_item(&source.root_type(), &target.root_type());
    let mut items: Vec<(ItemId, ItemPlan)> = Vec::new();
    while let Some(open) = builder.open.pop() {
        items.push((open.id, builder.finish(open)));
    }
    items.sort_unstable_by_key(|(id, _)| *id);
    let items = items.into_iter().map(|(_, item)| item).collect();
    let mut ways = builder.ways;
    Findings {
        items,
        missing: builder.missing.named(&mut ways, target.name()),
        wrong: builder.wrong.named(&mut ways, target.name()),
        lossy: builder.lossy.named(&mut ways, target.name()),
    }
}

/// A pair of types whose item is still to be made.
struct Open {
    id: ItemId,
    source: Type,
    target: Type,
}

pub(super) struct Builder<'a> {
    pub(super) source: &'a Format,
    pub(super) target: &'a Format,
    pub(super) options: &'a ConvertOptions,
    target_references: Vec<bool>,
    pub(super) layouts: Layouts<'a>,
    ids: HashMap<(Type, Type), ItemId>,
    open: Vec<Open>,
    flat: HashMap<(Type, Type), bool>,
    /// What leads to each item.
    ways: Routes,
    pub(super) renumberings: Renumberings,
    places: usize,
    path_bytes: usize,
    purpose: Purpose,
    /// With nothing to say about them.
    missing: Noted,
    wrong: Noted,
    lossy: Noted,
}

/// An item in the making.
pub(super) struct Draft {
    pub(super) steps: Vec<Instruction>,
    walks: Vec<WalkStep>,
    paths: Vec<String>,
    /// Bytes of them.
    path_bytes: usize,
    id: ItemId,
    /// The place within the item that is being converted.
    path: String,
    /// The records that the current fields belong to, and where they begin: for arrays sized by other fields.
    pub(super) frame: Option<Frame>,
    /// Length fields that an array has been found for.
    pub(super) lengths: HashSet<u32>,
}

#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) source: (DefId, u32),
    pub(super) target: (DefId, u32),
}

/// A pair of places. Positions are relative to the item.
#[derive(Clone, Copy)]
pub(super) struct TypePair<'t> {
    pub(super) source: &'t Type,
    pub(super) src: u32,
    pub(super) target: &'t Type,
    pub(super) dst: u32,
    /// The default of the target field.
    pub(super) default: Option<&'t Value>,
}

impl Draft {
    fn new(id: ItemId) -> Draft {
        Draft {
            steps: Vec::new(),
            walks: Vec::new(),
            paths: Vec::new(),
            path_bytes: 0,
            id,
            path: String::new(),
            frame: None,
            lengths: HashSet::new(),
        }
    }

    /// The current path as an index into the program's paths.
    pub(super) fn path_index(&mut self) -> u32 {
        if self.paths.last() != Some(&self.path) {
            self.path_bytes += self.path.len();
            self.paths.push(self.path.clone());
        }
        (self.paths.len() - 1) as u32
    }

    fn place(&self) -> ItemPath {
        ItemPath { item: self.id, path: self.path.clone() }
    }

    /// Does something with the path extended by a field's name or an index.
    pub(super) fn at<R>(&mut self, part: &str, work: impl FnOnce(&mut Draft) -> R) -> R {
        let before = self.path.len();
        self.path = join(&self.path, part);
        let result = work(self);
        self.path.truncate(before);
        result
    }

    pub(super) fn zero(&mut self, dst: u32, len: u32) {
        if len > 0 {
            self.steps.push(Instruction::Zero { dst, len });
        }
    }

    pub(super) fn fill(&mut self, dst: u32, bytes: Vec<u8>) {
        if bytes.iter().all(|byte| *byte == 0) {
            self.zero(dst, bytes.len() as u32);
        } else {
            self.steps.push(Instruction::Fill { dst, bytes: bytes.into() });
        }
    }

    pub(super) fn walk(&mut self, action: Action) {
        let path = self.path_index();
        self.walks.push(WalkStep { path, action });
    }

    /// The steps that `work` adds, apart.
    pub(super) fn steps_of(&mut self, work: impl FnOnce(&mut Draft)) -> Vec<Instruction> {
        let before = std::mem::take(&mut self.steps);
        work(self);
        std::mem::replace(&mut self.steps, before)
    }
}

/// Two paths, one behind the other.
pub(super) fn join(path: &str, part: &str) -> String {
    let dot = if path.is_empty() || part.is_empty() || part.starts_with('[') { "" } else { "." };
    format!("{path}{dot}{part}")
}

impl Builder<'_> {
    /// The item for a pair of types that meet at the current place, made later if it is new.
    pub(super) fn item(&mut self, source: &Type, target: &Type, draft: &Draft) -> ItemId {
        let id = self.open_item(source, target);
        self.ways.add(id, draft.id, &draft.path);
        id
    }

    fn open_item(&mut self, source: &Type, target: &Type) -> ItemId {
        let next = self.ids.len();
        let id = *self.ids.entry((source.clone(), target.clone())).or_insert(next);
        if id == next {
            self.open.push(Open { id, source: source.clone(), target: target.clone() });
        }
        id
    }

    fn finish(&mut self, open: Open) -> ItemPlan {
        let Open { id, source, target } = open;
        let mut draft = Draft::new(id);
        self.place(&mut draft, TypePair { source: &source, src: 0, target: &target, dst: 0, default: None });
        self.path_bytes += draft.path_bytes;
        // A plan with findings is thrown away, and its programs may have holes.
        let sound = self.wrong.is_empty() && self.missing.is_empty();
        let program = Program {
            src_size: self.source.size_of(&source),
            dst_size: self.target.size_of(&target),
            steps: if sound { draft.steps } else { Vec::new() },
            paths: draft.paths,
        };
        ItemPlan {
            name: format!("{} -> {}", self.source.type_name(&source), self.target.type_name(&target)),
            kernel: Kernel::new(program),
            walks: draft.walks,
            align: self.target.align_of(&target),
        }
    }

    pub(super) fn wrong(&mut self, draft: &Draft, why: impl Into<String>) {
        self.wrong.add(draft.place(), why);
    }

    pub(super) fn missing(&mut self, draft: &Draft) {
        self.missing.add(draft.place(), "");
    }

    pub(super) fn lossy(&mut self, draft: &Draft, why: impl Into<String>) {
        if self.purpose == Purpose::Compare {
            self.lossy.add(draft.place(), why);
        }
    }

    /// The size of a target type as a position; formats bound it.
    pub(super) fn target_size(&self, ty: &Type) -> u32 {
        self.target.size_of(ty) as u32
    }

    pub(super) fn target_has_reference(&self, ty: &Type) -> bool {
        has_reference(ty, &self.target_references)
    }

    /// A default in the target's layout.
    pub(super) fn template(&mut self, draft: &Draft, ty: &Type, value: &Value) -> Option<Template> {
        Template::new(self.target, ty, value).map_err(|why| self.wrong(draft, why)).ok()
    }

    /// Whether a kernel alone can convert the pair.
    pub(super) fn is_flat(&mut self, source: &Type, target: &Type) -> bool {
        if number(self.source, source).is_some() && number(self.target, target).is_some() {
            return true;
        }
        let key = (source.clone(), target.clone());
        if let Some(known) = self.flat.get(&key) {
            return *known;
        }
        let flat = self.find_flat(source, target);
        self.flat.insert(key, flat);
        flat
    }

    fn find_flat(&mut self, source: &Type, target: &Type) -> bool {
        match (source, target) {
            (Type::Record(s), Type::Record(d)) => {
                let (source, target, options) = (self.source, self.target, self.options);
                let fields = FieldsByName::new(source.record(*s), options);
                target.record(*d).fields.iter().all(|field| match fields.get(&field.name) {
                    Some(from) => self.is_flat(&from.ty, &field.ty),
                    None => !self.target_has_reference(&field.ty),
                })
            }
            (Type::Variant(_), Type::Variant(_)) => {
                !self.target_has_reference(target) && self.layouts.same_types(source, target)
            }
            (Type::Optional { item: s, .. }, Type::Optional { item: d, .. })
            | (Type::Array { item: s, .. }, Type::Array { item: d, .. }) => self.is_flat(s, d),
            (Type::Optional { item, .. }, _) => self.is_flat(item, target),
            (_, Type::Optional { item, .. }) => self.is_flat(source, item),
            _ => false,
        }
    }

    /// Converts a record in its place, field by field, and zeroes the target's padding.
    pub(super) fn record(&mut self, draft: &mut Draft, (s, src): (DefId, u32), (d, dst): (DefId, u32)) {
        let (source, target, options) = (self.source.record(s), self.target.record(d), self.options);
        self.places += target.fields.len();
        if self.places > MOST_PLACES {
            return self.wrong(draft, format!("the plan would have more than {MOST_PLACES} places"));
        }
        if self.path_bytes + draft.path_bytes > MOST_PATH_BYTES {
            return self.wrong(draft, format!("the names in the plan would take more than {MOST_PATH_BYTES} bytes"));
        }
        let fields = FieldsByName::new(source, options);
        let used: HashSet<&str> =
            target.fields.iter().filter_map(|field| fields.get(&field.name)).map(|from| from.name.as_str()).collect();
        for field in &source.fields {
            if !used.contains(field.name.as_str()) {
                draft.at(&field.name, |draft| self.lossy(draft, "the receiver has no such field"));
            }
        }
        let lengths = self.lengths(draft, &fields, target);
        let outer = draft.frame.replace(Frame { source: (s, src), target: (d, dst) });
        for (number, field) in target.fields.iter().enumerate() {
            let at = dst + field.offset;
            draft.at(&field.name, |draft| match (lengths.get(&number), fields.get(&field.name)) {
                (Some(LengthField::Found), _) => draft.zero(at, self.target_size(&field.ty)),
                (Some(LengthField::Known(length)), _) => {
                    if let Some(template) = self.template(draft, &field.ty, &Value::Int(*length as i128)) {
                        draft.fill(at, template.fixed);
                    }
                }
                (None, Some(from)) => {
                    let default = default_of(target, field, options);
                    let (source, src) = (&from.ty, src + from.offset);
                    self.place(draft, TypePair { source, src, target: &field.ty, dst: at, default });
                }
                (None, None) => self.absent_field(draft, target, field, at),
            });
        }
        draft.frame = outer;
        self.zero_padding(draft, target, dst);
    }

    fn zero_padding(&self, draft: &mut Draft, record: &RecordDef, dst: u32) {
        let mut places: Vec<(u32, u32)> =
            record.fields.iter().map(|field| (field.offset, field.offset + self.target_size(&field.ty))).collect();
        places.sort_unstable();
        let mut end = 0;
        for (start, next) in places {
            draft.zero(dst + end, start - end);
            end = next;
        }
        draft.zero(dst + end, record.size - end);
    }

    /// A target field that the source does not have.
    fn absent_field(&mut self, draft: &mut Draft, record: &RecordDef, field: &Field, dst: u32) {
        let size = self.target_size(&field.ty);
        match default_of(record, field, self.options) {
            Some(value) => {
                if let Some(template) = self.template(draft, &field.ty, value) {
                    self.constant(draft, dst, template);
                }
            }
            None if field.ty.may_be_null() => draft.zero(dst, size),
            // A record of which every field has a default needs none of its own.
            None if self.target.has_default(field) => {
                if let Some(template) = self.template(draft, &field.ty, &Value::Record(Vec::new())) {
                    self.constant(draft, dst, template);
                }
            }
            None => self.missing(draft),
        }
    }

    fn constant(&self, draft: &mut Draft, dst: u32, template: Template) {
        if template.is_flat() {
            draft.fill(dst, template.fixed);
        } else {
            draft.zero(dst, template.fixed.len() as u32);
            draft.walk(Action::Constant { dst, template: Box::new(template) });
        }
    }

    /// The target's length fields whose values follow from the arrays they belong to.
    fn lengths(
        &mut self,
        draft: &mut Draft,
        fields: &FieldsByName<'_>,
        target: &RecordDef,
    ) -> HashMap<usize, LengthField> {
        let mut lengths: HashMap<usize, LengthField> = HashMap::new();
        for field in &target.fields {
            let Type::Sized { dims, .. } = &field.ty else { continue };
            let known = match (fields.get(&field.name), default_of(target, field, self.options)) {
                (Some(_), _) => None,
                (None, Some(value)) => extents(value, dims.len()),
                (None, None) => continue,
            };
            for (position, dim) in dims.iter().enumerate() {
                let Dim::Field(number) = dim else { continue };
                let length = known.as_ref().map_or(LengthField::Found, |known| LengthField::Known(known[position]));
                let earlier = lengths.insert(usize::from(*number), length);
                if earlier.is_some_and(|earlier| earlier != length) {
                    draft.at(&field.name, |draft| {
                        self.wrong(draft, "its length field belongs to another array too, and they differ");
                    });
                }
            }
        }
        lengths
    }
}

/// How the value of a length field is found.
#[derive(Clone, Copy, PartialEq)]
enum LengthField {
    /// When a record is converted.
    Found,
    /// From a default.
    Known(usize),
}
