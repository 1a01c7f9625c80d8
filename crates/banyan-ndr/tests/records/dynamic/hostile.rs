//! Forged bodies: whatever the bytes, an answer and no harm.

use banyan_ndr::{ByteOrder, Definition, DynRecord, Field, Format, Limits, PointerWidth, RecordDef, RecordView, Type};
use proptest::prelude::*;

use super::records;

fn look_at_everything(format: &banyan_ndr::Format, body: &[u8]) {
    let limits = Limits::default();
    if let Ok(record) = DynRecord::from_body(format, body, &limits) {
        // What was accepted can be written, and is then accepted again.
        if let Ok(written) = record.to_body() {
            assert!(DynRecord::from_body(format, &written, &limits).is_ok());
        }
        let _ = record.to_string();
    }
    if let Ok(view) = RecordView::new(format, body) {
        let mut leaves = 0;
        let _ = view.walk(&limits, &mut |_, item| {
            leaves += 1;
            let _ = (item.get::<i64>(), item.get::<f32>(), item.get::<&str>(), item.get::<&[u8]>(), item.to_value());
            Ok(())
        });
        assert!(leaves <= 64 * (body.len() + 64), "{leaves} leaves in {} bytes", body.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::support::effort::share(24)))]

    #[test]
    fn a_body_cut_anywhere_is_refused_or_read_without_harm(record in records()) {
        let body = record.to_body().unwrap();
        for len in 0..body.len().min(600) {
            look_at_everything(&record.format, &body[..len]);
        }
    }

    #[test]
    fn a_body_with_changed_bytes_is_refused_or_read_without_harm(
        record in records(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), 0..4, any::<u8>(), any::<bool>()), 100),
    ) {
        let mut body = record.to_body().unwrap();
        for (at, way, byte, keep) in changes {
            let at = at.index(body.len());
            let before = body[at];
            body[at] = match way {
                0 => 0,
                1 => 0xff,
                2 => before ^ (1 << (byte % 8)),
                _ => byte,
            };
            look_at_everything(&record.format, &body);
            if !keep {
                body[at] = before;
            }
        }
    }
}

#[test]
fn a_fresh_record_of_a_format_with_thousands_of_millions_of_values_stays_small() {
    let int = Type::Int { width: 1, signed: false };
    let huge = Type::Array { item: int.into(), dims: vec![1 << 15, 1 << 14], order: banyan_ndr::Order::Row };
    let fields = vec![Field::new("huge", 0, huge), Field::new("small", 0, Type::Bool { width: 1 })];
    let definition = Definition::Record(RecordDef { name: "hostile".into(), size: 0, align: 1, fields });
    let format = Format::laid_out(ByteOrder::Little, PointerWidth::Eight, vec![definition]).unwrap();
    let mut record = DynRecord::new(&format);
    record.set("small", true).unwrap();
    assert!(record.to_body().unwrap_err().to_string().starts_with("huge"));
}
