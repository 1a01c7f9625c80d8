//! Holes of sparse files: zeros that need no room on a disk are not written.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes that are looked at together: what most file systems allocate at least.
const BLOCK: usize = 4096;

/// Writes bytes at an offset at or behind the end of a file; blocks of zeros become holes.
pub(super) fn write(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    let mut is_hole = false;
    while done < bytes.len() {
        let rest = &bytes[done..];
        is_hole = is_zero(&rest[..rest.len().min(BLOCK)]);
        let run = rest.chunks(BLOCK).take_while(|block| is_zero(block) == is_hole).map(<[u8]>::len).sum();
        if !is_hole {
            file.write_all_at(&rest[..run], offset + done as u64)?;
        }
        done += run;
    }
    if is_hole { file.set_len(offset + bytes.len() as u64) } else { Ok(()) }
}

fn is_zero(block: &[u8]) -> bool {
    block == &[0; BLOCK][..block.len()]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(runs in prop::collection::vec((any::<bool>(), 0..10_000_usize), 0..8), piece in 1..20_000_usize) {
            let bytes: Vec<u8> = runs.iter().flat_map(|(zero, length)| vec![u8::from(!zero); *length]).collect();
            let file = tempfile::tempfile().unwrap();
            for (index, part) in bytes.chunks(piece).enumerate() {
                write(&file, part, (index * piece) as u64).unwrap();
            }
            let mut read = vec![7; bytes.len()];
            file.read_exact_at(&mut read, 0).unwrap();
            prop_assert_eq!((read, file.metadata().unwrap().len()), (bytes.clone(), bytes.len() as u64));
        }
    }
}
