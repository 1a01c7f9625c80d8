//! Comma-separated values.

use banyan_ndr::export::{CsvReader, CsvWriter, ExportError, ImportError};
use banyan_ndr::{CStruct, DynRecord, Format, Limits};
use proptest::prelude::*;

use super::records;
use super::samples::{body, format, record};

fn csv(format: &Format, bodies: &[&[u8]]) -> Result<String, ExportError> {
    let mut writer = CsvWriter::new(Vec::new(), format, Limits::default())?;
    for body in bodies {
        writer.write(format, body)?;
    }
    Ok(String::from_utf8(writer.finish()?).unwrap())
}

fn read(text: &str, format: &Format) -> Vec<Result<DynRecord, ImportError>> {
    CsvReader::new(text.as_bytes(), format, Limits::default()).unwrap().collect()
}

#[test]
fn rows_have_a_column_for_every_field_and_come_back_the_same() {
    let bodies: Vec<_> = (0..5).map(|step| body(&record(step))).collect();
    let text = csv(&format(), &bodies.iter().map(|body| &body[..]).collect::<Vec<_>>()).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next().unwrap(), "step,at.x,at.y,label,retries,grid,ok,state,temps,note");
    let first = r#"0,0.0,0.0,"a ""label"", no 0",,"[[0,0,0],[0,0,7]]",true,busy,[],"#;
    assert_eq!(lines.next().unwrap(), first);
    let back = read(&text, &format());
    assert_eq!(back.len(), 5);
    for (back, body) in back.into_iter().zip(&bodies) {
        assert_eq!(back.unwrap().to_body().unwrap()[..], body[..]);
    }
}

proptest! {
    #[test]
    fn what_is_read_from_a_table_makes_the_same_table(record in records()) {
        let body = body(&record);
        let text = match csv(&record.format, &[&body]) {
            Ok(text) => text,
            Err(ExportError::SameColumn { .. }) => return Ok(()),
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        };
        let rows = read(&text, &record.format);
        prop_assert_eq!(rows.len(), 1, "{}", text);
        let again = rows.into_iter().next().unwrap().unwrap().to_body().unwrap();
        prop_assert_eq!(csv(&record.format, &[&again]).unwrap(), text);
    }
}

#[test]
fn columns_stand_in_any_order_and_bad_cells_are_named() {
    let format = CStruct::new("point", 16, 8).float("x", 0, 8).int("n", 8, 8).build().unwrap();
    let rows = read("n,x\n-3,1e3\n4,NaN\nfour,1\n5,.5\n1,2,3\n", &format);
    assert_eq!(rows[0].as_ref().unwrap().get("x").unwrap(), &banyan_ndr::Value::F64(1000.0));
    assert_eq!(rows[0].as_ref().unwrap().get("n").unwrap(), &banyan_ndr::Value::Int(-3));
    assert!(rows[1].is_ok());
    let error = rows[2].as_ref().unwrap_err().to_string();
    assert!(error.starts_with("line 4: ") && error.contains("four"), "{error}");
    assert!(rows[3].is_err());
    assert_eq!(rows[4].as_ref().unwrap_err().to_string(), "not CSV: line 6 has 3 cells, the header has 2");
}

#[test]
fn unknown_columns_are_named_with_those_there_are() {
    let error = CsvReader::new(&b"step,speed\n"[..], &format(), Limits::default()).unwrap_err().to_string();
    assert!(error.contains("has no column speed; it has step, at.x"), "{error}");
}

#[test]
fn a_table_takes_records_of_one_format() {
    let other = CStruct::new("other", 8, 8).int("n", 0, 8).build().unwrap();
    let mut writer = CsvWriter::new(Vec::new(), &format(), Limits::default()).unwrap();
    assert!(matches!(writer.write(&other, &[0; 8]), Err(ExportError::OtherFormat { .. })));
}
