//! What schemas carry as annotations: names of definitions that need no quoting anywhere, and types in one line of text,
//! exactly.
//!
//! ```text
//! u8 … u128, i8 … i128, f16, f32, f64, bool, bool16, bool32, bool64, char, char8, string, cstring, bytes
//! record(Key)  variant(Key)  enumeration(Key)
//! optional(type, value_at, size)       the two numbers may be left out
//! pointer(type)  nullable(type)  shared(type)  shared-nullable(type)
//! list(type)  array(type, 3, 4)  column-array(type, 3, 4)
//! sized(type, @2, 4)  column-sized(type, @2, 4)        @2: the length is in field number 2
//! ```

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use banyan_ndr::{DefId, Dim, Format, Order, Type};

/// Deepest nesting that is parsed; formats allow less.
const DEPTH: usize = 64;

/// A type as text; `keys` are the keys of the format's definitions.
pub(super) fn write(ty: &Type, keys: &[String]) -> String {
    let mut text = String::new();
    push(ty, keys, &mut text);
    text
}

fn push(ty: &Type, keys: &[String], out: &mut String) {
    match ty {
        Type::Int { width, signed } => add(out, format_args!("{}{}", if *signed { 'i' } else { 'u' }, bits(*width))),
        Type::Float { width } => add(out, format_args!("f{}", bits(*width))),
        Type::Bool { width: 1 } => out.push_str("bool"),
        Type::Bool { width } => add(out, format_args!("bool{}", bits(*width))),
        Type::Char { width: 4 } => out.push_str("char"),
        Type::Char { .. } => out.push_str("char8"),
        Type::Str => out.push_str("string"),
        Type::CStr => out.push_str("cstring"),
        Type::Bytes => out.push_str("bytes"),
        Type::Enum(id) => add(out, format_args!("enumeration({})", keys[id.index()])),
        Type::Record(id) => add(out, format_args!("record({})", keys[id.index()])),
        Type::Variant(id) => add(out, format_args!("variant({})", keys[id.index()])),
        Type::Optional { item, value_at, size } => call(out, "optional", item, keys, &[value_at, size]),
        Type::Ref { item, nullable, shared } => {
            let name = match (shared, nullable) {
                (false, false) => "pointer",
                (false, true) => "nullable",
                (true, false) => "shared",
                (true, true) => "shared-nullable",
            };
            call::<u32>(out, name, item, keys, &[]);
        }
        Type::Array { item, dims, order } => {
            let name = if *order == Order::Row { "array" } else { "column-array" };
            call(out, name, item, keys, dims);
        }
        Type::List { item } => call::<u32>(out, "list", item, keys, &[]),
        Type::Sized { item, dims, order } => {
            let name = if *order == Order::Row { "sized" } else { "column-sized" };
            let dims: Vec<String> = dims
                .iter()
                .map(|dim| match dim {
                    Dim::Fixed(length) => length.to_string(),
                    Dim::Field(index) => format!("@{index}"),
                })
                .collect();
            call(out, name, item, keys, &dims);
        }
    }
}

fn bits(width: u8) -> u32 {
    8 * u32::from(width)
}

fn add(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes everything");
}

fn call<N: std::fmt::Display>(out: &mut String, name: &str, item: &Type, keys: &[String], numbers: &[N]) {
    add(out, format_args!("{name}("));
    push(item, keys, out);
    for number in numbers {
        add(out, format_args!(", {number}"));
    }
    out.push(')');
}

/// A type from text. Optionals without their numbers get zeros, and make [`Parsed::laid_out`] false.
pub(super) fn parse(text: &str, keys: &HashMap<&str, DefId>) -> Result<Parsed, String> {
    let mut parser = Parser { rest: text, keys, laid_out: true };
    let ty = parser.ty(0)?;
    match parser.rest {
        "" => Ok(Parsed { ty, laid_out: parser.laid_out }),
        rest => Err(format!("{rest:?} follows a type")),
    }
}

/// What [`parse`] finds.
pub(super) struct Parsed {
    pub(super) ty: Type,
    /// Whether all optionals in it have their layout.
    pub(super) laid_out: bool,
}

struct Parser<'a> {
    rest: &'a str,
    keys: &'a HashMap<&'a str, DefId>,
    laid_out: bool,
}

impl<'a> Parser<'a> {
    fn ty(&mut self, depth: usize) -> Result<Type, String> {
        if depth > DEPTH {
            return Err("types are nested too deep".into());
        }
        let name = self.word();
        if let Some(scalar) = scalar(name) {
            return Ok(scalar);
        }
        self.expect('(')?;
        let ty = match name {
            "record" => Type::Record(self.key()?),
            "variant" => Type::Variant(self.key()?),
            "enumeration" => Type::Enum(self.key()?),
            _ => {
                let item = Box::new(self.ty(depth + 1)?);
                let numbers = self.numbers()?;
                self.shape(name, item, numbers)?
            }
        };
        self.expect(')')?;
        Ok(ty)
    }

