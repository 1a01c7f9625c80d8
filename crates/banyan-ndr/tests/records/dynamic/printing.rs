//! Records as text.

use banyan_ndr::{DynRecord, RecordView};

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
