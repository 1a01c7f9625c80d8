//! Expressions as flat lists of steps, and running them.
//!
//! A program either computes a value or decides whether a condition holds. Conditions are jumps: `a and b` leaves as soon
//! as `a` does not hold. A comparison of a field with a number is one step. Nothing is allocated while one runs.

use regex_lite::Regex;

use crate::place::{BadEvent, Place};
use crate::scalar::{self, Scalar};
use crate::syntax::{Arithmetic, Comparison, Context, Function};

/// Steps of one program. Texts are bounded, but truth values that are computed with are computed twice.
pub(crate) const MAX_STEPS: usize = 4096;

/// Where the values come from that a program begins with.
pub(crate) trait Source<'a> {
    fn place(&self, place: &Place) -> Result<Scalar<'a>, BadEvent>;
    fn context(&self, context: Context) -> Scalar<'a>;
    fn path(&self, path: u16) -> Result<Scalar<'a>, BadEvent>;
    fn input(&self, number: u16) -> Scalar<'a>;
    /// An integer in a fixed place, the quickest way.
    fn integer(&self, place: &Place) -> i128;
}

/// A value that a program begins with.
#[derive(Debug, Clone)]
pub(crate) enum Leaf {
    /// In a fixed place of the record.
    Place(Place),
    /// Reached step by step; the number of the path.
    Path(u16),
    Context(Context),
    /// Computed before.
    Input(u16),
}

#[derive(Debug, Clone)]
pub(crate) enum Constant {
    Integer(i128),
    Float(f64),
    Truth(bool),
    Text(Box<str>),
}

/// A number of a register.
pub(crate) type Register = u8;

/// Where to go on after a test: there, if whether it came out as wanted is as said.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Jump {
    /// What the test should say; a test that says nothing, as a value is missing, never does.
    pub(crate) want: bool,
    /// Whether to go when it does, or when it does not.
    pub(crate) when: bool,
    pub(crate) target: u16,
}

#[derive(Debug, Clone)]
pub(crate) enum Op {
    Load {
        to: Register,
        leaf: Leaf,
    },
    Constant {
        to: Register,
        number: u16,
    },
    Missing {
        to: Register,
    },
    Compute {
        to: Register,
        operation: Arithmetic,
        left: Register,
        right: Register,
    },
    Negate {
        to: Register,
        of: Register,
    },
    Call {
        to: Register,
        function: Function,
        of: Register,
    },
    Goto(u16),
    /// Whether an integer in a fixed place lies between two numbers, both included; or does not.
    Range {
        place: Place,
        low: i128,
        high: i128,
        inside: bool,
        jump: Jump,
    },
    /// A float in a fixed place and a number.
    Float {
        place: Place,
        comparison: Comparison,
        number: f64,
        jump: Jump,
    },
    Compare {
        comparison: Comparison,
        left: Register,
        right: Register,
        jump: Jump,
    },
    Truth {
        of: Register,
        jump: Jump,
    },
    Exists {
        of: Register,
        jump: Jump,
    },
    Like {
        of: Register,
        pattern: u16,
        jump: Jump,
    },
    Matches {
        of: Register,
        pattern: u16,
        jump: Jump,
    },
}

impl Op {
    /// Sets where it jumps to.
    pub(crate) fn set_target(&mut self, to: u16) {
        match self {
            Op::Goto(target) => *target = to,
            Op::Range { jump, .. }
            | Op::Float { jump, .. }
            | Op::Compare { jump, .. }
            | Op::Truth { jump, .. }
            | Op::Exists { jump, .. }
            | Op::Like { jump, .. }
            | Op::Matches { jump, .. } => jump.target = to,
            _ => unreachable!("only jumps have targets"),
        }
    }
}

/// A compiled expression.
#[derive(Debug, Clone, Default)]
pub(crate) struct Program {
    pub(crate) ops: Vec<Op>,
    pub(crate) constants: Vec<Constant>,
    pub(crate) likes: Vec<Box<str>>,
    pub(crate) regexes: Vec<Regex>,
    /// How many registers it needs.
    pub(crate) registers: usize,
}

/// Where a condition goes that does not hold: behind the end and one further.
const REJECTED: usize = u16::MAX as usize;

/// The target of jumps that leave a condition which does not hold.
pub(crate) const REJECT: u16 = u16::MAX;

impl Program {
    /// The value of an expression.
    pub(crate) fn value<'a>(&'a self, source: &impl Source<'a>) -> Result<Scalar<'a>, BadEvent> {
        // The usual one: a field as it is.
        if let [Op::Load { leaf, .. }] = &self.ops[..] {
            return load(source, leaf);
        }
        Ok(self.any(source)?.1)
    }

