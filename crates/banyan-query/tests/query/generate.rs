//! Random formats, events and questions.

use std::collections::BTreeMap;

use banyan_ndr::{
    ByteOrder, DefId, Definition, DynRecord, EnumerationDef, Field, Format, PointerWidth, RecordDef, Type, Value,
};
use proptest::prelude::*;

use crate::model::{Columns, Expr, Happened, PROCESSES, Question, V};

/// How the processes of one program version lay out their events.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    pub(crate) format: Format,
    /// Types of the fields.
    types: BTreeMap<&'static str, Type>,
}

const FIELDS: [&str; 6] = ["number", "int", "float", "text", "truth", "maybe"];

fn ints() -> impl Strategy<Value = Type> {
    (prop::sample::select(&[1_u8, 2, 4, 8, 16][..]), any::<bool>())
        .prop_map(|(width, signed)| Type::Int { width, signed })
}

fn floats() -> impl Strategy<Value = Type> {
    prop::sample::select(&[2_u8, 4, 8][..]).prop_map(|width| Type::Float { width })
}

fn texts() -> impl Strategy<Value = Type> {
    prop_oneof![3 => Just(Type::Str), 1 => Just(Type::CStr), 1 => Just(Type::Enum(DefId(1)))]
}

fn version() -> impl Strategy<Value = Version> {
    let numbers = prop_oneof![ints(), floats()];
    let order = Just((0..FIELDS.len()).collect::<Vec<_>>()).prop_shuffle();
    let types = (numbers, ints(), floats(), texts(), ints(), order);
    let machine = (any::<bool>(), any::<bool>());
    (types, machine).prop_map(|((number, int, float, text, maybe, order), (is_big, is_short))| {
        let optional = Type::Optional { item: maybe.into(), value_at: 0, size: 0 };
        let types = [number, int, float, text, Type::Bool { width: 1 }, optional];
        let types: BTreeMap<&'static str, Type> = FIELDS.into_iter().zip(types).collect();
        let fields = order.iter().map(|field| Field::new(FIELDS[*field], 0, types[FIELDS[*field]].clone())).collect();
        let names = [("idle", 0), ("busy", 1), ("done", 7)].map(|(name, value)| (name.to_owned(), value));
        let definitions = vec![
            Definition::Record(RecordDef { name: "step".into(), size: 0, align: 0, fields }),
            Definition::Enumeration(EnumerationDef {
                name: "state".into(),
                width: 2,
                signed: true,
                names: names.into(),
            }),
        ];
        let order = if is_big { ByteOrder::Big } else { ByteOrder::Little };
        let pointer = if is_short { PointerWidth::Four } else { PointerWidth::Eight };
        Version { format: Format::laid_out(order, pointer, definitions).unwrap(), types }
    })
}

/// An event as a model and as bytes.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    pub(crate) happened: Happened,
    pub(crate) version: usize,
    pub(crate) body: Vec<u8>,
}

/// What an event is made of, before it is known in which format.
type Seeds = (usize, usize, i64, [i64; 3], (i32, i32), u8, bool);

fn seeds() -> impl Strategy<Value = Seeds> {
    let small = || prop_oneof![4 => -3_i64..6, 1 => any::<i32>().prop_map(i64::from), 1 => any::<i64>()];
    let float = (prop_oneof![3 => -8_i32..8, 1 => any::<i32>()], prop_oneof![3 => Just(-1_i32), 1 => -30_i32..30]);
    (0..PROCESSES.len(), any::<usize>(), 0_i64..60, [small(), small(), small()], float, any::<u8>(), any::<bool>())
}

