//! From expressions to programs, with the types checked.

use regex_lite::RegexBuilder;

use crate::error::{Fault, Problem, Span};
use crate::place::Holds;
use crate::program::{Constant, Jump, Leaf, MAX_STEPS, Op, Program, REJECT, Register};
use crate::syntax::{Arithmetic, Binary, Comparison, Expression, Function, Node};

/// Bytes that a compiled regular expression may take.
const MAX_REGEX: usize = 1 << 20;

/// What an expression is before it has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Integer,
    Float,
    /// One of both; which shows later.
    Number,
    Truth,
    Text,
    /// One of all these; which shows later.
    Any,
    List,
}

impl Sort {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Sort::Integer | Sort::Float | Sort::Number => "a number",
            Sort::Truth => "a condition",
            Sort::Text => "a text",
            Sort::Any => "a value",
            Sort::List => "a list",
        }
    }

    /// Truth values count as numbers: one and zero.
    pub(crate) fn is_number(self) -> bool {
        matches!(self, Sort::Integer | Sort::Float | Sort::Number | Sort::Truth | Sort::Any)
    }

    pub(crate) fn is_text(self) -> bool {
        matches!(self, Sort::Text | Sort::Any)
    }

    pub(crate) fn of(holds: Holds) -> Sort {
        match holds {
            Holds::Truth(_) => Sort::Truth,
            Holds::Character(_) | Holds::Enumeration(_) | Holds::Text | Holds::CText => Sort::Text,
            holds if holds.is_float() => Sort::Float,
            _ => Sort::Integer,
        }
    }
}

/// What expressions are about: the fields of a format, or aggregates.
pub(crate) trait Scope {
    /// A value that is there before the program runs; none if the expression is computed from its parts.
    fn leaf(&mut self, expression: &Expression) -> Result<Option<(Leaf, Sort)>, Fault>;
}

/// Compiles an expression that has a value.
pub(crate) fn value(expression: &Expression, scope: &mut dyn Scope) -> Result<(Program, Sort), Fault> {
    let mut compiler = Compiler { scope, program: Program::default() };
    let sort = compiler.value(expression, 0)?;
    compiler.program.registers = compiler.program.registers.max(1);
    Ok((compiler.program, sort))
}

/// Compiles a condition.
pub(crate) fn condition(expression: &Expression, scope: &mut dyn Scope) -> Result<Program, Fault> {
    let mut compiler = Compiler { scope, program: Program::default() };
    let leaves = compiler.branch(expression, true, false, 0)?;
    leaves.into_iter().for_each(|jump| compiler.program.ops[jump].set_target(REJECT));
    Ok(compiler.program)
}

struct Compiler<'s> {
    scope: &'s mut dyn Scope,
    program: Program,
}

type Checked<T> = Result<T, Fault>;

