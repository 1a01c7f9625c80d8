//! Quantiles: a sketch of all values with a relative error of one percent.
//!
//! The sketch is DDSketch (crate `sketches-ddsketch`): values are counted in buckets whose bounds grow by a constant
//! factor, so merging adds counts and is exact, in any order. There are at most 2,048 buckets of each sign; when the
//! values span more than seventeen orders of magnitude the smallest share one. Values within 10^-9 of zero count as
//! zero, infinities as the largest floats, NaN not at all.
//!
//! The crate reads its own bytes without doubt, so [`check`] goes over them first: what it lets through cannot make
//! the crate overflow, allocate beyond its buckets, or run longer than the bytes are.

use sketches_ddsketch::{Config, DDSketch};

use super::super::Fault;
use super::super::body::{Reader, Writer};
use super::super::layout::Places;

/// Most values of one sketch: counts travel as floats, which are exact so far.
const MOST: u64 = 1 << 53;

/// Buckets of one sign.
const BUCKETS: u64 = 2048;

/// Buckets have numbers of no more than this: the largest float has 35,500.
const LAST_BUCKET: i64 = 40_000;

const COUNT: u8 = 0xa0;
const LEAST: u8 = 0x88;
const LARGEST: u8 = 0x8c;
const SUM: u8 = 0x84;
const MAPPING: u8 = 0x02;
const ZEROS: u8 = 0x04;
const POSITIVE: u8 = 0x05;
const NEGATIVE: u8 = 0x07;

/// The fields of a sketch as bytes, in the order in which they are written.
const FIELDS: [u8; 8] = [COUNT, LEAST, LARGEST, SUM, MAPPING, ZEROS, POSITIVE, NEGATIVE];

/// How many of them say nothing of values.
const FIELDS_WITHOUT_VALUES: usize = 5;

/// A sketch of values.
#[derive(Clone)]
pub(crate) struct Sketch(DDSketch);

impl std::fmt::Debug for Sketch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sketch({} values)", self.0.count())
    }
}

impl Sketch {
    pub(crate) fn new() -> Sketch {
        Sketch(DDSketch::new(Config::defaults()))
    }

    pub(crate) fn clear(&mut self) {
        *self = Sketch::new();
    }

    pub(crate) fn take(&mut self, value: f64) {
        if !value.is_nan() && (self.0.count() as u64) < MOST {
            self.0.add(value.clamp(f64::MIN, f64::MAX));
        }
    }

    /// Place: bytes, none for an empty sketch.
    pub(crate) fn merge(&mut self, from: &Reader<'_>, at: Places<'_>) -> Result<(), Fault> {
        let bytes = from.bytes(at.field(0))?;
        if bytes.is_empty() {
            return Ok(());
        }
        let wrong = |why: &str| Fault::partial(format!("no sketch of quantiles: {why}"));
        let count = check(bytes).map_err(wrong)?;
        if count + self.0.count() as u64 > MOST {
            return Err(wrong("more values than a sketch counts"));
        }
        let other = DDSketch::from_java_bytes(bytes).map_err(|error| wrong(&error.to_string()))?;
        self.0.merge(&other).map_err(|error| wrong(&error.to_string()))
    }

    pub(crate) fn partial(&self, out: &mut Writer<'_>, at: Places<'_>) {
        if self.0.count() > 0 {
            out.bytes(at.field(0), &self.0.to_java_bytes());
        }
    }

    /// The value below which a share of all lies; none of an empty sketch.
    pub(crate) fn quantile(&self, share: f64) -> Option<f64> {
        self.0.quantile(share).ok().flatten()
    }
}

/// Goes over the bytes of a sketch: in the order and with the fields that [`DDSketch::to_java_bytes`] writes, and with
/// numbers that a sketch can have. Returns how many values it has.
fn check(bytes: &[u8]) -> Result<u64, &'static str> {
    let mut rest = Bytes(bytes);
    let (mut last, mut announced, mut found) = (None, 0, 0_u64);
    while let Some(flag) = rest.byte() {
        let position = FIELDS.iter().position(|known| *known == flag).ok_or("an unknown field")?;
        if last.is_some_and(|last| position <= last) {
            return Err("fields out of order");
        }
        last = Some(position);
        match flag {
            COUNT => announced = rest.count()?,
            LEAST | LARGEST => rest.float().filter(|float| float.is_finite()).map(drop).ok_or("no extreme")?,
            SUM => rest.float().map(drop).ok_or("no sum")?,
            MAPPING => {
                let (gamma, offset) = (rest.float(), rest.float());
                if gamma != Some(Config::defaults().gamma) || offset != Some(0.0) {
                    return Err("another accuracy");
                }
            }
            ZEROS => found += rest.count()?,
            _ => found += rest.buckets()?,
        }
    }
    match announced == found && (1..=MOST).contains(&found) && last >= Some(FIELDS_WITHOUT_VALUES) {
        true => Ok(found),
        false => Err("counts that do not add up"),
    }
}

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn float(&mut self) -> Option<f64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(f64::from_le_bytes(*first))
    }

    /// A whole number as a float of variable length: the bits of the number plus one, the highest seven first.
    fn count(&mut self) -> Result<u64, &'static str> {
        let mut bits = 0;
        for shift in [57, 50, 43, 36, 29, 22, 15, 8, 0_u32] {
            let byte = u64::from(self.byte().ok_or("cut within a count")?);
            if shift == 0 {
                bits |= byte;
                break;
            }
            bits |= (byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        let count = f64::from_bits(bits.rotate_right(6).wrapping_add(1_f64.to_bits())) - 1.0;
        match count >= 1.0 && count <= MOST as f64 && count.fract() == 0.0 {
            true => Ok(count as u64),
            false => Err("a count that is none"),
        }
    }

    /// An integer of variable length, the lowest seven bits first.
    fn integer(&mut self) -> Result<u64, &'static str> {
        let mut integer = 0;
        for shift in (0..=56).step_by(7) {
            let byte = u64::from(self.byte().ok_or("cut within an integer")?);
            if byte < 0x80 || shift == 56 {
                return Ok(integer | byte << shift);
            }
            integer |= (byte & 0x7f) << shift;
        }
        Err("an integer too long")
    }

    /// Numbers of buckets, each as the distance from the one before, and counts. Returns the sum of these.
    fn buckets(&mut self) -> Result<u64, &'static str> {
        let buckets = self.integer()?;
        if buckets == 0 || buckets > BUCKETS {
            return Err("more buckets than there are");
        }
        let (mut index, mut sum) = (0_i64, 0_u64);
        for position in 0..buckets {
            let coded = self.integer()?;
            let distance = (coded >> 1) as i64 ^ -((coded & 1) as i64);
            index = index.checked_add(distance).ok_or("a bucket beyond all")?;
            if index.abs() > LAST_BUCKET || (position > 0 && distance <= 0) {
                return Err("a bucket beyond all, or out of order");
            }
            sum += self.count()?;
        }
        Ok(sum)
    }
}
