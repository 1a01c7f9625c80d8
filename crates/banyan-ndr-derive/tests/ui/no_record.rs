use banyan_ndr::{Record, Scratch, encode};

#[derive(Record)]
enum Colour {
    Red,
    Green,
}

fn main() {
    let mut scratch = Scratch::new();
    let _ = encode(&Colour::Red, &mut scratch);
    let _ = Colour::Green;
}
