//! `banyan bench`: measurements with a table, a plot and rows for programs.

mod exchange;
mod launch;
mod layers;
mod plot;
mod study;
mod tree;

use std::io::Write;
use std::process::ExitCode;

use banyan_bench::{Effort, Environment, Row, memcpy_of, records, table, to_json};
use clap::Args;

use crate::failure::Outcome;
use crate::output;
use crate::progress::Progress;
use plot::Plot;

pub(crate) use study::Benches;
pub(crate) use tree::{make_directory, write_plots};

/// The benches.
#[derive(clap::Subcommand)]
pub(crate) enum Bench {
    /// What it costs to send and to receive a record, against copying its bytes
    ///
    /// Thread CPU time, best of many batches, on the record of the PBIO papers (plain, 96 B to 100 KB) and on one with
    /// strings, optional values, an enumeration and a list of records (mixed, 160 B to 32 KB). `cargo xtask bench
    /// records` measures other record formats in the same run.
    ///
    /// encode: ready to be sent; decode_same: from the receiver's own layout; decode_owned: to a struct that borrows
    /// nothing; decode_extra_field: with a field the receiver does not know; decode_foreign: from the other byte order;
    /// decode_foreign_layout: and with longer nested records; decode_foreign_interpreted: without generated code;
    /// lookup_1000: finding one of 1,000 formats; compile: generating the code for one.
    #[command(after_help = "\
Exit status: 0 all well; 1 something failed; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan bench records
  banyan bench records --quick --plot none
  banyan bench records --json | jq -r '.rows[] | [.system, .op, .bytes, .ns] | @tsv'")]
    Records(RecordsBench),
    /// How long it takes to start members until all have joined and passed a barrier
    ///
    /// Beside Banyan, with the same member program: the floor (processes that connect and say hello, without any
    /// protocol), one after another from one process, and the starters that are installed (they run /bin/true). With
    /// hosts to use, the same over ssh or Slurm. `cargo xtask bench launch` makes such hosts on this machine.
    #[command(after_help = "\
Exit status: 0 all well; 1 something failed; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan bench launch --quick
  banyan bench launch --members 10000
  banyan bench launch --member dynamic=a/banyan-bench-member --member static=b/banyan-bench-member
  banyan bench launch --members 64 --ssh-hosts node[1-64] --stage
  banyan bench launch --json | jq -r '.rows[] | [.system, .op, .members, .ms, .ratio.times] | @tsv'")]
    Launch(launch::HostsBench),
    /// What 128 bytes to and from every member cost, by the tree and point to point from one process
    #[command(after_help = "\
Exit status: 0 all well; 1 something failed; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan bench collectives --quick
  banyan bench collectives --members 64 --members 2800 --plot none")]
    Collectives(launch::LaunchBench),
    /// What a tree of processes costs: starting it, talking to all of its members, adding up what they say
    ///
    /// Beside Banyan, in turn with it: the floor, which is the same tree of processes written directly on Unix sockets,
    /// without frames, records or filters, and without anything that would survive a failure. Each figure is the median
    /// of several repetitions with new processes; what is promised stands beside it, and what MRNet was measured at on a
    /// machine of two processors, as quoted.
    ///
    /// instantiate: until every member has said hello; round_trip: an integer to all, and the sum of their answers,
    /// median; waves: members send integers as fast as they are taken; array_sum: 1 MB arrays of doubles, added element
    /// by element; broadcast: 1 MB to all; recovery: an agent is killed while waves flow, and the longest pause between
    /// waves counts; memory: what the largest inner process holds. GB/s are those of all members together.
    #[command(after_help = "\
Exit status: 0 all well; 1 something failed; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan bench tree --quick
  banyan bench tree --shape 4x16 --op round_trip --op waves
  banyan bench tree --plot plots
  banyan bench tree --json | jq -r '.rows[] | [.op, .shape, .system, .value, .unit] | @tsv'")]
    Tree(tree::TreeBench),
    /// Where the performance goes: from a memory copy to a value that a program can use, layer by layer
    ///
    /// Every layer does the same with everything below it: round trips of a message, and messages in one direction as fast
    /// as they come, between processes of this machine. What it adds to the layer below stands beside its figure; `~`
    /// marks what is no more than repetitions differ by.
    ///
    /// copy: in memory; unix: through a Unix socket; link: frames with credit, between ends that have proved who they are;
    /// hop: to a member of a tree, through one agent; filter: the agent and the front-end add the numbers up; typed: the
    /// numbers are read into a struct. As between hosts: tcp: over loopback instead of the Unix socket; tcp_link: frames;
    /// tcp_encrypted: and encrypted.
    #[command(after_help = "\
Exit status: 0 all well; 1 something failed; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan bench layers --quick
  banyan bench layers --size 64 --size 65536 --plot none
  banyan bench layers --json | jq -r '.rows[] | [.layer, .bytes, .value, .unit, .adds_us] | @tsv'")]
    Layers(layers::LayersBench),
    /// What one exchange of records costs: encode, network, decode, and back, in the same layout and in foreign ones
    ///
    /// Two processes over TCP on this machine, with the record of the PBIO papers (96 B to 100 KB). The other side has its
    /// records in the same layout, in the other byte order, or in another layout as well: this side's are converted there,
    /// and its own are converted back. Beside it the same bytes without records, in turn.
    #[command(after_help = "\
Exit status: 0 all well; 1 something failed; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan bench exchange --quick
  banyan bench exchange --json | jq -r '.rows[] | [.bytes, .layout, .way, .part, .value] | @tsv'")]
    Exchange(exchange::ExchangeBench),
}

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

impl Bench {
    pub(crate) fn run(self) -> Outcome {
        match self {
            Bench::Records(bench) => bench.run(),
            Bench::Launch(bench) => bench.run(),
            Bench::Collectives(bench) => bench.collectives(),
            Bench::Tree(bench) => bench.run(),
            Bench::Layers(bench) => bench.run(),
            Bench::Exchange(bench) => bench.run(),
        }
    }
}

impl RecordsBench {
    fn run(self) -> Outcome {
        self.plot.check()?;
        let effort = if self.quick { Effort::QUICK } else { Effort::FULL };
        let mut environment = Environment::observe();
        let mut progress = Progress::new();
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
