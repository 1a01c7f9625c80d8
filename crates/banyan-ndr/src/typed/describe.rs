//! From Rust types to formats: the definitions a type needs, each described once, and the layout of types with references.
//!
//! The compiler computes that layout: fields in order, each at its alignment, as in C.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use super::Wire;
use crate::{ByteOrder, DefId, Definition, EnumerationDef, Format, Limits, PointerWidth, RecordDef, Type, VariantDef};

/// Collects the definitions of a format. A type that is asked for again, by itself even, is referred to.
#[derive(Debug, Default)]
pub struct Describer {
    /// `None` while a definition is being made: then it is known by its number already.
    definitions: Vec<Option<Definition>>,
    known: HashMap<TypeId, DefId>,
}

impl Describer {
    /// Describes `T` as a record.
    pub fn record<T: ?Sized>(&mut self, make: impl FnOnce(&mut Describer) -> RecordDef) -> Type {
        Type::Record(self.define::<T>(|describer| Definition::Record(make(describer))))
    }

    /// Describes `T` as a variant.
    pub fn variant<T: ?Sized>(&mut self, make: impl FnOnce(&mut Describer) -> VariantDef) -> Type {
        Type::Variant(self.define::<T>(|describer| Definition::Variant(make(describer))))
    }

    /// Describes `T` as an enumeration.
    pub fn enumeration<T: ?Sized>(&mut self, make: impl FnOnce() -> EnumerationDef) -> Type {
        Type::Enum(self.define::<T>(|_| Definition::Enumeration(make())))
    }

    /// Adds a record that is no type of its own: the fields of a case.
    pub fn case_record(&mut self, record: RecordDef) -> Type {
        let id = self.next_id();
        self.definitions.push(Some(Definition::Record(record)));
        Type::Record(id)
    }

    fn define<T: ?Sized>(&mut self, make: impl FnOnce(&mut Describer) -> Definition) -> DefId {
        let key = typeid::of::<T>();
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let id = self.next_id();
        self.known.insert(key, id);
        self.definitions.push(None);
        let made = make(self);
        self.definitions[id.index()] = Some(made);
        id
    }

    fn next_id(&self) -> DefId {
        DefId(u16::try_from(self.definitions.len()).expect("a format has at most 65,536 definitions"))
    }
}

impl Format {
    /// The format of a type on this machine. [`Record::format`](super::Record::format) keeps it.
    ///
    /// # Panics
    /// When the type breaks a rule that only its whole shows, like a size above 4 GiB.
    #[doc(hidden)]
    pub fn describe<T: Wire + ?Sized>() -> Format {
        let mut describer = Describer::default();
        let root = T::describe(&mut describer);
        assert_eq!(root.definition(), Some(DefId::ROOT), "the root of a format is a definition");
        let definitions = describer.definitions.into_iter().map(|made| made.expect("every definition is made"));
        // The bounds are for what comes from outside; the compiler has seen this one.
        let limits = Limits { fixed_bytes: u32::MAX as usize, ..Limits::default() };
        match Format::with_limits(ByteOrder::NATIVE, PointerWidth::NATIVE, definitions.collect(), &limits) {
            Ok(format) => format,
            Err(error) => panic!("{} is no record: {error}", std::any::type_name::<T>()),
        }
    }
}

/// The formats of a generic type, one for each set of parameters, in the order of their types. Reading them takes a
/// shared lock and a binary search.
#[derive(Debug, Default)]
pub struct FormatCache(RwLock<Vec<(TypeId, &'static Format)>>);

impl FormatCache {
    /// An empty one.
    pub const fn new() -> FormatCache {
        FormatCache(RwLock::new(Vec::new()))
    }

    /// The format of `T`. Formats live as long as the program: there are as many as types in it.
    pub fn get<T: Wire>(&self) -> &'static Format {
        let key = typeid::of::<T>();
        let place = |known: &[(TypeId, &'static Format)]| known.binary_search_by_key(&key, |(other, _)| *other);
        {
            let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
            if let Ok(found) = place(&known) {
                return known[found].1;
            }
        }
        let made = Format::describe::<T>();
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match place(&known) {
            Ok(found) => known[found].1,
            Err(at) => {
                let format: &'static Format = Box::leak(Box::new(made));
                known.insert(at, (key, format));
                format
            }
        }
    }
}

/// Where `N` fields lie, and what they take together.
#[derive(Debug, Clone, Copy)]
pub struct Layout<const N: usize> {
    /// Where each field begins.
    pub offsets: [usize; N],
    /// Bytes in all; at least 1.
    pub size: usize,
    /// The largest alignment.
    pub align: usize,
}

/// Lays out fields of given size and alignment one behind the other.
pub const fn in_order<const N: usize>(fields: [(usize, usize); N]) -> Layout<N> {
    let mut layout = Layout { offsets: [0; N], size: 0, align: 1 };
    let mut index = 0;
    while index < N {
        let (size, align) = fields[index];
        let offset = align_up(layout.size, align);
        layout.offsets[index] = offset;
        layout.size = offset + size;
        if align > layout.align {
            layout.align = align;
        }
        index += 1;
    }
    // A format has no definitions of size 0.
    layout.size = if layout.size == 0 { 1 } else { align_up(layout.size, layout.align) };
    layout
}

/// The next multiple of a power of two.
pub const fn align_up(at: usize, align: usize) -> usize {
    (at + align - 1) & !(align - 1)
}

/// The largest of some numbers, or `least`.
pub const fn fold_max(least: usize, numbers: &[usize]) -> usize {
    let mut largest = least;
    let mut index = 0;
    while index < numbers.len() {
        if numbers[index] > largest {
            largest = numbers[index];
        }
        index += 1;
    }
    largest
}

/// A size or offset as formats hold it.
///
/// # Panics
/// From 4 GiB on.
pub fn narrow(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("the fixed part of a record is smaller than 4 GiB")
}
