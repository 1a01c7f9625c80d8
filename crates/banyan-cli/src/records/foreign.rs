//! `--long-double`: what files of FFS and PBIO do not say of the machine that wrote them.

use std::io::Read;

use banyan_files::ffs::{LongDouble, Reader};

/// What is known of the writer.
#[derive(clap::Args, Clone, Copy, Default)]
pub(crate) struct Foreign {
    /// The format of 16-byte C `long double` values in FFS and PBIO files, which do not record it
    #[arg(long, value_name = "FORM")]
    long_double: Option<LongDoubleForm>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum LongDoubleForm {
    /// Written on x86-64
    X87,
    /// Written on 64-bit Arm, IBM Z, SPARC, RISC-V, MIPS
    Binary128,
    /// Written on PowerPC or POWER
    DoubleDouble,
}

impl Foreign {
    /// Tells a reader.
    pub(crate) fn tell<R: Read>(self, reader: Reader<R>) -> Reader<R> {
        match self.long_double {
            None => reader,
            Some(LongDoubleForm::X87) => reader.assume_long_doubles(LongDouble::X87),
            Some(LongDoubleForm::Binary128) => reader.assume_long_doubles(LongDouble::Binary128),
            Some(LongDoubleForm::DoubleDouble) => reader.assume_long_doubles(LongDouble::DoubleDouble),
        }
    }
}
