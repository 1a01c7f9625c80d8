//! Specifications: which functions of which fields, grouped by what.
//!
//! A specification comes from a text (`"max(temp), avg(load), top(5, rss) by host"`, [`std::str::FromStr`]) or from a
//! [`Builder`]. It knows nothing of formats: whether a field exists and what it holds shows when the first record
//! arrives. Its text is canonical: what [`std::fmt::Display`] writes is read back as the same specification.

mod error;
mod function;
mod parse;
mod path;

use std::collections::BTreeSet;
use std::fmt;

pub use error::SpecificationError;
pub use function::Function;
pub use path::Path;
pub(crate) use path::PathStep;

/// Functions of one specification: each is a field or two of every partial result.
const MAX_AGGREGATES: usize = 256;

/// Fields to group by.
const MAX_KEYS: usize = 8;

/// Parts of a histogram: each is eight bytes of every partial result.
const MAX_BINS: u32 = 1 << 16;

/// Values of a `top`.
const MAX_TOP: u32 = 1 << 16;

/// Shares of a `quantile`.
const MAX_SHARES: usize = 64;

/// What a stream computes of each wave.
///
/// ```
/// use banyan_reduce::Specification;
///
/// let text = "max(temp), avg(load), top(5, rss) as largest by host";
/// let parsed: Specification = text.parse()?;
/// assert_eq!(parsed.to_string(), text);
/// let built = Specification::builder().max("temp").avg("load").top(5, "rss").named("largest").by("host").build()?;
/// assert_eq!(built, parsed);
///
/// let error = "max(temp), mean(load)".parse::<Specification>().unwrap_err();
/// assert!(error.to_string().starts_with("column 12: there is no function mean; there are count, sum,"));
/// # Ok::<(), banyan_reduce::SpecificationError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Specification {
    aggregates: Vec<Aggregate>,
    by: Vec<Path>,
    is_strict: bool,
}

/// One function and the name of its result.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Aggregate {
    /// What is computed.
    pub function: Function,
    /// The field of the result: the function's text, unless another was given.
    pub name: String,
}

impl Specification {
    /// Starts a specification.
    pub fn builder() -> Builder {
        Builder { aggregates: Vec::new(), by: Vec::new(), is_strict: false, error: None }
    }

    fn new(aggregates: Vec<Aggregate>, by: Vec<Path>) -> Result<Specification, SpecificationError> {
        let bounded = |what, found: usize, limit: usize| match found > limit {
            true => Err(SpecificationError::TooMany { what, found, limit }),
            false => Ok(()),
        };
        bounded("functions", aggregates.len(), MAX_AGGREGATES)?;
        bounded("fields to group by", by.len(), MAX_KEYS)?;
        if aggregates.is_empty() {
            return Err(SpecificationError::Empty { column: 1 });
        }
        let is_word = |name: &str| !name.is_empty() && name.chars().all(parse::is_of_a_word);
        for Aggregate { function, name } in &aggregates {
            if *name != function.to_string() && !is_word(name) {
                return Err(SpecificationError::Name { name: name.clone() });
            }
        }
        let mut names = BTreeSet::new();
        let all = by.iter().map(ToString::to_string).chain(aggregates.iter().map(|aggregate| aggregate.name.clone()));
        for name in all {
            if !names.insert(name.clone()) {
                return Err(SpecificationError::Twice { name });
            }
        }
        Ok(Specification { aggregates, by, is_strict: false })
    }

    /// The functions, in order.
    pub fn aggregates(&self) -> &[Aggregate] {
        &self.aggregates
    }

    /// Whether a record that lacks one of the fields is an error, and not a record without that value.
    pub fn is_strict(&self) -> bool {
        self.is_strict
    }

    /// The same, but strict or not.
    fn strict(self, is_strict: bool) -> Specification {
        Specification { is_strict, ..self }
    }

    /// The fields by which records are grouped.
    pub fn by(&self) -> &[Path] {
        &self.by
    }
}

/// Why a function's numbers are not possible.
fn unfit(function: &Function) -> Option<String> {
    match function {
        Function::Top { count, .. } if !(1..=MAX_TOP).contains(count) => Some(format!("keeps 1 to {MAX_TOP} values")),
        Function::Histogram { bins, .. } if !(1..=MAX_BINS).contains(bins) => {
            Some(format!("has 1 to {MAX_BINS} parts"))
        }
        Function::Histogram { low, high, .. } if !(low < high && (high - low).is_finite()) => {
            Some("begins below its end".into())
        }
        Function::Quantile { shares, .. } if shares.len() > MAX_SHARES => {
            Some(format!("takes at most {MAX_SHARES} shares"))
        }
        Function::Quantile { shares, .. } if !shares.iter().all(|share| (0.0..=1.0).contains(share)) => {
            Some("takes shares from 0 to 1".into())
        }
        _ => None,
    }
}

