//! From text to syntax: recursive descent, and precedence climbing for expressions.

use std::sync::Arc;

use crate::error::{Fault, Problem, QueryError, Span, nearest};
use crate::syntax::{
    Aggregate, AggregateKind, Arithmetic, Binary, Comparison, Context, Expression, FieldPath, Function, Item, Items,
    NEGATE, NOT, Node, Sensor, Step, Syntax, Window, is_keyword, short_quantile,
};
use crate::token::{Token, tokens};

/// How deep expressions nest. Each level takes some stack where they are looked at.
const MAX_DEPTH: usize = 100;

/// Columns of a result.
const MAX_ITEMS: usize = 64;

/// Expressions to group by.
const MAX_KEYS: usize = 16;

/// Sensors of one query.
const MAX_SENSORS: usize = 16;

/// Indices and names of one path, as `banyan-reduce` has it.
const MAX_STEPS: usize = 64;

/// Bytes of a pattern: what a regular expression takes grows with the square of its groups.
const MAX_PATTERN: usize = 256;

/// Bins of a histogram, and values of a `top`: each travels with every group.
const MAX_VALUES: u32 = 1 << 12;

/// Reads a query.
pub(crate) fn parse(text: &Arc<str>) -> Result<Syntax, QueryError> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0 };
    parser.query().map_err(|fault| QueryError::new(text, fault))
}

struct Parser {
    tokens: Vec<(Token, Span)>,
    at: usize,
    /// Brackets and signs that are open.
    depth: usize,
}

type Parsed<T> = Result<T, Fault>;

impl Parser {
    fn query(&mut self) -> Parsed<Syntax> {
        self.expect_word("select")?;
        let items = match self.take_sign("*") {
            true => Items::All,
            false => Items::Columns(self.list(MAX_ITEMS, "columns", Self::item)?),
        };
        self.expect_word("from")?;
        let sensors = self.list(MAX_SENSORS, "sensors", Self::sensor)?;
        let filter = self.clause("where")?;
        let keys = match self.take_word("group") {
            true => {
                self.expect_word("by")?;
                self.list(MAX_KEYS, "expressions to group by", |parser| parser.expression(0))?
            }
            false => Vec::new(),
        };
        let window = self.window()?;
        let having = self.clause("having")?;
        let sample = self.sample()?;
        let limit = match self.take_word("limit") {
            true => Some(self.count("a number of rows")?.0),
            false => None,
        };
        match self.peek() {
            Token::End => Ok(Syntax { items, sensors, filter, keys, window, having, sample, limit }),
            _ => Err(self.unexpected("another clause, or the end,")),
        }
    }

    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn span(&self) -> Span {
        self.tokens[self.at].1
    }

