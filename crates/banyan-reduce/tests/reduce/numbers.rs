//! Many records of one format: every type of number in memory, in both byte orders, with its largest and smallest.

use banyan_ndr::{Buffer, ByteOrder, Definition, Field, Format, PointerWidth, RecordDef, Type, Value};
use banyan_ranks::RankSet;
use banyan_reduce::{Filter, FilterRole, Output, Part, Reduction, ReductionLimits};
use proptest::prelude::*;

use crate::tree::field;

const FUNCTIONS: &str = "sum(x), avg(x), min(x), max(x), count()";

const TYPES: [Type; 10] = [
    Type::Int { width: 1, signed: true },
    Type::Int { width: 1, signed: false },
    Type::Int { width: 2, signed: true },
    Type::Int { width: 2, signed: false },
    Type::Int { width: 4, signed: true },
    Type::Int { width: 4, signed: false },
    Type::Int { width: 8, signed: true },
    Type::Int { width: 8, signed: false },
    Type::Float { width: 4 },
    Type::Float { width: 8 },
];

/// A number by its bits, of which a type takes as many as it has; often one that others have as well.
fn bits() -> impl Strategy<Value = u64> {
    let floats = [0.0, -0.0, 1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX].map(f64::to_bits);
    let narrow = [0.0, -0.0, 1.5, f32::NAN, f32::NEG_INFINITY, f32::MIN].map(|float| u64::from(float.to_bits()));
    let integers = [1, u64::MAX, 0x80, 0x7f, 0x8000, 1 << 31, 1 << 63, (1 << 63) - 1];
    let known = prop::sample::select([&floats[..], &narrow, &integers].concat());
    prop_oneof![known, any::<u64>()]
}

#[derive(Debug, Clone)]
struct Wave {
    ty: Type,
    order: ByteOrder,
    numbers: Vec<u64>,
}

fn waves() -> impl Strategy<Value = Wave> {
    let order = prop::sample::select(&[ByteOrder::Little, ByteOrder::Big][..]);
    (prop::sample::select(&TYPES[..]), order, prop::collection::vec(bits(), 1..40))
        .prop_map(|(ty, order, numbers)| Wave { ty, order, numbers })
}

impl Wave {
    /// The result; parts are added in two pieces. With what other ways make of the same parts.
    fn reduced(&self, cut: usize) -> (Value, Ways) {
        let fields = vec![Field::new("before", 0, TYPES[0].clone()), Field::new("x", 0, self.ty.clone())];
        let definition = RecordDef { name: "Number".into(), size: 0, align: 0, fields };
        let definitions = vec![Definition::Record(definition)];
        let format = Format::laid_out(self.order, PointerWidth::Eight, definitions).unwrap();
        let bodies: Vec<(RankSet, Vec<u8>)> = (0..)
            .zip(&self.numbers)
            .map(|(rank, bits)| (RankSet::from_iter([rank]), self.body(&format, *bits)))
            .collect();
        let part = |(members, body)| Part { members, format: &format, body, is_partial: false };
        let parts: Vec<Part<'_>> = bodies.iter().map(|(members, body)| part((members, body))).collect();
        let (one, other) = parts.split_at(cut.min(parts.len()));
        let mut reduction = Reduction::new(FUNCTIONS.parse().unwrap(), ReductionLimits::default());
        reduction.add_all(one).unwrap();
        reduction.add_all(other).unwrap();
        (reduction.result_record().unwrap().root, Ways::of(&mut reduction, &parts))
    }

    fn body(&self, format: &Format, bits: u64) -> Vec<u8> {
        let (at, width) = (format.fields()[1].offset as usize, self.width());
        let mut body = vec![0xee; format.size()];
        match self.order {
            ByteOrder::Little => body[at..at + width].copy_from_slice(&bits.to_le_bytes()[..width]),
            ByteOrder::Big => body[at..at + width].copy_from_slice(&bits.to_be_bytes()[8 - width..]),
        }
        body
    }

    fn width(&self) -> usize {
        match self.ty {
            Type::Int { width, .. } | Type::Float { width } => width.into(),
            _ => unreachable!("all are numbers"),
        }
    }

