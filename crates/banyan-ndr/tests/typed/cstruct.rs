//! C structs sent as they lie and received as C memory.

use std::ffi::{CStr, c_char};
use std::mem::offset_of;
use std::ptr::{from_ref, null, null_mut};

use banyan_ndr::{
    Buffer, ByteOrder, CRecord, CStruct, DecodeError, DynRecord, Format, Limits, Order, PointerWidth, RecordView,
    Value, encode_c, plain_c,
};

#[repr(C)]
struct Node {
    value: i32,
    next: *mut Node,
}

fn node() -> Format {
    CStruct::new("node", size_of::<Node>() as u32, align_of::<Node>() as u32)
        .int("value", offset_of!(Node, value) as u32, 4)
        .pointer("next", offset_of!(Node, next) as u32, CStruct::own_type())
        .build()
        .unwrap()
}

fn encode(format: &Format, base: *const u8) -> Buffer {
    let mut out = Buffer::from_slice(&[0xaa; 300]);
    // SAFETY: each test gives a struct that its format describes, with valid pointers.
    unsafe { encode_c(format, base, &mut out) }.unwrap();
    out
}

#[test]
fn a_list_of_a_million_nodes_travels_there_and_back() {
    let count = if cfg!(miri) { 20 } else { crate::effort::share(1_000_000) as i32 };
    let mut nodes: Vec<Node> = (0..count).map(|value| Node { value, next: null_mut() }).collect();
    let start = nodes.as_mut_ptr();
    for index in 0..nodes.len() - 1 {
        // SAFETY: both nodes lie in the vector, which does not grow any more.
        unsafe { (*start.add(index)).next = start.add(index + 1) };
    }
    let body = encode(&node(), start.cast());
    assert_eq!(body.len(), nodes.len() * size_of::<Node>());

    let record = DynRecord::from_body(&node(), &body, &Limits::default()).unwrap();
    assert_eq!(record.shared.len(), nodes.len());
    assert!(record.clone() == record);
    assert_eq!(&record.to_body().unwrap()[..], &body[..]);

    let received = CRecord::new(&node(), body).unwrap();
    let mut at = received.as_ptr().cast::<Node>();
    for value in 0..count {
        // SAFETY: the record's pointers lead to nodes until the last one's null.
        let node = unsafe { &*at };
        assert_eq!(node.value, value);
        at = node.next;
    }
    assert!(at.is_null());
}

#[test]
fn a_ring_stays_a_ring() {
    let mut ring = [Node { value: 1, next: null_mut() }, Node { value: 2, next: null_mut() }];
    let start = ring.as_mut_ptr();
    // SAFETY: both lie in the array.
    unsafe {
        (*start).next = start.add(1);
        (*start.add(1)).next = start;
    }
    let format = node();
    let body = encode(&format, start.cast());
    assert_eq!(body.len(), 2 * size_of::<Node>());
    let record = DynRecord::from_body(&format, &body, &Limits::default()).unwrap();
    assert_eq!(record.get("next.next.next.value").unwrap(), &Value::Int(2));
    assert_eq!(record.to_string(), "node #1 {value: 1, next: {value: 2, next: → #1}}");
    let received = CRecord::new(&format, body).unwrap();
    let first = received.as_ptr().cast::<Node>();
    // SAFETY: a ring of two nodes.
    assert_eq!(unsafe { (*(*first).next).next.cast_const() }, first);
}

#[repr(C)]
struct Sample {
    kind: u8,
    name: *const c_char,
    missing: *const c_char,
    rows: u16,
    columns: i32,
    grid: *const f32,
    left: *const Node,
    right: *const Node,
    on: u32,
    empty: i8,
    nothing: *const u64,
}

fn sample() -> Format {
    let at = |offset: usize| offset as u32;
    let inner = CStruct::new("node", size_of::<Node>() as u32, align_of::<Node>() as u32)
        .int("value", at(offset_of!(Node, value)), 4)
        .pointer("next", at(offset_of!(Node, next)), CStruct::own_type());
    let mut sample = CStruct::new("sample", size_of::<Sample>() as u32, align_of::<Sample>() as u32);
    let node = sample.nested_type(&inner);
    assert_eq!(node, sample.nested_type(&inner));
    sample
        .enumeration("kind", at(offset_of!(Sample, kind)), 1, "kind", &[("cold", 0), ("warm", 7)])
        .cstring("name", at(offset_of!(Sample, name)))
        .cstring("missing", at(offset_of!(Sample, missing)))
        .uint("rows", at(offset_of!(Sample, rows)), 2)
        .int("columns", at(offset_of!(Sample, columns)), 4)
        .sized_matrix("grid", at(offset_of!(Sample, grid)), CStruct::float_type(4), &["rows", "columns"], Order::Row)
        .pointer("left", at(offset_of!(Sample, left)), node.clone())
        .pointer("right", at(offset_of!(Sample, right)), node)
        .boolean("on", at(offset_of!(Sample, on)), 4)
        .int("empty", at(offset_of!(Sample, empty)), 1)
        .sized_array("nothing", at(offset_of!(Sample, nothing)), CStruct::int_type(8), "empty")
        .build()
        .unwrap()
}

