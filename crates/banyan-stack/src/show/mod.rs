//! Reports for people and for other programs: text, pictures, and the lines of which flame graphs are made.

mod dot;
mod folded;
mod svg;
mod text;

use std::cmp::Reverse;

use banyan_ranks::RankSet;

pub use dot::dot;
pub use folded::folded;
pub use svg::svg;
pub use text::{TextOptions, text};

use crate::frame::Frame;
use crate::tree::{Node, StackTree};

/// A branch of at most this share of its tree is what one looks for.
const ODD_SHARE: u64 = 4;

/// Steps that the same ranks take, up to where they part.
struct Branch<'a> {
    frames: Vec<&'a Frame>,
    ranks: &'a RankSet,
    /// Ranks that end where the branch ends.
    here: &'a RankSet,
    /// The smallest first.
    children: Vec<Branch<'a>>,
    /// Few ranks have come here, of many.
    is_odd: bool,
}

fn branches(tree: &StackTree) -> Vec<Branch<'_>> {
    sorted(tree.roots(), tree.ranks())
}

fn sorted<'a>(nodes: &'a [Node], above: &RankSet) -> Vec<Branch<'a>> {
    let mut branches: Vec<Branch<'a>> = nodes.iter().map(|node| branch(node, above)).collect();
    branches.sort_by_key(|branch| (branch.ranks.len(), branch.ranks.first(), Reverse(branch.frames.len())));
    branches
}

fn branch<'a>(first: &'a Node, above: &RankSet) -> Branch<'a> {
    let mut frames = vec![first.frame()];
    let mut node = first;
    while let [only] = node.children()
        && only.ranks() == node.ranks()
        && node.here().is_empty()
    {
        node = only;
        frames.push(node.frame());
    }
    let ranks = first.ranks();
    let is_odd = ranks.len() * ODD_SHARE <= above.len();
    Branch { frames, ranks, here: node.here(), children: sorted(node.children(), ranks), is_odd }
}

/// The text without anything that could move a cursor, end a line or turn the direction of writing: names come from the
/// files of strangers.
fn harmless(text: &str) -> String {
    let is_harmful = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|letter| if is_harmful(letter) { '\u{fffd}' } else { letter }).collect()
}

/// At most so many letters, with a sign that there are more.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.into();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// A number and the thing it counts.
fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
