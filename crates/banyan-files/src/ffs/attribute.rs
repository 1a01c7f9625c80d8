//! Attributes: numbered values that an index attaches to records.

use super::layout::Bytes;
use banyan_ndr::{ByteOrder, Value};

/// One attribute of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// The number its writer knows it by; the file does not hold its name.
    pub id: u32,
    /// Its value.
    pub value: AttributeValue,
}

/// What an attribute holds.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AttributeValue {
    /// An integer of 4 or 8 bytes.
    Int(i64),
    /// A number of 8 bytes.
    Float(f64),
    /// Text; what was not UTF-8 is replaced.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// The number of another name.
    Name(u32),
}

impl From<AttributeValue> for Value {
    fn from(value: AttributeValue) -> Value {
        match value {
            AttributeValue::Int(int) => Value::Int(int.into()),
            AttributeValue::Float(float) => Value::F64(float),
            AttributeValue::Text(text) => Value::Str(text),
            AttributeValue::Bytes(bytes) => Value::Bytes(bytes),
            AttributeValue::Name(name) => Value::Int(name.into()),
        }
    }
}

/// Reads an attribute list: byte order, two counts, that many integers, that many others.
pub(super) fn read_list(bytes: &[u8]) -> Result<Vec<Attribute>, &'static str> {
    let [order, ints, others, _, ..] = *bytes else {
        return Ok(Vec::new());
    };
    let order = if order & 1 == 1 { ByteOrder::Big } else { ByteOrder::Little };
    let bytes = Bytes { all: bytes, order };
    let cut = "an attribute list ends too early";
    let mut at = 4;
    let mut list = Vec::new();
    for _ in 0..ints {
        let (id, value) = bytes.u32(at).zip(bytes.u32(at + 4)).ok_or(cut)?;
        list.push(Attribute { id, value: AttributeValue::Int(i64::from(value as i32)) });
        at += 8;
    }
    for _ in 0..others {
        let (id, kind) = bytes.u32(at).zip(bytes.u32(at + 4)).ok_or(cut)?;
        let (value, len) = read_value(bytes, kind, at + 8).ok_or("an attribute of unknown kind, or cut")?;
        list.push(Attribute { id, value });
        at += 8 + len;
    }
    Ok(list)
}

/// Reads a value of one of the kinds that are sent, and says how many bytes it took.
fn read_value(bytes: Bytes<'_>, kind: u32, at: usize) -> Option<(AttributeValue, usize)> {
    match kind {
        2 => Some((AttributeValue::Int(bytes.u64(at)? as i64), 8)),
        3 | 4 => {
            let len = usize::from(bytes.u16(at)?);
            let content = bytes.slice(at + 2, len)?;
            let value = match kind {
                3 => {
                    AttributeValue::Text(String::from_utf8_lossy(content.strip_suffix(&[0]).unwrap_or(content)).into())
                }
                _ => AttributeValue::Bytes(content.to_vec()),
            };
            Some((value, (len + 2).next_multiple_of(4)))
        }
        5 => Some((AttributeValue::Name(bytes.u32(at)?), 4)),
        8 => Some((AttributeValue::Float(f64::from_bits(bytes.u64(at)?)), 8)),
        _ => None,
    }
}
