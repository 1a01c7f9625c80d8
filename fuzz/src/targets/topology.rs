//! Texts of topologies: an error with its place, or a tree that reads as it is written.

use banyan_tree::topology::{Spec, Topology};

pub(crate) fn target(bytes: &[u8]) {
    let text = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    if let Ok(spec) = text.parse::<Spec>() {
        assert_eq!(spec.to_string().parse::<Spec>(), Ok(spec), "it is written as it is read");
    }
    // Trees of a million nodes are allowed, and take long.
    if text.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() > 4) {
        return;
    }
    if let Ok(topology) = Topology::parse(text, None) {
        // Numbers of nodes on their hosts are given anew, so the texts are compared.
        let outline = topology.outline().to_string();
        let again = Topology::parse(&outline, None).map(|again| again.outline().to_string());
        assert_eq!(again, Ok(outline), "it is written as it is read");
    }
}
