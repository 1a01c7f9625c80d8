//! Arrays, element by element, summed without rounding.

use super::super::Fault;
use super::super::body::{Reader, Writer};
use super::super::layout::Places;
use super::exact::{Exact, LIMBS};

/// A sum for each element.
#[derive(Debug, Clone)]
pub(crate) struct ExactElements {
    sums: Vec<Exact>,
    /// Arrays so far.
    count: u64,
    /// [`ReductionLimits::elements`](super::super::ReductionLimits::elements), less by as much as a sum is larger
    /// than a float.
    most: usize,
}

impl ExactElements {
    pub(crate) fn new(most: usize) -> ExactElements {
        ExactElements { sums: Vec::new(), count: 0, most: most / LIMBS }
    }

    /// Keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.sums.clear();
        self.count = 0;
    }

    pub(crate) fn take(&mut self, numbers: impl ExactSizeIterator<Item = f64>) -> Result<(), Fault> {
        self.fit(numbers.len())?;
        self.sums.iter_mut().zip(numbers).for_each(|(sum, number)| sum.add(number));
        self.count += 1;
        Ok(())
    }

    fn fit(&mut self, found: usize) -> Result<(), Fault> {
        let name = String::new();
        if found > self.most {
            return Err(Fault::Limit { name, what: "items of one array", found, limit: self.most, bound: "elements" });
        }
        if self.count == 0 {
            self.sums.resize(found, Exact::new());
        }
        match self.sums.len() == found {
            true => Ok(()),
            false => Err(Fault::Length { name, found, wanted: self.sums.len() }),
        }
    }

    /// Places: limbs of all sums, their specials, count.
    pub(crate) fn merge(&mut self, from: &Reader<'_>, at: Places<'_>) -> Result<(), Fault> {
        let count = from.u64(at.field(2));
        let (limbs_at, limbs) = from.list(at.field(0), 8)?;
        let (special_at, sums) = from.list(at.field(1), 1)?;
        if sums.checked_mul(LIMBS) != Some(limbs) {
            return Err(Fault::partial(format!("{limbs} limbs are not those of {sums} sums")));
        }
        if count == 0 {
            return Ok(());
        }
        self.fit(sums)?;
        for (index, sum) in self.sums.iter_mut().enumerate() {
            sum.merge_from(from, limbs_at + index * LIMBS * 8, special_at + index)?;
        }
        self.count = self.count.saturating_add(count);
        Ok(())
    }

    pub(crate) fn partial(&self, out: &mut Writer<'_>, at: Places<'_>) {
        let limbs_at = out.reserve(at.field(0), self.sums.len() * LIMBS, 8);
        let special_at = out.reserve(at.field(1), self.sums.len(), 1);
        for (index, sum) in self.sums.iter().enumerate() {
            sum.write(out, limbs_at + index * LIMBS * 8, special_at + index);
        }
        out.put(at.field(2), self.count.to_ne_bytes());
    }

    pub(crate) fn result(&self, out: &mut Writer<'_>, at: Places<'_>) {
        out.numbers(at.field(0), self.sums.iter().map(|sum| sum.value().to_ne_bytes()));
    }
}