    /// Sum, average and both extremes with who, as a simple program computes them.
    fn model(&self) -> [Value; 6] {
        let count = self.numbers.len() as f64;
        if let Type::Float { width } = self.ty {
            let float = |bits: &u64| match width {
                4 => f64::from(f32::from_bits(*bits as u32)),
                _ => f64::from_bits(*bits),
            };
            let numbers: Vec<f64> = self.numbers.iter().map(float).collect();
            let sum: f64 = numbers.iter().sum();
            let [min, min_who, max, max_who] = extremes(&numbers, Value::F64);
            // The sum of zeros is shown as 0.
            return [Value::F64(sum + 0.0), Value::F64(sum / count), min, min_who, max, max_who];
        }
        let unused = 64 - 8 * self.width() as u32;
        let integer = |bits: &u64| match self.ty {
            Type::Int { signed: true, .. } => i128::from((bits << unused) as i64 >> unused),
            _ => i128::from(bits << unused >> unused),
        };
        let numbers: Vec<i128> = self.numbers.iter().map(integer).collect();
        let sum: i128 = numbers.iter().sum();
        let [min, min_who, max, max_who] = extremes(&numbers, Value::Int);
        [Value::Int(sum), Value::F64(sum as f64 / count), min, min_who, max, max_who]
    }
}

/// What goes to the parent and what the root hands out, made of parts one by one and of the whole wave.
struct Ways {
    one_by_one: [Vec<u8>; 2],
    whole: [Vec<u8>; 2],
}

impl Ways {
    fn of(reduction: &mut Reduction, parts: &[Part<'_>]) -> Ways {
        let [mut partial, mut result] = [Buffer::new(), Buffer::new()];
        parts.iter().for_each(|part| reduction.add(part).unwrap());
        reduction.partial(&mut partial).unwrap();
        parts.iter().for_each(|part| reduction.add(part).unwrap());
        reduction.result(&mut result).unwrap();
        let whole = [FilterRole::Inner, FilterRole::Root].map(|place| {
            let mut out = Output::new();
            // Memory that is used again is not zero.
            out.push(parts[0].format, &[0xee; 1000]);
            out.clear();
            reduction.wave(parts, place, &mut out).unwrap();
            out.records()[0].1.to_vec()
        });
        Ways { one_by_one: [partial.to_vec(), result.to_vec()], whole }
    }
}

/// The smallest and the largest of what can be compared, each with the first who has it.
fn extremes<T: PartialOrd + Copy>(numbers: &[T], value: impl Fn(T) -> Value) -> [Value; 4] {
    let first = |is_better: fn(&T, &T) -> bool| {
        let is_best =
            |number: &T| number.partial_cmp(number).is_some() && !numbers.iter().any(|other| is_better(other, number));
        let who = numbers.iter().position(is_best);
        (who.map_or(Value::Null, |who| value(numbers[who])), Value::Int(who.unwrap_or(0) as i128))
    };
    let ((min, min_who), (max, max_who)) = (first(|one, other| one < other), first(|one, other| one > other));
    [min, min_who, max, max_who]
}

/// Equal to the bit, but that all NaN are the same.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::F64(one), Value::F64(other)) => one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan(),
        _ => one == other,
    }
}

proptest! {
    #[test]
    fn records_of_one_format_give_what_a_simple_program_computes_however_they_are_added(
        wave in waves(),
        cut in 0_usize..40,
    ) {
        let ((result, ways), model) = (wave.reduced(cut), wave.model());
        let names = ["sum(x)", "avg(x)", "min(x)", "min(x).who", "max(x)", "max(x).who"];
        for (name, wanted) in names.into_iter().zip(&model) {
            let found = field(&result, name);
            prop_assert!(same(found, wanted), "{} is {:?}, but should be {:?}", name, found, wanted);
        }
        prop_assert_eq!(field(&result, "count()"), &Value::Int(wave.numbers.len() as i128));
        // Which NaN it is that several add up to is nobody's promise.
        if !matches!(field(&result, "sum(x)"), Value::F64(sum) if sum.is_nan()) {
            prop_assert_eq!(ways.whole, ways.one_by_one);
        }
    }
}
