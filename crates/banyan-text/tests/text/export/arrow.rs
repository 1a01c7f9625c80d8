//! Arrow IPC files, read back with the Arrow library.

use std::io::Cursor;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int16Type, Int32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::FileReader;
use banyan_ndr::{Format, Limits};
use banyan_text::export::{ArrowWriter, ExportError};
use proptest::prelude::*;

use super::records;
use super::samples::{body, format, record};

fn table(format: &Format, bodies: &[&[u8]]) -> Result<Vec<RecordBatch>, ExportError> {
    let mut writer = ArrowWriter::new(Vec::new(), format, Limits::default())?;
    for body in bodies {
        writer.write(format, body)?;
    }
    let file = writer.finish()?;
    Ok(FileReader::try_new(Cursor::new(file), None).unwrap().map(Result::unwrap).collect())
}

#[test]
fn every_field_is_a_column_of_its_type() {
    let bodies: Vec<_> = (0..1500).map(|step| body(&record(step))).collect();
    let batches = table(&format(), &bodies.iter().map(|body| &body[..]).collect::<Vec<_>>()).unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 1500);
    let batch = &batches[0];
    let column = |name: &str| batch.column_by_name(name).unwrap().clone();
    assert_eq!(column("step").as_primitive::<UInt64Type>().value(5), 5);
    let at = column("at");
    assert_eq!(at.as_struct().column_by_name("x").unwrap().as_primitive::<Float64Type>().value(5), 1.25);
    assert_eq!(column("label").as_string::<i32>().value(5), "a \"label\", no 5");
    assert_eq!(column("retries").as_primitive::<Int32Type>().value(5), 5);
    assert!(column("retries").is_null(4) && column("note").is_null(4));
    let row = column("grid").as_list::<i32>().value(5).as_list::<i32>().value(1);
    assert_eq!(row.as_primitive::<Int16Type>().values(), &[0, 0, 7]);
    assert!(column("ok").as_boolean().value(5));
    assert_eq!(column("state").as_string::<i32>().value(5), "busy");
    assert_eq!(column("temps").as_list::<i32>().value(5).as_primitive::<Float32Type>().values(), &[0.5, 0.5]);
}

proptest! {
    #[test]
    fn any_record_is_a_row_or_refused_with_the_field_that_has_no_column(record in records()) {
        let body = body(&record);
        match table(&record.format, &[&body, &body]) {
            Ok(batches) => prop_assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 2),
            Err(ExportError::NoColumn { .. }) => {}
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        }
    }
}