impl fmt::Display for Specification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_strict { "strict " } else { "" })?;
        for (position, Aggregate { function, name }) in self.aggregates.iter().enumerate() {
            let comma = if position == 0 { "" } else { ", " };
            let text = function.to_string();
            write!(f, "{comma}{text}")?;
            if text != *name {
                write!(f, " as {name}")?;
            }
        }
        for (position, path) in self.by.iter().enumerate() {
            let word = if position == 0 { " by " } else { ", " };
            write!(f, "{word}{path}")?;
        }
        Ok(())
    }
}

/// Builds a [`Specification`] in Rust. What is wrong with a path shows in [`Builder::build`].
#[derive(Debug, Clone)]
pub struct Builder {
    aggregates: Vec<Aggregate>,
    by: Vec<Path>,
    is_strict: bool,
    error: Option<SpecificationError>,
}

macro_rules! functions_of_a_path {
    ($($(#[$documentation:meta])* $name:ident: $function:ident;)*) => { $(
        $(#[$documentation])*
        pub fn $name(self, path: &str) -> Builder {
            self.with(path, Function::$function)
        }
    )* };
}

impl Builder {
    functions_of_a_path! {
        /// [`Function::Sum`].
        sum: Sum;
        /// [`Function::ExactSum`].
        exact_sum: ExactSum;
        /// [`Function::Average`].
        avg: Average;
        /// [`Function::Minimum`].
        min: Minimum;
        /// [`Function::Maximum`].
        max: Maximum;
        /// [`Function::First`].
        first: First;
        /// [`Function::Concatenate`].
        concat: Concatenate;
        /// [`Function::Distinct`].
        distinct: Distinct;
        /// [`Function::Classes`].
        classes: Classes;
        /// [`Function::Union`].
        union: Union;
    }

    /// [`Function::Count`] of records.
    pub fn count(mut self) -> Builder {
        self.push(Function::Count(None));
        self
    }

    /// [`Function::Count`] of values.
    pub fn count_of(self, path: &str) -> Builder {
        self.with(path, |path| Function::Count(Some(path)))
    }

    /// [`Function::Top`].
    pub fn top(self, count: u32, path: &str) -> Builder {
        self.with(path, |path| Function::Top { count, path })
    }

    /// [`Function::Histogram`].
    pub fn hist(self, path: &str, low: f64, high: f64, bins: u32) -> Builder {
        self.with(path, |path| Function::Histogram { path, low, high, bins })
    }

    /// [`Function::Quantile`].
    pub fn quantile(self, shares: &[f64], path: &str) -> Builder {
        self.with(path, |path| Function::Quantile { shares: shares.to_vec(), path })
    }

    /// Gives the result of the last function another name.
    pub fn named(mut self, name: &str) -> Builder {
        if let Some(last) = self.aggregates.last_mut() {
            last.name = name.into();
        }
        self
    }

    /// Groups by one more field.
    pub fn by(mut self, path: &str) -> Builder {
        match path.parse() {
            Ok(path) => self.by.push(path),
            Err(error) => self.error = self.error.or(Some(error)),
        }
        self
    }

    /// A record that lacks one of the fields is an error.
    pub fn strict(mut self) -> Builder {
        self.is_strict = true;
        self
    }

    /// The specification, or the first thing that was wrong.
    pub fn build(self) -> Result<Specification, SpecificationError> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(Specification::new(self.aggregates, self.by)?.strict(self.is_strict)),
        }
    }

    fn with(mut self, path: &str, function: impl FnOnce(Path) -> Function) -> Builder {
        match path.parse() {
            Ok(path) => self.push(function(path)),
            Err(error) => self.error = self.error.or(Some(error)),
        }
        self
    }

    fn push(&mut self, function: Function) {
        if let Some(reason) = unfit(&function) {
            let (name, example) = function.writing();
            self.error.get_or_insert(SpecificationError::Arguments { column: 1, name, reason, example });
        }
        self.aggregates.push(Aggregate { name: function.to_string(), function });
    }
}
