//! `--memory`: how much the values of one record may take.

use banyan_ndr::Limits;

/// The memory of one record.
#[derive(clap::Args, Clone, Copy)]
pub(crate) struct Memory {
    /// The most memory for the values of one record, in MiB; a larger record is an error
    #[arg(long = "memory", value_name = "MIB", default_value_t = Limits::default().value_bytes >> 20)]
    mebibytes: usize,
}

impl Memory {
    /// The limits on what is read.
    pub(crate) fn limits(self) -> Limits {
        Limits::default().value_bytes(self.mebibytes.saturating_mul(1 << 20))
    }
}

/// An error in the words of this command: the library names the limit by its field.
pub(crate) fn explain(error: &impl ToString) -> String {
    error.to_string().replace("raise Limits::value_bytes to allow it", "allow more with --memory MIB")
}
