//! Records as text.

use banyan_ndr::{
    ByteOrder, Case, ConvertOptions, DefId, Definition, Dim, DynRecord, EnumerationDef, Field, Format, Order, Plan,
    PointerWidth, RecordDef, RecordView, Type, VariantDef,
};

use super::paths::{format, record};

#[test]
fn a_record_is_shown_on_one_line_or_on_many() {
    let (format, body) = (format(), record().to_body().unwrap());
    let view = RecordView::new(&format, &body).unwrap();
    assert_eq!(
        view.to_string(),
        "mesh {step: -3, limit: null, elems: [{temp: 1.5, shape: Point}, {temp: 0.0, shape: Circle(2.0)}], \
         matrix: [[1, 2, 3], [4, 5, 60]], title: \"größe\\n\", big: 340282366920938463463374607431768211455}"
    );
    let expected = r#"mesh {
  step: -3
  limit: null
  elems: [
    {
      temp: 1.5
      shape: Point
    }
    {
      temp: 0.0
      shape: Circle(2.0)
    }
  ]
  matrix: [
    [1, 2, 3]
    [4, 5, 60]
  ]
  title: "größe\n"
  big: 340282366920938463463374607431768211455
}"#;
    assert_eq!(format!("{view:#}"), expected);
    assert_eq!(format!("{:#}", record()), expected);
}

#[test]
fn a_body_that_is_no_record_shows_what_is_wrong() {
    let (format, mut body) = (format(), record().to_body().unwrap());
    body[4] = 9;
    let view = RecordView::new(&format, &body).unwrap();
    assert_eq!(view.to_string(), "mesh <limit: 9 is no flag of an optional value>");
}

#[test]
fn a_fresh_record_is_all_zero() {
    let fresh = DynRecord::new(&format());
    assert_eq!(
        fresh.to_string(),
        "mesh {step: 0, limit: null, elems: [], matrix: [[0, 0, 0], [0, 0, 0]], title: \"\", big: 0}"
    );
    assert!(fresh.to_body().unwrap().iter().all(|byte| *byte == 0));
}

#[test]
fn names_cannot_command_a_terminal() {
    let bad = |name: &str| format!("{name}\u{1b}[2J\n\u{202e}");
    let int = Type::Int { width: 4, signed: true };
    let field = |name, ty| Field { unit: Some(bad("unit")), ..Field::new(bad(name), 0, ty) };
    let sized = Type::Sized { item: int.clone().into(), dims: vec![Dim::Field(0)], order: Order::Row };
    let fields = vec![
        field("count", int.clone()),
        field("sized", sized),
        field("kind", Type::Enum(DefId(1))),
        field("shape", Type::Variant(DefId(2))),
    ];
    let names = vec![(bad("name"), 0)];
    let cases = vec![Case { name: bad("case"), tag: 0, payload: Some(Type::Str) }];
    let variant = VariantDef { name: bad("variant"), size: 0, align: 1, tag_width: 1, payload_at: 0, cases };
    let definitions = vec![
        Definition::Record(RecordDef { name: bad("record"), size: 0, align: 1, fields }),
        Definition::Enumeration(EnumerationDef { name: bad("enumeration"), width: 4, signed: true, names }),
        Definition::Variant(variant),
    ];
    let [little, big] = [ByteOrder::Little, ByteOrder::Big]
        .map(|order| Format::laid_out(order, PointerWidth::Eight, definitions.clone()).unwrap());
    let record = DynRecord::new(&little);
    let mut body = record.to_body().unwrap();
    let whole = RecordView::new(&little, &body).unwrap().to_string();
    body[..4].fill(1);
    let broken = RecordView::new(&little, &body).unwrap().to_string();
    let plan = Plan::new(&little, &big, &ConvertOptions::default()).unwrap();
    let other = RecordDef { name: "record".into(), size: 4, align: 4, fields: vec![Field::new("x", 0, int)] };
    let other = Format::new(ByteOrder::Little, PointerWidth::Eight, vec![Definition::Record(other)]).unwrap();
    let missing = Plan::new(&other, &little, &ConvertOptions::default()).unwrap_err().to_string();
    let unknown = little.project(&[&bad("field of the record")]).unwrap_err().to_string();
    for shown in [record.to_string(), whole, broken, little.to_string(), plan.to_string(), missing, unknown] {
        let control = |character: char| character.is_control() && character != '\n';
        assert!(shown.contains("record") && !shown.contains(control), "{shown:?}");
        assert!(!shown.contains('\u{202e}') && !shown.contains("[2J\n"), "{shown:?}");
    }
}
