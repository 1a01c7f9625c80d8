//! A received body as C memory: references become pointers, in place.

use std::collections::VecDeque;

use foldhash::{HashSet, HashSetExt};

use crate::dynamic::targets::TypeKeys;
use crate::reflect::{Item, RecordView};
use crate::{Buffer, DecodeError, Format, Limits, Type};

/// A record whose references are real pointers into its own memory, for C code to read.
///
/// It owns its memory, which stays where it is when the `CRecord` is moved. Lists, strings and blobs lie there as a
/// pointer and a `size_t` count.
#[derive(Debug)]
pub struct CRecord {
    start: *mut u8,
    len: usize,
    /// Never touched again: `start` leads into it.
    _buffer: Buffer,
}

impl CRecord {
    /// Checks the whole body, then turns each reference into a pointer. Nothing is changed when the check fails.
    ///
    /// The format must describe memory of this machine; convert other records to such a format first. Parts of the
    /// body must not overlap, but for the targets of shared pointers.
    pub fn new(format: &Format, mut body: Buffer) -> Result<CRecord, DecodeError> {
        if !format.is_native() {
            let (path, found) = (format.name().to_owned(), "a record of another machine".to_owned());
            return Err(DecodeError::Invalid { path, found, wanted: "native record" });
        }
        if let Some(definition) =
            format.definitions().iter().find(|definition| definition.align() as usize > Buffer::ALIGN)
        {
            let (path, align) = (definition.name().to_owned(), definition.align() as usize);
            return Err(DecodeError::Misaligned { path, align });
        }
        let links = check(RecordView::new(format, &body)?)?;
        let (start, len) = (body.as_mut_ptr(), body.len());
        for (slot, target) in links {
            // SAFETY: slot and target were found within the body by the check, which also found that no two slots
            // overlap. No reference to the buffer is used from here on.
            unsafe {
                let pointer = target.map_or(std::ptr::null_mut(), |target| start.add(target));
                start.add(slot).cast::<*mut u8>().write_unaligned(pointer);
            }
        }
        Ok(CRecord { start, len, _buffer: body })
    }

    /// The struct. It and all it leads to live as long as the `CRecord`.
    pub fn as_ptr(&self) -> *const u8 {
        self.start
    }

    /// Bytes of the struct and all it leads to.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never: a record has at least one byte.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// All places that hold a reference, and where each leads.
type Links = Vec<(usize, Option<usize>)>;

fn check(view: RecordView<'_>) -> Result<Links, DecodeError> {
    let mut checker = RecordChecker {
        types: TypeKeys::default(),
        seen: HashSet::new(),
        links: Vec::new(),
        regions: vec![(0, view.format().size())],
        waiting: VecDeque::from([Unchecked::One(view.root())]),
        bytes: view.format().size(),
        body: view.body().len(),
    };
    let root = (0, checker.types.key(view.root().ty()));
    checker.seen.insert(root);
    while let Some(waiting) = checker.waiting.pop_front() {
        match waiting {
            Unchecked::One(item) => checker.item(item, 0)?,
            Unchecked::Items(item) => checker.items(item, 0)?,
        }
    }
    let mut regions = checker.regions;
    regions.sort_unstable();
    if regions.windows(2).any(|pair| pair[0].0 + pair[0].1 > pair[1].0) {
        return Err(DecodeError::Overlap { path: view.format().name().into(), body: view.body().len() });
    }
    Ok(checker.links)
}

/// What is behind a reference and still to be checked.
enum Unchecked<'a> {
    One(Item<'a>),
    /// The items of a list or array.
    Items(Item<'a>),
}

struct RecordChecker<'a> {
    types: TypeKeys<'a>,
    /// Targets of shared pointers.
    seen: HashSet<(usize, usize)>,
    links: Links,
    /// Begin and length of everything that is referred to.
    regions: Vec<(usize, usize)>,
    waiting: VecDeque<Unchecked<'a>>,
    /// Sum of the regions; never more than the body has.
    bytes: usize,
    body: usize,
}

impl<'a> RecordChecker<'a> {
    /// Recurses only along what lies in place, to the depth that [`Limits::nesting`] allows.
    fn item(&mut self, item: Item<'a>, depth: usize) -> Result<(), DecodeError> {
        let limit = Limits::default().nesting;
        if depth > limit {
            let (path, found) = (item.field_name().to_owned(), depth as u64);
            return Err(DecodeError::Limit { path, found, limit: limit as u64, name: "nesting" });
        }
        match item.ty() {
            Type::Record(_) | Type::Variant(_) if !item.is_part() => {
                for (_, field) in item.fields()? {
                    self.item(field, depth + 1)?;
                }
                Ok(())
            }
            Type::Optional { .. } => item.target()?.map_or(Ok(()), |target| self.item(target, depth + 1)),
            Type::Ref { shared, .. } => {
                let target = item.target()?;
                self.links.push((item.offset(), target.map(|target| target.offset())));
                let Some(target) = target else { return Ok(()) };
                let key = (target.offset(), self.types.key(target.ty()));
                if *shared && !self.seen.insert(key) {
                    return Ok(());
                }
                self.region(target.offset(), item.format().size_of(target.ty()), &item)?;
                self.waiting.push_back(Unchecked::One(target));
                Ok(())
            }
            Type::Array { .. } => self.items(item, depth),
            Type::List { .. } | Type::Sized { .. } if item.is_part() => self.items(item, depth),
            Type::Str | Type::Bytes | Type::CStr | Type::List { .. } | Type::Sized { .. } => self.run(item),
            _ => item.leaf().map(drop),
        }
    }

    fn run(&mut self, item: Item<'a>) -> Result<(), DecodeError> {
        let run = item.run_behind()?;
        self.links.push((item.offset(), run.map(|(start, _)| start)));
        if let Some((start, bytes)) = run {
            self.region(start, bytes, &item)?;
        }
        match item.ty() {
            Type::Str => item.leaf().map(drop),
            Type::List { .. } | Type::Sized { .. } => {
                self.waiting.push_back(Unchecked::Items(item));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn items(&mut self, item: Item<'a>, depth: usize) -> Result<(), DecodeError> {
        for element in item.iter()? {
            self.item(element?, depth + 1)?;
        }
        Ok(())
    }

    fn region(&mut self, start: usize, bytes: usize, item: &Item<'_>) -> Result<(), DecodeError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.body {
            return Err(DecodeError::Overlap { path: item.field_name().into(), body: self.body });
        }
        self.regions.push((start, bytes));
        Ok(())
    }
}
