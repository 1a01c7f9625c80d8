//! Shapes of fields that the golden files do not hold, on made-up machines.

use banyan_files::ffs::{Entry, ErrorKind, LongDouble, Reader, is_ffs};
use banyan_ndr::wire::Slots;
use banyan_ndr::{ByteOrder, DecodeError, Value};

use super::build::{BIG, LITTLE, Machine, Record};
use super::value::{get, value_of};
use super::{entries, records};

const MACHINES: [Machine; 4] =
    [LITTLE, BIG, Machine { version: 0, ..LITTLE }, Machine { version: 0, pointer: 8, ..BIG }];

fn ints(values: &[i128]) -> Value {
    Value::List(values.iter().map(|value| Value::Int(*value)).collect())
}

fn error(stream: &[u8]) -> ErrorKind {
    Reader::from_bytes(stream).unwrap().find_map(Result::err).expect("damage").kind
}

/// Rows of the pieces of a record, one behind the other.
fn bytes(pieces: &[Vec<u8>]) -> Vec<u8> {
    pieces.concat()
}

#[test]
fn versions_0_1_and_2_on_any_machine_give_the_same_record() {
    for machine in MACHINES {
        let pointer = u32::from(machine.pointer);
        let fields = [("n", "integer", 4, 0), ("name", "string", pointer, 8), ("items", "integer[n]", 2, 8 + pointer)];
        let size = 8 + 2 * machine.pointer as usize;
        let record: Record<'_> = ("thing", size as u32, &fields);
        let contents = bytes(&[
            machine.number(4, 3),
            vec![0xee; 4],
            machine.reference(size),
            machine.reference(size + 8),
            b"abc\0\0\0\0\0".to_vec(),
            [-1, 0, 7].map(|item| machine.number(2, item)).concat(),
        ]);
        let stream = machine.stream(&[record], &contents);
        assert!(is_ffs(&stream));
        let found = records(&stream);
        let value = value_of(&found[0]);
        assert_eq!(*get(&value, "name"), Value::Str("abc".into()));
        assert_eq!(*get(&value, "items"), ints(&[-1, 0, 7]));
        assert_eq!(found[0].body[4..8], [0; 4], "padding is zero whatever the writer left there");
    }
}

#[test]
fn a_cycle_stays_a_cycle_and_what_is_shared_stays_shared() {
    for machine in MACHINES {
        let pointer = machine.pointer as usize;
        let size = 8 + 2 * pointer;
        let fields = [
            ("id", "integer", 4, 0),
            ("left", "*node", size as u32, 8),
            ("right", "*node", size as u32, 8 + pointer as u32),
        ];
        let node = |id, left, right| {
            bytes(&[machine.number(4, id), vec![0; 4], machine.reference(left), machine.reference(right)])
        };
        let (second, third) = (size, 2 * size);
        // 1 -> 2, 3; 2 -> 3, 2; 3 -> 1 (written as a place in the root), null.
        let contents = bytes(&[node(1, second, third), node(2, third, second), node(3, 4, 0)]);
        let stream = machine.stream(&[("node", size as u32, &fields)], &contents);
        let record = &records(&stream)[0];
        let slots = Slots { order: record.format.order(), pointer: record.format.pointer() };
        let left = |at: usize| slots.reference(&record.body, at + 8).unwrap();
        let right = |at: usize| slots.reference(&record.body, at + 8 + pointer).unwrap();
        let (two, three) = (left(0).unwrap(), right(0).unwrap());
        assert_eq!((left(two), right(two)), (Some(three), Some(two)));
        assert_eq!((left(three), right(three)), (Some(0), None));
        assert_eq!(record.body.len(), 3 * size);
    }
}

