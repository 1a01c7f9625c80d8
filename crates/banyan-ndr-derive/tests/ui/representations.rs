use banyan_ndr::Record;

#[derive(Record)]
#[repr(packed(2))]
struct PackedWithPadding {
    on: bool,
    number: u16,
}

/// An enum that `align` makes longer than its integer is not read where it lies.
#[derive(Record)]
#[repr(u8, align(4))]
enum Aligned {
    One = 1,
}

const _: () = assert!(<Aligned as banyan_ndr::typed::Wire>::IN_PLACE, "read by value");

fn main() {}
