//! Writing many pieces with few system calls.

use std::io::{self, IoSlice, Write};

/// Writes all pieces, in as few calls as the destination allows.
pub fn write_all(out: &mut impl Write, mut pieces: &mut [IoSlice<'_>]) -> io::Result<()> {
    // Empty pieces at the start would look like a destination that takes nothing.
    IoSlice::advance_slices(&mut pieces, 0);
    while !pieces.is_empty() {
        match out.write_vectored(pieces) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut pieces, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
