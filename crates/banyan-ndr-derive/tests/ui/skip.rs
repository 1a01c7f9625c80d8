use std::cell::Cell;

use banyan_ndr::Record;

// Behind an `Rc` that two fields with different lifetimes share, one could put in what the other outlives.
#[derive(Record)]
struct Borrowed<'a> {
    id: u32,
    #[record(skip)]
    note: Cell<Option<&'a str>>,
}

#[derive(Record)]
enum Choice<'a> {
    Case {
        id: u32,
        #[record(skip)]
        note: Cell<Option<&'a str>>,
    },
}

#[derive(Record)]
struct Generic<T> {
    id: u32,
    #[record(skip)]
    note: Cell<Option<T>>,
}

fn main() {}
