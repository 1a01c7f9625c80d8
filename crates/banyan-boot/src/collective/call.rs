//! What a member calls: the operation and, for a reduction, what is combined how.
//!
//! All members must call the same for the same number; nodes compare calls. In a frame: one byte for the operation; for
//! `all_reduce` one for what is done, one for the type of the elements, and eight (little-endian) for the length.
//! Decoding accepts nothing else.

use std::fmt;

use bytes::{Buf, BufMut};

use super::MESSAGE_LIMIT;

/// A collective as its members call it. Only valid reductions can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// Nobody goes on before everyone has come.
    Barrier,
    /// The master's bytes for everyone.
    Broadcast,
    /// The master's bytes, a part for each.
    Scatter,
    /// Everyone's bytes for the master.
    Gather,
    /// Everyone's bytes for everyone.
    AllGather,
    /// Everyone's numbers, combined, for everyone.
    AllReduce(Reduction),
}

/// What an `all_reduce` combines, element by element: little-endian arrays of one type and one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduction {
    what: ReduceOp,
    of: ElementKind,
    length: u64,
}

/// How two elements become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum ReduceOp {
    /// Integers wrap; floats are added in the order of ranks, so that the result has the same bits every time.
    Sum,
    /// A float that is not a number loses against one that is.
    Min,
    /// A float that is not a number loses against one that is.
    Max,
    /// Bit by bit; not for floats.
    And,
    /// Bit by bit; not for floats.
    Or,
    /// Bit by bit; not for floats.
    Xor,
}

/// Type of the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ElementKind {
    /// One byte.
    U8,
    /// Four bytes, signed.
    I32,
    /// Four bytes.
    U32,
    /// Eight bytes, signed.
    I64,
    /// Eight bytes.
    U64,
    /// A float of four bytes.
    F32,
    /// A float of eight bytes.
    F64,
}

/// Why there is no such reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadReduction {
    /// Part of an element.
    #[error("{length} bytes are not an array of {of}; give a multiple of {size} bytes")]
    Length {
        /// Type of the elements.
        of: &'static str,
        /// Bytes of one.
        size: usize,
        /// Bytes that were given.
        length: u64,
    },
    /// More than a message may have.
    #[error("{0} bytes are more than the {MESSAGE_LIMIT} one collective carries for a member; use several")]
    TooLong(u64),
    /// Bits of floats.
    #[error("{what} is not defined for {of}; use an integer type")]
    Bits {
        /// What was to be done with them.
        what: ReduceOp,
        /// Their type.
        of: &'static str,
    },
}

impl Reduction {
    /// Checks that `length` bytes are an array of elements for which `what` is defined.
    pub(crate) fn new(what: ReduceOp, of: ElementKind, length: u64) -> Result<Self, BadReduction> {
        if !length.is_multiple_of(of.size() as u64) {
            return Err(BadReduction::Length { of: of.name(), size: of.size(), length });
        }
        if length > MESSAGE_LIMIT {
            return Err(BadReduction::TooLong(length));
        }
        if of.is_float() && matches!(what, ReduceOp::And | ReduceOp::Or | ReduceOp::Xor) {
            return Err(BadReduction::Bits { what, of: of.name() });
        }
        Ok(Self { what, of, length })
    }

    /// How elements are combined.
    pub(crate) fn what(&self) -> ReduceOp {
        self.what
    }

    /// What they are.
    pub(crate) fn of(&self) -> ElementKind {
        self.of
    }

    /// Bytes of the arrays, a multiple of the element's.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Whether the result depends on the order in which contributions are combined.
    pub(super) fn needs_order(&self) -> bool {
        self.of.is_float() && self.what == ReduceOp::Sum
    }
}

impl ElementKind {
    /// Bytes of one.
    pub fn size(self) -> usize {
        match self {
            ElementKind::U8 => 1,
            ElementKind::I32 | ElementKind::U32 | ElementKind::F32 => 4,
            ElementKind::I64 | ElementKind::U64 | ElementKind::F64 => 8,
        }
    }

    fn name(self) -> &'static str {
        ELEMENTS[self as usize].1
    }

    fn is_float(self) -> bool {
        matches!(self, ElementKind::F32 | ElementKind::F64)
    }
}

const WHATS: [(ReduceOp, &str); 6] = [
    (ReduceOp::Sum, "sum"),
    (ReduceOp::Min, "min"),
    (ReduceOp::Max, "max"),
    (ReduceOp::And, "and"),
    (ReduceOp::Or, "or"),
    (ReduceOp::Xor, "xor"),
];

