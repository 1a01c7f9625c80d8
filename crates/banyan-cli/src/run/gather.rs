//! What many members write, each distinct text kept once.
//!
//! Texts are compared as they arrive, byte by byte, with what others have written: a member is a place in a tree of
//! strands, and moves along it as long as it writes what was written before. So a thousand members that write the same
//! cost what one costs, at any moment, however their output is cut into pieces. What is kept is bounded; beyond the
//! bound texts are still told apart, by a hash of the rest, but not shown.

use std::collections::HashMap;

use banyan_boot::RankSet;

/// Bytes that are kept of all texts together; nobody reads more than that folded.
pub(super) const KEPT_BYTES: usize = 128 << 20;

/// The part of its bytes for which a strand has room in reserve, at most.
const SPARE_PART: usize = 16;

/// What a strand costs beside its bytes.
const STRAND_COST: usize = 128;

/// The texts of all members.
pub(super) struct DistinctTexts {
    strands: Vec<Strand>,
    /// The strand that leaves another at an offset with a byte other than its own.
    branches: HashMap<(usize, usize, u8), usize>,
    /// Where each member is, by rank.
    places: Vec<WrittenTo>,
    /// Bytes that may still be kept.
    left: usize,
}

/// A text, or what of it differs from the strand it leaves.
#[derive(Default)]
struct Strand {
    /// The strand it leaves, and after how many bytes of it.
    leaves: Option<(usize, usize)>,
    bytes: Vec<u8>,
}

/// What a member has written: everything up to here.
#[derive(Default)]
struct WrittenTo {
    strand: usize,
    offset: usize,
    /// What could not be kept.
    beyond: Option<Box<Beyond>>,
}

#[derive(Default)]
struct Beyond {
    hasher: blake3::Hasher,
    bytes: u64,
}

/// Members that wrote the same.
pub(super) struct SameText {
    pub(super) members: RankSet,
    /// Bytes that were not kept.
    pub(super) beyond: u64,
    strand: usize,
    offset: usize,
}

impl SameText {
    /// Whether they wrote nothing at all.
    pub(super) fn is_empty(&self) -> bool {
        self.strand == 0 && self.offset == 0 && self.beyond == 0
    }
}

impl DistinctTexts {
    /// For so many members.
    pub(super) fn new(members: usize, kept_bytes: usize) -> DistinctTexts {
        let places = std::iter::repeat_with(WrittenTo::default).take(members).collect();
        DistinctTexts { strands: vec![Strand::default()], branches: HashMap::new(), places, left: kept_bytes }
    }

    /// A member wrote this. Members that nobody announced have no text.
    pub(super) fn write(&mut self, rank: u32, mut bytes: &[u8]) {
        let DistinctTexts { strands, branches, places, left } = self;
        let Some(place) = places.get_mut(rank as usize) else { return };
        while !bytes.is_empty() {
            if let Some(beyond) = &mut place.beyond {
                beyond.hasher.update(bytes);
                beyond.bytes += bytes.len() as u64;
                return;
            }
            let strand = &mut strands[place.strand];
            let same = common(&strand.bytes[place.offset..], bytes);
            place.offset += same;
            bytes = &bytes[same..];
            let Some(&first) = bytes.first() else { return };
            if place.offset == strand.bytes.len() {
                let room = bytes.len().min(*left);
                grow(&mut strand.bytes, room);
                strand.bytes.extend_from_slice(&bytes[..room]);
                *left -= room;
                place.offset += room;
                bytes = &bytes[room..];
                if !bytes.is_empty() {
                    place.beyond = Some(Box::default());
                }
            } else if let Some(branch) = branches.get(&(place.strand, place.offset, first)) {
                (place.strand, place.offset) = (*branch, 0);
            } else if *left <= STRAND_COST {
                place.beyond = Some(Box::default());
            } else {
                *left -= STRAND_COST;
                branches.insert((place.strand, place.offset, first), strands.len());
                let leaves = Some((place.strand, place.offset));
                (place.strand, place.offset) = (strands.len(), 0);
                strands.push(Strand { leaves, bytes: Vec::new() });
            }
        }
    }

    /// Members by what they wrote: most members first, then by lowest rank.
    pub(super) fn classes(&self) -> Vec<SameText> {
        let mut ranks: HashMap<_, Vec<u32>> = HashMap::new();
        for (rank, place) in (0..).zip(&self.places) {
            let beyond = place.beyond.as_ref().map(|beyond| (beyond.bytes, beyond.hasher.finalize()));
            ranks.entry((place.strand, place.offset, beyond)).or_default().push(rank);
        }
        let mut classes = Vec::with_capacity(ranks.len());
        for ((strand, offset, beyond), ranks) in ranks {
            let beyond = beyond.map_or(0, |(bytes, _)| bytes);
            classes.push(SameText { members: ranks.into_iter().collect(), beyond, strand, offset });
        }
        classes.sort_by_key(|class| (std::cmp::Reverse(class.members.len()), class.members.first()));
        classes
    }

    /// What the members of a class wrote, as far as it was kept.
    pub(super) fn text(&self, class: &SameText) -> Vec<u8> {
        self.pieces(class).concat()
    }