impl Version {
    fn made(&self, version: usize, sequence: u64, seeds: &Seeds) -> Made {
        let (process, _, time, ints, (mantissa, exponent), text, truth) = *seeds;
        let float = if exponent == 29 { f64::NAN } else { f64::from(mantissa) * 2_f64.powi(exponent) };
        let texts = ["idle", "busy", "done"];
        let mut fields = BTreeMap::new();
        let mut record = DynRecord::new(&self.format);
        for (name, ty) in &self.types {
            let wanted = match *name {
                "int" => V::Int(ints[0].into()),
                "number" => {
                    if matches!(ty, Type::Float { .. }) {
                        V::Float(float)
                    } else {
                        V::Int(ints[1].into())
                    }
                }
                "float" => V::Float(float),
                "text" => V::Text(texts[usize::from(text) % 3].into()),
                "truth" => V::Truth(truth),
                _ if text % 4 == 0 => V::Missing,
                _ => V::Int(ints[2].into()),
            };
            let (wanted, value) = fit(wanted, ty);
            record.set(name, value).unwrap();
            fields.insert(*name, wanted);
        }
        let body = record.to_body().unwrap().to_vec();
        Made { happened: Happened { process, sequence, time, fields }, version, body }
    }
}

/// The value as a field of this type holds it.
fn fit(wanted: V, ty: &Type) -> (V, Value) {
    match (wanted, ty) {
        (V::Missing, _) => (V::Missing, Value::Null),
        (V::Int(number), Type::Optional { item, .. }) => fit(V::Int(number), item),
        (V::Int(number), Type::Int { width, signed }) => {
            let unused = 128 - 8 * u32::from(*width);
            let number =
                if *signed { number << unused >> unused } else { ((number as u128) << unused >> unused) as i128 };
            // What 127 bits cannot hold would be missing.
            let number = if *width == 16 && number < 0 && !*signed { 5 } else { number };
            (V::Int(number), Value::Int(number))
        }
        (V::Float(number), Type::Float { width: 4 }) => (V::Float(f64::from(number as f32)), Value::F32(number as f32)),
        (V::Float(number), Type::Float { width: 2 }) => {
            // Halves hold eighths of small numbers.
            let small = (number.rem_euclid(64.0) * 8.0).floor() / 8.0;
            let small = if number.is_nan() { f64::NAN } else { small };
            (V::Float(small), Value::F64(small))
        }
        (V::Float(number), _) => (V::Float(number), Value::F64(number)),
        (V::Text(text), Type::Enum(_)) => (V::Text(text.clone()), Value::Enum(text)),
        (V::Text(text), _) => (V::Text(text.clone()), Value::Str(text)),
        (V::Truth(truth), _) => (V::Truth(truth), Value::Bool(truth)),
        (V::Int(_), _) => unreachable!("integers are for integers"),
    }
}

/// Versions of a program, and events of its processes.
pub(crate) fn events() -> impl Strategy<Value = (Vec<Version>, Vec<Made>)> {
    let versions = prop::collection::vec(version(), 1..4);
    (versions, prop::collection::vec(seeds(), 0..40)).prop_map(|(versions, mut seeds)| {
        seeds.sort_by_key(|(_, _, time, ..)| *time);
        // A process has one version.
        let version = |process: usize, seeds: &[Seeds]| seeds.first().map_or(0, |first| first.1.wrapping_add(process));
        let all = seeds.iter().enumerate().map(|(number, of)| {
            let version = version(of.0, &seeds) % versions.len();
            versions[version].made(version, number as u64, of)
        });
        let all = all.collect();
        (versions, all)
    })
}

fn pick(names: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(names)
}

fn boxed(expression: Expr) -> Box<Expr> {
    Box::new(expression)
}

/// Expressions that are numbers.
fn number(depth: u32) -> BoxedStrategy<Expr> {
    let leaf = prop_oneof![
        6 => pick(&["number", "int", "float", "truth", "maybe"]).prop_map(Expr::Field),
        2 => pick(&["rank", "pid", "time", "sequence"]).prop_map(Expr::Context),
        1 => (-4_i128..9).prop_map(|number| Expr::Constant(V::Int(number))),
        1 => (-9_i32..9).prop_map(|number| Expr::Constant(V::Float(f64::from(number) / 4.0))),
    ];
    if depth == 0 {
        return leaf.boxed();
    }
    let signs = prop::sample::select(&['+', '-', '*', '/', '%'][..]);
    let both = (signs, number(depth - 1), number(depth - 1));
    let computed = both.prop_map(|(sign, left, right)| Expr::Compute(sign, boxed(left), boxed(right)));
    let called =
        (pick(&["abs", "floor", "sqrt"]), number(depth - 1)).prop_map(|(name, of)| Expr::Call(name, boxed(of)));
    let length = text().prop_map(|of| Expr::Call("length", boxed(of)));
    prop_oneof![4 => leaf, 3 => computed, 1 => called, 1 => length].boxed()
}

