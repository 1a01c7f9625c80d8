//! The parts of a query, as they are written.

use crate::error::Span;

/// What is asked, as the text says it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Syntax {
    pub(crate) items: Items,
    pub(crate) sensors: Vec<Sensor>,
    pub(crate) filter: Option<Expression>,
    pub(crate) keys: Vec<Expression>,
    pub(crate) window: Option<Window>,
    pub(crate) having: Option<Expression>,
    /// One event in how many, and where that stands.
    pub(crate) sample: Option<(u64, Span)>,
    pub(crate) limit: Option<u64>,
}

/// What stands behind `select`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Items {
    /// Whole events.
    All,
    /// One column each.
    Columns(Vec<Item>),
}

/// A column of the result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    pub(crate) expression: Expression,
    pub(crate) name: Option<String>,
}

impl Item {
    /// The name of the column: the one given, or the text of the expression.
    pub(crate) fn column(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.expression.to_string())
    }
}

/// A sensor behind `from`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sensor {
    pub(crate) name: String,
    pub(crate) span: Span,
}

/// Windows of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Window {
    /// Nanoseconds.
    pub(crate) width: i64,
    /// Nanoseconds from one window to the next, if they overlap.
    pub(crate) slide: Option<i64>,
    pub(crate) span: Span,
}

/// A value computed of others.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expression {
    pub(crate) span: Span,
    /// How deep it nests.
    pub(crate) depth: usize,
    pub(crate) node: Node,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Integer(i128),
    Float(f64),
    Text(String),
    Truth(bool),
    /// Nanoseconds.
    Duration(i64),
    Field(FieldPath),
    Context(Context),
    Not(Box<Expression>),
    Negate(Box<Expression>),
    Binary(Binary, Box<Expression>, Box<Expression>),
    /// Text and pattern.
    Like(Box<Expression>, String),
    /// Text and regular expression.
    Matches(Box<Expression>, String),
    Call(Function, Box<Expression>),
    Aggregate(Aggregate),
}

impl Expression {
    pub(crate) fn new(span: Span, node: Node) -> Expression {
        let depth = 1 + node.parts().into_iter().flatten().map(|part| part.depth).max().unwrap_or(0);
        Expression { span, depth, node }
    }

    /// Calls `each` with this expression and those it is made of.
    pub(crate) fn walk<'e>(&'e self, each: &mut dyn FnMut(&'e Expression)) {
        each(self);
        self.node.parts().into_iter().flatten().for_each(|part| part.walk(each));
    }

    /// Whether an aggregate is in it.
    pub(crate) fn is_aggregate(&self) -> bool {
        let mut found = false;
        self.walk(&mut |part| found |= matches!(part.node, Node::Aggregate(_)));
        found
    }
}

impl Node {
    /// What it is computed of.
    fn parts(&self) -> [Option<&Expression>; 2] {
        match self {
            Node::Binary(_, left, right) => [Some(left), Some(right)],
            Node::Not(part) | Node::Negate(part) | Node::Call(_, part) => [Some(part), None],
            Node::Like(part, _) | Node::Matches(part, _) => [Some(part), None],
            Node::Aggregate(aggregate) => [aggregate.argument.as_deref(), None],
            _ => [None, None],
        }
    }
}

/// A way to a value within an event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FieldPath {
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// A field, or a case of a variant.
    Name(String),
    /// An item of an array or list.
    Item(usize),
}

/// What every event has beside its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    Host,
    Rank,
    Pid,
    Thread,
    Sequence,
    Time,
    Job,
    Sensor,
}

impl Context {
    pub(crate) const ALL: [Context; 8] = [
        Context::Host,
        Context::Rank,
        Context::Pid,
        Context::Thread,
        Context::Sequence,
        Context::Time,
        Context::Job,
        Context::Sensor,
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Context::Host => "host",
            Context::Rank => "rank",
            Context::Pid => "pid",
            Context::Thread => "thread",
            Context::Sequence => "sequence",
            Context::Time => "time",
            Context::Job => "job",
            Context::Sensor => "sensor",
        }
    }

    pub(crate) fn is_text(self) -> bool {
        matches!(self, Context::Host | Context::Job | Context::Sensor)
    }
}

