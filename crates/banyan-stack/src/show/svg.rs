//! The tree as a picture, for light and for dark pages.
//!
//! From left to right: a card for the steps that the same ranks take, a band to each card that follows, as wide as there
//! are ranks. What few do stands above, in a warm colour.

use std::fmt::Write as _;

use super::{Branch, branches, counted, cut, harmless, quantity};
use crate::report::Report;

/// Letters of a function that are shown; the rest appears when one points at it.
const NAME_WIDTH: usize = 44;
/// Letters of ranks that are shown.
const RANKS_WIDTH: usize = 28;
/// The width of a letter of a function.
const LETTER: f64 = 7.3;
/// The height of a line.
const LINE: f64 = 17.0;
/// The part of a card with its ranks.
const HEAD: f64 = 30.0;
/// Room around the text of a card.
const PADDING: f64 = 12.0;
/// Room between a card and those that follow it, for the bands.
const REACH: f64 = 72.0;
/// Room between cards above each other.
const GAP: f64 = 18.0;
/// Room around the picture.
const MARGIN: f64 = 28.0;
/// The part of the picture with its title.
const TITLE: f64 = 46.0;
/// The widest band.
const BAND: f64 = 22.0;

const STYLE: &str = "\
.page{fill:#fbfcfe}.card{fill:#ffffff;stroke:#d3dbe6}.head{fill:#e8eef6}.odd .card{stroke:#e59a4a}\
.odd .head{fill:#ffe7cb}.ends .head{fill:#dcecdf}.odd.ends .head{fill:#ffdcb3}\
.band{fill:none;stroke:#bccbdd;stroke-opacity:.75}.band.odd{stroke:#f0a75a}\
text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:12px;fill:#2b3748}\
.ranks{font-weight:bold}.count{fill:#6b7a8f}.last{font-weight:bold}\
.title{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;font-size:17px;font-weight:600}\
@media (prefers-color-scheme:dark){.page{fill:#14181f}.card{fill:#1d232d;stroke:#3a4656}.head{fill:#28313e}\
.odd .card{stroke:#c77d2e}.odd .head{fill:#4a3419}.ends .head{fill:#233a2b}.odd.ends .head{fill:#5a3b16}\
.band{stroke:#43536a}.band.odd{stroke:#b9722a}text{fill:#d7dfea}.count{fill:#8b9bb0}}";

/// The picture.
pub fn svg(report: &Report) -> String {
    let total = report.tree.ranks().len();
    let cards: Vec<Card<'_>> = branches(&report.tree).into_iter().map(Card::new).collect();
    let mut body = String::new();
    let (mut y, mut right) = (MARGIN + TITLE, 0.0_f64);
    for card in &cards {
        right = right.max(card.write(&mut body, MARGIN, y, total));
        y += card.height + GAP;
    }
    let unread = report.unread().count() as u64;
    let mut title = counted(report.processes.len().max(total as usize) as u64, "process", "processes");
    let threads = report.tree.threads().count();
    if threads > 0 {
        let _ = write!(title, ", {}", counted(threads, "thread", "threads"));
    }
    let _ = write!(title, ", {}", counted(report.tree.classes().len() as u64, "class", "classes"));
    if unread > 0 {
        let _ = write!(title, ", {unread} not read");
    }
    let width = (right + MARGIN).max(MARGIN * 2.0 + title.len() as f64 * 9.5);
    let height = (y - GAP + MARGIN).max(MARGIN * 2.0 + TITLE);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"title\" x=\"{MARGIN}\" y=\"{:.0}\">{title}</text>\n{body}</svg>\n",
        MARGIN + 18.0,
    )
}

/// A branch with its size.
struct Card<'a> {
    branch: Branch<'a>,
    children: Vec<Card<'a>>,
    /// Of the card alone.
    size: (f64, f64),
    /// Of the card and all that follow it.
    height: f64,
}

