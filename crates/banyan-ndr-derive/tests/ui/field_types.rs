use banyan_ndr::Record;

#[derive(Record)]
struct NoRecordType {
    time: std::time::Instant,
}

struct Other;

#[derive(Record)]
struct InList {
    others: Vec<Other>,
}

fn main() {}
