//! How much a test tries: everything on this machine, a share of it where every step is slow because it is emulated,
//! and several times as much when somebody asks for a long run.

use proptest::prelude::ProptestConfig;

/// The number of cases at which everything is tried.
const EVERYTHING: u32 = 256;

/// The share of `all`, at least one. `PROPTEST_CASES` sets it, as it sets the cases of properties that do not say how
/// many they want: 256, the default, is everything, and 2560 ten times that.
pub(crate) fn share(all: u32) -> u32 {
    let share = u64::from(all) * u64::from(ProptestConfig::default().cases) / u64::from(EVERYTHING);
    u32::try_from(share).unwrap_or(u32::MAX).max(1)
}
