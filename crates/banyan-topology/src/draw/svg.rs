//! A picture as SVG: the front-end on the left, a column a level, on a light background.

use std::fmt::Write as _;

use super::super::Role;
use super::view::{Branch, View};

/// A letter's width at the size used, rather too wide than too narrow.
const LETTER: usize = 8;
const MARGIN: usize = 20;
const BOX_HEIGHT: usize = 24;
/// A box with a second line.
const TALL: usize = 40;
/// From a box to the next below it.
const GAP: usize = 12;
/// From a column to the next.
const BETWEEN: usize = 56;
/// How far the box behind a folded one looks out.
const BEHIND: usize = 4;

const HEAD: &str = "<style>
.name { font: 13px sans-serif; fill: #1a1a1a; }
.note { font: 11px sans-serif; fill: #555555; }
.front-end { fill: #fde3c8; stroke: #b35900; }
.agent { fill: #d6e8f7; stroke: #0072b2; }
.member { fill: #dcf2e7; stroke: #007a57; }
.counted { fill: #eeeeee; stroke: #777777; stroke-dasharray: 4 3; }
.edge { fill: none; stroke: #999999; }
</style>
";

/// Where a branch is drawn.
#[derive(Clone, Copy, Default)]
struct Spot {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

/// Branches as they are placed.
struct Sheet<'a> {
    branches: &'a [Branch],
    spots: Vec<Spot>,
    /// Where the next row begins.
    next: usize,
}

impl View<'_> {
    /// As SVG.
    pub fn to_svg(&self) -> String {
        let branches = self.branches();
        let mut sheet = Sheet { branches, spots: vec![Spot::default(); branches.len()], next: MARGIN };
        let columns = sheet.columns();
        sheet.place(0, 0, &columns);
        let width = sheet.spots.iter().map(|spot| spot.x + spot.width).max().unwrap_or(0) + MARGIN + BEHIND;
        let height = sheet.next - GAP + MARGIN;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\">\n{HEAD}<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        );
        sheet.draw(&mut out);
        out.push_str("</svg>\n");
        out
    }
}

impl Sheet<'_> {
    /// Where each column begins: each is as wide as its widest label.
    fn columns(&mut self) -> Vec<usize> {
        let mut columns = vec![MARGIN];
        let mut level = vec![0];
        while !level.is_empty() {
            let width = level.iter().map(|branch| width(&self.branches[*branch])).max().unwrap_or(0);
            columns.push(columns[columns.len() - 1] + width + BETWEEN);
            level = level.iter().flat_map(|branch| self.branches[*branch].children.iter().copied()).collect();
        }
        columns
    }

    /// Places a branch beside the middle of its children.
    fn place(&mut self, branch: usize, level: usize, columns: &[usize]) {
        let here = &self.branches[branch];
        let height = if note(here).is_empty() { BOX_HEIGHT } else { TALL };
        here.children.iter().for_each(|child| self.place(*child, level + 1, columns));
        let y = match (here.children.first(), here.children.last()) {
            (Some(first), Some(last)) => {
                let (first, last) = (self.spots[*first], self.spots[*last]);
                ((first.y + last.y + last.height) / 2).saturating_sub(height / 2).max(MARGIN)
            }
            _ => self.next,
        };
        self.next = self.next.max(y + height + GAP);
        self.spots[branch] = Spot { x: columns[level], y, width: width(here), height };
    }

    fn draw(&self, out: &mut String) {
        for (branch, from) in self.branches.iter().zip(&self.spots) {
            if branch.count > 1 && !branch.children.is_empty() {
                let (x, y) = (from.x + from.width + BEHIND + 4, from.y + from.height / 2 - 4);
                let _ = writeln!(out, "<text class=\"note\" x=\"{x}\" y=\"{y}\">each</text>");
            }
            for child in &branch.children {
                let to = self.spots[*child];
                let (x1, y1) = (from.x + from.width, from.y + from.height / 2);
                let (x2, y2) = (to.x, to.y + to.height / 2);
                let middle = (x1 + x2) / 2;
                let _ = writeln!(out, "<path class=\"edge\" d=\"M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}\"/>");
            }
        }
        for (branch, spot) in self.branches.iter().zip(&self.spots) {
            draw_box(out, branch, *spot);
        }
    }
}

fn draw_box(out: &mut String, branch: &Branch, Spot { x, y, width, height }: Spot) {
    let class = match branch.role {
        Some(Role::FrontEnd) => "front-end",
        Some(Role::Agent) => "agent",
        Some(Role::Member) => "member",
        None => "counted",
    };
    let mut rectangle = |by: usize| {
        let (x, y) = (x + by, y + by);
        let _ = writeln!(
            out,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"4\"/>"
        );
    };
    if branch.count > 1 {
        rectangle(BEHIND);
    }
    rectangle(0);
    // Host names hold nothing that means something to XML.
    let _ = writeln!(out, "<text class=\"name\" x=\"{}\" y=\"{}\">{}</text>", x + 8, y + 16, branch.label());
    let note = note(branch);
    if !note.is_empty() {
        let _ = writeln!(out, "<text class=\"note\" x=\"{}\" y=\"{}\">{note}</text>", x + 8, y + 32);
    }
}

/// The second line of a box.
fn note(branch: &Branch) -> String {
    match (branch.role, branch.is_cut, branch.below()) {
        (_, _, below) if below.is_empty() => String::new(),
        (Some(Role::FrontEnd), _, below) => below,
        (_, true, below) => format!("{below} below"),
        _ => String::new(),
    }
}

fn width(branch: &Branch) -> usize {
    let letters = branch.label().chars().count().max(note(branch).chars().count());
    letters * LETTER + 16
}
