//! The floating-point maximum over a tree of processes: a back-end. See `float_max_front_end`.

#[path = "float_max/messages.rs"]
mod messages;

use banyan_ndr::Record;
use banyan_tree::BackEnd;
use messages::{EXIT, INIT, Start};

#[derive(Record)]
struct Value {
    value: f32,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut back_end = BackEnd::join()?;
    loop {
        let incoming = back_end.recv()?;
        match incoming.tag {
            INIT => {
                let start: Start = incoming.read()?;
                for wave in 0..start.waves {
                    let value = ((back_end.rank() * 37 + wave * 11) % 64) as f32 / 2.0;
                    back_end.send(incoming.stream, &Value { value })?;
                }
            }
            EXIT => return Ok(()),
            _ => {}
        }
    }
}
