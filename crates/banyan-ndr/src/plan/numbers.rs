//! Which numbers become which: the rules for integers, floats, bools, characters and enumerations.

use std::collections::HashMap;
use std::sync::Arc;

use crate::kernel::program::{Instruction, Loss, Number, NumberKind};
use crate::{DefId, EnumerationDef, Format, Type};

/// How one number becomes another.
pub(super) struct NumberConversion {
    from: Number,
    to: Number,
    /// (source, target) values of an enumeration that is numbered anew, sorted.
    table: Option<Arc<[(i128, i128)]>>,
    /// What can be lost.
    pub(super) loss: Option<String>,
}

impl NumberConversion {
    /// The rule for two types, `None` when they are not both numbers, or why there is none.
    pub(super) fn between(
        (source, s): (&Format, &Type),
        (target, d): (&Format, &Type),
        known: &mut Renumberings,
    ) -> Option<Result<Self, String>> {
        let (from, to) = (number(source, s)?, number(target, d)?);
        let plain = |loss| Ok(NumberConversion { from, to, table: None, loss });
        let why_not = || Err(format!("{} does not become {}", source.type_name(s), target.type_name(d)));
        Some(match (s, d) {
            (Type::Enum(s), Type::Enum(d)) => {
                let found = known.entry((*s, *d)).or_insert_with(|| enumerations(source.enumeration(*s), target, *d));
                found.clone().map(|(table, loss)| NumberConversion { from, to, table, loss })
            }
            (Type::Enum(_), Type::Int { .. })
            | (Type::Int { .. } | Type::Float { .. }, Type::Int { .. } | Type::Float { .. })
            | (Type::Bool { .. } | Type::Int { .. }, Type::Bool { .. })
            | (Type::Bool { .. }, Type::Int { .. })
            | (Type::Char { .. }, Type::Char { .. }) => plain(loss(from, to)),
            _ => why_not(),
        })
    }

    /// The step that converts `count` numbers, one behind the other.
    pub(super) fn step(self, src: u32, dst: u32, count: u32, loss: Loss, path: impl FnOnce() -> u32) -> Instruction {
        let NumberConversion { from, to, table, .. } = self;
        let width = from.width;
        if let Some(table) = table {
            return Instruction::Renumber { src, dst, count, from, to, table, path: path() };
        }
        if (from.kind, width) != (to.kind, to.width) {
            return Instruction::Number { src, dst, count, from, to, loss, path: path() };
        }
        if from.order == to.order || width == 1 {
            return Instruction::Copy { src, dst, len: count * u32::from(width) };
        }
        Instruction::Swap { src, dst, width, count }
    }
}

/// How a type lies in memory, if it is a number.
pub(super) fn number(format: &Format, ty: &Type) -> Option<Number> {
    let integer = |signed| if signed { NumberKind::Signed } else { NumberKind::Unsigned };
    let (kind, width) = match ty {
        Type::Int { width, signed } => (integer(*signed), *width),
        Type::Float { width } => (NumberKind::Float, *width),
        Type::Bool { width } => (NumberKind::Bool, *width),
        Type::Char { width } => (NumberKind::Unsigned, *width),
        Type::Enum(id) => {
            let enumeration = format.enumeration(*id);
            (integer(enumeration.signed), enumeration.width)
        }
        _ => return None,
    };
    Some(Number { kind, width, order: format.order() })
}

/// What some values lose on their way between two representations.
fn loss(from: Number, to: Number) -> Option<String> {
    use NumberKind::{Bool, Float, Signed, Unsigned};
    let (from_bits, to_bits) = (8 * u32::from(from.width), 8 * u32::from(to.width));
    let exact_bits = match to.width {
        2 => 11,
        4 => 24,
        _ => 53,
    };
    let fits = match (from.kind, to.kind) {
        (Bool, _) => true,
        (_, Bool) | (Float, Signed | Unsigned) | (Signed, Unsigned) => false,
        (Unsigned, Signed) => from_bits < to_bits,
        (Unsigned, Float) => from_bits <= exact_bits,
        (Signed, Float) => from_bits - 1 <= exact_bits,
        (Unsigned, Unsigned) | (Signed, Signed) | (Float, Float) => from_bits <= to_bits,
    };
    (!fits).then(|| "not every value fits".to_owned())
}

type Renumbering = (Option<Arc<[(i128, i128)]>>, Option<String>);

/// What is known of pairs of enumerations. They may have many names, and stand in many places.
pub(super) type Renumberings = HashMap<(DefId, DefId), Result<Renumbering, String>>;

/// Most names that are listed as unknown.
const MOST_UNKNOWN: usize = 8;

/// Enumerations match by the names of their values. Names that the target does not know fail when they are met.
fn enumerations(source: &EnumerationDef, format: &Format, target: DefId) -> Result<Renumbering, String> {
    let by_name = |(name, value): &(String, i128)| format.value_of(target, name).map(|new| (*value, new));
    let mut table: Vec<(i128, i128)> = source.names.iter().filter_map(by_name).collect();
    if table.is_empty() && !source.names.is_empty() {
        return Err("the enumerations have no value in common".into());
    }
    let unknown: Vec<&str> = source
        .names
        .iter()
        .filter(|(name, _)| format.value_of(target, name).is_none())
        .map(|(name, _)| name.as_str())
        .collect();
    let loss = (!unknown.is_empty()).then(|| {
        let (named, more) = unknown.split_at(unknown.len().min(MOST_UNKNOWN));
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        format!("the target does not know {}{more}", named.join(", "))
    });
    if loss.is_none() && table.iter().all(|(from, to)| from == to) {
        return Ok((None, None));
    }
    table.sort_unstable();
    Ok((Some(table.into()), loss))
}

/// Whether two enumerations are the same but for what the target adds.
pub(super) fn same_numbering(source: &EnumerationDef, format: &Format, target: DefId) -> bool {
    source.names.iter().all(|(name, value)| format.value_of(target, name) == Some(*value))
}