impl Compiler<'_> {
    fn emit(&mut self, op: Op, span: Span) -> Checked<usize> {
        if self.program.ops.len() == MAX_STEPS {
            let problem = Problem::TooMany { what: "steps of an expression", found: MAX_STEPS + 1, limit: MAX_STEPS };
            return Err(Fault::new(span, problem));
        }
        self.program.ops.push(op);
        Ok(self.program.ops.len() - 1)
    }

    /// Computes into a register; those above are free.
    fn value(&mut self, expression: &Expression, to: Register) -> Checked<Sort> {
        let span = expression.span;
        self.program.registers = self.program.registers.max(usize::from(to) + 1);
        if let Some((leaf, sort)) = self.scope.leaf(expression)? {
            self.emit(Op::Load { to, leaf }, span)?;
            return Ok(sort);
        }
        let (constant, sort) = match &expression.node {
            Node::Integer(number) => (Constant::Integer(*number), Sort::Integer),
            Node::Duration(nanoseconds) => (Constant::Integer((*nanoseconds).into()), Sort::Integer),
            Node::Float(number) => (Constant::Float(*number), Sort::Float),
            Node::Truth(truth) => (Constant::Truth(*truth), Sort::Truth),
            Node::Text(text) => (Constant::Text(text.as_str().into()), Sort::Text),
            Node::Negate(of) => {
                let sort = self.number(of, to)?;
                self.emit(Op::Negate { to, of: to }, span)?;
                return Ok(if sort == Sort::Truth { Sort::Integer } else { sort });
            }
            Node::Binary(Binary::Compute(operation), left, right) => {
                let next = self.next(to, span)?;
                let sorts = [self.number(left, to)?, self.number(right, next)?];
                self.emit(Op::Compute { to, operation: *operation, left: to, right: next }, span)?;
                return Ok(match operation {
                    Arithmetic::Divide => Sort::Float,
                    _ if sorts.contains(&Sort::Float) => Sort::Float,
                    _ if sorts.contains(&Sort::Number) || sorts.contains(&Sort::Any) => Sort::Number,
                    _ => Sort::Integer,
                });
            }
            Node::Call(function, of) if *function != Function::Exists => {
                return self.call(*function, of, to, span);
            }
            Node::Call(..) | Node::Not(_) | Node::Like(..) | Node::Matches(..) | Node::Binary(..) => {
                self.truth(expression, to)?;
                return Ok(Sort::Truth);
            }
            Node::Field(_) | Node::Context(_) | Node::Aggregate(_) => unreachable!("the scope knows these"),
        };
        let number = self.program.constants.len() as u16;
        self.program.constants.push(constant);
        self.emit(Op::Constant { to, number }, span)?;
        Ok(sort)
    }

    /// The register behind one.
    fn next(&self, register: Register, span: Span) -> Checked<Register> {
        let problem = Problem::TooMany { what: "levels of an expression", found: 256, limit: 255 };
        register.checked_add(1).ok_or_else(|| Fault::new(span, problem))
    }

    fn number(&mut self, expression: &Expression, to: Register) -> Checked<Sort> {
        let sort = self.value(expression, to)?;
        match sort.is_number() {
            true => Ok(sort),
            false => Err(mismatch(sort, "a number", expression.span)),
        }
    }

    fn call(&mut self, function: Function, of: &Expression, to: Register, span: Span) -> Checked<Sort> {
        let sort = self.value(of, to)?;
        let sort = match function {
            Function::Length if sort.is_text() => Sort::Integer,
            Function::Length => return Err(mismatch(sort, "a text", of.span)),
            _ if !sort.is_number() => return Err(mismatch(sort, "a number", of.span)),
            Function::Sqrt => Sort::Float,
            Function::Abs | Function::Floor | Function::Ceil | Function::Round if sort == Sort::Any => Sort::Number,
            Function::Abs | Function::Floor | Function::Ceil | Function::Round if sort != Sort::Truth => sort,
            // The functions take a truth value as a float.
            _ => Sort::Float,
        };
        self.emit(Op::Call { to, function, of: to }, span)?;
        Ok(sort)
    }

    /// A condition as a value: true, false or missing.
    fn truth(&mut self, expression: &Expression, to: Register) -> Checked<()> {
        let span = expression.span;
        let mut ends = Vec::new();
        for truth in [true, false] {
            let others = self.branch(expression, truth, false, to)?;
            let number = self.program.constants.len() as u16;
            self.program.constants.push(Constant::Truth(truth));
            self.emit(Op::Constant { to, number }, span)?;
            ends.push(self.emit(Op::Goto(0), span)?);
            self.land(others);
        }
        self.emit(Op::Missing { to }, span)?;
        self.land(ends);
        Ok(())
    }

    /// These jumps lead to what comes next.
    fn land(&mut self, jumps: Vec<usize>) {
        let here = self.program.ops.len() as u16;
        jumps.into_iter().for_each(|jump| self.program.ops[jump].set_target(here));
    }

    /// Goes on, or jumps: whether a condition is as wanted decides, and `when` says when to jump. Returns the jumps,
    /// which lead nowhere yet. Registers from `free` on are free.
    fn branch(&mut self, expression: &Expression, want: bool, when: bool, free: Register) -> Checked<Vec<usize>> {
        let span = expression.span;
        match &expression.node {
            Node::Not(of) => return self.branch(of, !want, when, free),
            Node::Binary(operation @ (Binary::And | Binary::Or), left, right) => {
                // Both have to be as wanted, or one of them.
                let is_both = (*operation == Binary::And) == want;
                return if is_both != when {
                    let mut jumps = self.branch(left, want, when, free)?;
                    jumps.extend(self.branch(right, want, when, free)?);
                    Ok(jumps)
                } else {
                    let around = self.branch(left, want, !when, free)?;
                    let jumps = self.branch(right, want, when, free)?;
                    self.land(around);
                    Ok(jumps)
                };
            }
            _ => {}
        }
        let jump = Jump { want, when, target: 0 };
        let test = match &expression.node {
            Node::Binary(Binary::Compare(comparison), left, right) => {
                match self.quick(*comparison, left, right, jump)? {
                    Some(test) => test,
                    None => {
                        let next = self.next(free, span)?;
                        self.compared(left, right, free, next)?;
                        Op::Compare { comparison: *comparison, left: free, right: next, jump }
                    }
                }
            }
            Node::Call(Function::Exists, of) => {
                self.value(of, free)?;
                Op::Exists { of: free, jump }
            }
            Node::Like(of, pattern) => {
                self.text(of, free)?;
                self.program.likes.push(pattern.as_str().into());
                Op::Like { of: free, pattern: self.program.likes.len() as u16 - 1, jump }
            }
            Node::Matches(of, pattern) => {
                self.text(of, free)?;
                let regex = RegexBuilder::new(pattern).size_limit(MAX_REGEX).build();
                self.program
                    .regexes
                    .push(regex.map_err(|error| Fault::new(span, Problem::Pattern(error.to_string())))?);
                Op::Matches { of: free, pattern: self.program.regexes.len() as u16 - 1, jump }
            }
            _ => match self.value(expression, free)? {
                Sort::Truth | Sort::Any => Op::Truth { of: free, jump },
                sort => return Err(mismatch(sort, "a condition", span)),
            },
        };
        Ok(vec![self.emit(test, span)?])
    }

    fn text(&mut self, of: &Expression, to: Register) -> Checked<()> {
        match self.value(of, to)? {
            sort if sort.is_text() => Ok(()),
            sort => Err(mismatch(sort, "a text", of.span)),
        }
    }

    /// Both sides of a comparison, which must be of one sort.
    fn compared(&mut self, left: &Expression, right: &Expression, to: Register, next: Register) -> Checked<()> {
        let first = self.value(left, to)?;
        let second = self.value(right, next)?;
        let are_alike = first.is_number() && second.is_number() || first.is_text() && second.is_text();
        match (first, second) {
            _ if are_alike => Ok(()),
            (Sort::List, _) => Err(mismatch(first, "a single value", left.span)),
            (_, Sort::List) => Err(mismatch(second, "a single value", right.span)),
            _ => Err(mismatch(second, first.word(), right.span)),
        }
    }

    /// A comparison of a field in a fixed place with a number, as one step.
    fn quick(&mut self, by: Comparison, left: &Expression, right: &Expression, jump: Jump) -> Checked<Option<Op>> {
        let (comparison, field, constant) = match (&left.node, &right.node) {
            (Node::Field(_), _) => (by, left, &right.node),
            (_, Node::Field(_)) => (turned(by), right, &left.node),
            _ => return Ok(None),
        };
        let Some((Leaf::Place(place), _)) = self.scope.leaf(field)? else { return Ok(None) };
        let number = match (constant, place.holds) {
            (Node::Integer(number), _) => *number,
            (Node::Duration(nanoseconds), _) => (*nanoseconds).into(),
            (Node::Float(number), holds) if holds.is_float() => {
                return Ok(Some(Op::Float { place, comparison, number: *number, jump }));
            }
            _ => return Ok(None),
        };
        if place.holds.is_float() {
            return Ok(Some(Op::Float { place, comparison, number: number as f64, jump }));
        }
        Ok(place.holds.is_integer().then(|| {
            let (low, high, inside) = match comparison {
                Comparison::Equal => (number, number, true),
                Comparison::Unequal => (number, number, false),
                Comparison::Less => (number, i128::MAX, false),
                Comparison::LessOrEqual => (i128::MIN, number, true),
                Comparison::Greater => (i128::MIN, number, false),
                Comparison::GreaterOrEqual => (number, i128::MAX, true),
            };
            // Of what is wanted not to hold, the opposite is wanted: an integer in its place is never missing.
            Op::Range { place, low, high, inside, jump }
        }))
    }
}

/// The comparison with its sides exchanged.
fn turned(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        same => same,
    }
}

pub(crate) fn mismatch(found: Sort, wanted: &'static str, span: Span) -> Fault {
    Fault::new(span, Problem::Type { found: found.word(), wanted })
}
