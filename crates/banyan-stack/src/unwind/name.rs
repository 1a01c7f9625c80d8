//! Names of functions for people.

use cpp_demangle::DemangleOptions;

/// Longer ones stay as they are: templates of templates can take a demangler far.
const MAX_MANGLED: usize = 2048;

/// The name as it stands in the source, without hash, parameters and return type.
pub(super) fn demangled(name: &str) -> String {
    // Versions of symbols: `name@@GLIBC_2.34`.
    let name = name.split('@').next().filter(|name| !name.is_empty()).unwrap_or(name);
    if name.len() > MAX_MANGLED {
        return name.into();
    }
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    if !name.starts_with("_Z") {
        return name.into();
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    let demangled = cpp_demangle::Symbol::new(name).ok().and_then(|symbol| symbol.demangle_with_options(&options).ok());
    demangled.unwrap_or_else(|| name.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_as_the_source_has_them() {
        assert_eq!(demangled("main"), "main");
        assert_eq!(demangled("memcpy@@GLIBC_2.14"), "memcpy");
        assert_eq!(demangled("_ZN4halo8exchangeEPdi"), "halo::exchange");
        assert_eq!(demangled("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"), "core::fmt::Write::write_fmt");
        assert_eq!(demangled("_Zwhat"), "_Zwhat");
        assert_eq!(demangled("@"), "@");
    }
}
