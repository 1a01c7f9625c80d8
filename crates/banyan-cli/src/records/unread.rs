//! Files that cannot be read, among others that can: they are told one by one, and keep nobody from the others.

use std::io::Write;

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::speech::complain;

/// What is told of such a file with `--json`.
pub(super) fn object(name: &str, failure: &Failure) -> Value {
    json!({ "file": name, "error": failure.message(), "exit_status": failure.status() })
}

/// Tells why a file is left out, behind what was said before; the exit status that it deserves.
pub(super) fn tell(out: &mut impl Write, name: &str, failure: &Failure, json: bool) -> Result<u8, Failure> {
    if json {
        writeln!(out, "{}", object(name, failure))?;
    }
    out.flush()?;
    complain(failure.message());
    Ok(failure.status())
}
