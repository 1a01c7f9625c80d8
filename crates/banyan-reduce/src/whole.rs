//! Whole waves: from members' records of one format to the body of what a node makes of them, with no state kept between.
//!
//! What a node with few children does with a wave of small records is less what it does for each record than what it
//! does for each function. So where all children sent records of one format, and all functions are of numbers in fixed
//! places, each function is one call: it looks at all records and writes its fields of the body.
//!
//! Whatever is unusual is left to the reduction of parts, errors as well. Nothing here can fail.

use banyan_ndr::{Buffer, Format};

use super::Part;
use super::body::put;
use super::compiled::Evaluation;
use super::groups::What;
use super::layout::{Layout, Places, Shape};

/// Takes a number of each record, and writes the fields of its function.
pub(super) type WholeRun = fn(&[Part<'_>], &WholeStep, &mut [u8], What);

/// What is done with a wave for one function.
#[derive(Debug)]
pub(super) struct WholeStep {
    run: WholeRun,
    /// Where its number lies in a record. With 32 bits the end of the number is known not to wrap.
    at: u32,
    /// Where its fields lie in the body; a second that it has not is the first.
    fields: [u32; 2],
}

impl WholeStep {
    /// Where its number lies in a record.
    #[inline]
    pub(super) fn place(&self) -> usize {
        self.at as usize
    }

    /// Where its fields lie in the body.
    #[inline]
    pub(super) fn fields(&self) -> [usize; 2] {
        self.fields.map(|field| field as usize)
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
    /// Bytes of a body.
    size: usize,
}

impl Whole {
    /// The functions over records of a format, if all are such. The layout has no groups.
    pub(super) fn new(steps: &[Evaluation], format: &Format, layout: &Layout) -> Option<Whole> {
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
        let Program { steps, size, .. } = self.program(what);
        out.set_len(*size);
        out.fill(0);
        steps.iter().for_each(|step| (step.run)(parts, step, out, what));
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
    fn new(steps: &[Evaluation], shape: &Shape) -> Option<Program> {
        let whole = |(step, places): (&Evaluation, Places<'_>)| {
            let (run, at) = match step {
                Evaluation::Fast(fast) => (fast.whole(), fast.place()),
                Evaluation::Count => (count as WholeRun, 0),
                Evaluation::General(_) | Evaluation::Missing(_) => return None,
            };
            let [first, last] = places.ends();
            let place = |at| u32::try_from(at).ok();
            Some(WholeStep { run, at: place(at)?, fields: [place(first)?, place(last)?] })
        };
        let steps = steps.iter().zip(shape.places(0)).map(whole).collect::<Option<_>>()?;
        Some(Program { steps, format: shape.format.clone(), size: shape.format.size() })
    }
}

fn count(parts: &[Part<'_>], step: &WholeStep, body: &mut [u8], _: What) {
    put(body, step.fields()[0], (parts.len() as u64).to_ne_bytes());
}