    /// The same in pieces, without a copy.
    pub(super) fn pieces(&self, class: &SameText) -> Vec<&[u8]> {
        let mut pieces = Vec::new();
        let (mut strand, mut end) = (&self.strands[class.strand], class.offset);
        pieces.push(&strand.bytes[..end]);
        while let Some((parent, offset)) = strand.leaves {
            (strand, end) = (&self.strands[parent], offset);
            pieces.push(&strand.bytes[..end]);
        }
        pieces.reverse();
        pieces
    }
}

/// Makes room for so many bytes, and not for twice as many as there are: what is kept is bounded.
fn grow(bytes: &mut Vec<u8>, more: usize) {
    if bytes.capacity() - bytes.len() < more {
        bytes.reserve_exact(more.max(bytes.len() / SPARE_PART));
    }
}

/// Bytes that both begin with.
fn common(one: &[u8], other: &[u8]) -> usize {
    let length = one.len().min(other.len());
    // Usually all of them.
    if one[..length] == other[..length] {
        return length;
    }
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn texts() -> impl Strategy<Value = Vec<Vec<u8>>> {
        // Few letters, so that texts have much in common.
        prop::collection::vec(prop::collection::vec(0..3_u8, 0..12), 1..12)
    }

    proptest! {
        #[test]
        fn members_are_together_if_and_only_if_they_wrote_the_same(
            texts in texts(),
            order in prop::collection::vec((any::<prop::sample::Index>(), 1..5_usize), 0..80),
        ) {
            let mut gathering = DistinctTexts::new(texts.len(), 1 << 20);
            let mut written = vec![0; texts.len()];
            let mut write = |rank: usize, bytes: usize| {
                let from = written[rank];
                let to = texts[rank].len().min(from + bytes);
                gathering.write(rank as u32, &texts[rank][from..to]);
                written[rank] = to;
            };
            order.iter().for_each(|(member, bytes)| write(member.index(texts.len()), *bytes));
            (0..texts.len()).for_each(|rank| write(rank, usize::MAX / 2));
            let mut expected: HashMap<&[u8], Vec<u32>> = HashMap::new();
            for (rank, text) in (0..).zip(&texts) {
                expected.entry(text).or_default().push(rank);
            }
            let classes = gathering.classes();
            prop_assert_eq!(classes.len(), expected.len());
            for class in classes {
                let text = gathering.text(&class);
                let members: Vec<u32> = class.members.iter().collect();
                prop_assert_eq!(Some(&members), expected.get(text.as_slice()));
            }
        }

        #[test]
        fn texts_beyond_the_bound_are_still_told_apart(texts in texts(), bound in 0..300_usize, pieces in 1..5_usize) {
            let mut gathering = DistinctTexts::new(texts.len(), bound);
            for at in 0..12 {
                for (rank, text) in (0..).zip(&texts) {
                    text.chunks(pieces).skip(at).take(1).for_each(|piece| gathering.write(rank, piece));
                }
            }
            let distinct: std::collections::HashSet<&Vec<u8>> = texts.iter().collect();
            let classes = gathering.classes();
            prop_assert_eq!(classes.len(), distinct.len());
            let kept: usize = gathering.strands.iter().map(|strand| strand.bytes.len()).sum();
            prop_assert!(kept <= bound);
            for class in &classes {
                let text = &texts[class.members.first().unwrap() as usize];
                let shown = gathering.text(class);
                prop_assert!(text.starts_with(&shown));
                prop_assert_eq!(shown.len() as u64 + class.beyond, text.len() as u64);
            }
        }
    }

    #[test]
    fn the_same_text_of_many_is_kept_once() {
        let mut gathering = DistinctTexts::new(1000, 1 << 20);
        for _ in 0..100 {
            (0..1000).for_each(|rank| gathering.write(rank, b"the same line\n"));
        }
        let kept: usize = gathering.strands.iter().map(|strand| strand.bytes.len()).sum();
        assert_eq!((kept, gathering.strands.len()), (1400, 1));
        let classes = gathering.classes();
        assert_eq!((classes.len(), classes[0].members.to_string().as_str()), (1, "0-999"));
    }

    #[test]
    fn texts_take_little_more_memory_than_they_have_bytes() {
        let mut gathering = DistinctTexts::new(2, 1 << 20);
        for _ in 0..600 {
            gathering.write(0, &[b'x'; 1000]);
            gathering.write(1, &[b'y'; 1000]);
        }
        let taken: usize = gathering.strands.iter().map(|strand| strand.bytes.capacity()).sum();
        assert!(taken <= (1 << 20) + (1 << 20) / SPARE_PART + 1000, "{taken}");
    }

    #[test]
    fn most_members_come_first() {
        let mut gathering = DistinctTexts::new(4, 1 << 20);
        gathering.write(0, b"odd");
        [1, 2].iter().for_each(|rank| gathering.write(*rank, b"same"));
        let members: Vec<String> = gathering.classes().iter().map(|class| class.members.to_string()).collect();
        assert_eq!(members, ["1-2", "0", "3"]);
        assert!(gathering.classes()[2].is_empty());
    }
}