    fn shape(&mut self, name: &str, item: Box<Type>, numbers: Vec<Dim>) -> Result<Type, String> {
        let order = if name.starts_with("column-") { Order::Column } else { Order::Row };
        Ok(match (name, numbers.as_slice()) {
            ("optional", []) => {
                self.laid_out = false;
                Type::Optional { item, value_at: 0, size: 0 }
            }
            ("optional", [Dim::Fixed(value_at), Dim::Fixed(size)]) => {
                Type::Optional { item, value_at: *value_at, size: *size }
            }
            ("pointer" | "nullable" | "shared" | "shared-nullable", []) => {
                Type::Ref { item, nullable: name.ends_with("nullable"), shared: name.starts_with("shared") }
            }
            ("list", []) => Type::List { item },
            ("array" | "column-array", dims) => {
                let dims = dims.iter().map(|dim| match dim {
                    Dim::Fixed(length) => Ok(*length),
                    Dim::Field(_) => Err("the lengths of an array are numbers".to_owned()),
                });
                Type::Array { item, dims: dims.collect::<Result<_, _>>()?, order }
            }
            ("sized" | "column-sized", _) => Type::Sized { item, dims: numbers, order },
            _ => return Err(format!("{name:?} is no type, or has other numbers")),
        })
    }

    fn numbers(&mut self) -> Result<Vec<Dim>, String> {
        let mut numbers = Vec::new();
        while let Some(rest) = self.rest.strip_prefix(',') {
            self.rest = rest.trim_start();
            let field = self.rest.strip_prefix('@');
            self.rest = field.unwrap_or(self.rest);
            let word = self.word();
            let wrong = |_| format!("{word:?} is not a number");
            numbers.push(match field {
                Some(_) => Dim::Field(word.parse().map_err(wrong)?),
                None => Dim::Fixed(word.parse().map_err(wrong)?),
            });
        }
        Ok(numbers)
    }

    fn key(&mut self) -> Result<DefId, String> {
        let key = self.word();
        self.keys.get(key).copied().ok_or_else(|| format!("there is no definition {key:?}"))
    }

    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|char: char| !(char.is_ascii_alphanumeric() || char == '_' || char == '-'));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn expect(&mut self, char: char) -> Result<(), String> {
        self.rest =
            self.rest.strip_prefix(char).ok_or_else(|| format!("{char:?} is missing before {:?}", self.rest))?;
        Ok(())
    }
}

/// The types that are one word.
fn scalar(name: &str) -> Option<Type> {
    let int = |width, signed| Type::Int { width, signed };
    Some(match name {
        "u8" => int(1, false),
        "u16" => int(2, false),
        "u32" => int(4, false),
        "u64" => int(8, false),
        "u128" => int(16, false),
        "i8" => int(1, true),
        "i16" => int(2, true),
        "i32" => int(4, true),
        "i64" => int(8, true),
        "i128" => int(16, true),
        "f16" => Type::Float { width: 2 },
        "f32" => Type::Float { width: 4 },
        "f64" => Type::Float { width: 8 },
        "bool" => Type::Bool { width: 1 },
        "bool16" => Type::Bool { width: 2 },
        "bool32" => Type::Bool { width: 4 },
        "bool64" => Type::Bool { width: 8 },
        "char" => Type::Char { width: 4 },
        "char8" => Type::Char { width: 1 },
        "string" => Type::Str,
        "cstring" => Type::CStr,
        "bytes" => Type::Bytes,
        _ => return None,
    })
}

/// One key for each definition of a format, in their order. The definition's own name is kept where it is plain.
pub(super) fn keys(format: &Format) -> Vec<String> {
    let mut taken = HashSet::new();
    // By name, the next number to try: many definitions may have one name.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let plain = format.definitions().iter().map(|definition| plain(definition.name()));
    plain
        .map(|plain| {
            if taken.insert(plain.clone()) {
                return plain;
            }
            let next = numbers.entry(plain.clone()).or_insert(2);
            let mut candidates = std::iter::from_fn(|| {
                *next += 1;
                Some(format!("{plain}_{}", *next - 1))
            });
            candidates.find(|key| taken.insert(key.clone())).expect("there are numbers enough")
        })
        .collect()
}

/// The definition that each key of a schema stands for. Of two equal keys the first counts.
pub(super) fn numbered(keys: &[String]) -> HashMap<&str, DefId> {
    let mut numbered = HashMap::new();
    for (key, number) in keys.iter().zip(0..=u16::MAX) {
        numbered.entry(key.as_str()).or_insert(DefId(number));
    }
    numbered
}

fn plain(name: &str) -> String {
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let prefix = if begins { "" } else { "_" };
    prefix.chars().chain(name.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '_' })).collect()
}
