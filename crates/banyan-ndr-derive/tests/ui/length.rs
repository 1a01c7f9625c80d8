use banyan_ndr::Record;

#[derive(Record)]
struct UnknownLength {
    #[record(length = count)]
    items: Vec<u8>,
}

#[derive(Record)]
struct SkippedLength {
    #[record(skip)]
    count: u32,
    #[record(length = count)]
    items: Vec<u8>,
}

#[derive(Record)]
struct NoLengths {
    #[record(length())]
    items: Vec<u8>,
}

#[derive(Record)]
struct DefaultItems {
    count: u32,
    #[record(length = count, default)]
    items: Vec<u8>,
}

fn main() {}
