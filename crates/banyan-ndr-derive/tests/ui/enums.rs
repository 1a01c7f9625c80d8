use banyan_ndr::Record;

#[derive(Record)]
enum Never {}

#[derive(Record)]
enum SkippedCase {
    #[record(skip)]
    A,
    B(u32),
}

#[derive(Record)]
enum SaysOfOnlyValue {
    A(#[record(unit = "s")] u32),
}

#[derive(Record)]
enum SameName {
    A,
    #[record(rename = "A")]
    B,
}

fn main() {}
