use banyan_ndr::Record;

#[derive(Record)]
struct FloatLength {
    count: f32,
    #[record(length = count)]
    items: Vec<u8>,
}

fn main() {}
