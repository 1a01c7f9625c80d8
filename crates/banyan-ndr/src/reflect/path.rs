//! Paths into records: `mesh.elems[3].temp`.
//!
//! A path is names joined by dots, each followed by any number of indices in brackets. A name that contains a dot or a
//! bracket stands in double quotes: `"a.b"[2]`. The case of a variant is a name too: `shape.Circle.radius`. Optional
//! values and pointers need no sign of their own; a path goes through them.

use std::fmt;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathSegment<'p> {
    /// A field of a record, or a case of a variant.
    Name(&'p str),
    /// An item of an array or list.
    Index(usize),
}

/// Why a text is no path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadPath {
    /// Byte of the text at which that shows.
    at: usize,
    reason: &'static str,
}

impl fmt::Display for BadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no path: {} at byte {}", self.reason, self.at)
    }
}

/// Takes a path apart. The empty path is the record itself.
pub(crate) fn parse(text: &str) -> Result<Vec<PathSegment<'_>>, BadPath> {
    let mut segments = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let at = text.len() - rest.len();
        let bad = |reason| BadPath { at, reason };
        if let Some(inside) = rest.strip_prefix('[') {
            let (digits, behind) = inside.split_once(']').ok_or(bad("a bracket that is never closed"))?;
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(bad("an index must be a decimal number"));
            }
            segments.push(PathSegment::Index(digits.parse().map_err(|_| bad("an index too large for this machine"))?));
            rest = behind;
        } else {
            let name = match (segments.is_empty(), rest.strip_prefix('.')) {
                (true, None) => rest,
                (false, Some(name)) => name,
                (true, Some(_)) => return Err(bad("a path cannot begin with a dot")),
                (false, None) => return Err(bad("a name must be joined by a dot")),
            };
            let (name, behind) = split_name(name).map_err(bad)?;
            segments.push(PathSegment::Name(name));
            rest = behind;
        }
    }
    Ok(segments)
}

/// The name at the start of `text`, and what follows it.
fn split_name(text: &str) -> Result<(&str, &str), &'static str> {
    let (name, rest) = match text.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').ok_or("a quote that is never closed")?,
        None => text.split_at(text.find(['.', '[']).unwrap_or(text.len())),
    };
    if name.is_empty() { Err("an empty name") } else { Ok((name, rest)) }
}

/// Appends a name to a path, in quotes where it needs them.
pub(crate) fn push_name(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    if name.contains(['.', '[']) {
        path.push('"');
        path.push_str(name);
        path.push('"');
    } else {
        path.push_str(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_indices_alternate_freely() {
        let segments = parse(r#"mesh.elems[3][0]."odd.name".temp"#).unwrap();
        assert_eq!(
            segments,
            [
                PathSegment::Name("mesh"),
                PathSegment::Name("elems"),
                PathSegment::Index(3),
                PathSegment::Index(0),
                PathSegment::Name("odd.name"),
                PathSegment::Name("temp"),
            ]
        );
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn what_is_no_path_is_refused_with_the_place() {
        for (text, message) in [
            (".a", "no path: a path cannot begin with a dot at byte 0"),
            ("a..b", "no path: an empty name at byte 1"),
            ("a.", "no path: an empty name at byte 1"),
            ("a[3", "no path: a bracket that is never closed at byte 1"),
            ("a[-1]", "no path: an index must be a decimal number at byte 1"),
            ("a[]", "no path: an index must be a decimal number at byte 1"),
            ("a[3]b", "no path: a name must be joined by a dot at byte 4"),
            ("a.\"b", "no path: a quote that is never closed at byte 1"),
            ("a[99999999999999999999999]", "no path: an index too large for this machine at byte 1"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), message, "{text}");
        }
    }
}
