//! The types of fields, which FFS writes as text: `integer`, `float[2][n]`, `*node`, `(*node)[count]`.
//!
//! ```text
//! type   = "*"* (name | "(" type ")") dimension*
//! name   = "integer" | "unsigned integer" | "unsigned" | "float" | "double" | "char" | "string"
//!        | "enumeration" | "boolean" | the name of a record
//! dimension = "[" (number | the name of an integer field) "]"
//! ```
//! Stars bind weaker than dimensions: `*integer[3]` is a pointer to three integers. An array with a field among its
//! dimensions lies behind a pointer of its own.

use std::collections::HashMap;

use banyan_ndr::Dim;

/// A type, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    Scalar(Scalar),
    /// Items in this very place.
    Array {
        dims: Vec<u32>,
        item: Box<Shape>,
    },
    /// Items behind a pointer; other fields say how many.
    Counted {
        dims: Vec<Dim>,
        item: Box<Shape>,
    },
    Pointer(Box<Shape>),
}

/// What the name in a type stands for. Its size stands elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    Integer,
    Unsigned,
    Float,
    Char,
    String,
    Enumeration,
    Boolean,
    /// Its position in the description.
    Record(usize),
}

/// What the names in a type refer to.
#[derive(Debug)]
pub(super) struct Names<'d> {
    /// Name and position of the record that the type stands in: it shadows others.
    pub(super) own: (&'d str, usize),
    /// Positions of the other records.
    pub(super) records: &'d HashMap<&'d str, usize>,
    /// Numbers of the record's fields.
    pub(super) fields: HashMap<&'d str, u16>,
}

impl Names<'_> {
    fn record(&self, name: &str) -> Option<usize> {
        if self.own.0 == name { Some(self.own.1) } else { self.records.get(name).copied() }
    }
}

impl Shape {
    /// Reads a type that nests at most `depth` deep.
    pub(super) fn parse(text: &str, names: &Names<'_>, depth: usize) -> Result<Shape, String> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err("its type is nested too deep (Limits::type_depth)".into());
        };
        let stars_end = text.find(|c: char| c != '*' && !c.is_whitespace()).unwrap_or(text.len());
        let (stars, rest) = text.split_at(stars_end);
        let stars = stars.matches('*').count();
        if stars > depth {
            return Err("its type is nested too deep (Limits::type_depth)".into());
        }
        let (item, dims) = match rest.strip_prefix('(') {
            Some(inner) => {
                let (inner, dims) = inner.rsplit_once(')').ok_or("a parenthesis is not closed")?;
                (Shape::parse(inner, names, depth)?, dims)
            }
            None => {
                let (name, dims) = rest.split_at(rest.find('[').unwrap_or(rest.len()));
                (Shape::Scalar(scalar(name.trim_end(), names)?), dims)
            }
        };
        let array = with_dims(item, dims, names)?;
        Ok((0..stars).fold(array, |shape, _| Shape::Pointer(Box::new(shape))))
    }
}

impl Shape {
    /// How many floating-point numbers lie in the very place of this type; `None` when it is made of something else.
    pub(super) fn floats_in_place(&self) -> Option<u64> {
        match self {
            Shape::Scalar(Scalar::Float) => Some(1),
            Shape::Array { dims, item } => {
                let each = item.floats_in_place()?;
                Some(dims.iter().fold(each, |count, dim| count.saturating_mul(u64::from(*dim))))
            }
            _ => None,
        }
    }
}

fn scalar(name: &str, names: &Names<'_>) -> Result<Scalar, String> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "integer" => Scalar::Integer,
        "unsigned integer" | "unsigned\tinteger" | "unsigned" => Scalar::Unsigned,
        "float" | "double" => Scalar::Float,
        "char" => Scalar::Char,
        "string" => Scalar::String,
        "enumeration" => Scalar::Enumeration,
        "boolean" => Scalar::Boolean,
        // Some writers put the id of the record behind its name.
        _ => names
            .record(name)
            .or_else(|| name.split_once(':').and_then(|(name, _)| names.record(name)))
            .map(Scalar::Record)
            .ok_or_else(|| format!("{name:?} is neither a simple type nor a record of the description"))?,
    })
}

fn with_dims(item: Shape, text: &str, names: &Names<'_>) -> Result<Shape, String> {
    let mut dims = Vec::new();
    let mut text = text.trim_start();
    while !text.is_empty() {
        let (dim, rest) = text
            .strip_prefix('[')
            .and_then(|text| text.split_once(']'))
            .ok_or_else(|| format!("{text:?} is no dimension"))?;
        dims.push(dimension(dim.trim(), names)?);
        text = rest.trim_start();
    }
    if dims.is_empty() {
        return Ok(item);
    }
    let item = Box::new(item);
    let fixed = dims.iter().map(|dim| match dim {
        Dim::Fixed(len) => Some(*len),
        Dim::Field(_) => None,
    });
    Ok(match fixed.collect() {
        Some(dims) => Shape::Array { dims, item },
        None => Shape::Counted { dims, item },
    })
}

fn dimension(text: &str, names: &Names<'_>) -> Result<Dim, String> {
    match text.parse::<u32>() {
        Ok(len) if len > 0 => Ok(Dim::Fixed(len)),
        _ => names
            .fields
            .get(text)
            .copied()
            .map(Dim::Field)
            .ok_or_else(|| format!("[{text}] is neither a length nor a field")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Shape, String> {
        let records = HashMap::from([("string format", 7)]);
        let names = Names { own: ("own", 1), records: &records, fields: HashMap::from([("n", 3)]) };
        Shape::parse(text, &names, 8)
    }

    fn integer() -> Box<Shape> {
        Box::new(Shape::Scalar(Scalar::Integer))
    }

    #[test]
    fn names_of_simple_types_are_read_in_any_case() {
        assert_eq!(parse("Unsigned Integer").unwrap(), Shape::Scalar(Scalar::Unsigned));
        assert_eq!(parse(" double ").unwrap(), Shape::Scalar(Scalar::Float));
    }

    #[test]
    fn records_are_found_by_name_with_and_without_an_id() {
        assert_eq!(parse("string format").unwrap(), Shape::Scalar(Scalar::Record(7)));
        assert_eq!(parse("string format:0200").unwrap(), Shape::Scalar(Scalar::Record(7)));
        assert_eq!(parse("own").unwrap(), Shape::Scalar(Scalar::Record(1)));
        assert!(parse("other").is_err());
    }

    #[test]
    fn stars_bind_weaker_than_dimensions_and_parentheses_override_that() {
        let three = Shape::Array { dims: vec![3], item: integer() };
        assert_eq!(parse("*integer[3]").unwrap(), Shape::Pointer(Box::new(three.clone())));
        assert_eq!(parse("*(integer[3])").unwrap(), Shape::Pointer(Box::new(three)));
        let pointer = Box::new(Shape::Pointer(integer()));
        assert_eq!(parse("(*integer)[3]").unwrap(), Shape::Array { dims: vec![3], item: pointer });
    }

    #[test]
    fn one_field_among_the_dimensions_makes_an_array_counted() {
        let dims = vec![Dim::Fixed(2), Dim::Field(3)];
        assert_eq!(parse("integer[2][n]").unwrap(), Shape::Counted { dims, item: integer() });
    }

    #[test]
    fn malformed_and_endless_types_are_refused() {
        for text in ["", "integer[", "integer[0]", "integer[m]", "(integer", "integer]", "integer[2]x", "()"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"*".repeat(20)).is_err());
        assert!(parse(&format!("{}integer{}", "(".repeat(20), ")".repeat(20))).is_err());
    }
}