#[test]
fn a_long_list_is_read_without_recursion() {
    let fields = [("next", "*node", 8, 0)];
    let count = crate::effort::share(100_000) as usize;
    let mut contents = Vec::new();
    for node in 1..count {
        contents.extend(LITTLE.reference(node * 8));
    }
    contents.extend(LITTLE.reference(0));
    let mut stream = LITTLE.format(&[("node", 8, &fields)]);
    // As a file, for the longer lengths those have.
    stream.splice(0..0, [0x43, 0x56, 0xff, 0xa9]);
    stream.extend([3, 0, 0, 0]);
    stream.extend((24 + contents.len() as u32).to_be_bytes());
    stream.extend([2, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    stream.extend((contents.len() as u64).to_le_bytes());
    stream.extend([0; 4]);
    stream.extend(&contents);
    assert_eq!(records(&stream)[0].body.len(), 8 * count);
}

#[test]
fn arrays_that_the_writer_shares_get_bytes_of_their_own() {
    let fields =
        [("n", "integer", 8, 0), ("a", "integer[n]", 4, 8), ("b", "integer[n]", 4, 16), ("c", "string", 8, 24)];
    let contents = bytes(&[
        LITTLE.number(8, 2),
        LITTLE.reference(32),
        LITTLE.reference(32),
        LITTLE.reference(32),
        LITTLE.number(4, 1),
        LITTLE.number(4, 2),
    ]);
    let record = &records(&LITTLE.stream(&[("pair", 32, &fields)], &contents))[0];
    let value = value_of(record);
    assert_eq!((get(&value, "a"), get(&value, "b")), (&ints(&[1, 2]), &ints(&[1, 2])));
    assert_eq!(*get(&value, "c"), Value::Str("\u{1}".into()));
    assert_ne!(record.body[8..16], record.body[16..24]);
}

#[test]
fn pointers_to_arrays_and_arrays_of_pointers_are_told_apart() {
    let fields = [("n", "integer", 4, 0), ("block", "*(integer[2][2])", 4, 8), ("all", "(*item)[n]", 4, 16)];
    let item: Record<'_> = ("item", 4, &[("x", "integer", 4, 0)]);
    let contents = bytes(&[
        LITTLE.number(8, 2),
        LITTLE.reference(24),
        LITTLE.reference(40),
        [1, 2, 3, 4].map(|number| LITTLE.number(4, number)).concat(),
        LITTLE.reference(56),
        LITTLE.reference(0),
        LITTLE.number(4, 9),
    ]);
    let value = value_of(&records(&LITTLE.stream(&[("root", 24, &fields), item], &contents))[0]);
    assert_eq!(*get(&value, "block/1"), ints(&[3, 4]));
    assert_eq!(*get(&value, "all/0/x"), Value::Int(9));
    assert_eq!(*get(&value, "all/1"), Value::Null);
}

#[test]
fn a_pointer_to_a_counted_array_becomes_a_pointer_to_a_list() {
    let fields = [("n", "integer", 4, 0), ("p", "*integer[n]", 4, 8), ("q", "(integer[n])[2]", 4, 16)];
    let contents = bytes(&[
        LITTLE.number(8, 2),
        LITTLE.reference(32),
        LITTLE.reference(40),
        LITTLE.reference(0),
        LITTLE.reference(40),
        LITTLE.number(4, 5),
        LITTLE.number(4, 6),
    ]);
    let value = value_of(&records(&LITTLE.stream(&[("root", 32, &fields)], &contents))[0]);
    assert_eq!(*get(&value, "p"), ints(&[5, 6]));
    assert_eq!(*get(&value, "q"), Value::List(vec![ints(&[5, 6]), Value::Null]));
}

#[test]
fn arrays_of_a_fortran_program_are_column_major() {
    let machine = Machine { column: true, ..BIG };
    let fields = [("n", "integer", 4, 0), ("fixed", "integer[2][3]", 2, 4), ("counted", "integer[2][n]", 2, 16)];
    let numbers =
        |range: std::ops::Range<i64>| range.map(|number| machine.number(2, number)).collect::<Vec<_>>().concat();
    let contents = bytes(&[machine.number(4, 3), numbers(0..6), machine.reference(24), vec![0; 4], numbers(10..16)]);
    let value = value_of(&records(&machine.stream(&[("grid", 20, &fields)], &contents))[0]);
    assert_eq!(*get(&value, "fixed"), Value::List(vec![ints(&[0, 2, 4]), ints(&[1, 3, 5])]));
    assert_eq!(*get(&value, "counted"), Value::List(vec![ints(&[10, 12, 14]), ints(&[11, 13, 15])]));
}

#[test]
fn booleans_become_0_or_1_and_odd_chars_and_enumerations_integers() {
    for machine in MACHINES {
        let fields =
            [("yes", "boolean", 4, 0), ("no", "boolean", 2, 4), ("wide", "char", 2, 6), ("kind", "enumeration", 4, 8)];
        let contents =
            bytes(&[machine.number(4, 0x1200), machine.number(2, 0), machine.number(2, 0x263a), machine.number(4, -1)]);
        let value = value_of(&records(&machine.stream(&[("flags", 12, &fields)], &contents))[0]);
        assert_eq!((get(&value, "yes"), get(&value, "no")), (&Value::Bool(true), &Value::Bool(false)));
        assert_eq!((get(&value, "wide"), get(&value, "kind")), (&Value::Int(0x263a), &Value::Int(-1)));
    }
}

#[test]
fn floats_are_read_from_machines_that_order_them_unlike_integers() {
    let fields = [("double", "float", 8, 0), ("single", "float", 4, 8), ("many", "float[2]", 8, 16)];
    // For each form, how it writes 1.5 in four bytes and any number in eight.
    type Form = (u16, [u8; 4], fn(f64) -> Vec<u8>);
    let mixed: Form = (3, 1.5_f32.to_le_bytes(), |double| {
        let mut bytes = double.to_le_bytes();
        bytes.rotate_left(4);
        bytes.to_vec()
    });
    let big: Form = (1, 1.5_f32.to_be_bytes(), |double| double.to_be_bytes().to_vec());
    for (floats, single, double) in [mixed, big] {
        let machine = Machine { floats, ..LITTLE };
        let contents = bytes(&[double(2.717), single.to_vec(), vec![0; 4], double(-1.0), double(1e300)]);
        let value = value_of(&records(&machine.stream(&[("floats", 32, &fields)], &contents))[0]);
        assert_eq!((get(&value, "double"), get(&value, "single")), (&Value::F64(2.717), &Value::F64(1.5)));
        assert_eq!(*get(&value, "many"), Value::List(vec![Value::F64(-1.0), Value::F64(1e300)]));
    }
}

/// 1.5 and a third as an x87 number of ten bytes, and what is nearest to a third.
const X87_ONE_AND_A_HALF: [u8; 10] = [0, 0, 0, 0, 0, 0, 0, 0xc0, 0xff, 0x3f];
const X87_THIRD: [u8; 10] = [0xab, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xfd, 0x3f];
const THIRD: f64 = 1.0 / 3.0;

fn padded(number: [u8; 10], width: usize) -> Vec<u8> {
    // Padding holds what happened to be in memory.
    [&number[..], &[0xee; 6][..width - 10]].concat()
}

#[test]
fn long_doubles_of_ten_and_twelve_bytes_are_x87_numbers() {
    for (width, machine) in [(10, LITTLE), (12, Machine { pointer: 4, version: 1, ..LITTLE })] {
        let fields =
            [("one", "float", width, 0), ("many", "float[2]", width, width), ("last", "integer", 4, 3 * width)];
        let width = width as usize;
        let numbers = [X87_ONE_AND_A_HALF, X87_THIRD, X87_ONE_AND_A_HALF].map(|number| padded(number, width));
        let contents = bytes(&[numbers.concat(), machine.number(4, -7)]);
        let value = value_of(&records(&machine.stream(&[("r", contents.len() as u32, &fields)], &contents))[0]);
        assert_eq!((get(&value, "one"), get(&value, "last")), (&Value::F64(1.5), &Value::Int(-7)));
        assert_eq!(*get(&value, "many"), Value::List(vec![Value::F64(THIRD), Value::F64(1.5)]));
    }
}

#[test]
fn long_doubles_of_sixteen_bytes_are_read_as_the_reader_is_told() {
    let third: u128 = 0x3ffd_5555_5555_5555_5555_5555_5555_5555;
    let (first, second) = (THIRD, 1.850_371_707_708_594e-17_f64);
    let cases = [
        (LITTLE, LongDouble::X87, padded(X87_THIRD, 16)),
        (LITTLE, LongDouble::Binary128, third.to_le_bytes().to_vec()),
        (BIG, LongDouble::Binary128, third.to_be_bytes().to_vec()),
        (LITTLE, LongDouble::DoubleDouble, [first.to_le_bytes(), second.to_le_bytes()].concat()),
        (BIG, LongDouble::DoubleDouble, [first.to_be_bytes(), second.to_be_bytes()].concat()),
    ];
    for (machine, form, number) in cases {
        let fields = [
            ("n", "integer", 4, 0),
            ("one", "float", 16, 16),
            ("square", "float[2][2]", 16, 32),
            ("many", "float[n]", 16, 96),
            ("pointed", "*float", 16, 96 + u32::from(machine.pointer)),
        ];
        let pad = |mut bytes: Vec<u8>, len| {
            bytes.resize(len, 0xee);
            bytes
        };
        let contents = bytes(&[
            pad(machine.number(4, 3), 16),
            number.repeat(5),
            pad(bytes(&[machine.reference(112), machine.reference(160)]), 16),
            number.repeat(4),
        ]);
        let stream = machine.stream(&[("r", 112, &fields)], &contents);
        let mut entries = Reader::from_bytes(&stream).expect("a stream").assume_long_doubles(form);
        let record = entries.find_map(|entry| match entry.expect("a good stream") {
            Entry::Record(record) => Some(record),
            _ => None,
        });
        let value = value_of(&record.expect("a record"));
        let numbers = |count| Value::List(vec![Value::F64(THIRD); count]);
        assert_eq!((get(&value, "one"), get(&value, "pointed")), (&Value::F64(THIRD), &Value::F64(THIRD)), "{form:?}");
        let square = Value::List(vec![numbers(2); 2]);
        assert_eq!((get(&value, "square"), get(&value, "many")), (&square, &numbers(3)), "{form:?}");
    }
}

#[test]
fn a_long_double_whose_meaning_is_not_known_is_refused_with_a_remedy() {
    for (machine, width, remedy) in [
        (LITTLE, 16, "--long-double"),
        (BIG, 16, "--long-double"),
        (BIG, 12, "doubles"),
        (Machine { floats: 3, ..LITTLE }, 12, "doubles"),
    ] {
        let stream = machine.stream(&[("physics", width, &[("energy", "float", width, 0)])], &[0; 16]);
        let message = error(&stream).to_string();
        assert!(message.contains("physics.energy") && message.contains("long double"), "{message}");
        assert!(message.contains(remedy), "{message}");
    }
}

#[test]
fn a_long_double_that_was_told_wrong_is_refused() {
    let stream = BIG.stream(&[("physics", 16, &[("energy", "float", 16, 0)])], &[0; 16]);
    let mut entries = Reader::from_bytes(&stream).expect("a stream").assume_long_doubles(LongDouble::X87);
    let message = entries.next().expect("a format").expect_err("x87 is little-endian").to_string();
    assert!(message.contains("physics.energy") && message.contains("binary128"), "{message}");
}

#[test]
fn long_doubles_that_reach_out_of_their_record_are_refused() {
    for (ty, size, offset) in [("float", 12, 4), ("float[2]", 12, 0), ("float[4000000000]", 12, 0)] {
        let stream = LITTLE.stream(&[("r", 12, &[("long", ty, size, offset)])], &[0; 12]);
        let message = error(&stream).to_string();
        assert!(message.contains("r.long"), "{message}");
    }
}

#[test]
fn a_null_array_is_empty_whatever_its_length_field_says() {
    for machine in MACHINES {
        let pointer = u32::from(machine.pointer);
        let size = 16 + 3 * machine.pointer as usize;
        // One length stands behind its array.
        let fields = [
            ("n", "integer", 4, 0),
            ("a", "integer[n]", 4, 8),
            ("b", "integer[n]", 4, 8 + pointer),
            ("c", "integer[2][m]", 4, 8 + 2 * pointer),
            ("m", "integer", 4, 8 + 3 * pointer),
        ];
        let record: Record<'_> = ("r", size as u32, &fields);
        let contents = |a: usize, b: usize| {
            bytes(&[
                machine.number(4, 1),
                vec![0; 4],
                machine.reference(a),
                machine.reference(b),
                machine.reference(0),
                machine.number(4, 5),
                vec![0; 4],
                machine.number(4, 7),
            ])
        };
        let found = records(&machine.stream(&[record], &contents(0, 0)));
        let value = value_of(&found[0]);
        assert_eq!((get(&value, "a"), get(&value, "b"), get(&value, "n")), (&ints(&[]), &ints(&[]), &Value::Int(0)));
        assert_eq!(*get(&value, "m"), Value::Int(0));
        let found = records(&machine.stream(&[record], &contents(size, size)));
        assert_eq!(*get(&value_of(&found[0]), "b"), ints(&[7]));
        let error = error(&machine.stream(&[record], &contents(size, 0)));
        assert!(matches!(error, ErrorKind::Record(DecodeError::Invalid { .. })), "the length of both: {error}");
    }
}

#[test]
fn damage_in_one_record_leaves_the_others_readable() {
    let fields = [("n", "integer", 8, 0), ("items", "integer[n]", 4, 8)];
    let record: Record<'_> = ("r", 16, &fields);
    let good = bytes(&[LITTLE.number(8, 1), LITTLE.reference(16), LITTLE.number(4, 7)]);
    let bad = bytes(&[LITTLE.number(8, 100), LITTLE.reference(16), LITTLE.number(4, 7)]);
    let huge = bytes(&[LITTLE.number(8, i64::MIN), LITTLE.reference(16)]);
    let negative = bytes(&[LITTLE.number(8, -1), LITTLE.reference(16), LITTLE.number(4, 7)]);
    let mut stream = LITTLE.stream(&[record], &bad);
    let second = stream.len() as u64;
    for contents in [&huge, &negative, &good] {
        stream.extend(LITTLE.record(&[record], contents));
    }
    let found: Vec<_> = Reader::from_bytes(&stream).unwrap().collect();
    assert!(matches!(found[0], Ok(Entry::Format(_))));
    let kinds: Vec<_> = found[1..4].iter().map(|entry| entry.as_ref().unwrap_err()).collect();
    assert!(matches!(kinds[0].kind, ErrorKind::Record(DecodeError::OutOfBounds { .. })), "{}", kinds[0]);
    assert!(matches!(kinds[1].kind, ErrorKind::Record(DecodeError::Invalid { .. })), "{}", kinds[1]);
    assert!(matches!(kinds[2].kind, ErrorKind::Record(DecodeError::Invalid { .. })), "{}", kinds[2]);
    assert_eq!(kinds[1].offset, second);
    assert!(matches!(&found[4], Ok(Entry::Record(record)) if *get(&value_of(record), "items") == ints(&[7])));
}

#[test]
fn comments_swapped_files_and_room_for_an_index_are_read() {
    let mut file = vec![0xa9, 0xff, 0x56, 0x43];
    file.extend([0; 256]);
    file.extend([3, 0, 0, 1]);
    file.extend(b"hi\0");
    assert!(is_ffs(&file));
    assert!(matches!(&entries(&file)[..], [Entry::Comment(text)] if text == "hi"));
}

#[test]
fn other_files_are_no_ffs_files() {
    for bytes in [&b""[..], b"bNDR", b"\x02\0\0\x09", b"{\"a\":1}", b"\x43\x56"] {
        assert!(!is_ffs(bytes));
        assert!(matches!(Reader::from_bytes(bytes).unwrap_err().kind, ErrorKind::NotFfs));
    }
}

#[test]
fn the_byte_order_of_a_record_is_its_formats() {
    let stream = BIG.stream(&[("r", 4, &[("x", "integer", 4, 0)])], &[0, 0, 1, 0]);
    let record = &records(&stream)[0];
    assert_eq!(record.format.order(), ByteOrder::Big);
    assert_eq!(*get(&value_of(record), "x"), Value::Int(256));
}
