use banyan_ndr::Record;

#[derive(Record)]
union Bits {
    number: u32,
    float: f32,
}

fn main() {}
