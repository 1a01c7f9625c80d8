//! What people see, compared as a whole with what is wanted, but for figures that differ from run to run.

/// Ends of figures that differ as the figures do.
const UNITS: [&str; 11] = [" ns", " µs", " ms", " s", "x", "%", " B", " kB", " MB", " GB", " TB"];

/// Asserts that a text is the wanted one, in which `#` stands for a figure, with its sign and its unit. After two
/// spaces it is in a table, and ends in the column of the `#`.
pub(crate) fn assert_shown(text: &str, wanted: &str) {
    let mut lines = wanted.lines();
    let alike = |line: &str| lines.next().filter(|wanted| is_alike(line, wanted)).unwrap_or(line).to_owned();
    let shown: Vec<String> = text.lines().map(alike).collect();
    let wanted_lines: Vec<&str> = wanted.lines().collect();
    let first = shown.iter().zip(&wanted_lines).position(|(line, wanted)| line != wanted);
    assert!(shown == wanted_lines, "differs from line {first:?} on\n--- wanted\n{wanted}\n--- shown\n{text}\n---");
    assert!(text.is_empty() || text.ends_with('\n'), "the last line does not end: {text}");
}

/// A text with `#` for every figure that stands alone: what is shown somewhere, to compare with what is printed now.
pub(crate) fn pattern(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let is_alone = out.is_empty() || out.ends_with([' ', '\n', '(']);
        match figure(rest).filter(|_| is_alone) {
            Some(length) => {
                let width = rest[..length].chars().count();
                // In a table it ends where it ended.
                let is_in_table = out.ends_with("  ");
                out += &format!("{:>1$}", "#", if is_in_table { width } else { 1 });
                rest = &rest[length..];
            }
            None => {
                out.push(letter);
                rest = &rest[letter.len_utf8()..];
            }
        }
    }
    out
}

fn is_alike(line: &str, wanted: &str) -> bool {
    let (mut rest, mut column) = (line, 0);
    let mut parts: Vec<&str> = wanted.split('#').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let words = part.trim_end_matches(' ');
        let Some(behind) = rest.strip_prefix(words) else { return false };
        let figures = behind.trim_start_matches(' ');
        let has_space = words.len() < part.len();
        let Some(length) = figure(figures).filter(|_| has_space == (figures.len() < behind.len())) else {
            return false;
        };
        rest = &figures[length..];
        column += part.chars().count() + 1;
        if part.ends_with("  ") && column != line.chars().count() - rest.chars().count() {
            return false;
        }
    }
    rest == last
}

/// How many bytes of a text are a figure.
fn figure(text: &str) -> Option<usize> {
    let unsigned = text.trim_start_matches(['<', '+', '-']);
    let end = unsigned.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(unsigned.len());
    let number = unsigned[..end].trim_end_matches('.');
    let behind = &unsigned[number.len()..];
    let is_whole = |rest: &str| !rest.starts_with(char::is_alphanumeric);
    let unit = UNITS.iter().find(|unit| behind.strip_prefix(**unit).is_some_and(is_whole));
    let rest = unit.map_or(behind, |unit| &behind[unit.len()..]);
    (!number.is_empty()).then(|| text.len() - rest.len())
}

#[test]
fn a_figure_of_a_table_ends_in_its_column_and_nothing_else_may_differ() {
    let wanted = "row (4 B)       #       #  kept";
    assert!(is_alike("row (4 B)  12.3 ns   1.50x  kept", "row (4 B)        #       #  kept"));
    assert!(is_alike("row (4 B)   999 s   <0.01x  kept", "row (4 B)       #        #  kept"));
    assert!(!is_alike("row (4 B)   12.3 ns   1.50x  kept", wanted), "another column");
    assert!(!is_alike("row (5 B)  12.3 ns  1.50x  kept", wanted), "another size");
    assert!(!is_alike("row (4 B)        -  1.50x  kept", wanted), "no figure");
    assert!(is_alike("takes 3.5 µs, of 12 %.", "takes #, of # %."));
    assert!(is_alike("12.5%  3 kB and 4 MB/s", "#         # and #/s") && !is_alike("12.5% 3 kBit", "# #"));
    assert!(!is_alike("takes 3.5 sheep.", "takes #."));
    assert_eq!(pattern("n1 (2 B)   12.5%  3 kB, 0-1 x2\n"), "n1 (#)       #     #, #-1 x2\n");
    assert_shown("load 0.1 (2 cores)\n", "load # (# cores)\n");
}
