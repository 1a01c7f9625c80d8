//! The numbers that an `all_reduce` combines, as bytes of a message: little-endian, one after the other.

use super::call::ElementKind;

/// A number that [`Member::all_reduce`](crate::Member::all_reduce) combines: `u8`, `i32`, `u32`, `i64`, `u64`, `f32` or `f64`.
pub trait Element: Copy + Encoded {}

/// What a program cannot implement: agents combine these types and no others.
pub trait Encoded: Sized {
    /// What agents call the type.
    const KIND: ElementKind;

    /// The bytes of an array.
    fn to_bytes(elements: &[Self]) -> Vec<u8>;

    /// The array in these bytes; what is left over is less than an element.
    fn from_bytes(bytes: &[u8]) -> Vec<Self>;
}

macro_rules! elements {
    ($($type:ident is $kind:ident),*) => {$(
        impl Element for $type {}

        impl Encoded for $type {
            const KIND: ElementKind = ElementKind::$kind;

            fn to_bytes(elements: &[$type]) -> Vec<u8> {
                let mut bytes = Vec::with_capacity(size_of_val(elements));
                elements.iter().for_each(|element| bytes.extend_from_slice(&element.to_le_bytes()));
                bytes
            }

            fn from_bytes(bytes: &[u8]) -> Vec<$type> {
                let (elements, _) = bytes.as_chunks();
                elements.iter().map(|element| $type::from_le_bytes(*element)).collect()
            }
        }
    )*};
}

elements!(u8 is U8, i32 is I32, u32 is U32, i64 is I64, u64 is U64, f32 is F32, f64 is F64);

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_same<E: Element + PartialEq + std::fmt::Debug>(elements: &[E]) {
        let bytes = E::to_bytes(elements);
        assert_eq!(bytes.len(), elements.len() * E::KIND.size());
        assert_eq!(E::from_bytes(&bytes), elements);
    }

    #[test]
    fn an_array_is_what_was_sent() {
        assert_same(&[0u8, 255]);
        assert_same(&[i32::MIN, -1, i32::MAX]);
        assert_same(&[u32::MAX, 1]);
        assert_same(&[i64::MIN, -1, i64::MAX]);
        assert_same(&[u64::MAX, 1]);
        assert_same(&[-0.5f32, f32::INFINITY]);
        assert_same::<f64>(&[]);
        assert_eq!(f64::to_bytes(&[1.0]), [0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
    }
}
