//! The functions of a specification: what is computed of which field.

use std::fmt;

use super::Path;

/// What is computed of the values of a wave.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Function {
    /// How many records there are, or how many have a value at the path.
    Count(Option<Path>),
    /// Their sum. Floats are added in member order.
    Sum(Path),
    /// Their sum, rounded once: the same bits on any tree.
    ExactSum(Path),
    /// Sum and count travel, so it is the average over all members.
    Average(Path),
    /// The smallest, with who has it.
    Minimum(Path),
    /// The largest, with who has it.
    Maximum(Path),
    /// The value of the lowest rank that has one.
    First(Path),
    /// All values in member order.
    Concatenate(Path),
    /// The largest ones, with who has them.
    Top {
        /// How many.
        count: u32,
        /// Of what.
        path: Path,
    },
    /// How many values fall into each of equal parts of a range.
    Histogram {
        /// Of what.
        path: Path,
        /// Where the first part begins.
        low: f64,
        /// Where the last part ends.
        high: f64,
        /// How many parts.
        bins: u32,
    },
    /// Values below which these shares of all values lie, within one percent.
    Quantile {
        /// The shares, each from 0 to 1.
        shares: Vec<f64>,
        /// Of what.
        path: Path,
    },
    /// About how many different values there are.
    Distinct(Path),
    /// The different values, each with the members that have it.
    Classes(Path),
    /// The different values.
    Union(Path),
}

impl Function {
    /// The field it is computed of.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Function::Count(path) => path.as_ref(),
            Function::Sum(path)
            | Function::ExactSum(path)
            | Function::Average(path)
            | Function::Minimum(path)
            | Function::Maximum(path)
            | Function::First(path)
            | Function::Concatenate(path)
            | Function::Top { path, .. }
            | Function::Histogram { path, .. }
            | Function::Quantile { path, .. }
            | Function::Distinct(path)
            | Function::Classes(path)
            | Function::Union(path) => Some(path),
        }
    }

    /// The word it is called by, and an example of its use.
    pub(super) fn writing(&self) -> (&'static str, &'static str) {
        match self {
            Function::Count(_) => ("count", "count() or count(load)"),
            Function::Sum(_) => ("sum", "sum(load)"),
            Function::ExactSum(_) => ("exact_sum", "exact_sum(load)"),
            Function::Average(_) => ("avg", "avg(load)"),
            Function::Minimum(_) => ("min", "min(temp)"),
            Function::Maximum(_) => ("max", "max(temp)"),
            Function::First(_) => ("first", "first(host)"),
            Function::Concatenate(_) => ("concat", "concat(name)"),
            Function::Top { .. } => ("top", "top(5, rss)"),
            Function::Histogram { .. } => ("hist", "hist(latency, 0, 100, 20)"),
            Function::Quantile { .. } => ("quantile", "quantile(0.5, 0.99, load)"),
            Function::Distinct(_) => ("distinct", "distinct(user)"),
            Function::Classes(_) => ("classes", "classes(state)"),
            Function::Union(_) => ("union", "union(tags)"),
        }
    }

    /// The word it is called by.
    pub fn word(&self) -> &'static str {
        self.writing().0
    }
}

/// As it is written in a specification.
impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.word())?;
        match self {
            Function::Top { count, .. } => write!(f, "{count}, ")?,
            Function::Quantile { shares, .. } => shares.iter().try_for_each(|share| write!(f, "{share}, "))?,
            _ => {}
        }
        if let Some(path) = self.path() {
            write!(f, "{path}")?;
        }
        if let Function::Histogram { low, high, bins, .. } = self {
            write!(f, ", {low}, {high}, {bins}")?;
        }
        write!(f, ")")
    }
}
