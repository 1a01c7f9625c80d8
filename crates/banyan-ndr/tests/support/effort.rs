//! How much a test tries: everything on this machine, a share of it where every step is slow, because it is emulated.

use proptest::prelude::ProptestConfig;

/// The number of cases at which everything is tried.
const EVERYTHING: u32 = 256;

/// The share of `all`, at least one. `PROPTEST_CASES` sets it, as it sets the cases of properties that do not say how
/// many they want: 256, the default, is everything.
pub(crate) fn share(all: u32) -> u32 {
    let cases = ProptestConfig::default().cases.min(EVERYTHING);
    (u64::from(all) * u64::from(cases) / u64::from(EVERYTHING)).max(1) as u32
}