    /// The last token taken.
    fn before(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].1
    }

    fn next(&mut self) -> (Token, Span) {
        let next = self.tokens[self.at].clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        next
    }

    fn is_word(&self, wanted: &str) -> bool {
        matches!(self.peek(), Token::Word(word) if word.eq_ignore_ascii_case(wanted))
    }

    fn take_word(&mut self, wanted: &str) -> bool {
        let is_there = self.is_word(wanted);
        if is_there {
            self.next();
        }
        is_there
    }

    fn expect_word(&mut self, wanted: &str) -> Parsed<()> {
        if self.take_word(wanted) { Ok(()) } else { Err(self.unexpected(wanted)) }
    }

    fn take_sign(&mut self, wanted: &str) -> bool {
        let is_there = matches!(self.peek(), Token::Sign(sign) if *sign == wanted);
        if is_there {
            self.next();
        }
        is_there
    }

    fn expect_sign(&mut self, wanted: &str) -> Parsed<()> {
        if self.take_sign(wanted) { Ok(()) } else { Err(self.unexpected(wanted)) }
    }

    fn unexpected(&self, wanted: &str) -> Fault {
        let found = match self.peek() {
            Token::Word(word) => short(word),
            Token::Name(name) => format!("\"{}\"", short(name)),
            Token::Text(text) => format!("'{}'", short(text)),
            Token::Integer(number) => number.to_string(),
            Token::Float(number) => number.to_string(),
            Token::Duration(nanoseconds) => format!("{nanoseconds} ns"),
            Token::Sign(sign) => (*sign).into(),
            Token::End => "the end".into(),
        };
        Fault::new(self.span(), Problem::Unexpected { found, wanted: wanted.into() })
    }

    fn list<T>(
        &mut self,
        limit: usize,
        what: &'static str,
        mut one: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut all = vec![one(self)?];
        while self.take_sign(",") {
            if all.len() == limit {
                return Err(Fault::new(self.span(), Problem::TooMany { what, found: limit + 1, limit }));
            }
            all.push(one(self)?);
        }
        Ok(all)
    }

    fn item(&mut self) -> Parsed<Item> {
        let expression = self.expression(0)?;
        let name = match self.take_word("as") {
            true => Some(self.name("a name")?),
            false => None,
        };
        Ok(Item { expression, name })
    }

    fn sensor(&mut self) -> Parsed<Sensor> {
        let start = self.span();
        let mut name = self.name("the name of a sensor")?;
        while self.take_sign(".") {
            name.push('.');
            name.push_str(&self.name("the rest of the sensor's name")?);
        }
        Ok(Sensor { name, span: start.to(self.before()) })
    }

    /// A word that is no keyword, or a name in quotes.
    fn name(&mut self, wanted: &str) -> Parsed<String> {
        match self.peek() {
            Token::Word(word) if !is_keyword(word) => {}
            Token::Name(_) => {}
            _ => return Err(self.unexpected(wanted)),
        }
        match self.next().0 {
            Token::Word(name) | Token::Name(name) => Ok(name),
            _ => unreachable!("a name was there"),
        }
    }

    fn clause(&mut self, word: &str) -> Parsed<Option<Expression>> {
        if self.take_word(word) { self.expression(0).map(Some) } else { Ok(None) }
    }

    fn window(&mut self) -> Parsed<Option<Window>> {
        let start = self.span();
        if !self.take_word("every") {
            return Ok(None);
        }
        let width = self.duration()?;
        let slide = if self.take_word("sliding") { Some(self.duration()?) } else { None };
        Ok(Some(Window { width, slide, span: start.to(self.before()) }))
    }

    fn duration(&mut self) -> Parsed<i64> {
        match *self.peek() {
            Token::Duration(nanoseconds @ 1..) => {
                self.next();
                Ok(nanoseconds)
            }
            _ => Err(self.unexpected("a duration, such as 1s,")),
        }
    }

    fn sample(&mut self) -> Parsed<Option<(u64, Span)>> {
        let start = self.span();
        if !self.take_word("sample") {
            return Ok(None);
        }
        match self.peek() {
            Token::Integer(1) => self.next(),
            _ => return Err(self.unexpected("1 in N")),
        };
        self.expect_word("in")?;
        let (one_in, end) = self.count("how many")?;
        Ok(Some((one_in, start.to(end))))
    }

    /// A number from one on.
    fn count(&mut self, wanted: &str) -> Parsed<(u64, Span)> {
        match *self.peek() {
            Token::Integer(number @ 1..) if let Ok(number) = u64::try_from(number) => Ok((number, self.next().1)),
            _ => Err(self.unexpected(wanted)),
        }
    }

    /// An expression whose operators bind at least so strongly.
    fn expression(&mut self, least: u8) -> Parsed<Expression> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep(self.span(), self.depth));
        }
        let mut left = self.operand(least)?;
        let mut was_comparison = false;
        while let Some((strength, is_comparison)) = self.operator().filter(|(strength, _)| *strength >= least) {
            if is_comparison && was_comparison {
                return Err(self.unexpected("and, with another comparison,"));
            }
            left = self.operation(left, strength)?;
            was_comparison = is_comparison;
            if left.depth > MAX_DEPTH {
                return Err(too_deep(left.span, left.depth));
            }
        }
        self.depth -= 1;
        Ok(left)
    }

    /// How strongly the next operator binds, and whether it compares.
    fn operator(&self) -> Option<(u8, bool)> {
        let words = [("or", 1, false), ("and", 2, false), ("like", 4, true), ("matches", 4, true), ("not", 4, true)];
        match self.peek() {
            Token::Word(_) => words.into_iter().find(|(word, ..)| self.is_word(word)).map(|(_, is, of)| (is, of)),
            Token::Sign(sign) => binary(sign).map(|of| (of.strength(), matches!(of, Binary::Compare(_)))),
            _ => None,
        }
    }

    /// What follows the left side, whose operator binds so strongly.
    fn operation(&mut self, left: Expression, strength: u8) -> Parsed<Expression> {
        let operator = match self.next().0 {
            Token::Sign(sign) => binary(sign),
            Token::Word(word) if word.eq_ignore_ascii_case("and") => Some(Binary::And),
            Token::Word(word) if word.eq_ignore_ascii_case("or") => Some(Binary::Or),
            _ => None,
        };
        if let Some(operator) = operator {
            let right = self.expression(strength + 1)?;
            let span = left.span.to(right.span);
            return Ok(Expression::new(span, Node::Binary(operator, left.into(), right.into())));
        }
        // A pattern; the word before, or the one after a `not`, says of which kind.
        self.at -= 1;
        let is_not = self.take_word("not");
        let is_like = match (self.is_word("like"), self.is_word("matches")) {
            (false, false) => return Err(self.unexpected("like or matches")),
            (is_like, _) => is_like,
        };
        self.next();
        let (pattern, end) = match self.peek() {
            Token::Text(_) => self.next(),
            _ => return Err(self.unexpected("a text in single quotes")),
        };
        let Token::Text(pattern) = pattern else { unreachable!("a text was there") };
        if pattern.len() > MAX_PATTERN {
            let (what, found) = ("bytes of a pattern", pattern.len());
            return Err(Fault::new(end, Problem::TooMany { what, found, limit: MAX_PATTERN }));
        }
        let span = left.span.to(end);
        let node = if is_like { Node::Like(left.into(), pattern) } else { Node::Matches(left.into(), pattern) };
        let expression = Expression::new(span, node);
        Ok(if is_not { Expression::new(span, Node::Not(expression.into())) } else { expression })
    }

    fn operand(&mut self, least: u8) -> Parsed<Expression> {
        let start = self.span();
        if self.is_word("not") {
            if least > NOT {
                return Err(self.unexpected("a value"));
            }
            self.next();
            let of = self.expression(NOT)?;
            return Ok(Expression::new(start.to(of.span), Node::Not(of.into())));
        }
        if self.take_sign("-") {
            let of = self.expression(NEGATE)?;
            let span = start.to(of.span);
            return Ok(Expression::new(
                span,
                match of.node {
                    Node::Integer(number) => Node::Integer(-number),
                    Node::Float(number) => Node::Float(-number),
                    Node::Duration(nanoseconds) => Node::Duration(-nanoseconds),
                    _ => Node::Negate(of.into()),
                },
            ));
        }
        if self.take_sign("(") {
            let mut inner = self.expression(0)?;
            self.expect_sign(")")?;
            inner.span = start.to(self.before());
            return Ok(inner);
        }
        let node = match self.peek().clone() {
            Token::Integer(number) => Node::Integer(number),
            Token::Float(number) => Node::Float(number),
            Token::Duration(nanoseconds) => Node::Duration(nanoseconds),
            Token::Text(text) => Node::Text(text),
            Token::Word(word) if word.eq_ignore_ascii_case("true") => Node::Truth(true),
            Token::Word(word) if word.eq_ignore_ascii_case("false") => Node::Truth(false),
            Token::Word(word) if self.tokens[self.at + 1].0 == Token::Sign("(") => return self.call(&word),
            Token::Word(word) if !is_keyword(&word) => return self.path(),
            Token::Name(_) => return self.path(),
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Expression::new(self.next().1, node))
    }

    /// A context column, or a path into the event.
    fn path(&mut self) -> Parsed<Expression> {
        let start = self.span();
        let word = match self.peek() {
            Token::Word(word) => Some(word.clone()),
            _ => None,
        };
        let mut steps = vec![Step::Name(self.name("the name of a field")?)];
        loop {
            let step = if self.take_sign(".") {
                Step::Name(self.name("the name of a field")?)
            } else if self.take_sign("[") {
                let index = match *self.peek() {
                    Token::Integer(index) => usize::try_from(index).ok(),
                    _ => None,
                };
                let index = index.ok_or_else(|| self.unexpected("the number of an item, from 0,"))?;
                self.next();
                self.expect_sign("]")?;
                Step::Item(index)
            } else {
                break;
            };
            if steps.len() == MAX_STEPS {
                let problem = Problem::TooMany { what: "steps of a path", found: MAX_STEPS + 1, limit: MAX_STEPS };
                return Err(Fault::new(self.before(), problem));
            }
            steps.push(step);
        }
        let context = Context::ALL.into_iter().find(|context| word.as_deref() == Some(context.word()));
        let node = match (context, steps.len()) {
            (Some(context), 1) => Node::Context(context),
            _ => Node::Field(FieldPath { steps }),
        };
        Ok(Expression::new(start.to(self.before()), node))
    }

    fn call(&mut self, name: &str) -> Parsed<Expression> {
        let start = self.next().1;
        self.expect_sign("(")?;
        let node = if let Some(function) = Function::ALL.into_iter().find(|function| function.word() == name) {
            Node::Call(function, self.expression(0)?.into())
        } else {
            Node::Aggregate(self.aggregate(name, start)?)
        };
        self.expect_sign(")")?;
        Ok(Expression::new(start.to(self.before()), node))
    }

    fn aggregate(&mut self, name: &str, span: Span) -> Parsed<Aggregate> {
        let kind = match name {
            "count" => AggregateKind::Count,
            "sum" => AggregateKind::Sum,
            "avg" => AggregateKind::Average,
            "min" => AggregateKind::Minimum,
            "max" => AggregateKind::Maximum,
            "first" => AggregateKind::First,
            "last" => AggregateKind::Last,
            "distinct" => AggregateKind::Distinct,
            "union" => AggregateKind::Union,
            "classes" => AggregateKind::Classes,
            "top" => {
                let (most, span) = self.count("how many")?;
                let most = within_bound(most, span, "values of a top")?;
                self.expect_sign(",")?;
                AggregateKind::Top(most)
            }
            "quantile" => {
                let span = self.span();
                let share = self.number()?;
                if !(0.0..=1.0).contains(&share) {
                    return Err(arguments(span, "quantile", "takes a share from 0 to 1", "quantile(0.99, ms)"));
                }
                self.expect_sign(",")?;
                AggregateKind::Quantile(share)
            }
            "hist" => return self.histogram(),
            _ => match short_quantile(name) {
                Some(share) => AggregateKind::Quantile(share),
                None => {
                    let known = AggregateKind::WORDS.into_iter().chain(Function::ALL.into_iter().map(Function::word));
                    let (name, nearest) = (short(name), nearest(name, known));
                    return Err(Fault::new(span, Problem::Function { name, nearest }));
                }
            },
        };
        if matches!(self.peek(), Token::Sign(")")) {
            return match kind {
                AggregateKind::Count => Ok(Aggregate { kind, argument: None }),
                _ => Err(arguments(self.span(), name, "takes a value", &format!("{name}(residual)"))),
            };
        }
        Ok(Aggregate { kind, argument: Some(self.expression(0)?.into()) })
    }

    fn histogram(&mut self) -> Parsed<Aggregate> {
        let argument = self.expression(0)?;
        self.expect_sign(",")?;
        let start = self.span();
        let low = self.number()?;
        self.expect_sign(",")?;
        let high = self.number()?;
        let span = start.to(self.before());
        if !(low < high && (high - low).is_finite()) {
            return Err(arguments(span, "hist", "begins below its end", "hist(ms, 0, 100, 20)"));
        }
        self.expect_sign(",")?;
        let (bins, span) = self.count("how many bins")?;
        let bins = within_bound(bins, span, "bins of a histogram")?;
        Ok(Aggregate { kind: AggregateKind::Histogram { low, high, bins }, argument: Some(argument.into()) })
    }

    /// A number as it stands there.
    fn number(&mut self) -> Parsed<f64> {
        let is_negative = self.take_sign("-");
        let number = match *self.peek() {
            Token::Integer(number) => number as f64,
            Token::Float(number) => number,
            _ => return Err(self.unexpected("a number")),
        };
        self.next();
        Ok(if is_negative { -number } else { number })
    }
}

