//! Plans: how records of one format become records of another.
//!
//! A [`Plan`] is made once for a pair of formats and then run for every record. Fields match by name. Making it finds
//! everything that can be known without a record: what is missing, what cannot be converted, how each value is moved.
//! Running it checks all that depends on the record: numbers that do not fit, references that lead astray.
//!
//! The way to read it: [`matching`] pairs fields, [`build`] and [`place`] turn pairs into [`steps`], [`walk`] runs
//! them. A plan does not check what it copies as it is (UTF-8, bools, characters): whoever reads the result does.

mod arrays;
mod build;
mod compatibility;
mod display;
mod findings;
mod layout;
mod matching;
mod numbers;
mod options;
mod place;
mod steps;
mod template;
mod walk;

use build::Purpose;
pub use compatibility::{Compatibility, compatibility};
pub use options::ConvertOptions;

pub use crate::kernel::program::Loss;
use crate::{Buffer, DecodeError, Format};

/// The conversion of records of one format into records of another.
///
/// ```
/// use banyan_ndr::{Buffer, ByteOrder, ConvertOptions, Definition, Field, Format, Plan, PointerWidth, RecordDef, Type};
///
/// let sample = |order, width: u8| {
///     let fields = vec![Field::new("temp", 0, Type::Int { width, signed: true })];
///     let record = RecordDef { name: "sample".into(), size: width.into(), align: width.into(), fields };
///     Format::new(order, PointerWidth::Eight, vec![Definition::Record(record)])
/// };
/// let (theirs, ours) = (sample(ByteOrder::Big, 4)?, sample(ByteOrder::Little, 2)?);
/// let plan = Plan::new(&theirs, &ours, &ConvertOptions::default())?;
/// let mut out = Buffer::new();
/// plan.convert(&21_i32.to_be_bytes(), &mut out)?;
/// assert_eq!(*out, 21_i16.to_le_bytes());
///
/// let error = plan.convert(&70_000_i32.to_be_bytes(), &mut out).unwrap_err();
/// assert_eq!(error.to_string(), "temp: 70000 does not fit i16");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Plan {
    source: Format,
    target: Format,
    /// The first converts the root.
    items: Vec<steps::ItemPlan>,
    identity: bool,
    /// Most bytes of a converted body, and of one for each byte of the sender's.
    most: usize,
    growth: usize,
}

impl Plan {
    /// Finds out how to convert. Fails with the names of the fields that are missing or cannot be converted.
    pub fn new(source: &Format, target: &Format, options: &ConvertOptions) -> Result<Plan, DecodeError> {
        let items = build::build(source, target, options, Purpose::Convert).into_items(target)?;
        Ok(Plan {
            source: source.clone(),
            target: target.clone(),
            items,
            identity: layout::Layouts::new(source, target, options).same_bodies(),
            most: options.limits.body_bytes,
            growth: options.limits.growth,
        })
    }

    /// Converts a body. `out` is cleared and then holds the target's body.
    #[inline]
    pub fn convert(&self, body: &[u8], out: &mut Buffer) -> Result<(), DecodeError> {
        self.run(body, out, false)
    }

    /// As [`convert`](Self::convert), but never with generated code.
    pub fn convert_interpreted(&self, body: &[u8], out: &mut Buffer) -> Result<(), DecodeError> {
        self.run(body, out, true)
    }

    /// Converts a body if there is a direct way and `out` has the memory. False, with nothing of use in `out`, where it
    /// must be [`convert`](Self::convert).
    #[inline(always)]
    pub(crate) fn convert_direct(&self, body: &[u8], out: &mut Buffer) -> bool {
        let [root, ..] = self.items.as_slice() else { return false };
        root.walks.is_empty() && root.kernel.run_direct_into(body, out)
    }

    #[inline]
    fn run(&self, body: &[u8], out: &mut Buffer, interpreted: bool) -> Result<(), DecodeError> {
        if self.run_flat(body, out, interpreted) { Ok(()) } else { self.walk(body, out, interpreted) }
    }

    /// Straight to the kernel where there is nothing else to do. False where there is, and where something is wrong.
    #[inline]
    fn run_flat(&self, body: &[u8], out: &mut Buffer, interpreted: bool) -> bool {
        let root = &self.items[0];
        let Some((fixed, rest)) = body.split_at_checked(root.program().src_size) else { return false };
        if !root.walks.is_empty() || !(rest.is_empty() || self.source.has_references()) {
            return false;
        }
        out.set_len(root.program().dst_size);
        let ran = match interpreted {
            false => root.kernel.run(fixed, out, 1),
            true => root.kernel.run_interpreted(fixed, out, 1),
        };
        ran.is_ok()
    }

    #[inline(never)]
    fn walk(&self, body: &[u8], out: &mut Buffer, interpreted: bool) -> Result<(), DecodeError> {
        if !self.source.fits(body.len()) {
            return Err(DecodeError::Size { found: body.len(), wanted: self.source.size() });
        }
        out.set_len(self.items[0].program().dst_size);
        let first = walk::Walker::new(self, body, out, interpreted, false).run();
        if first.is_ok() {
            return Ok(());
        }
        // Once more, for the path of the error.
        out.set_len(self.items[0].program().dst_size);
        walk::Walker::new(self, body, out, interpreted, true).run().map_err(|error| *error)
    }

    /// Whether source bodies are target bodies as they are, so that they can be viewed where they lie.
    pub fn is_identity(&self) -> bool {
        self.identity
    }

    /// Generates machine code now, for all items that gain by it. Returns whether there is any.
    pub fn compile(&self) -> bool {
        let gaining = self.items.iter().filter(|item| item.kernel.pays());
        gaining.map(|item| item.kernel.compile()).filter(|compiled| *compiled).count() > 0
    }

    /// Whether any item gains by machine code.
    pub fn pays(&self) -> bool {
        self.items.iter().any(|item| item.kernel.pays())
    }

    /// The format of the bodies it takes.
    pub fn source(&self) -> &Format {
        &self.source
    }

    /// The format of the bodies it makes.
    pub fn target(&self) -> &Format {
        &self.target
    }
}
