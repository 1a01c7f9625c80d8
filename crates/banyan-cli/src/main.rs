//! The `banyan` command: see the library of this package.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    banyan_cli::main()
}
