//! Short descriptions that mean thousands of millions of values cost no more than they are long.

use banyan_ndr::{
    ByteOrder, Compatibility, ConvertOptions, DecodeError, DefId, Definition, DynRecord, Format, Limits, Plan,
    PointerWidth, RecordDef, RecordView, Type, compatibility,
};

use crate::support::bombs::{bombs, definition};

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

/// Records of one number fewer than the target wants, or one more, in definitions that all lead to each other. Each of
/// them can be reached in many ways, along paths as long as the description.
fn meshes(extra: &str) -> Format {
    let levels = crate::support::effort::share(1500).min(1500) as u16;
    let next = |to: u16| Type::Ref { item: Type::Record(DefId(to % levels)).into(), nullable: true, shared: false };
    let definitions = (0..levels).map(|level| {
        let number = Type::Int { width: 4, signed: true };
        let fields =
            [("a".to_owned(), next(level + 1)), ("b".to_owned(), next(level + 2)), (format!("{extra}{level}"), number)];
        definition(level, fields.into(), 4)
    });
    Format::new(ByteOrder::Little, PointerWidth::Four, definitions.collect()).unwrap()
}

#[test]
fn findings_are_named_up_to_a_number_and_counted_beyond() {
    let (old, new) = (meshes("old_number_"), meshes("new_number_"));
    let findings = old.definitions().len();
    let bytes = |fields: &[(String, String)]| fields.iter().map(|(path, _)| path.len()).sum::<usize>();
    let Compatibility::Incompatible { fields, more } = compatibility(&old, &new) else { panic!("incompatible") };
    assert!(fields.len() <= 1 << 10 && bytes(&fields) < 4 << 20, "{} fields, {} bytes", fields.len(), bytes(&fields));
    assert!(more >= findings.saturating_sub(64), "{more} of {findings}");
    let Err(error) = Plan::new(&old, &new, &ConvertOptions::default()) else { panic!("incompatible") };
    assert!(error.to_string().len() < 4 << 20);

    // Without the new field nothing stands in the way, and nobody asks what is lost.
    let only_next = |definition: &Definition| {
        let Definition::Record(record) = definition else { unreachable!("records only") };
        let fields = record.fields.iter().take(2).cloned().collect();
        Definition::Record(RecordDef { fields, ..record.clone() })
    };
    let less = old.definitions().iter().map(only_next).collect();
    let less = Format::new(ByteOrder::Little, PointerWidth::Four, less).unwrap();
    Plan::new(&old, &less, &ConvertOptions::default()).unwrap();
    let Compatibility::Lossy { fields, more } = compatibility(&old, &less) else { panic!("lossy") };
    assert!(bytes(&fields) < 4 << 20 && more >= findings.saturating_sub(64), "{more} of {findings}");
}

#[test]
fn are_described_definition_by_definition() {
    for format in bombs(ByteOrder::Little) {
        assert!(format.to_string().len() < 1 << 20);
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
