//! What a record costs: encoding, decoding and conversion, beside a memory copy.

use std::io::Write;
use std::process::ExitCode;

use banyan_bench::{Effort, Environment, Row, memcpy_of, records, table, to_json};
use banyan_cli::failure::Outcome;
use banyan_cli::output;
use banyan_cli::progress::Progress;
use clap::Args;

use super::plot::Plot;

#[derive(Args)]
pub(crate) struct RecordsBench {
    /// Fewer and shorter batches: under 20 seconds
    #[arg(long)]
    quick: bool,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    plot: Plot,
}

/// Columns of what is promised.
const PROMISE: usize = 60;

/// What we promise, as multiples of a memory copy of the same bytes.
const RATIOS: [(&str, usize, f64); 5] = [
    ("decode_extra_field", 99_872, 1.3),
    ("decode_foreign", 99_872, 1.2),
    ("decode_foreign", 992, 2.5),
    ("decode_foreign_layout", 99_872, 1.6),
    ("decode_foreign_interpreted", 99_872, 2.0),
];

/// What we promise in nanoseconds, at every size.
const NANOSECONDS: [(&str, f64); 4] =
    [("encode", 25.0), ("decode_same", 10.0), ("lookup_1000", 20.0), ("compile", 150_000.0)];

impl RecordsBench {
    pub(super) fn run(self) -> Outcome {
        self.plot.check()?;
        let effort = if self.quick { Effort::QUICK } else { Effort::FULL };
        let mut environment = Environment::observe();
        let mut progress = Progress::start();
        let rows = records::run(effort, &mut |what| progress.tell(|| format!("measuring: {what}")));
        drop(progress);
        environment.finish();
        let mut out = output::stdout();
        if self.json {
            writeln!(out, "{}", to_json("records", &rows, &environment))?;
        } else {
            writeln!(out, "{environment}\n\n{}\n{}", table(&rows), promises(&rows))?;
        }
        out.flush()?;
        self.plot.write("records", &records::draw(&rows), self.json)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Each promise beside what was measured.
fn promises(rows: &[Row]) -> String {
    let mut out = format!("{:<PROMISE$}{:>10}\n", "promised (plain record)", "measured");
    for (op, most) in NANOSECONDS {
        let worst = rows.iter().filter(|row| row.op == op && row.record == "plain" && row.system == "banyan");
        if let Some(worst) = worst.map(|row| row.ns).max_by(f64::total_cmp) {
            let promise = format!("{op} in at most {}", banyan_bench::nanoseconds(most));
            let measured = banyan_bench::nanoseconds(worst);
            out += &format!("{:<PROMISE$}{measured:>10}  {}\n", format!("  {promise}"), verdict(worst <= most));
        }
    }
    for (op, bytes, most) in RATIOS {
        let row = rows.iter().find(|row| row.op == op && row.bytes == bytes && row.record == "plain");
        if let Some((row, copy)) = row.and_then(|row| Some((row, memcpy_of(rows, row)?))) {
            let promise = format!("{op}, {bytes} B, at most {most} x memcpy");
            let ratio = row.ns / copy.ns;
            out += &format!(
                "{:<PROMISE$}{:>10}  {}\n",
                format!("  {promise}"),
                format!("{ratio:.2} x"),
                verdict(ratio <= most)
            );
        }
    }
    out
}

fn verdict(kept: bool) -> &'static str {
    if kept { "kept" } else { "missed here" }
}
