//! Records with definitions as wide as a description can make them are read, converted and written in time.

use banyan_ndr::{ByteOrder, ConvertOptions, DynRecord, Format, Limits, Plan, PointerWidth, RecordView, Value};

use crate::support::wide::{cases, fields, last, names};

#[test]
fn a_list_of_the_last_of_many_names_is_read_and_written() {
    for format in [names(), cases()] {
        let body = last(&format);
        let record = DynRecord::from_body(&format, &body, &Limits::default()).unwrap();
        assert_eq!(*record.to_body().unwrap(), *body);
        RecordView::new(&format, &body).unwrap().walk(&Limits::default(), &mut |_, _| Ok(())).unwrap();
    }
}

#[test]
fn wide_definitions_are_converted_by_name() {
    for format in [names(), cases()] {
        let other = Format::new(ByteOrder::Big, PointerWidth::Four, format.definitions().to_vec());
        let other =
            other.or_else(|_| Format::laid_out(ByteOrder::Big, PointerWidth::Four, format.definitions().to_vec()));
        Plan::new(&format, &other.unwrap(), &ConvertOptions::default()).unwrap();
    }
}

#[test]
fn fields_in_reverse_order_are_found() {
    let format = fields();
    let values = (0..format.fields().len()).rev().map(|number| (format!("f{number}"), Value::Int(7))).collect();
    let record = DynRecord { root: Value::Record(values), ..DynRecord::new(&format) };
    assert_eq!(*record.to_body().unwrap(), *vec![7; format.fields().len()]);
}
