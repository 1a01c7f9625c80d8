//! Comma-separated values.

use banyan_ndr::{CStruct, DynRecord, Format, Limits, PointerWidth, Type, Value};
use banyan_text::export::{CsvReader, CsvWriter, ExportError, ImportError};
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
    assert_eq!(rows[3].as_ref().unwrap().get("x").unwrap(), &banyan_ndr::Value::F64(0.5));
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

#[test]
fn a_cell_of_json_cannot_bring_further_fields() {
    let list = Type::List { item: Type::Int { width: 4, signed: true }.into() };
    let format = CStruct::new("row", 32, 8)
        .pointer_width(PointerWidth::Eight)
        .field("a", 0, list)
        .float("f", 16, 8)
        .int("b", 24, 8)
        .build()
        .unwrap();
    let mut rows = read("a,f,b\n[1],1.5,7\n", &format);
    assert!(rows.remove(0).is_ok());
    for cell in ["[1],\"\"b\"\":7", "[1]]", "", "[1] 2"] {
        let error = read(&format!("a,f\n\"{cell}\",1.5\n"), &format).remove(0).unwrap_err().to_string();
        assert!(error.starts_with("line 2: a: the cell is not one JSON value"), "{cell}: {error}");
    }
}

#[test]
fn c_strings_come_back_whatever_their_bytes_are() {
    let format = CStruct::new("named", 8, 8).pointer_width(PointerWidth::Eight).cstring("name", 0).build().unwrap();
    let texts = ["plain", "{\"$bytes\":\"/0E=\"}", "{\"$bytes\":", "{", "\"quoted\"", "null"].map(Value::from);
    for value in texts.into_iter().chain([Value::Bytes(vec![0xff, 0x41]), Value::Null]) {
        let mut record = DynRecord::new(&format);
        record.set("name", value.clone()).unwrap();
        let text = csv(&format, &[&record.to_body().unwrap()]).unwrap();
        let back = read(&text, &format).remove(0).unwrap();
        assert_eq!(back.get("name").unwrap(), &value, "{text}");
    }
    let text = csv(
        &format,
        &[&{
            let mut record = DynRecord::new(&format);
            record.set("name", "{braces} \"$bytes\"").unwrap();
            record.to_body().unwrap()
        }],
    );
    assert_eq!(text.unwrap(), "name\n\"{braces} \"\"$bytes\"\"\"\n", "ordinary text stays as it is");
}

#[test]
fn errors_name_the_line_whatever_ends_the_lines() {
    let format = CStruct::new("point", 16, 8).float("x", 0, 8).int("n", 8, 8).build().unwrap();
    for end in ["\n", "\r\n", "\n\n", "\r\n\r\n"] {
        for mark in ["", "\u{feff}"] {
            let text = format!("{mark}x,n\n1,1{end}2,zz{end}3{end}");
            let lines = 1 + end.matches('\n').count();
            let rows = read(&text, &format);
            let errors: Vec<_> = rows.iter().filter_map(|row| row.as_ref().err().map(ToString::to_string)).collect();
            assert!(errors[0].starts_with(&format!("line {}: n", lines + 1)), "{text:?}: {errors:?}");
            let third = 1 + 2 * (lines - 1) + 1;
            assert_eq!(errors[1], format!("not CSV: line {third} has 1 cells, the header has 2"), "{text:?}");
        }
    }
    let text = format!("x,n\r\n{}5,zz\r\n", "1.25,12345\r\n".repeat(5000));
    let error = read(&text, &format).pop().unwrap().unwrap_err().to_string();
    assert!(error.starts_with("line 5002: n"), "{error}");
}

#[test]
fn floats_are_read_in_all_forms_of_decimal_numbers() {
    let format = CStruct::new("point", 8, 8).float("x", 0, 8).build().unwrap();
    let good = [
        ("100000000000000000000", 1e20),
        (".5", 0.5),
        ("5.", 5.0),
        ("+1.5", 1.5),
        ("-.5e+3", -500.0),
        ("007", 7.0),
        ("-0", -0.0),
        ("5.E-1", 0.5),
        ("inf", f64::INFINITY),
    ];
    for (cell, value) in good {
        let row = read(&format!("x\n{cell}\n"), &format).remove(0).unwrap();
        assert_eq!(row.get("x").unwrap(), &Value::F64(value), "{cell}");
    }
    for cell in [".", "+", "1e", "1e+", "--1", "+-1", "1.2.3", "1,2", "0x10", "1_0", "e5", "true", "1e999"] {
        let error = read(&format!("x\n\"{cell}\"\n"), &format).remove(0).unwrap_err().to_string();
        assert!(error.starts_with("line 2: x: "), "{cell}: {error}");
    }
}

#[test]
fn a_header_names_each_column_once_and_must_be_there() {
    let format = CStruct::new("point", 16, 8).float("x", 0, 8).int("n", 8, 8).build().unwrap();
    let error = |text: &str| CsvReader::new(text.as_bytes(), &format, Limits::default()).unwrap_err().to_string();
    assert_eq!(error("x,n,x\n1,2,3\n"), "the header names the column x twice");
    for empty in ["", "\n", "\r\n\r\n"] {
        assert_eq!(error(empty), "there is no header; the first line of CSV names its columns");
    }
}

#[test]
fn an_empty_text_that_may_be_absent_is_not_taken_for_an_absent_one() {
    let optional = Type::Optional { item: Type::Str.into(), value_at: 8, size: 24 };
    let format = CStruct::new("note", 32, 8).pointer_width(PointerWidth::Eight);
    let format = format.field("text", 0, optional).cstring("c", 24).build().unwrap();
    for text in [Value::Null, "".into(), "plain".into(), "\"".into(), "\"\"".into(), "\"a\"".into(), "\"a".into()] {
        let mut record = DynRecord::new(&format);
        record.set("text", text.clone()).unwrap();
        record.set("c", text.clone()).unwrap();
        let table = csv(&format, &[&body(&record)]).unwrap();
        let back = read(&table, &format).remove(0).unwrap();
        assert_eq!((back.get("text").unwrap(), back.get("c").unwrap()), (&text, &text), "{table}");
    }
}
