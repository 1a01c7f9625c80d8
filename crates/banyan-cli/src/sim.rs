//! `banyan sim`: trees of any size in one process, from a seed, with faults, checked against a model.

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use banyan_tree::Synchronisation;
use banyan_tree::sim::{
    AHEAD_BYTES, AHEAD_PACKETS, Failure as Broken, FaultPlan, Outcome as Ran, PACKET_BYTES, Plan, WINDOW_BYTES,
    simulate,
};
use clap::Args;
use serde_json::json;

use crate::failure::{Failure, Outcome};
use crate::limit::Limit;
use crate::output;
use crate::progress::Progress;

/// Simulate a tree of any size in one process, with virtual time and faults from a seed
///
/// Members send waves of numbers and the front-end sends packets, while nodes are killed, stopped and cut off. Every
/// wave must arrive exactly once and in order, as the sum of its contributors. Every member that was not lost must
/// contribute. If a rule is broken, the command fails and prints a command line that traces the run. The same seed
/// gives the same run on every machine.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 every rule held; 1 a rule was broken; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan sim                                        64 members, three faults
  banyan sim --members 100000 --seed 7                a hundred thousand members in one process
  banyan sim --shape 3x4x5 --faults 12 --seeds 1000 a thousand runs, up to the first that fails
  banyan sim --shape 2x2 --faults 1 --trace         everything that happens")]
pub(crate) struct Sim {
    /// About N members, in a tree as deep as --fanout requires
    #[arg(long, alias = "nodes", value_name = "N", conflicts_with = "shape", value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    members: Option<u32>,
    /// Children of each node, with --members
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    fanout: u32,
    /// Children of the front-end, of each of these, and so on: 4x16
    #[arg(long, value_name = "AxBxC", default_value = "4x16")]
    shape: String,
    /// The seed of the first run
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Run N times, each with the next seed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Faults per run
    #[arg(long, value_name = "N", default_value_t = 3)]
    faults: usize,
    /// Members fail too, not only the nodes between them and the front-end
    #[arg(long)]
    members_fail: bool,
    /// Nodes only die; otherwise they are also stopped, cut off one way or both ways, and their clocks jump
    #[arg(long)]
    only_deaths: bool,
    /// Nodes and links are also slow for a while, unless nodes only die
    #[arg(long, conflicts_with = "only_deaths")]
    slow: bool,
    /// Inner nodes are also stopped for a while in which some of those below them die, unless nodes only die
    #[arg(long, conflicts_with = "only_deaths")]
    stall: bool,
    /// Give up a member that delays a wave by this many milliseconds
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    unanswered: Option<u64>,
    /// Waves of each stream
    #[arg(long, value_name = "N", default_value_t = 50)]
    waves: u64,
    /// Packets that the front-end sends on each stream
    #[arg(long, value_name = "N", default_value_t = 10)]
    packets: u64,
    /// Faults happen within this many milliseconds
    #[arg(long, value_name = "MS", default_value_t = 100)]
    within: u64,
    /// Waves that a member may be ahead of the front-end
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u64).range(4..))]
    window: u64,
    /// Bytes that a node may be ahead of its parent on a stream without waves
    #[arg(long, value_name = "N", default_value_t = WINDOW_BYTES)]
    window_bytes: usize,
    /// Streams; the first has all members, others have some
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    streams: u32,
    /// How a stream is synchronised: all, 'timeout 50ms', none, 'none lossy', 'interval time 1'; once for each stream from
    /// the first on
    #[arg(long = "synchronisation", value_name = "HOW")]
    synchronisations: Vec<Synchronisation>,
    /// The filter of the last stream fails in some waves
    #[arg(long)]
    failing_filter: bool,
    /// The first stream is reduced as those of users are: a sum of integers, and an exact one of floats
    #[arg(long)]
    reduce: bool,
    /// The filters of streams without waves make none or several records of some
    #[arg(long)]
    sift: bool,
    /// The last stream is closed half way, and another opened in its place
    #[arg(long)]
    reopen: bool,
    /// Nodes that are killed start again
    #[arg(long)]
    restart: bool,
    /// Another process takes the place of each member that is given up, which may live and come back
    #[arg(long)]
    successors: bool,
    /// Every second packet has a part for each member
    #[arg(long)]
    scatter: bool,
    /// Every third packet is for some members only
    #[arg(long)]
    choose: bool,
    /// A member contributes to a wave when it has got the packet with its number; there is a packet for each wave then
    #[arg(long)]
    answer: bool,
    /// Bytes of each packet, or of each member's part of it
    #[arg(long, value_name = "N", default_value_t = PACKET_BYTES as u32, value_parser = clap::value_parser!(u32).range(8..=65_536))]
    packet_bytes: u32,
    /// Packets that the front-end may be ahead of the slowest member
    #[arg(long, value_name = "N", default_value_t = AHEAD_PACKETS)]
    ahead_packets: usize,
    /// Bytes of packets that the front-end may be ahead of the slowest member
    #[arg(long, value_name = "N", default_value_t = AHEAD_BYTES)]
    ahead_bytes: usize,
    /// Small frames between nodes of one host go through memory that they share
    #[arg(long)]
    shared_memory: bool,
    /// N members join after the streams were opened
    #[arg(long, value_name = "N", default_value_t = 0)]
    joining: usize,
    /// The front-end reads only every MS milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pause: u64,
    /// Members contribute one wave every MS milliseconds, all at about the same time; otherwise as fast as they can
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pace: Option<u64>,
    /// Print everything that happens; with --json as one object a line, before the last
    #[arg(long)]
    trace: bool,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    limit: Limit,
}

