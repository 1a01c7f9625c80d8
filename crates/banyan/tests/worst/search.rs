//! A search for inputs whose cost grows faster than they do: pieces of known inputs are repeated, one or two of them, as a seed
//! says, and the bytes are counted that this allocates.

use std::process::ExitCode;

use crate::families::{FAMILIES, Family};
use crate::growth::{Cost, growth, print_counts};
use crate::meter;

/// Bytes of the inputs whose pieces are repeated.
const SEED_BYTES: usize = 1024;

/// How often a piece stands in the shortest of five inputs.
const REPEATED: usize = 4;

/// Found is what grows faster than this.
const STEEP: f64 = 1.6;

/// How many of the worst are shown.
const SHOWN: usize = 10;

/// Random numbers, always the same after a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// An input with two pieces of it, which do not overlap.
struct Pieces {
    input: Vec<u8>,
    cuts: [usize; 4],
}

impl Pieces {
    fn any(family: &Family, random: &mut Random) -> Pieces {
        let input = (family.input)(SEED_BYTES);
        let mut cuts = [0; 4].map(|_: usize| random.below(input.len() + 1));
        cuts.sort_unstable();
        Pieces { input, cuts }
    }

    /// Both pieces so often.
    fn repeated(&self, times: usize) -> Vec<u8> {
        let [a, b, c, d] = self.cuts;
        let (first, second) = (self.input[a..b].repeat(times), self.input[c..d].repeat(times));
        [&self.input[..a], &first, &self.input[b..c], &second, &self.input[d..]].concat()
    }
}

/// Searches for so many rounds, and fails if something was found.
pub(crate) fn run(rounds: &str, seed: &str) -> ExitCode {
    let (Ok(rounds), Ok(seed)) = (rounds.parse::<u64>(), seed.parse::<u64>()) else { return ExitCode::FAILURE };
    print_counts();
    let mut random = Random(seed);
    let mut found: Vec<(f64, &str, [usize; 4], [Cost; 5])> = Vec::new();
    for _ in 0..rounds {
        let family = &FAMILIES[random.below(FAMILIES.len())];
        let pieces = Pieces::any(family, &mut random);
        let costs = [1, 2, 4, 8, 16].map(|times| {
            let input = pieces.repeated(times * REPEATED);
            Cost { bytes: input.len(), count: meter::allocated(family.decode, &input) }
        });
        // Memory that doubles when it is full grows in steps: what goes on to grow faster is something else.
        let least = costs.array_windows().map(|costs| growth(*costs)).fold(f64::INFINITY, f64::min);
        found.push((least, family.name, pieces.cuts, costs));
        found.sort_by(|one, other| other.0.total_cmp(&one.0));
        found.truncate(SHOWN);
    }
    for (growth, name, cuts, costs) in &found {
        let [.., last] = costs;
        println!(
            "growth {growth:.2}: {name}, pieces {cuts:?} repeated, {} bytes allocated for {}",
            last.count, last.bytes
        );
    }
    let is_steep = found.first().is_some_and(|(growth, ..)| *growth > STEEP);
    if is_steep { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
