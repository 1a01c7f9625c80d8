//! Reports for people and for other programs: text, pictures, and the lines of which flame graphs are made.

mod dot;
mod folded;
mod svg;
mod text;

use std::cmp::Reverse;
use std::rc::Rc;

use banyan_ranks::RankSet;

pub use dot::dot;
pub use folded::folded;
pub use svg::svg;
pub use text::{TextOptions, text};

use crate::frame::Frame;
use crate::tree::{StackNode, StackTree, direct};

/// A branch of at most this share of its tree is what one looks for.
const ODD_SHARE: u64 = 4;

/// Steps that the same ranks take, up to where they part.
struct Branch<'a> {
    frames: Vec<&'a Frame>,
    ranks: Rc<RankSet>,
    /// Threads of these ranks; 0 if they were not asked for.
    threads: u64,
    /// Ranks that end where the branch ends.
    here: &'a RankSet,
    /// The smallest first.
    children: Vec<Branch<'a>>,
    /// Few ranks have come here, of many.
    is_odd: bool,
}

fn branches(tree: &StackTree) -> Vec<Branch<'_>> {
    let steps = tree.steps();
    sorted(&steps, 0, steps.len(), tree.ranks())
}

/// The branches between two places of the list of steps.
fn sorted<'a>(steps: &[StackNode<'a>], from: usize, end: usize, above: &RankSet) -> Vec<Branch<'a>> {
    let mut branches: Vec<Branch<'a>> = direct(steps, from, end).map(|at| branch(steps, at, above)).collect();
    branches.sort_by_key(|branch| (branch.ranks.len(), branch.ranks.first(), Reverse(branch.frames.len())));
    branches
}

fn branch<'a>(steps: &[StackNode<'a>], first: usize, above: &RankSet) -> Branch<'a> {
    let (mut at, end) = (first, steps[first].end);
    // As long as there is one way to go on, and nobody stays.
    while at + 1 < end && steps[at + 1].end == end && steps[at].here.is_empty() {
        at += 1;
    }
    let ranks = Rc::clone(&steps[first].ranks);
    Branch {
        frames: steps[first..=at].iter().map(|step| step.frame).collect(),
        threads: steps[first].threads.count(),
        here: steps[at].here,
        children: sorted(steps, at + 1, end, &ranks),
        is_odd: ranks.len() * ODD_SHARE <= above.len(),
        ranks,
    }
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

/// How many ranks, and in brackets how many threads of theirs, if those were asked for: `4(16)`.
fn quantity(ranks: u64, threads: u64) -> String {
    if threads == 0 { ranks.to_string() } else { format!("{ranks}({threads})") }
}

/// A number and the thing it counts.
fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
