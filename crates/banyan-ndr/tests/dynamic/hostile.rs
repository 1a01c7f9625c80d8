//! Forged bodies: whatever the bytes, an answer and no harm.

use banyan_ndr::{DynRecord, Limits, RecordView};
use proptest::prelude::*;

use crate::generate::{self, Random};

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
    #![proptest_config(ProptestConfig::with_cases(crate::effort::share(24)))]

    #[test]
    fn a_body_cut_anywhere_is_refused_or_read_without_harm(seed: u64) {
        let mut random = Random(seed);
        let format = generate::format(&mut random);
        let body = generate::record(&mut random, &format).to_body().unwrap();
        for len in 0..body.len().min(600) {
            look_at_everything(&format, &body[..len]);
        }
    }

    #[test]
    fn a_body_with_changed_bytes_is_refused_or_read_without_harm(seed: u64) {
        let mut random = Random(seed);
        let format = generate::format(&mut random);
        let mut body = generate::record(&mut random, &format).to_body().unwrap();
        for _ in 0..100 {
            let at = random.below(body.len() as u64) as usize;
            let before = body[at];
            body[at] = match random.below(4) {
                0 => 0,
                1 => 0xff,
                2 => before ^ (1 << random.below(8)),
                _ => random.next() as u8,
            };
            look_at_everything(&format, &body);
            if random.chance() {
                body[at] = before;
            }
        }
    }
}
