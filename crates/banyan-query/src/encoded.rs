//! Values as bytes: keys of groups, members of sets, columns of rows.
//!
//! Bytes of equal values are equal, and those of smaller values are smaller: missing, truth values, integers, floats,
//! texts. So banyan-reduce can group by them and sort them, whatever kinds of values come.

use banyan_ndr::Value;

use crate::scalar::{Scalar, canonical};

const MISSING: u8 = 0;
const TRUTH: u8 = 1;
const INTEGER: u8 = 2;
const FLOAT: u8 = 3;
const TEXT: u8 = 4;

/// Behind a zero byte within a text; the end of a text has another one.
const ESCAPE: u8 = 0xff;

/// Appends a value.
pub(crate) fn encode(value: Scalar<'_>, bytes: &mut Vec<u8>) {
    match value {
        Scalar::Missing => bytes.push(MISSING),
        Scalar::Truth(truth) => bytes.extend_from_slice(&[TRUTH, truth.into()]),
        Scalar::Integer(number) => {
            bytes.push(INTEGER);
            bytes.extend_from_slice(&(number as u128 ^ 1 << 127).to_be_bytes());
        }
        Scalar::Float(number) => {
            bytes.push(FLOAT);
            bytes.extend_from_slice(&sortable(canonical(number)).to_be_bytes());
        }
        Scalar::Text(text) => encode_text(text, bytes),
        Scalar::Character(character) => encode_text(character.encode_utf8(&mut [0; 4]), bytes),
    }
}

fn encode_text(text: &str, bytes: &mut Vec<u8>) {
    bytes.push(TEXT);
    let mut parts = text.as_bytes().split(|byte| *byte == 0);
    bytes.extend_from_slice(parts.next().unwrap_or_default());
    for part in parts {
        bytes.extend_from_slice(&[0, ESCAPE]);
        bytes.extend_from_slice(part);
    }
    bytes.extend_from_slice(&[0, 0]);
}

/// Takes a value from the front; none if there is none.
pub(crate) fn decode(bytes: &mut &[u8]) -> Option<Value> {
    let (tag, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(match *tag {
        MISSING => Value::Null,
        TRUTH => Value::Bool(take::<1>(bytes)?[0] != 0),
        INTEGER => Value::Int((u128::from_be_bytes(take(bytes)?) ^ 1 << 127) as i128),
        FLOAT => Value::F64(from_sortable(u64::from_be_bytes(take(bytes)?))),
        TEXT => Value::Str(String::from_utf8(decode_text(bytes)?).ok()?),
        _ => return None,
    })
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*taken)
}

fn decode_text(bytes: &mut &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    loop {
        let zero = bytes.iter().position(|byte| *byte == 0)?;
        text.extend_from_slice(&bytes[..zero]);
        let behind = *bytes.get(zero + 1)?;
        *bytes = &bytes[zero + 2..];
        match behind {
            0 => return Some(text),
            ESCAPE => text.push(0),
            _ => return None,
        }
    }
}

/// Bits that are in the order of the floats.
pub(crate) fn sortable(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

pub(crate) fn from_sortable(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits })
}

/// A value with its time, so that the latest is the largest and the first the smallest. None for integers of more than 64
/// bits. Of several at one time the largest counts as latest, and the smallest as first.
pub(crate) fn stamped(value: Scalar<'_>, time: i64) -> Option<i128> {
    let low = match value {
        Scalar::Integer(number) => (i64::try_from(number).ok()? as u64) ^ 1 << 63,
        Scalar::Truth(truth) => u64::from(truth) | 1 << 63,
        Scalar::Float(number) => sortable(canonical(number)),
        _ => return None,
    };
    Some(i128::from(time) << 64 | i128::from(low))
}

/// The time and the bits of a stamped value.
pub(crate) fn unstamped(stamped: i128) -> (i64, u64) {
    ((stamped >> 64) as i64, stamped as u64)
}

/// The integer of a stamped value.
pub(crate) fn stamped_integer(bits: u64) -> i128 {
    i128::from((bits ^ 1 << 63) as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(value: Scalar<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(value, &mut bytes);
        bytes
    }

    proptest! {
        #[test]
        fn values_come_back_and_keep_their_order(one: i128, other: i128, float: f64, less: f64, text in ".*", more in "[\0a]*") {
            for value in [Scalar::Integer(one), Scalar::Float(float), Scalar::Text(&text), Scalar::Text(&more), Scalar::Missing] {
                let bytes = encoded(value);
                let mut rest = &bytes[..];
                prop_assert_eq!(decode(&mut rest), Some(value.to_value()));
                prop_assert!(rest.is_empty());
            }
            prop_assert_eq!(encoded(Scalar::Integer(one)).cmp(&encoded(Scalar::Integer(other))), one.cmp(&other));
            prop_assert_eq!(encoded(Scalar::Text(&text)).cmp(&encoded(Scalar::Text(&more))), text.cmp(&more));
            let order = encoded(Scalar::Float(float)).cmp(&encoded(Scalar::Float(less)));
            prop_assert_eq!(order, if float == less { std::cmp::Ordering::Equal } else { float.total_cmp(&less) });
        }

        #[test]
        fn the_latest_value_is_the_largest(one: i64, other: i64, time: i64, later: i64) {
            let [first, second] = [(one, time), (other, later)].map(|(value, time)| {
                let stamped = stamped(Scalar::Integer(value.into()), time).unwrap();
                assert_eq!((unstamped(stamped).0, stamped_integer(unstamped(stamped).1)), (time, value.into()));
                stamped
            });
            prop_assert_eq!(first.cmp(&second), (time, one).cmp(&(later, other)));
        }
    }
}