const ELEMENTS: [(ElementKind, &str); 7] = [
    (ElementKind::U8, "u8"),
    (ElementKind::I32, "i32"),
    (ElementKind::U32, "u32"),
    (ElementKind::I64, "i64"),
    (ElementKind::U64, "u64"),
    (ElementKind::F32, "f32"),
    (ElementKind::F64, "f64"),
];

/// Operations without a reduction, in the order of their codes; `all_reduce` comes after them.
const SIMPLE: [(Call, &str); 5] = [
    (Call::Barrier, "barrier"),
    (Call::Broadcast, "broadcast"),
    (Call::Scatter, "scatter"),
    (Call::Gather, "gather"),
    (Call::AllGather, "all_gather"),
];

const ALL_REDUCE: u8 = SIMPLE.len() as u8;

impl Call {
    /// Appends the encoding.
    pub(super) fn encode(&self, out: &mut impl BufMut) {
        match self {
            Call::Barrier => out.put_u8(0),
            Call::Broadcast => out.put_u8(1),
            Call::Scatter => out.put_u8(2),
            Call::Gather => out.put_u8(3),
            Call::AllGather => out.put_u8(4),
            Call::AllReduce(reduction) => {
                out.put_u8(ALL_REDUCE);
                out.put_u8(reduction.what as u8);
                out.put_u8(reduction.of as u8);
                out.put_u64_le(reduction.length);
            }
        }
    }

    /// Takes one encoding from the front; none if there is none.
    pub(super) fn decode(bytes: &mut impl Buf) -> Option<Self> {
        let operation = bytes.try_get_u8().ok()?;
        if operation != ALL_REDUCE {
            return SIMPLE.get(usize::from(operation)).map(|(call, _)| *call);
        }
        let (what, _) = *WHATS.get(usize::from(bytes.try_get_u8().ok()?))?;
        let (of, _) = *ELEMENTS.get(usize::from(bytes.try_get_u8().ok()?))?;
        Reduction::new(what, of, bytes.try_get_u64_le().ok()?).ok().map(Call::AllReduce)
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Call::AllReduce(Reduction { what, of, length }) => {
                write!(f, "all_reduce ({what} of {of}, {length} bytes)")
            }
            simple => f.write_str(SIMPLE.iter().find(|(call, _)| call == simple).map_or("", |(_, name)| name)),
        }
    }
}

impl fmt::Display for ReduceOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(WHATS[*self as usize].1)
    }
}

impl fmt::Display for ElementKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Any valid call.
    pub(in crate::collective) fn calls() -> impl Strategy<Value = Call> {
        let simple = proptest::sample::select(SIMPLE.map(|(call, _)| call).to_vec());
        let reduction =
            (0..WHATS.len(), 0..ELEMENTS.len(), 0u64..100).prop_filter_map("floats", |(what, of, count)| {
                let of = ELEMENTS[of].0;
                Reduction::new(WHATS[what].0, of, count * of.size() as u64).ok().map(Call::AllReduce)
            });
        prop_oneof![simple, reduction]
    }

    proptest! {
        #[test]
        fn a_call_is_what_was_encoded(call in calls()) {
            let mut bytes = Vec::new();
            call.encode(&mut bytes);
            let mut rest = bytes.as_slice();
            prop_assert_eq!(Call::decode(&mut rest), Some(call));
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn a_call_has_one_encoding(bytes in prop::collection::vec(0u8..9, 0..14)) {
            let mut rest = bytes.as_slice();
            if let Some(call) = Call::decode(&mut rest) {
                let mut again = Vec::new();
                call.encode(&mut again);
                prop_assert_eq!(&again, &bytes[..bytes.len() - rest.len()]);
            }
        }
    }

    #[test]
    fn a_reduction_of_part_of_an_element_or_of_the_bits_of_floats_does_not_exist() {
        let error = |what, of, length| Reduction::new(what, of, length).unwrap_err().to_string();
        assert_eq!(
            error(ReduceOp::Sum, ElementKind::U32, 6),
            "6 bytes are not an array of u32; give a multiple of 4 bytes"
        );
        assert_eq!(error(ReduceOp::Xor, ElementKind::F64, 8), "xor is not defined for f64; use an integer type");
        assert!(error(ReduceOp::Sum, ElementKind::U8, MESSAGE_LIMIT + 1).contains("use several"));
    }

    #[test]
    fn names_and_codes_are_in_the_same_order() {
        assert!(WHATS.iter().enumerate().all(|(code, (what, _))| *what as usize == code));
        assert!(ELEMENTS.iter().enumerate().all(|(code, (of, _))| *of as usize == code));
    }
}
