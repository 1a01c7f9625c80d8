//! Short descriptions that mean thousands of millions of values: each definition holds the next one twice. Nothing
//! that works on formats may take time or memory for all of them.

use banyan_ndr::export::CsvWriter;
use banyan_ndr::schema::{format_from_json_schema, format_from_xml_schema, json_schema, xml_schema};
use banyan_ndr::{
    ByteOrder, Compatibility, ConvertOptions, DecodeError, DefId, Definition, DynRecord, Field, Format, Limits, Plan,
    PointerWidth, RecordDef, RecordView, Type, compatibility,
};

/// How a definition holds the next.
#[derive(Clone, Copy)]
enum Hold {
    InPlace,
    Pointer,
    Shared,
}

impl Hold {
    fn ty(self, next: u16) -> Type {
        let next = Type::Record(DefId(next));
        match self {
            Hold::InPlace => next,
            Hold::Pointer => Type::Ref { item: next.into(), nullable: false, shared: false },
            Hold::Shared => Type::Ref { item: next.into(), nullable: false, shared: true },
        }
    }
}

/// Definitions that each hold `fields` of the next; the last holds a number.
fn bomb(levels: u16, fields: u32, hold: Hold, order: ByteOrder) -> Format {
    let mut definitions = vec![definition(levels, vec![("x".to_owned(), Type::Int { width: 4, signed: true })], 4)];
    let mut size = 4;
    for level in (0..levels).rev() {
        let step = if matches!(hold, Hold::InPlace) { size } else { 4 };
        let names = ["a", "b"].iter().take(fields as usize);
        definitions.push(definition(level, names.map(|name| ((*name).to_owned(), hold.ty(level + 1))).collect(), step));
        size = step * fields;
    }
    definitions.reverse();
    Format::new(order, PointerWidth::Four, definitions).unwrap()
}

fn definition(level: u16, fields: Vec<(String, Type)>, step: u32) -> Definition {
    let size = step * fields.len() as u32;
    let place = |(number, (name, ty)): (usize, (String, Type))| Field::new(name, number as u32 * step, ty);
    let fields = fields.into_iter().enumerate().map(place).collect();
    Definition::Record(RecordDef { name: format!("level{level}"), size, align: 4, fields })
}

/// The definitions of a description that is as long as a careless author might make it.
fn many() -> u16 {
    crate::support::effort::share(4000) as u16
}

/// 2²⁸ numbers in 1 GiB, and more than can be counted behind pointers.
fn bombs(order: ByteOrder) -> [Format; 4] {
    [
        bomb(28, 2, Hold::InPlace, order),
        bomb(300, 2, Hold::Pointer, order),
        bomb(300, 2, Hold::Shared, order),
        bomb(many(), 1, Hold::Pointer, order),
    ]
}

#[test]
fn are_refused_by_plans_or_planned_definition_by_definition() {
    let [sources, targets] = [ByteOrder::Little, ByteOrder::Big].map(bombs);
    for (source, target) in sources.iter().zip(&targets) {
        let plan = Plan::new(source, target, &ConvertOptions::default());
        let compatible = compatibility(source, target);
        match plan {
            Ok(plan) => {
                assert!(matches!(compatible, Compatibility::Lossless));
                assert!(plan.to_string().len() < 1 << 20);
            }
            Err(DecodeError::NotConvertible { fields, .. }) => assert!(fields[0].1.contains("places"), "{fields:?}"),
            Err(other) => panic!("{other}"),
        }
        assert!(matches!(compatibility(source, source), Compatibility::Equal));
    }
}

#[test]
fn are_described_definition_by_definition() {
    for format in bombs(ByteOrder::Little) {
        assert!(format.to_string().len() < 1 << 20);
        let (order, pointer) = (format.order(), format.pointer());
        let from_json = format_from_json_schema(&json_schema(&format), order, pointer).unwrap();
        assert_eq!(from_json.id(), format.id());
        let from_xml = format_from_xml_schema(&xml_schema(&format), order, pointer).unwrap();
        assert_eq!(from_xml.id(), format.id());
        assert!(format.relaid(ByteOrder::Big, PointerWidth::Eight).is_ok() || format.size() > 1 << 28);
        assert!(format.project(&["a"]).is_ok());
    }
}

#[test]
fn begin_as_records_with_a_bounded_number_of_values() {
    for format in bombs(ByteOrder::Little) {
        let record = DynRecord::new(&format);
        assert!(record.to_body().is_err(), "what is not there is asked for");
    }
}

#[test]
fn do_not_make_bodies_larger_than_they_are() {
    let limits = Limits::default();
    for format in bombs(ByteOrder::Little) {
        // Every pointer leads to the byte behind it; whatever it means, it cannot be as many values as it claims.
        let body = [4, 0, 0, 0].repeat(1000);
        let Ok(view) = RecordView::new(&format, &body) else { continue };
        assert!(view.walk(&limits, &mut |_, _| Ok(())).is_err());
        let _ = DynRecord::from_body(&format, &body, &limits);
    }
}

#[test]
fn have_few_columns() {
    for format in bombs(ByteOrder::Little) {
        let table = CsvWriter::new(Vec::new(), &format, Limits::default()).unwrap();
        assert!(table.finish().unwrap().len() < 1 << 20);
    }
}

#[cfg(feature = "arrow")]
#[test]
fn are_no_arrow_tables() {
    for format in bombs(ByteOrder::Little) {
        assert!(banyan_ndr::export::ArrowWriter::new(Vec::new(), &format, Limits::default()).is_err());
    }
}
