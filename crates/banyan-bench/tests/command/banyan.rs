//! The `banyan` command, for the tests of this package.

fn main() -> std::process::ExitCode {
    banyan_cli::main()
}