fn text() -> BoxedStrategy<Expr> {
    prop_oneof![
        Just(Expr::Field("text")),
        Just(Expr::Context("host")),
        pick(&["idle", "a", "it's"]).prop_map(|text| Expr::Constant(V::Text(text.into()))),
    ]
    .boxed()
}

/// Expressions that hold or not.
fn condition(depth: u32) -> BoxedStrategy<Expr> {
    let signs = || pick(&["=", "!=", "<", ">="]);
    let numbers = (signs(), number(1), number(1));
    let numbers = numbers.prop_map(|(sign, left, right)| Expr::Compare(sign, boxed(left), boxed(right)));
    let texts =
        (signs(), text(), text()).prop_map(|(sign, left, right)| Expr::Compare(sign, boxed(left), boxed(right)));
    let like =
        (text(), pick(&["%", "i%e", "_", "%s_", "a%%"])).prop_map(|(of, pattern)| Expr::Like(boxed(of), pattern));
    let exists = number(1).prop_map(|of| Expr::Call("exists", boxed(of)));
    let leaf = prop_oneof![5 => numbers, 2 => texts, 1 => like, 1 => exists, 1 => Just(Expr::Field("truth"))];
    if depth == 0 {
        return leaf.boxed();
    }
    let both = || (condition(depth - 1), condition(depth - 1));
    prop_oneof![
        3 => leaf,
        2 => both().prop_map(|(left, right)| Expr::And(boxed(left), boxed(right))),
        2 => both().prop_map(|(left, right)| Expr::Or(boxed(left), boxed(right))),
        1 => condition(depth - 1).prop_map(|of| Expr::Not(boxed(of))),
        1 => both().prop_map(|(left, right)| Expr::Compare("=", boxed(left), boxed(right))),
    ]
    .boxed()
}

fn any_value() -> BoxedStrategy<Expr> {
    prop_oneof![4 => number(2), 2 => text(), 1 => condition(1)].boxed()
}

fn aggregate() -> BoxedStrategy<(&'static str, Expr)> {
    let numbers = pick(&["sum", "avg", "min", "max", "first", "last", "top2", "p50", "count"]);
    let values = pick(&["union", "classes", "distinct", "count"]);
    prop_oneof![4 => (numbers, number(2)), 2 => (values, any_value())].boxed()
}

/// A question about the fields that all versions have.
pub(crate) fn question() -> impl Strategy<Value = Question> {
    let rows = prop::collection::vec(any_value(), 1..4).prop_map(Columns::Rows);
    let keys = prop::collection::vec(any_value(), 0..3);
    let items = prop::collection::vec(aggregate(), 1..5);
    let least = prop::option::weighted(0.3, 1_u64..4);
    let aggregates = (keys, items, least).prop_map(|(keys, items, least)| Columns::Aggregates { keys, items, least });
    let window = prop::option::of((1_i64..9, prop::option::of(1_i64..5)));
    let parts = (
        prop_oneof![1 => rows, 4 => aggregates],
        prop::option::of(condition(2)),
        window,
        prop::option::weighted(0.2, 1_usize..6),
    );
    parts.prop_map(|(columns, filter, window, limit)| {
        let window = match columns {
            Columns::Rows(_) => None,
            // The width is a multiple of the slide.
            Columns::Aggregates { .. } => window.map(|(width, slide)| (width * slide.unwrap_or(1), slide)),
        };
        Question { columns, filter, window, limit }
    })
}
