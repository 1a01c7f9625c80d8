//! Whole waves: from members' records of one format to the body of what a node makes of them, with no state kept between.
//!
//! What a node with few children does with a wave of small records is less what it does for each record than what it
//! does for each function. So where all children sent records of one format, and all functions are of numbers in fixed
//! places, each function is one call: it looks at all records and writes its fields of the body.
//!
//! Whatever is unusual is left to the reduction of parts, errors as well. Nothing here can fail.

use banyan_ndr::{Buffer, Format};

use super::Part;
use super::body::Writer;
use super::compiled::Step;
use super::groups::What;
use super::layout::{Layout, Places, Shape};

/// Takes a number of each record, and writes the fields of its function.
pub(super) type WholeRun = fn(&[Part<'_>], &WholeStep, &mut Writer<'_>, What);

/// What is done with a wave for one function.
#[derive(Debug)]
pub(super) struct WholeStep {
    run: WholeRun,
    /// Where its number lies in a record.
    pub(super) at: usize,
    /// Where its fields lie in the body. One that has no second never asks for it.
    fields: [usize; 2],
}

impl WholeStep {
    /// Where its fields lie in the body.
    #[inline]
    pub(super) fn places(&self) -> Places<'_> {
        Places::new(0, &self.fields)
    }
}

/// All functions of a specification over records of one format.
#[derive(Debug)]
pub(super) struct Whole {
    partial: Program,
    result: Program,
    /// What is known about bodies of records.
    shortest: usize,
    longest: usize,
}

/// What writes bodies of one shape.
#[derive(Debug)]
struct Program {
    steps: Vec<WholeStep>,
    format: Format,
}

impl Whole {
    /// The functions over records of a format, if all are such. The layout has no groups.
    pub(super) fn new(steps: &[Step], format: &Format, layout: &Layout) -> Option<Whole> {
        let (partial, result) = (Program::new(steps, &layout.partial)?, Program::new(steps, &layout.result)?);
        let shortest = format.size();
        let longest = if format.has_references() { usize::MAX } else { shortest };
        Some(Whole { partial, result, shortest, longest })
    }

    /// Whether parts, the first of which has the format, are as a reduction takes them: records of one member each, lowest
    /// ranks first, and of a size that they may have.
    #[inline]
    pub(super) fn fits(&self, parts: &[Part<'_>]) -> bool {
        let Some(first) = parts.first() else { return false };
        let mut last = None;
        for part in parts {
            let is_alike = std::ptr::eq(part.format, first.format) || part.format == first.format;
            let has_size = (self.shortest..=self.longest).contains(&part.body.len());
            if part.is_partial || !is_alike || !has_size {
                return false;
            }
            match part.members.only() {
                Some(rank) if last.is_none_or(|last| rank > last) => last = Some(rank),
                _ => return false,
            }
        }
        true
    }

    /// The format of what is written.
    #[inline]
    pub(super) fn format(&self, what: What) -> &Format {
        &self.program(what).format
    }

    /// Writes what is made of records whose fixed parts are there.
    pub(super) fn run(&self, parts: &[Part<'_>], out: &mut Buffer, what: What) {
        let Program { steps, format } = self.program(what);
        let mut writer = Writer::new(out, format.size());
        steps.iter().for_each(|step| (step.run)(parts, step, &mut writer, what));
    }

    #[inline]
    fn program(&self, what: What) -> &Program {
        match what {
            What::Partial => &self.partial,
            What::Result => &self.result,
        }
    }
}

impl Program {
    fn new(steps: &[Step], shape: &Shape) -> Option<Program> {
        let whole = |(step, places): (&Step, Places<'_>)| {
            let fields = [places.field(0), places.last()];
            match step {
                Step::Fast(fast) => Some(WholeStep { run: fast.whole(), at: fast.place(), fields }),
                Step::Count => Some(WholeStep { run: count, at: 0, fields }),
                Step::General(_) => None,
            }
        };
        let steps = steps.iter().zip(shape.places(0)).map(whole).collect::<Option<_>>()?;
        Some(Program { steps, format: shape.format.clone() })
    }
}

fn count(parts: &[Part<'_>], step: &WholeStep, out: &mut Writer<'_>, _: What) {
    out.put(step.places().field(0), (parts.len() as u64).to_ne_bytes());
}