fn binary(sign: &str) -> Option<Binary> {
    Some(match sign {
        "=" | "==" => Binary::Compare(Comparison::Equal),
        "!=" | "<>" => Binary::Compare(Comparison::Unequal),
        "<" => Binary::Compare(Comparison::Less),
        "<=" => Binary::Compare(Comparison::LessOrEqual),
        ">" => Binary::Compare(Comparison::Greater),
        ">=" => Binary::Compare(Comparison::GreaterOrEqual),
        "+" => Binary::Compute(Arithmetic::Add),
        "-" => Binary::Compute(Arithmetic::Subtract),
        "*" => Binary::Compute(Arithmetic::Multiply),
        "/" => Binary::Compute(Arithmetic::Divide),
        "%" => Binary::Compute(Arithmetic::Remainder),
        _ => return None,
    })
}

fn too_deep(span: Span, found: usize) -> Fault {
    Fault::new(span, Problem::TooMany { what: "levels of an expression", found, limit: MAX_DEPTH })
}

fn arguments(span: Span, function: &str, reason: &str, example: &str) -> Fault {
    let (function, reason, example) = (function.into(), reason.into(), example.into());
    Fault::new(span, Problem::Arguments { function, reason, example })
}

fn within_bound(number: u64, span: Span, what: &'static str) -> Parsed<u32> {
    let limit = MAX_VALUES as usize;
    let fits = u32::try_from(number).ok().filter(|number| *number <= MAX_VALUES);
    fits.ok_or_else(|| {
        Fault::new(span, Problem::TooMany { what, found: usize::try_from(number).unwrap_or(usize::MAX), limit })
    })
}

/// As much of a word as fits a message.
fn short(word: &str) -> String {
    word.chars().take(40).collect()
}
