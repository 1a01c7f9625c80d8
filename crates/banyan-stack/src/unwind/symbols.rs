//! Which function an address belongs to, from the tables of symbols.

use super::name::demangled;

/// Names longer than this are cut: they are shown to people.
pub(super) const MAX_NAME: usize = 4096;

/// Bytes of all names of a file. The largest programs have a tenth of that.
const MAX_NAMES: usize = 1 << 28;

/// Functions by address.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    /// Ascending, one an address.
    functions: Vec<Function>,
    /// All names, one behind the other.
    names: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Function {
    start: u64,
    /// Where it ends; `start` where the table does not say.
    end: u64,
    name: (u32, u32),
}

/// Symbols while they come in.
#[derive(Debug, Default)]
pub(super) struct SymbolsBuilder {
    symbols: Symbols,
    /// How good each name is, lower is better; beside `functions`.
    ranks: Vec<(bool, bool, usize, usize)>,
}

impl SymbolsBuilder {
    /// One symbol, as the table has it.
    pub(super) fn add(&mut self, start: u64, size: u64, name: &[u8], is_local: bool, is_typed: bool) {
        // Mapping symbols of ARM, and names of the assembler, name no function.
        if name.is_empty() || name.starts_with(b"$") || name.starts_with(b".L") {
            return;
        }
        let name = &name[..name.len().min(MAX_NAME)];
        let Ok(at) = u32::try_from(self.symbols.names.len()) else { return };
        if self.symbols.names.len() > MAX_NAMES {
            return;
        }
        self.symbols.names.extend_from_slice(name);
        let end = start.saturating_add(size);
        self.symbols.functions.push(Function { start, end, name: (at, name.len() as u32) });
        let underscores = name.iter().take_while(|byte| **byte == b'_').count();
        // Mangled names begin with `_Z` and `_R`, which says nothing about them.
        let underscores = if name.starts_with(b"_Z") || name.starts_with(b"_R") { 0 } else { underscores };
        self.ranks.push((!is_typed, is_local, underscores, name.len()));
    }

    /// Of several names of one address the best: a public one, without underscores, short.
    pub(super) fn finish(self) -> Symbols {
        let Symbols { functions, names } = self.symbols;
        let mut both: Vec<_> = functions.into_iter().zip(self.ranks).collect();
        both.sort_by_key(|(function, rank)| (function.start, *rank, function.name.0));
        both.dedup_by_key(|(function, _)| function.start);
        Symbols { functions: both.into_iter().map(|(function, _)| function).collect(), names }
    }
}

impl Symbols {
    pub(super) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The name of the function at an address, for people.
    pub(super) fn name(&self, address: u64) -> Option<String> {
        let at = self.functions.partition_point(|function| function.start <= address);
        let function = self.functions.get(at.checked_sub(1)?)?;
        // One without a size reaches up to the next.
        let reaches = function.end == function.start || address < function.end;
        let (from, length) = function.name;
        let name = self.names.get(from as usize..)?.get(..length as usize)?;
        reaches.then(|| demangled(&String::from_utf8_lossy(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(list: &[(u64, u64, &str, bool)]) -> Symbols {
        let mut builder = SymbolsBuilder::default();
        for (start, size, name, is_local) in list {
            builder.add(*start, *size, name.as_bytes(), *is_local, true);
        }
        builder.finish()
    }

    #[test]
    fn an_address_belongs_to_the_function_around_it() {
        let symbols = symbols(&[(100, 20, "late", false), (50, 10, "early", false), (200, 0, "sizeless", false)]);
        assert_eq!(symbols.name(50).as_deref(), Some("early"));
        assert_eq!(symbols.name(59).as_deref(), Some("early"));
        assert_eq!(symbols.name(60), None);
        assert_eq!(symbols.name(119).as_deref(), Some("late"));
        assert_eq!(symbols.name(900).as_deref(), Some("sizeless"));
        assert_eq!(symbols.name(49), None);
    }

    #[test]
    fn of_several_names_the_public_and_plain_one_is_taken() {
        let symbols = symbols(&[(1, 9, "__GI___poll", true), (1, 9, "__poll", false), (1, 9, "poll", false)]);
        assert_eq!(symbols.name(1).as_deref(), Some("poll"));
    }
}
