//! Code that converts numbers of the common widths, by the rules of [`Loss`].
//!
//! Integers are handled as 64 bits, floats as f64. Fails where `Loss::Error` asks for an error.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};

use super::emit::{Emitter, ItemPointers};
use crate::ByteOrder;
use crate::kernel::program::{Loss, Number, NumberKind};

/// Numbers up to this count are converted one behind the other, more in a loop.
const UNROLLED: u32 = 4;
const TWO_TO_63: f64 = f64::from_bits((1023 + 63) << 52);

/// Whether [`Emitter::numbers`] can do it. The interpreter does the rest.
pub(super) fn is_generated(from: Number, to: Number) -> bool {
    let common = |number: Number| number.width <= 8 && !(number.kind == NumberKind::Float && number.width == 2);
    common(from) && common(to) && !(from.kind == NumberKind::Float && to.kind == NumberKind::Bool)
}

impl Emitter<'_> {
    pub(super) fn numbers(
        &mut self,
        item: ItemPointers,
        (src, dst, count): (u32, u32, u32),
        from: Number,
        to: Number,
        loss: Loss,
    ) {
        let strides = (u32::from(from.width), u32::from(to.width));
        if count <= UNROLLED {
            for i in 0..count {
                self.number(item, (src + i * strides.0, dst + i * strides.1), from, to, loss);
            }
            return;
        }
        let first = self.advance(item, src, dst);
        self.repeat(first, count, strides, |emitter, item| emitter.number(item, (0, 0), from, to, loss));
    }

    fn number(&mut self, item: ItemPointers, (src, dst): (u32, u32), from: Number, to: Number, loss: Loss) {
        let bits = self.load(integer_type(from.width), item, src);
        let bits = self.reordered(bits, from);
        let bits = match from.kind {
            NumberKind::Float => self.float_to(bits, from.width, to, loss),
            _ => self.integer_to(bits, from, to, loss),
        };
        let bits = self.reordered(bits, to);
        self.store(bits, item, dst);
    }

    /// Native bits of a number from its bits in memory, or back.
    fn reordered(&mut self, bits: Value, number: Number) -> Value {
        if number.order == ByteOrder::NATIVE || number.width == 1 { bits } else { self.builder.ins().bswap(bits) }
    }

    fn integer_to(&mut self, bits: Value, from: Number, to: Number, loss: Loss) -> Value {
        let signed = from.kind == NumberKind::Signed;
        let wide = match from.kind {
            NumberKind::Bool => {
                let truth = self.builder.ins().icmp_imm_s(IntCC::NotEqual, bits, 0);
                self.builder.ins().uextend(types::I64, truth)
            }
            _ if from.width == 8 => bits,
            NumberKind::Signed => self.builder.ins().sextend(types::I64, bits),
            _ => self.builder.ins().uextend(types::I64, bits),
        };
        match to.kind {
            NumberKind::Float => self.integer_to_float(wide, signed, from.width, to.width, loss),
            NumberKind::Bool => self.integer_to_bool(wide, to.width, loss),
            _ => self.fitted(wide, signed, to, loss),
        }
    }

    /// An integer of 64 bits, narrowed to an integer type.
    fn fitted(&mut self, wide: Value, signed: bool, to: Number, loss: Loss) -> Value {
        let bits = 8 * u32::from(to.width);
        let (least, most) = match to.kind {
            NumberKind::Signed => (i64::MIN >> (64 - bits), (u64::MAX >> (65 - bits)) as i64),
            _ => (0, (u64::MAX >> (64 - bits)) as i64),
        };
        let mut wide = wide;
        if signed {
            // As signed numbers, the largest u64 would be -1: no signed source is above it.
            let too_large = (most > 0).then_some((IntCC::SignedGreaterThan, most));
            for (beyond, limit) in [Some((IntCC::SignedLessThan, least)), too_large].into_iter().flatten() {
                wide = self.limited(wide, beyond, limit, loss);
            }
        } else {
            wide = self.limited(wide, IntCC::UnsignedGreaterThan, most, loss);
        }
        self.narrowed(wide, to.width)
    }

    /// Fails, or takes `limit`, if `value` is beyond it.
    fn limited(&mut self, value: Value, beyond: IntCC, limit: i64, loss: Loss) -> Value {
        let limit = self.builder.ins().iconst(types::I64, limit);
        let is_beyond = self.builder.ins().icmp(beyond, value, limit);
        match loss {
            Loss::Saturate => self.builder.ins().select(is_beyond, limit, value),
            Loss::Error => {
                self.fail_if(is_beyond);
                value
            }
        }
    }

    fn narrowed(&mut self, wide: Value, width: u8) -> Value {
        if width == 8 { wide } else { self.builder.ins().ireduce(integer_type(width), wide) }
    }

    fn integer_to_bool(&mut self, wide: Value, width: u8, loss: Loss) -> Value {
        let limited = self.limited(wide, IntCC::UnsignedGreaterThan, 1, loss);
        self.narrowed(limited, width)
    }

    fn integer_to_float(&mut self, wide: Value, signed: bool, width: u8, to_width: u8, loss: Loss) -> Value {
        let ty = float_type(to_width);
        let float = self.integer_as(ty, wide, signed);
        let always_exact = width <= 2 || (width == 4 && to_width == 8);
        if loss == Loss::Error && !always_exact {
            let float = self.as_double(float, to_width);
            let back = self.whole(float, signed);
            let differs = self.builder.ins().icmp(IntCC::NotEqual, back, wide);
            self.fail_if(differs);
            self.fail_if_beyond(float, signed);
        }
        self.builder.ins().bitcast(integer_type(to_width), MemFlagsData::new(), float)
    }

    fn float_to(&mut self, bits: Value, width: u8, to: Number, loss: Loss) -> Value {
        let flags = MemFlagsData::new();
        let float = self.builder.ins().bitcast(float_type(width), flags, bits);
        let double = self.as_double(float, width);
        if to.kind == NumberKind::Float {
            let converted = if to.width == 4 { self.demoted(double, loss) } else { double };
            return self.builder.ins().bitcast(integer_type(to.width), flags, converted);
        }
        let signed = to.kind == NumberKind::Signed;
        let whole = self.whole(double, signed);
        if loss == Loss::Error {
            let back = self.integer_as(types::F64, whole, signed);
            // True for NaN too.
            let differs = self.builder.ins().fcmp(FloatCC::NotEqual, back, double);
            self.fail_if(differs);
            self.fail_if_beyond(double, signed);
        }
        self.fitted(whole, signed, to, loss)
    }

    /// An f64 as f32. Finite numbers that become infinite are beyond its range.
    fn demoted(&mut self, double: Value, loss: Loss) -> Value {
        let single = self.builder.ins().fdemote(types::F32, double);
        let infinity = self.builder.ins().f64const(f64::INFINITY);
        let magnitude = self.builder.ins().fabs(double);
        let finite = self.builder.ins().fcmp(FloatCC::LessThan, magnitude, infinity);
        let single_infinity = self.builder.ins().f32const(f32::INFINITY);
        let single_magnitude = self.builder.ins().fabs(single);
        let infinite = self.builder.ins().fcmp(FloatCC::Equal, single_magnitude, single_infinity);
        let overflows = self.builder.ins().band(finite, infinite);
        match loss {
            Loss::Error => {
                self.fail_if(overflows);
                single
            }
            Loss::Saturate => {
                let most = self.builder.ins().f32const(f32::MAX);
                let most = self.builder.ins().fcopysign(most, single);
                self.builder.ins().select(overflows, most, single)
            }
        }
    }

    fn as_double(&mut self, float: Value, width: u8) -> Value {
        if width == 8 { float } else { self.builder.ins().fpromote(types::F64, float) }
    }

    fn integer_as(&mut self, ty: Type, wide: Value, signed: bool) -> Value {
        match signed {
            true => self.builder.ins().fcvt_from_sint(ty, wide),
            false => self.builder.ins().fcvt_from_uint(ty, wide),
        }
    }

    /// Without its fraction, saturated; NaN becomes 0.
    fn whole(&mut self, double: Value, signed: bool) -> Value {
        match signed {
            true => self.builder.ins().fcvt_to_sint_sat(types::I64, double),
            false => self.builder.ins().fcvt_to_uint_sat(types::I64, double),
        }
    }

    /// Fails for the one number that saturates to a limit which is rounded to it again.
    fn fail_if_beyond(&mut self, double: Value, signed: bool) {
        let limit = self.builder.ins().f64const(if signed { TWO_TO_63 } else { 2.0 * TWO_TO_63 });
        let beyond = self.builder.ins().fcmp(FloatCC::GreaterThanOrEqual, double, limit);
        self.fail_if(beyond);
    }
}

fn integer_type(width: u8) -> Type {
    match width {
        1 => types::I8,
        2 => types::I16,
        4 => types::I32,
        _ => types::I64,
    }
}

fn float_type(width: u8) -> Type {
    if width == 4 { types::F32 } else { types::F64 }
}