impl Sim {
    pub(crate) fn run(self) -> Outcome {
        self.limit.begin()?;
        let shape = self.shape()?;
        let begin = Instant::now();
        let mut progress = Progress::start();
        let mut sum: Option<Ran> = None;
        let mut broken = None;
        for seed in self.seed..self.seed.saturating_add(self.seeds) {
            progress.tell(|| format!("seed {seed}, {:.0} s", begin.elapsed().as_secs_f64()));
            match self.one(&shape, seed)? {
                Ok(ran) => sum = Some(sum.map_or(ran.clone(), |sum| add(&sum, &ran))),
                Err(failure) => {
                    broken = Some(failure);
                    break;
                }
            }
        }
        drop(progress);
        self.tell(&shape, sum.as_ref(), broken.as_ref(), begin.elapsed())?;
        Ok(if broken.is_some() { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }

    fn shape(&self) -> Result<Vec<usize>, Failure> {
        match self.members {
            Some(members) => Ok(balanced(members as usize, self.fanout as usize)),
            None => parse_shape(&self.shape),
        }
    }

    fn plan(&self, shape: &[usize], seed: u64) -> Plan {
        let faults = FaultPlan::NONE
            .count(self.faults)
            .within(Duration::from_millis(self.within))
            .hits_members(self.members_fail)
            .only_deaths(self.only_deaths)
            .slows(self.slow)
            .stalls(self.stall);
        Plan::default()
            .shape(shape.to_vec())
            .seed(seed)
            .waves(self.waves)
            .packets(if self.answer { self.packets.max(self.waves) } else { self.packets })
            .streams((self.streams as usize).max(self.synchronisations.len()))
            .synchronisations(self.synchronisations.clone())
            .window_waves(self.window)
            .window_bytes(self.window_bytes)
            .reduces(self.reduce)
            .sifts(self.sift)
            .has_failing_filter(self.failing_filter)
            .reopens(self.reopen)
            .restarts(self.restart)
            .successors(self.successors)
            .front_end_pause(Duration::from_millis(self.pause))
            .pace(self.pace.map(Duration::from_millis))
            .scatters(self.scatter)
            .chooses(self.choose)
            .answers(self.answer)
            .packet_bytes(self.packet_bytes as usize)
            .ahead_packets(self.ahead_packets)
            .ahead_bytes(self.ahead_bytes)
            .shares_memory(self.shared_memory)
            .joining(self.joining)
            .unanswered(self.unanswered.map(Duration::from_millis))
            .faults(faults)
    }

    fn one(&self, shape: &[usize], seed: u64) -> Result<Result<Ran, Broken>, Failure> {
        let mut out = output::stdout();
        let mut written = Ok(());
        let ran = simulate(&self.plan(shape, seed), &mut |line| {
            if self.trace && written.is_ok() {
                written = match self.json {
                    true => writeln!(out, "{}", json!({ "trace": line() })),
                    false => writeln!(out, "{}", line()),
                };
            }
        });
        written?;
        out.flush()?;
        Ok(ran)
    }

    fn tell(&self, shape: &[usize], sum: Option<&Ran>, broken: Option<&Broken>, took: Duration) -> Result<(), Failure> {
        let mut out = output::stdout();
        let replay = broken.map(|broken| format!("{} --trace", self.plan(shape, broken.seed).command()));
        let shape = shape.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
        if self.json {
            writeln!(out, "{}", self.as_json(&shape, sum, broken, replay.as_deref(), took))?;
        } else {
            if let Some(ran) = sum {
                writeln!(out, "{}", table(&shape, ran))?;
            }
            if let (Some(broken), Some(replay)) = (broken, replay) {
                writeln!(out, "FAILED: {broken}\nsee what happened with: {replay}")?;
            }
        }
        Ok(out.flush()?)
    }

    fn as_json(
        &self,
        shape: &str,
        sum: Option<&Ran>,
        broken: Option<&Broken>,
        replay: Option<&str>,
        took: Duration,
    ) -> serde_json::Value {
        json!({
            "sim": {
                "shape": shape, "seed": self.seed, "seeds": self.seeds, "faults": self.faults,
                "members": sum.map(|ran| ran.members), "inner": sum.map(|ran| ran.inner),
                "waves": sum.map(|ran| ran.waves), "messages": sum.map(|ran| ran.messages),
                "moves": sum.map(|ran| ran.moves), "lost": sum.map(|ran| ran.lost),
                "late": sum.map(|ran| ran.late), "dropped": sum.map(|ran| ran.dropped),
                "filtered": sum.map(|ran| ran.filtered), "degree": sum.map(|ran| ran.degree),
                "held_bytes": sum.map(|ran| ran.held),
                "virtual_seconds": sum.map(|ran| ran.time.as_secs_f64()),
                "seconds": took.as_secs_f64(),
                "failure": broken.map(ToString::to_string), "replay": replay,
            }
        })
    }
}

fn table(shape: &str, ran: &Ran) -> String {
    let Ran { members, inner, waves, messages, moves, lost, late, degree, held, time, .. } = ran;
    format!(
        "{shape}: {members} members under {inner} inner nodes\n\
         waves delivered   {waves:>10}   each exactly once, with exactly those who are in it\n\
         new parents found {moves:>10}   the most children of a node: {degree}\n\
         members given up  {lost:>10}\n\
         came twice, late  {late:>10}   and were not counted again\n\
         messages          {messages:>10}   the most bytes a node held: {held}\n\
         virtual time      {:>10.3} s",
        time.as_secs_f64()
    )
}

/// Both runs together.
fn add(sum: &Ran, ran: &Ran) -> Ran {
    let mut both = ran.clone();
    both.waves += sum.waves;
    both.messages += sum.messages;
    both.moves += sum.moves;
    both.lost += sum.lost;
    both.late += sum.late;
    both.dropped += sum.dropped;
    both.filtered += sum.filtered;
    both.degree = both.degree.max(sum.degree);
    both.held = both.held.max(sum.held);
    both.time += sum.time;
    both
}

/// At least so many members, with this fan-out but at the top.
fn balanced(members: usize, fanout: usize) -> Vec<usize> {
    let mut below = 1;
    let mut shape = Vec::new();
    while below * fanout < members {
        below *= fanout;
        shape.push(fanout);
    }
    shape.insert(0, members.div_ceil(below));
    shape
}

/// The most nodes a simulation may have: each takes some kilobytes.
const NODES: usize = 4_000_000;

fn parse_shape(text: &str) -> Result<Vec<usize>, Failure> {
    let bad = || Failure::usage(format!("--shape {text}: write numbers from 1 with x between them, such as 4x16"));
    let shape: Vec<usize> = text.split('x').map(|part| part.parse().map_err(|_| bad())).collect::<Result<_, _>>()?;
    let mut level: usize = 1;
    for children in &shape {
        level = level.checked_mul(*children).filter(|level| *level > 0).ok_or_else(bad)?;
        if level > NODES {
            return Err(Failure::usage(format!("--shape {text}: more than {NODES} nodes do not fit into one process")));
        }
    }
    Ok(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_balanced_shape_has_at_least_the_members_asked_for() {
        assert_eq!(balanced(100_000, 50), [40, 50, 50]);
        assert_eq!(balanced(1, 50), [1]);
        assert_eq!(balanced(50, 50), [50]);
        assert_eq!(balanced(51, 50), [2, 50]);
    }

    #[test]
    fn shapes_that_are_none_are_refused() {
        assert_eq!(parse_shape("4x16").ok(), Some(vec![4, 16]));
        for text in ["", "x", "4x", "0", "4x0", "-1", "99999999x99999999", "4x16 "] {
            assert!(parse_shape(text).is_err(), "{text}");
        }
    }
}