/// An operation on two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    Or,
    And,
    Compare(Comparison),
    Compute(Arithmetic),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Binary {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Binary::Or => "or",
            Binary::And => "and",
            Binary::Compare(Comparison::Equal) => "=",
            Binary::Compare(Comparison::Unequal) => "!=",
            Binary::Compare(Comparison::Less) => "<",
            Binary::Compare(Comparison::LessOrEqual) => "<=",
            Binary::Compare(Comparison::Greater) => ">",
            Binary::Compare(Comparison::GreaterOrEqual) => ">=",
            Binary::Compute(Arithmetic::Add) => "+",
            Binary::Compute(Arithmetic::Subtract) => "-",
            Binary::Compute(Arithmetic::Multiply) => "*",
            Binary::Compute(Arithmetic::Divide) => "/",
            Binary::Compute(Arithmetic::Remainder) => "%",
        }
    }

    /// How strongly it binds. Comparisons do not chain.
    pub(crate) fn strength(self) -> u8 {
        match self {
            Binary::Or => 1,
            Binary::And => 2,
            Binary::Compare(_) => 4,
            Binary::Compute(Arithmetic::Add | Arithmetic::Subtract) => 5,
            Binary::Compute(_) => 6,
        }
    }
}

/// Strengths of what has one operand.
pub(crate) const NOT: u8 = 3;
pub(crate) const NEGATE: u8 = 7;

/// A function of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Abs,
    Floor,
    Ceil,
    Round,
    Sqrt,
    Length,
    Exists,
    /// What a value has grown by since the event before, of the same sensor and thread.
    Delta,
    /// That, a second.
    Rate,
}

impl Function {
    pub(crate) const ALL: [Function; 9] = [
        Function::Abs,
        Function::Floor,
        Function::Ceil,
        Function::Round,
        Function::Sqrt,
        Function::Length,
        Function::Exists,
        Function::Delta,
        Function::Rate,
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Function::Abs => "abs",
            Function::Floor => "floor",
            Function::Ceil => "ceil",
            Function::Round => "round",
            Function::Sqrt => "sqrt",
            Function::Length => "length",
            Function::Exists => "exists",
            Function::Delta => "delta",
            Function::Rate => "rate",
        }
    }

    /// Whether it looks back at the event before.
    pub(crate) fn looks_back(self) -> bool {
        matches!(self, Function::Delta | Function::Rate)
    }
}

/// An aggregate and what it is made of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Aggregate {
    pub(crate) kind: AggregateKind,
    pub(crate) argument: Option<Box<Expression>>,
}

/// What is computed of many values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum AggregateKind {
    Count,
    Sum,
    Average,
    Minimum,
    Maximum,
    First,
    Last,
    Top(u32),
    Histogram { low: f64, high: f64, bins: u32 },
    Quantile(f64),
    Distinct,
    Union,
    Classes,
}

impl AggregateKind {
    /// Words of aggregates; quantiles have short ones besides.
    pub(crate) const WORDS: [&'static str; 13] = [
        "count", "sum", "avg", "min", "max", "first", "last", "top", "hist", "quantile", "distinct", "union", "classes",
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            AggregateKind::Count => "count",
            AggregateKind::Sum => "sum",
            AggregateKind::Average => "avg",
            AggregateKind::Minimum => "min",
            AggregateKind::Maximum => "max",
            AggregateKind::First => "first",
            AggregateKind::Last => "last",
            AggregateKind::Top(_) => "top",
            AggregateKind::Histogram { .. } => "hist",
            AggregateKind::Quantile(_) => "quantile",
            AggregateKind::Distinct => "distinct",
            AggregateKind::Union => "union",
            AggregateKind::Classes => "classes",
        }
    }

    /// Whether its value is a list, which cannot be computed with.
    pub(crate) fn is_list(self) -> bool {
        matches!(
            self,
            AggregateKind::Top(_) | AggregateKind::Histogram { .. } | AggregateKind::Union | AggregateKind::Classes
        )
    }
}

/// The share of `p50`, `p95`, `p99`.
pub(crate) fn short_quantile(word: &str) -> Option<f64> {
    let digits = word.strip_prefix('p').filter(|digits| matches!(digits.len(), 1 | 2))?;
    let percent: u32 = digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    (percent > 0 && !digits.starts_with('0')).then(|| f64::from(percent) / 100.0)
}

/// For people who have looked for another one.
pub(crate) const ALL_FUNCTIONS: &str = "there are count, sum, avg, min, max, first, last, top, hist, quantile, p50 to p99, \
     distinct, union, classes, and abs, floor, ceil, round, sqrt, length, exists, delta, rate";

/// Words that begin a clause or join expressions; a field of such a name is put in double quotes.
const KEYWORDS: [&str; 20] = [
    "select", "from", "where", "group", "by", "every", "sliding", "having", "sample", "limit", "as", "and", "or",
    "not", "like", "matches", "true", "false", "join", "within",
];

/// Whether a word is no name of a field unless it is put in double quotes.
pub(crate) fn is_keyword(word: &str) -> bool {
    KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(word))
}
