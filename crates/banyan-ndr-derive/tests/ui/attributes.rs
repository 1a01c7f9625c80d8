use banyan_ndr::Record;

#[derive(Record)]
struct Unknown {
    #[record(units = "s")]
    time: u64,
}

#[derive(Record)]
#[record(default)]
struct OnType {
    time: u64,
}

#[derive(Record)]
struct Twice {
    #[record(unit = "s", unit = "ms")]
    time: u64,
}

#[derive(Record)]
struct EmptyName {
    #[record(rename = "")]
    time: u64,
}

#[derive(Record)]
struct SameName {
    #[record(rename = "time")]
    start: u64,
    time: u64,
}

#[derive(Record)]
struct SkippedAndMore {
    #[record(skip, rename = "t")]
    time: u64,
}

#[derive(Record)]
struct OrderOfNothing {
    #[record(order = column)]
    time: u64,
}

#[derive(Record)]
struct BadOrder {
    #[record(order = diagonal)]
    cells: [[u8; 2]; 2],
}

fn main() {}
