//! Columns: on what kind of values a function of the specification works.
//!
//! The columns decide how a function's state travels. They come from the format of a member's records, or from the
//! format of a partial result; all parts of one wave have the same.

use std::fmt;

use super::Function;
use super::value::Kind;

/// What a function works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Column {
    pub(super) kind: Kind,
    /// Whether it is computed element by element of an array.
    pub(super) many: bool,
}

impl Column {
    /// The column of functions whose state is the same for all kinds.
    const ANY: Column = Column { kind: Kind::Float, many: false };

    /// What a function makes of values of a kind.
    pub(super) fn of(function: &Function, kind: Kind, many: bool) -> Column {
        match function {
            Function::Count(_) | Function::Distinct(_) | Function::Quantile { .. } | Function::Histogram { .. } => {
                Column::ANY
            }
            Function::Concatenate(_) | Function::Classes(_) | Function::Union(_) | Function::Top { .. } => {
                Column { kind, many: false }
            }
            Function::Sum(_)
            | Function::ExactSum(_)
            | Function::Average(_)
            | Function::Minimum(_)
            | Function::Maximum(_)
            | Function::First(_) => Column { kind, many },
        }
    }

    /// The column of a function whose field nobody has sent, unless its state is the same for all kinds.
    pub(super) fn missing(function: &Function) -> Column {
        Column::of(function, Kind::Missing, false)
    }

    /// Whether nobody has sent the field.
    pub(super) fn is_missing(self) -> bool {
        self.kind == Kind::Missing
    }

    /// Every column that a function may have.
    pub(super) fn all(function: &Function) -> impl Iterator<Item = Column> {
        let takes_numbers = takes_numbers(function);
        let kinds =
            Kind::ALL.into_iter().filter(move |kind| !takes_numbers || matches!(kind, Kind::Integer | Kind::Float));
        kinds.flat_map(move |kind| [Column::of(function, kind, false), Column::of(function, kind, true)])
    }
}

/// Whether a function computes with numbers, or takes values as they are.
pub(super) fn takes_numbers(function: &Function) -> bool {
    match function {
        Function::Sum(_)
        | Function::ExactSum(_)
        | Function::Average(_)
        | Function::Minimum(_)
        | Function::Maximum(_)
        | Function::Top { .. }
        | Function::Histogram { .. }
        | Function::Quantile { .. } => true,
        Function::Count(_)
        | Function::First(_)
        | Function::Concatenate(_)
        | Function::Distinct(_)
        | Function::Classes(_)
        | Function::Union(_) => false,
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if self.many { write!(f, ", many of them") } else { Ok(()) }
    }
}
