//! Why a text or a builder gives no specification.

/// Why there is no specification. Columns count characters from one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecificationError {
    /// Nothing to reduce.
    #[error("column {column}: a function is missing; write for example max(temp), avg(load)")]
    Empty {
        /// Where one should stand.
        column: usize,
    },
    /// No function of that name.
    #[error(
        "column {column}: there is no function {name}; there are count, sum, exact_sum, avg, min, max, first, concat, \
         top, hist, quantile, distinct, classes and union"
    )]
    Function {
        /// Where it stands.
        column: usize,
        /// The name.
        name: String,
    },
    /// The arguments of a function are others.
    #[error("column {column}: {name} {reason}; write it as {example}")]
    Arguments {
        /// Where they stand.
        column: usize,
        /// The function.
        name: &'static str,
        /// What is wrong with them.
        reason: String,
        /// How it is written.
        example: &'static str,
    },
    /// A path that is none.
    #[error("column {column}: the path {path:?} {reason}")]
    Path {
        /// Where that shows.
        column: usize,
        /// The whole path.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Something else stands where a sign should.
    #[error("column {column}: {found:?} stands where {wanted} should")]
    Unexpected {
        /// Where.
        column: usize,
        /// What is there.
        found: String,
        /// What should be.
        wanted: &'static str,
    },
    /// A name that cannot stand behind `as`.
    #[error("{name:?} is not a name for a result; use letters, digits and _")]
    Name {
        /// The name.
        name: String,
    },
    /// Two results of the same name.
    #[error("{name} stands there twice; leave one out, or give it a name of its own: {name} as other")]
    Twice {
        /// The name of both.
        name: String,
    },
    /// More than a bound allows.
    #[error("{found} {what} are more than the {limit} allowed; use several streams")]
    TooMany {
        /// What.
        what: &'static str,
        /// How many.
        found: usize,
        /// How many may be.
        limit: usize,
    },
}
