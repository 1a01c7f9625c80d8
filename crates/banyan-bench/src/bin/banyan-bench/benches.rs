//! The benches and their help.

use banyan_cli::failure::Outcome;

use super::records::RecordsBench;
use super::{events, exchange, launch, layers, tree};

/// The benches.
#[derive(clap::Subcommand)]
pub(crate) enum Bench {
    /// Cost of sending and receiving a record, beside copying its bytes
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
Exit status: 0 success; 1 something failed; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan bench records
  banyan bench records --quick --plot none
  banyan bench records --json | jq -r '.rows[] | [.system, .op, .bytes, .ns] | @tsv'")]
    Records(RecordsBench),
    /// Time to start members until all have joined and passed a barrier
    ///
    /// Beside Banyan, with the same member program: the floor (processes that connect and say hello, without any
    /// protocol), one after another from one process, and the starters that are installed (they run /bin/true). With
    /// hosts to use, the same over ssh or Slurm. `cargo xtask bench launch` makes such hosts on this machine.
    #[command(after_help = "\
Exit status: 0 success; 1 something failed; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan bench launch --quick
  banyan bench launch --members 10000
  banyan bench launch --member dynamic=a/banyan-bench-member --member static=b/banyan-bench-member
  banyan bench launch --members 64 --ssh-hosts node[1-64] --stage
  banyan bench launch --json | jq -r '.rows[] | [.system, .op, .members, .ms, .ratio.times] | @tsv'")]
    Launch(launch::HostsBench),
    /// Cost of 128 bytes to and from every member, through the tree and point to point
    #[command(after_help = "\
Exit status: 0 success; 1 something failed; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan bench collectives --quick
  banyan bench collectives --members 64 --members 2800 --plot none")]
    Collectives(launch::LaunchBench),
    /// Cost of a tree of processes: startup, round trips, reductions, recovery
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
Exit status: 0 success; 1 something failed; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan bench tree --quick
  banyan bench tree --shape 4x16 --op round_trip --op waves
  banyan bench tree --plot plots
  banyan bench tree --json | jq -r '.rows[] | [.op, .shape, .system, .value, .unit] | @tsv'")]
    Tree(tree::TreeBench),
    /// Cost of each layer, from a memory copy to a typed value
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
Exit status: 0 success; 1 something failed; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan bench layers --quick
  banyan bench layers --size 64 --size 65536 --plot none
  banyan bench layers --json | jq -r '.rows[] | [.layer, .bytes, .value, .unit, .adds_us] | @tsv'")]
    Layers(layers::LayersBench),
    /// Cost of an exchange of records in the same layout and in foreign layouts: encode, network, decode
    ///
    /// Two processes over TCP on this machine, with the record of the PBIO papers (96 B to 100 KB). The other side has its
    /// records in the same layout, in the other byte order, or in another layout as well: this side's are converted there,
    /// and its own are converted back. Beside it the same bytes without records, in turn.
    #[command(after_help = "\
Exit status: 0 success; 1 something failed; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan bench exchange --quick
  banyan bench exchange --json | jq -r '.rows[] | [.bytes, .layout, .way, .part, .value] | @tsv'")]
    Exchange(exchange::ExchangeBench),
    /// Cost of an event to the program that emits it and to an observer
    ///
    /// Thread CPU time, best of many batches, of events of 16 bytes. Beside Banyan, in turn with it: the floor, which is a
    /// ring by hand that stores a counter, a stamp and the payload, with the same clock, with clock_gettime, or with none; and
    /// the crate `tracing` with a subscriber that writes into memory.
    ///
    /// emit_observed: somebody watches; emit_unobserved: nobody does; emit_latest_only: only the latest event is kept;
    /// gauge_set: a number that observers sample; drain: what one event costs the observer; drain_rate: events a second;
    /// knob_get, step: what a program pays that can be steered; knob_set: from sending a value to its acknowledgement.
    #[command(after_help = "\
Exit status: 0 success; 1 something failed; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan bench events --quick
  banyan bench events --json | jq -r '.rows[] | [.system, .op, .value, .unit] | @tsv'")]
    Events(events::EventsBench),
}

impl Bench {
    pub(crate) fn run(self) -> Outcome {
        match self {
            Bench::Records(bench) => bench.run(),
            Bench::Launch(bench) => bench.run(),
            Bench::Collectives(bench) => bench.collectives(),
            Bench::Tree(bench) => bench.run(),
            Bench::Layers(bench) => bench.run(),
            Bench::Exchange(bench) => bench.run(),
            Bench::Events(bench) => bench.run(),
        }
    }
}
