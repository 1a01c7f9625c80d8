//! Floating-point numbers of 16 bits, as bits: Rust has no such type yet.

use crate::half;

/// An IEEE 754 binary16 number.
///
/// It is compared and hashed by its bits; convert to compare numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct F16(u16);

impl F16 {
    /// From its bits.
    pub const fn from_bits(bits: u16) -> F16 {
        F16(bits)
    }

    /// Its bits.
    pub const fn to_bits(self) -> u16 {
        self.0
    }

    /// The same number; exact.
    pub fn to_f32(self) -> f32 {
        half::to_f64(self.0) as f32
    }

    /// The nearest number, ties to even; infinite when too large.
    pub fn from_f32(number: f32) -> F16 {
        F16::from_f64(f64::from(number))
    }

    /// The same number; exact.
    pub fn to_f64(self) -> f64 {
        half::to_f64(self.0)
    }

    /// The nearest number, ties to even; infinite when too large.
    pub fn from_f64(number: f64) -> F16 {
        F16(half::from_f64(number))
    }
}