impl<'a> Card<'a> {
    fn new(mut branch: Branch<'a>) -> Card<'a> {
        let children: Vec<Card<'a>> = std::mem::take(&mut branch.children).into_iter().map(Card::new).collect();
        let names = branch.frames.iter().map(|frame| frame.to_string().chars().count().min(NAME_WIDTH));
        let head = shown_ranks(&branch).chars().count() + quantity(branch.ranks.len(), branch.threads).len() + 3;
        let letters = names.max().unwrap_or(0).max(head).max(12);
        let own = HEAD + PADDING + LINE * branch.frames.len() as f64;
        let gaps = GAP * children.len().saturating_sub(1) as f64;
        let below: f64 = children.iter().map(|child| child.height).sum::<f64>() + gaps;
        Card { branch, children, size: (letters as f64 * LETTER + 2.0 * PADDING, own), height: own.max(below) }
    }

    /// Writes the card and what follows it; gives how far it reaches to the right.
    fn write(&self, out: &mut String, x: f64, top: f64, total: u64) -> f64 {
        let (width, height) = self.size;
        let y = top + (self.height - height) / 2.0;
        let gaps = GAP * self.children.len().saturating_sub(1) as f64;
        let below: f64 = self.children.iter().map(|child| child.height).sum::<f64>() + gaps;
        let mut child_top = top + (self.height - below) / 2.0;
        let mut right = x + width;
        for child in &self.children {
            let to = child_top + child.height / 2.0;
            band(out, (x + width, y + height / 2.0), (x + width + REACH, to), &child.branch, total);
            right = right.max(child.write(out, x + width + REACH, child_top, total));
            child_top += child.height + GAP;
        }
        self.write_card(out, x, y);
        right
    }

    fn write_card(&self, out: &mut String, x: f64, y: f64) {
        let (width, height) = self.size;
        let branch = &self.branch;
        let odd = if branch.is_odd { " odd" } else { "" };
        let ends = if branch.here.is_empty() { "" } else { " ends" };
        let _ = writeln!(out, "<g class=\"at{odd}{ends}\">");
        let _ = writeln!(
            out,
            "<rect class=\"card\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"8\"/>\
             <path class=\"head\" d=\"M{:.1} {:.1}v-{:.1}a7 7 0 0 1 7-7h{:.1}a7 7 0 0 1 7 7v{:.1}z\"/>",
            x + 1.0,
            y + HEAD - 6.0,
            HEAD - 14.0,
            width - 16.0,
            HEAD - 14.0,
        );
        let _ = writeln!(
            out,
            "<text class=\"ranks\" x=\"{:.1}\" y=\"{:.1}\">{}<title>{}</title></text>\
             <text class=\"count\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            x + PADDING,
            y + 17.0,
            escaped(&shown_ranks(branch)),
            escaped(&branch.ranks.to_string()),
            x + width - PADDING,
            y + 17.0,
            quantity(branch.ranks.len(), branch.threads),
        );
        let last = branch.frames.len() - 1;
        for (at, frame) in branch.frames.iter().enumerate() {
            let name = frame.to_string();
            let class = if at == last && !branch.here.is_empty() { " class=\"last\"" } else { "" };
            let _ = writeln!(
                out,
                "<text{class} x=\"{:.1}\" y=\"{:.1}\">{}<title>{} in {}</title></text>",
                x + PADDING,
                y + HEAD + 12.0 + LINE * at as f64,
                escaped(&cut(&name, NAME_WIDTH)),
                escaped(&name),
                escaped(&frame.module),
            );
        }
        out.push_str("</g>\n");
    }
}

fn band(out: &mut String, from: (f64, f64), to: (f64, f64), branch: &Branch<'_>, total: u64) {
    let width = (BAND * branch.ranks.len() as f64 / total.max(1) as f64).max(1.5);
    let middle = (from.0 + to.0) / 2.0;
    let odd = if branch.is_odd { " odd" } else { "" };
    let _ = writeln!(
        out,
        "<path class=\"band{odd}\" stroke-width=\"{width:.1}\" d=\"M{:.1} {:.1}C{middle:.1} {:.1} {middle:.1} {:.1} {:.1} \
         {:.1}\"/>",
        from.0, from.1, from.1, to.1, to.0, to.1,
    );
}

fn shown_ranks(branch: &Branch<'_>) -> String {
    cut(&branch.ranks.to_string(), RANKS_WIDTH)
}

fn escaped(text: &str) -> String {
    harmless(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
