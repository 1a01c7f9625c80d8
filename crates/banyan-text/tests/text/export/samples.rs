//! A format with something of everything that tables hold, and a record of it.

use banyan_ndr::{Buffer, CStruct, DynRecord, Format, Type, Value};

pub(crate) fn format() -> Format {
    let point = CStruct::new("point", 16, 8).float("x", 0, 8).float("y", 8, 8);
    let optional = Type::Optional { item: CStruct::int_type(4).into(), value_at: 4, size: 8 };
    CStruct::new("sample", 88, 8)
        .uint("step", 0, 8)
        .nested("at", 8, &point)
        .field("label", 24, Type::Str)
        .field("retries", 40, optional)
        .array("grid", 48, CStruct::int_type(2), &[2, 3])
        .boolean("ok", 60, 1)
        .enumeration("state", 61, 1, "state", &[("idle", 0), ("busy", 1)])
        .field("temps", 64, Type::List { item: CStruct::float_type(4).into() })
        .cstring("note", 80)
        .build()
        .unwrap()
}

pub(crate) fn record(step: u64) -> DynRecord {
    let mut record = DynRecord::new(&format());
    let int = |number: u64| Value::Int(number.into());
    record.set("step", int(step)).unwrap();
    record.set("at.x", Value::F64(step as f64 / 4.0)).unwrap();
    record.set("label", Value::Str(format!("a \"label\", no {step}"))).unwrap();
    if step % 2 == 1 {
        record.set("retries", int(step)).unwrap();
        record.set("note", Value::Str("seen".into())).unwrap();
    }
    record.set("grid[1][2]", int(7)).unwrap();
    record.set("ok", Value::Bool(true)).unwrap();
    record.set("state", Value::Enum("busy".into())).unwrap();
    record.set("temps", Value::List(vec![Value::F32(0.5); step as usize % 3])).unwrap();
    record
}

pub(crate) fn body(record: &DynRecord) -> Buffer {
    record.to_body().unwrap()
}
