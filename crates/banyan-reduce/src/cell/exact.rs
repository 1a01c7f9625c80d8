//! Sums without rounding: a fixed-point number wide enough for every sum of floats.
//!
//! A finite `f64` is a whole multiple of 2^-1074 below 2^1024. The accumulator is a two's complement integer that
//! counts those units: 34 limbs of 64 bits, the lowest first, which leaves 78 bits for the number of summands. Adding
//! is exact, so neither order nor tree matters; the sum is rounded once, at the end, to the nearest float, ties to
//! even. Infinities and NaN are remembered beside it. A sum of zeros is +0.

use super::super::Fault;
use super::super::body::{Reader, Writer};

/// 64-bit limbs.
pub(crate) const LIMBS: usize = 34;

/// Bits below the point.
const FRACTION: u32 = 1074;

const NAN: u8 = 1;
const INFINITE: u8 = 2;
const NEGATIVE_INFINITE: u8 = 4;

/// A sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exact {
    limbs: [u64; LIMBS],
    /// What cannot be counted: [`NAN`] and the infinities.
    special: u8,
}

impl Exact {
    pub(crate) const fn new() -> Exact {
        Exact { limbs: [0; LIMBS], special: 0 }
    }

    /// Adds a float.
    pub(crate) fn add(&mut self, value: f64) {
        let bits = value.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as usize;
        let fraction = bits & ((1 << 52) - 1);
        if exponent == 0x7ff {
            self.special |= match (fraction, value.is_sign_negative()) {
                (0, false) => INFINITE,
                (0, true) => NEGATIVE_INFINITE,
                _ => NAN,
            };
            return;
        }
        // A subnormal has the exponent of the smallest normal number, and no leading one.
        let (mantissa, shift) = if exponent == 0 { (fraction, 0) } else { (fraction | 1 << 52, exponent - 1) };
        let wide = u128::from(mantissa) << (shift % 64);
        let limb = shift / 64;
        match value.is_sign_negative() {
            false => self.add_at(limb, wide as u64, (wide >> 64) as u64),
            true => self.subtract_at(limb, wide as u64, (wide >> 64) as u64),
        }
    }

    fn add_at(&mut self, at: usize, low: u64, high: u64) {
        let (sum, carry) = self.limbs[at].overflowing_add(low);
        self.limbs[at] = sum;
        let (sum, first) = self.limbs[at + 1].overflowing_add(high);
        let (sum, second) = sum.overflowing_add(carry.into());
        self.limbs[at + 1] = sum;
        let mut carry = first | second;
        for limb in &mut self.limbs[at + 2..] {
            if !carry {
                return;
            }
            (*limb, carry) = limb.overflowing_add(1);
        }
    }

    fn subtract_at(&mut self, at: usize, low: u64, high: u64) {
        let (difference, borrow) = self.limbs[at].overflowing_sub(low);
        self.limbs[at] = difference;
        let (difference, first) = self.limbs[at + 1].overflowing_sub(high);
        let (difference, second) = difference.overflowing_sub(borrow.into());
        self.limbs[at + 1] = difference;
        let mut borrow = first | second;
        for limb in &mut self.limbs[at + 2..] {
            if !borrow {
                return;
            }
            (*limb, borrow) = limb.overflowing_sub(1);
        }
    }

    /// Adds another sum.
    pub(crate) fn merge(&mut self, limbs: &[u64; LIMBS], special: u8) {
        let mut carry = false;
        for (limb, other) in self.limbs.iter_mut().zip(limbs) {
            let (sum, first) = limb.overflowing_add(*other);
            let (sum, second) = sum.overflowing_add(carry.into());
            *limb = sum;
            carry = first | second;
        }
        self.special |= special;
    }

    /// The nearest float.
    pub(crate) fn value(&self) -> f64 {
        match self.special {
            0 => self.rounded(),
            INFINITE => f64::INFINITY,
            NEGATIVE_INFINITE => f64::NEG_INFINITY,
            _ => f64::NAN,
        }
    }

    fn rounded(&self) -> f64 {
        let is_negative = self.limbs[LIMBS - 1] >> 63 == 1;
        let magnitude = if is_negative { negated(&self.limbs) } else { self.limbs };
        let Some(top) = magnitude.iter().rposition(|limb| *limb != 0) else { return 0.0 };
        let highest = top as u32 * 64 + 63 - magnitude[top].leading_zeros();
        // Below 2^53 units every number is a float: subnormal, or normal with the smallest exponents.
        let dropped = highest.saturating_sub(52);
        let mut mantissa = bits_from(&magnitude, dropped);
        if dropped > 0 {
            let half = bit(&magnitude, dropped - 1);
            let rest = any_below(&magnitude, dropped - 1);
            if half && (rest || mantissa & 1 == 1) {
                mantissa += 1;
            }
        }
        let rounded = scaled(mantissa, dropped);
        if is_negative { -rounded } else { rounded }
    }

    pub(crate) fn write(&self, out: &mut Writer<'_>, limbs_at: usize, special_at: usize) {
        for (index, limb) in self.limbs.iter().enumerate() {
            out.put(limbs_at + index * 8, limb.to_ne_bytes());
        }
        out.put(special_at, [self.special]);
    }

    /// Adds the sum that lies at a place of a partial result. Whatever its bits, it is some sum.
    pub(crate) fn merge_from(&mut self, from: &Reader<'_>, limbs_at: usize, special_at: usize) -> Result<(), Fault> {
        let limbs = std::array::from_fn(|index| from.u64(limbs_at + index * 8));
        let [special] = from.fixed(special_at);
        if special > NAN | INFINITE | NEGATIVE_INFINITE {
            return Err(Fault::partial(format!("{special} says nothing of infinities")));
        }
        self.merge(&limbs, special);
        Ok(())
    }
}

fn negated(limbs: &[u64; LIMBS]) -> [u64; LIMBS] {
    let mut carry = true;
    limbs.map(|limb| {
        let (negated, overflow) = (!limb).overflowing_add(carry.into());
        carry = overflow;
        negated
    })
}

/// 64 bits from a bit on.
fn bits_from(limbs: &[u64; LIMBS], from: u32) -> u64 {
    let (limb, shift) = (from as usize / 64, from % 64);
    let high = limbs.get(limb + 1).copied().unwrap_or(0);
    (u128::from(high) << 64 | u128::from(limbs[limb])).wrapping_shr(shift) as u64
}

fn bit(limbs: &[u64; LIMBS], at: u32) -> bool {
    limbs[at as usize / 64] >> (at % 64) & 1 == 1
}

fn any_below(limbs: &[u64; LIMBS], at: u32) -> bool {
    let (limb, shift) = (at as usize / 64, at % 64);
    limbs[..limb].iter().any(|limb| *limb != 0) || limbs[limb] & ((1 << shift) - 1) != 0
}

/// `mantissa` (at most 2^53) times 2^`shift` units, which is a float or too large for one.
fn scaled(mantissa: u64, shift: u32) -> f64 {
    // A mantissa that rounding made 2^53 is one of half the size with the next exponent.
    let (mantissa, shift) = if mantissa == 1 << 53 { (1 << 52, shift + 1) } else { (mantissa, shift) };
    if mantissa < 1 << 52 {
        return f64::from_bits(mantissa);
    }
    // The unit is 2^-FRACTION; a normal number with biased exponent 1 counts in it.
    debug_assert_eq!(FRACTION, 1022 + 52);
    match u64::from(shift) + 1 {
        exponent @ 0..0x7ff => f64::from_bits(exponent << 52 | (mantissa & ((1 << 52) - 1))),
        _ => f64::INFINITY,
    }
}