#[test]
fn strings_matrices_shared_targets_and_nulls_arrive_as_they_were() {
    let grid = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    let target = Node { value: 42, next: null_mut() };
    let value = Sample {
        kind: 7,
        name: c"pipe".as_ptr(),
        missing: null(),
        rows: 2,
        columns: 3,
        grid: grid.as_ptr(),
        left: &target,
        right: &target,
        on: 5,
        empty: 0,
        nothing: null(),
    };
    let format = sample();
    let body = encode(&format, from_ref(&value).cast());
    let view = RecordView::new(&format, &body).unwrap();
    assert_eq!(view.value::<&str>("kind").unwrap(), "warm");
    assert_eq!(view.value::<&str>("name").unwrap(), "pipe");
    assert_eq!(view.value::<Option<&str>>("missing").unwrap(), None);
    assert_eq!(view.value::<f64>("grid[1][0]").unwrap(), 4.0);
    assert_eq!(view.value::<i64>("right.value").unwrap(), 42);
    assert!(view.value::<bool>("on").unwrap());
    assert_eq!(
        view.get("left").unwrap().deref().unwrap().offset(),
        view.get("right").unwrap().deref().unwrap().offset()
    );

    let received = CRecord::new(&format, body).unwrap();
    // SAFETY: the record is a `Sample` whose pointers lead into its own memory.
    unsafe {
        let back = &*received.as_ptr().cast::<Sample>();
        assert_eq!(CStr::from_ptr(back.name), c"pipe");
        assert!(back.missing.is_null() && back.nothing.is_null());
        assert_eq!(std::slice::from_raw_parts(back.grid, 6), grid);
        assert_eq!(back.left, back.right);
        assert_eq!((*back.left).value, 42);
    }
}

#[test]
fn padding_and_what_the_buffer_held_before_never_travel() {
    let value = Node { value: -1, next: null_mut() };
    let body = encode(&node(), from_ref(&value).cast());
    let expected = DynRecord::from_body(&node(), &body, &Limits::default()).unwrap().to_body().unwrap();
    assert_eq!(&body[..], &expected[..]);
}

#[test]
fn a_plain_struct_is_its_own_body() {
    #[repr(C)]
    struct Point {
        id: u32,
        x: [f32; 3],
    }
    let format =
        CStruct::new("point", 16, 4).uint("id", 0, 4).array("x", 4, CStruct::float_type(4), &[3]).build().unwrap();
    let point = Point { id: 9, x: [0.5, 1.5, 2.5] };
    let base = from_ref(&point).cast::<u8>();
    // SAFETY: `point` outlives the slice.
    let body = unsafe { plain_c(&format, base) }.unwrap();
    assert_eq!(body.as_ptr(), base);
    let view = RecordView::new(&format, body).unwrap();
    assert_eq!((view.value::<u8>("id").unwrap(), view.value::<f32>("x[2]").unwrap()), (point.id as u8, point.x[2]));
    // SAFETY: nothing is read where the format is not plain.
    assert!(unsafe { plain_c(&node(), null()) }.is_none());
}

#[test]
fn mistakes_in_a_description_are_named() {
    let message = |format: CStruct| format.build().unwrap_err().to_string();
    assert_eq!(message(CStruct::new("a", 8, 4).int("x", 0, 4).int("y", 2, 4)), "a.y: overlaps field x");
    assert_eq!(
        message(CStruct::new("a", 16, 8).sized_array("x", 0, CStruct::float_type(8), "n")),
        "a.x: its length field n does not exist"
    );
    assert_eq!(
        message(CStruct::new("b", 8, 8).nested(
            "inner",
            0,
            &CStruct::new("a", 8, 8).sized_array("x", 0, CStruct::int_type(4), "n")
        )),
        "a.x: its length field n does not exist"
    );
    assert_eq!(message(CStruct::new("a", 4, 4).float("x", 0, 3)), "a.x: float of 3 bytes");
}

#[test]
fn a_struct_of_another_machine_is_neither_read_nor_made_from_memory() {
    let foreign = if ByteOrder::NATIVE == ByteOrder::Big { ByteOrder::Little } else { ByteOrder::Big };
    let format =
        CStruct::new("a", 8, 8).pointer_width(PointerWidth::NATIVE).order(foreign).int("x", 0, 8).build().unwrap();
    let mut out = Buffer::new();
    // SAFETY: refused before anything is read.
    assert!(unsafe { encode_c(&format, null(), &mut out) }.unwrap_err().to_string().contains("another machine"));
    assert!(CRecord::new(&format, Buffer::from_slice(&[0; 8])).is_err());
}

#[test]
fn a_body_whose_parts_overlap_never_becomes_c_memory() {
    let mut record = DynRecord::new(&node());
    record.set("next.value", 1).unwrap();
    let body = record.to_body().unwrap();
    let size = size_of::<Node>();
    let slot = offset_of!(Node, next);
    // Every wrong place the pointer could lead to; Miri, a hundred times slower, tries some of them.
    let step = if cfg!(miri) { 7 } else { 1 };
    for target in (1..body.len()).step_by(step) {
        let mut forged = Buffer::from_slice(&body);
        forged[slot..slot + size_of::<usize>()].copy_from_slice(&(target + 16).to_ne_bytes());
        let result = CRecord::new(&node(), forged);
        if target != size {
            assert!(
                matches!(
                    result,
                    Err(DecodeError::Overlap { .. } | DecodeError::Invalid { .. } | DecodeError::OutOfBounds { .. })
                ),
                "{target}"
            );
        }
    }
}
