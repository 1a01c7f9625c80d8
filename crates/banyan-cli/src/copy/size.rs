//! Amounts of bytes for people.

/// Decimal units, the greatest first.
const UNITS: [(f64, &str); 4] = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];

/// Bytes with the unit that fits.
pub(super) fn size(bytes: u64) -> String {
    let exact = bytes as f64;
    match UNITS.iter().find(|(unit, _)| exact >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", exact / unit),
        None => format!("{bytes} B"),
    }
}

/// Files, in words.
pub(super) fn files(count: u64) -> String {
    if count == 1 { "1 file".into() } else { format!("{count} files") }
}

/// Hosts, in words.
pub(super) fn hosts(count: usize) -> String {
    if count == 1 { "1 host".into() } else { format!("{count} hosts") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_unit_that_fits() {
        assert_eq!([0, 999, 1000, 1_250_000, 3_000_000_000].map(size), ["0 B", "999 B", "1.0 kB", "1.2 MB", "3.0 GB"]);
    }
}