    /// Whether a condition holds.
    #[inline]
    pub(crate) fn holds<'a>(&'a self, source: &impl Source<'a>) -> Result<bool, BadEvent> {
        match self.registers {
            0 => self.holds_at_once(source),
            _ => Ok(self.any(source)?.0),
        }
    }

    /// Without registers all steps are comparisons of fields with numbers. A loop over these alone is half as long.
    #[inline]
    fn holds_at_once<'a>(&'a self, source: &impl Source<'a>) -> Result<bool, BadEvent> {
        let mut at = 0;
        while let Some(op) = self.ops.get(at) {
            at += 1;
            let (test, jump) = match op {
                Op::Range { place, low, high, inside, jump } => {
                    let number = source.integer(place);
                    (Some((*low <= number && number <= *high) == *inside), jump)
                }
                Op::Float { place, comparison, number, jump } => {
                    let found = source.place(place)?.float();
                    (found.map(|found| scalar::holds(*comparison, found.partial_cmp(number))), jump)
                }
                _ => return Ok(self.any(source)?.0),
            };
            if (test == Some(jump.want)) == jump.when {
                at = usize::from(jump.target);
            }
        }
        Ok(at != REJECTED)
    }

    #[inline(never)]
    fn any<'a>(&'a self, source: &impl Source<'a>) -> Result<(bool, Scalar<'a>), BadEvent> {
        match self.registers {
            0..=1 => self.run::<1>(source),
            2..=4 => self.run::<4>(source),
            5..=16 => self.run::<16>(source),
            _ => self.run::<256>(source),
        }
    }

    #[inline]
    fn run<'a, const N: usize>(&'a self, source: &impl Source<'a>) -> Result<(bool, Scalar<'a>), BadEvent> {
        let mut registers = [Scalar::Missing; N];
        let mut at = 0;
        while let Some(op) = self.ops.get(at) {
            at += 1;
            let (test, jump) = match op {
                Op::Range { place, low, high, inside, jump } => {
                    let number = source.integer(place);
                    (Some((*low <= number && number <= *high) == *inside), jump)
                }
                Op::Float { place, comparison, number, jump } => {
                    let found = source.place(place)?.float();
                    (found.map(|found| scalar::holds(*comparison, found.partial_cmp(number))), jump)
                }
                Op::Compare { comparison, left, right, jump } => {
                    (scalar::compare(*comparison, registers[index::<N>(*left)], registers[index::<N>(*right)]), jump)
                }
                Op::Truth { of, jump } => match registers[index::<N>(*of)] {
                    Scalar::Truth(truth) => (Some(truth), jump),
                    _ => (None, jump),
                },
                Op::Exists { of, jump } => (Some(!registers[index::<N>(*of)].is_missing()), jump),
                Op::Like { of, pattern, jump } => {
                    let is_like = |text: &str| scalar::is_like(text, &self.likes[usize::from(*pattern)]);
                    (scalar::text(&registers[index::<N>(*of)], &mut [0; 4]).map(is_like), jump)
                }
                Op::Matches { of, pattern, jump } => {
                    let matches = |text: &str| self.regexes[usize::from(*pattern)].is_match(text);
                    (scalar::text(&registers[index::<N>(*of)], &mut [0; 4]).map(matches), jump)
                }
                Op::Goto(target) => {
                    at = usize::from(*target);
                    continue;
                }
                step => {
                    self.step(step, source, &mut registers)?;
                    continue;
                }
            };
            if (test == Some(jump.want)) == jump.when {
                at = usize::from(jump.target);
            }
        }
        Ok((at != REJECTED, registers[0]))
    }

    /// A step that fills a register.
    #[inline]
    fn step<'a, const N: usize>(
        &'a self,
        step: &'a Op,
        source: &impl Source<'a>,
        registers: &mut [Scalar<'a>; N],
    ) -> Result<(), BadEvent> {
        match step {
            Op::Load { to, leaf } => registers[index::<N>(*to)] = load(source, leaf)?,
            Op::Constant { to, number } => {
                registers[index::<N>(*to)] = match &self.constants[usize::from(*number)] {
                    Constant::Integer(number) => Scalar::Integer(*number),
                    Constant::Float(number) => Scalar::Float(*number),
                    Constant::Truth(truth) => Scalar::Truth(*truth),
                    Constant::Text(text) => Scalar::Text(text),
                }
            }
            Op::Missing { to } => registers[index::<N>(*to)] = Scalar::Missing,
            Op::Compute { to, operation, left, right } => {
                let (left, right) = (registers[index::<N>(*left)], registers[index::<N>(*right)]);
                registers[index::<N>(*to)] = scalar::compute(*operation, left, right);
            }
            Op::Negate { to, of } => registers[index::<N>(*to)] = scalar::negate(registers[index::<N>(*of)]),
            Op::Call { to, function, of } => {
                registers[index::<N>(*to)] = scalar::call(*function, registers[index::<N>(*of)]);
            }
            _ => unreachable!("jumps are taken by the loop"),
        }
        Ok(())
    }
}

/// Registers are powers of two, so that this is no test.
#[inline]
fn index<const N: usize>(register: Register) -> usize {
    usize::from(register) & (N - 1)
}

#[inline]
fn load<'a>(source: &impl Source<'a>, leaf: &Leaf) -> Result<Scalar<'a>, BadEvent> {
    match leaf {
        Leaf::Place(place) => source.place(place),
        Leaf::Path(path) => source.path(*path),
        Leaf::Context(context) => Ok(source.context(*context)),
        Leaf::Input(number) => Ok(source.input(*number)),
    }
}
