//! The filter that puts listings of hosts together on their way up the tree: users and jobs of one name are added up, and
//! of all no more goes on than one node should send. What is left out is counted.

use banyan_boot::RankSet;
use banyan_ndr::{Decoder, Record, typed};
use banyan_tree::reduce::{Filter, FilterError, FilterRole, Filters, Output, Part, Recovery};

use super::ask::Ask;
use super::usage::Listing;

/// The name of the filter.
pub(super) const USAGES: &str = "usages";

/// Makes it known.
pub(crate) fn register(filters: &mut Filters) {
    filters.register(USAGES, |parameters| {
        let ask = Ask::from_parameters(parameters);
        let ask = ask.ok_or_else(|| FilterError::Custom("its parameters are of another release".into()))?;
        Ok(Box::new(UsageMerge { ask, decoder: Decoder::new() }))
    });
}

struct UsageMerge {
    /// What is asked for: by what, in which order and how many.
    ask: Ask,
    decoder: Decoder,
}

impl UsageMerge {
    fn listing(&mut self, part: &Part<'_>) -> Result<Listing, FilterError> {
        let broken = |error: String| FilterError::Custom(format!("the listing of {}: {error}", part.members));
        let format = self.decoder.learn(part.format).map_err(|error| broken(error.to_string()))?;
        let listing: Listing = self.decoder.decode(format, part.body).map_err(|error| broken(error.to_string()))?;
        Ok(if part.is_partial { listing } else { placed(listing, part.members) })
    }
}

/// The listing of a host: all of it is there, whatever the host says.
fn placed(mut listing: Listing, on: &RankSet) -> Listing {
    let on = on.to_string();
    listing.usages.iter_mut().for_each(|usage| usage.on.clone_from(&on));
    listing
}

impl Filter for UsageMerge {
    fn wave(&mut self, parts: &[Part<'_>], _: FilterRole, out: &mut Output) -> Result<(), FilterError> {
        let listings = parts.iter().map(|part| self.listing(part)).collect::<Result<Vec<_>, _>>()?;
        let merged = Listing::of(listings, self.ask);
        let mut body = Vec::new();
        typed::encode_body_into(&merged, &mut body).map_err(|error| FilterError::Custom(error.to_string()))?;
        out.push(Listing::format(), &body);
        Ok(())
    }

    fn recovery(&self) -> Recovery {
        Recovery::Recomputed
    }
}

#[cfg(test)]
mod tests {
    use super::super::ask::{Grouping, SortKey};
    use super::super::usage::{Rest, Usage};
    use super::*;
    use proptest::prelude::*;

    fn usage(name: u8, cpu: u16, memory: u16) -> Usage {
        // Whole numbers, so that sums are the same in any order.
        let name = format!("u{name}");
        Usage { name, cpu: cpu.into(), memory: memory.into(), processes: 1, ..Usage::default() }
    }

    fn sums(listing: &Listing) -> (f64, f64, u64) {
        let Rest { cpu, memory, processes, .. } = listing.others;
        listing.usages.iter().fold((cpu, memory, processes), |(cpu, memory, processes), usage| {
            (cpu + usage.cpu, memory + usage.memory, processes + usage.processes)
        })
    }

    proptest! {
        #[test]
        fn nothing_is_lost_however_the_tree_is_shaped(
            hosts in prop::collection::vec(prop::collection::vec((0u8..8, any::<u16>(), any::<u16>()), 0..12), 1..6),
            most in 1u32..6,
            split in 0usize..6,
        ) {
            for kind in [Grouping::Process, Grouping::User] {
                let ask = Ask::new(kind, SortKey::Memory, most);
                let listing = |(rank, usages): (usize, &Vec<(u8, u16, u16)>)| {
                    let usages = usages.iter().map(|(name, cpu, memory)| usage(*name, *cpu, *memory)).collect();
                    let told = Listing::of(vec![Listing { usages, ..Listing::default() }], ask);
                    placed(told, &RankSet::from_iter([rank as u32]))
                };
                let told: Vec<Listing> = hosts.iter().enumerate().map(listing).collect();
                let (left, right) = told.split_at(split.min(told.len()));
                let inner = [left, right].map(|part| Listing::of(part.to_vec(), ask)).to_vec();
                let flat = Listing::of(told.clone(), ask);
                let deep = Listing::of(inner, ask);
                let all: Vec<&(u8, u16, u16)> = hosts.iter().flatten().collect();
                let expected = (
                    all.iter().map(|it| f64::from(it.1)).sum::<f64>(),
                    all.iter().map(|it| f64::from(it.2)).sum::<f64>(),
                    all.len() as u64,
                );
                for merged in [&flat, &deep] {
                    prop_assert_eq!(sums(merged), expected);
                    prop_assert!(merged.usages.len() <= most as usize);
                    prop_assert!(merged.usages.windows(2).all(|pair| pair[0].memory >= pair[1].memory));
                }
            }
        }
    }

    #[test]
    fn a_host_cannot_say_that_something_is_elsewhere() {
        for strange in ["0-4000000000", "7", "no ranks"] {
            let told = Listing { usages: vec![Usage { on: strange.into(), ..usage(1, 1, 0) }], ..Listing::default() };
            assert_eq!(placed(told, &RankSet::from_iter([3])).usages[0].on, "3", "{strange}");
        }
    }

    #[test]
    fn users_of_several_hosts_are_one_and_processes_are_not() {
        let told = |rank: u32, usages: Vec<Usage>| {
            placed(Listing { usages, ..Listing::default() }, &RankSet::from_iter([rank]))
        };
        let hosts = || vec![told(0, vec![usage(1, 1, 0), usage(2, 2, 0)]), told(3, vec![usage(1, 4, 0)])];
        let seen = |kind| {
            let merged = Listing::of(hosts(), Ask::new(kind, SortKey::Cpu, 10));
            assert_eq!(merged.others, Rest::default());
            merged.usages.into_iter().map(|usage| (usage.name, usage.cpu, usage.on)).collect::<Vec<_>>()
        };
        let row = |name: &str, cpu: f64, on: &str| (name.to_owned(), cpu, on.to_owned());
        assert_eq!(seen(Grouping::User), [row("u1", 5.0, "0,3"), row("u2", 2.0, "0")]);
        assert_eq!(seen(Grouping::Process), [row("u1", 4.0, "3"), row("u2", 2.0, "0"), row("u1", 1.0, "0")]);
    }
}
