//! Arrays and lists: where the items lie on both sides, how many there are, and in which order they are taken.

use super::{Done, Run, Spot, Walker};
use crate::DecodeError;
use crate::plan::arrays::{Shape, origins};
use crate::plan::steps::{ItemsFrom, ItemsTo, ItemsWalk, SourceDim, TargetDim};
use crate::wire::{read_int, read_uint, write_uint};

impl Walker<'_> {
    pub(super) fn items(&mut self, items: &ItemsWalk, spot: Spot) -> Done {
        let item = &self.plan.items[items.item];
        let size = item.program().src_size;
        // The common case, without the lengths of dimensions.
        if let (ItemsFrom::List { at: from }, ItemsTo::List { at: to }) = (&items.from, &items.to) {
            let (src, count) = self.span(spot.src + *from as usize, size, spot)?;
            let dst = self.allocate_items(count, items.item, spot)?;
            self.target.set_span(&mut self.out[spot.dst + *to as usize..], dst, count);
            return self.follow(spot, true, Run { item: items.item, src, dst, count, first: 0, trail: 0 });
        }
        let (src, from) = self.source_items(&items.from, size, spot)?;
        let (dst, to) = self.target_items(items, &from, spot)?;
        if from.contains(&0) {
            return Ok(());
        }
        let run = Run { item: items.item, src, dst, count: 0, first: 0, trail: 0 };
        let from = Shape { lengths: &from, order: items.from_order };
        let to = Shape { lengths: &to, order: items.to_order };
        if from.same_as(to) {
            return self.follow(spot, true, Run { count: to.count(), ..run });
        }
        if let ([from], [to]) = (from.lengths, to.lengths) {
            return self.follow(spot, true, Run { count: *from.min(to), ..run });
        }
        for (first, origin) in origins(from, to).enumerate() {
            let Some(origin) = origin else { continue };
            let (src, dst) = (src + origin * size, dst + first * item.program().dst_size);
            self.follow(spot, true, Run { src, dst, count: 1, first, ..run })?;
        }
        Ok(())
    }

    /// Where the source's items lie, and the lengths of their dimensions.
    fn source_items(
        &mut self,
        from: &ItemsFrom,
        size: usize,
        spot: Spot,
    ) -> Result<(usize, Vec<usize>), Box<DecodeError>> {
        match from {
            ItemsFrom::Place { at, dims } => {
                Ok((spot.src + *at as usize, dims.iter().map(|dim| *dim as usize).collect()))
            }
            ItemsFrom::List { at } => {
                let (at, count) = self.span(spot.src + *at as usize, size, spot)?;
                Ok((at, vec![count]))
            }
            ItemsFrom::Sized { at, dims } => {
                let mut lengths = Vec::with_capacity(dims.len());
                for dim in dims {
                    lengths.push(self.source_length(dim, spot)?);
                }
                if lengths.contains(&0) {
                    return Ok((0, lengths));
                }
                let bytes = lengths.iter().try_fold(size, |bytes, length| bytes.checked_mul(*length));
                let Some(at) = self.reference(spot.src + *at as usize, spot)? else {
                    return Err(self.invalid(spot, "null".into(), "array of the length that its fields say"));
                };
                self.lead_to(at, bytes, spot)?;
                Ok((at, lengths))
            }
        }
    }

    fn source_length(&self, dim: &SourceDim, spot: Spot) -> Result<usize, Box<DecodeError>> {
        let (at, width, signed) = match dim {
            SourceDim::Fixed(length) => return Ok(*length as usize),
            SourceDim::Field { at, width, signed } => (spot.src + *at as usize, usize::from(*width), *signed),
        };
        let bytes = &self.body[at..at + width];
        let length = if signed {
            usize::try_from(read_int(bytes, self.source.order))
                .map_err(|_| read_int(bytes, self.source.order).to_string())
        } else {
            let length = read_uint(bytes, self.source.order);
            usize::try_from(length).map_err(|_| length.to_string())
        };
        length.map_err(|found| self.invalid(spot, found, "length"))
    }

    /// Makes room for the target's items and says how many there are in each dimension.
    fn target_items(
        &mut self,
        items: &ItemsWalk,
        from: &[usize],
        spot: Spot,
    ) -> Result<(usize, Vec<usize>), Box<DecodeError>> {
        match &items.to {
            ItemsTo::Place { at, dims, fill } => {
                let to: Vec<usize> = dims.iter().map(|dim| *dim as usize).collect();
                let too_long = from.iter().zip(&to).find(|(from, to)| from > to);
                if let (Some((from, to)), false) = (too_long, items.cut) {
                    return Err(self.wrong_length(spot, *from, *to));
                }
                let at = spot.dst + *at as usize;
                if let Some(fill) = fill
                    && from.iter().zip(&to).any(|(from, to)| from < to)
                {
                    self.constant(fill, at, spot)?;
                }
                Ok((at, to))
            }
            ItemsTo::List { at } => {
                let count = if from.contains(&0) { 0 } else { from.iter().product() };
                let dst = self.allocate_items(count, items.item, spot)?;
                self.target.set_span(&mut self.out[spot.dst + *at as usize..], dst, count);
                Ok((dst, vec![count]))
            }
            ItemsTo::Sized { at, dims } => {
                let to = self.target_lengths(dims, from, items.cut, spot)?;
                // No longer than the source's in any dimension, unless there are none.
                let count = if to.contains(&0) { 0 } else { to.iter().product() };
                let dst = self.allocate_items(count, items.item, spot)?;
                self.target.set_reference(&mut self.out[spot.dst + *at as usize..], (count > 0).then_some(dst));
                Ok((dst, to))
            }
        }
    }

    /// The lengths of a target that other fields size, written to those fields.
    fn target_lengths(
        &mut self,
        dims: &[TargetDim],
        from: &[usize],
        cut: bool,
        spot: Spot,
    ) -> Result<Vec<usize>, Box<DecodeError>> {
        let is_field = |dim: &TargetDim| matches!(dim, TargetDim::Field { .. });
        let empty = dims.iter().zip(from).any(|(dim, from)| is_field(dim) && *from == 0);
        let mut to = Vec::with_capacity(dims.len());
        for (dim, from) in dims.iter().zip(from) {
            match *dim {
                TargetDim::Fixed(length) => {
                    let length = length as usize;
                    if !empty && *from != length && !(cut && *from > length) {
                        return Err(self.wrong_length(spot, *from, length));
                    }
                    to.push(length);
                }
                TargetDim::Field { at, width, signed, first } => {
                    self.set_length(spot, spot.dst + at as usize, (width, signed), *from, first)?;
                    to.push(*from);
                }
            }
        }
        Ok(to)
    }

    fn set_length(&mut self, spot: Spot, at: usize, (width, signed): (u8, bool), length: usize, first: bool) -> Done {
        let bits = 8 * u32::from(width) - u32::from(signed);
        if bits < 128 && (length as u128) >> bits != 0 {
            let value = format!("a length of {length}");
            return Err(self
                .error(spot, DecodeError::OutOfRange { path: String::new(), value, wanted: format!("{bits} bits") }));
        }
        let order = self.target.order;
        let place = &mut self.out[at..at + usize::from(width)];
        if first {
            write_uint(place, length as u128, order);
            return Ok(());
        }
        let there = read_uint(place, order) as usize;
        if there == length { Ok(()) } else { Err(self.wrong_length(spot, length, there)) }
    }
}
