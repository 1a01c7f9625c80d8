//! Stacked bars as SVG: what a whole consists of, for several wholes, readable on light and on dark backgrounds.
//!
//! Bars of one group have one scale, and the longest of them is as long as there is room: groups of very different wholes
//! stand in one picture, and the shares can be compared. Parts are drawn as they are, side by side, from the left.

use std::fmt::Write as _;

use crate::plot::{STYLE, escape, line, text};

/// What a part may be of: a name for the legend, and its colour.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) colour: &'static str,
}

/// A part of a bar.
#[derive(Debug, Clone)]
pub(crate) struct BarPart {
    /// Its place among the kinds.
    pub(crate) kind: usize,
    /// How large it is. Nothing is drawn of what is not positive.
    pub(crate) value: f64,
    /// Shown where there is room.
    pub(crate) label: String,
}

/// A whole.
#[derive(Debug, Clone)]
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) parts: Vec<BarPart>,
    /// What stands behind it.
    pub(crate) end: String,
}

/// Bars of one scale.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) bars: Vec<Bar>,
}

/// Groups under one heading.
#[derive(Debug, Clone)]
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) groups: Vec<Group>,
}

/// From left to right: names of groups, names of bars, bars, what stands behind them.
const MARGIN: f64 = 20.0;
const NAMES: f64 = 92.0;
const LEFT: f64 = 212.0;
const RIGHT: f64 = 772.0;
const WIDTH: f64 = 980.0;
/// Heights of a bar, from one to the next, between groups, and of headings.
const BAR: f64 = 20.0;
const STEP: f64 = 24.0;
const GAP: f64 = 14.0;
const HEADING: f64 = 40.0;
const TITLE: f64 = 48.0;
/// A line of the legend, the square in it, and room for one letter.
const LEGEND: f64 = 22.0;
const SQUARE: f64 = 12.0;
const LETTER: f64 = 8.0;
/// Room for a letter in a part, which has smaller ones.
const SMALL_LETTER: f64 = 6.6;
/// Parts are this far apart, unless they are too small to lose it.
const SEAM: f64 = 1.0;

/// Draws the panels one below the other, under the legend of the kinds.
pub(crate) fn svg(title: &str, kinds: &[Kind], panels: &[Panel]) -> String {
    let (legend, below) = legend(kinds);
    let mut body = String::new();
    let mut at = below;
    for panel in panels {
        at = draw_panel(&mut body, panel, kinds, at);
    }
    let height = at + MARGIN;
    let mut out = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0} {height:.0}" width="{WIDTH:.0}" height="{height:.0}" role="img" aria-label="{}">
{STYLE}<style>.heading {{ font-size: 14px; font-weight: 600; }} .inside {{ font-size: 11px; text-anchor: middle; }}</style>
"#,
        escape(title)
    );
    text(&mut out, "title", (MARGIN, 28.0), title);
    out + &legend + &body + "</svg>\n"
}

/// The legend, in as many lines as it needs, and where it ends.
fn legend(kinds: &[Kind]) -> (String, f64) {
    let mut out = String::new();
    let (mut x, mut y) = (MARGIN, TITLE);
    for kind in kinds {
        let width = SQUARE + 6.0 + LETTER * kind.name.chars().count() as f64 + 16.0;
        if x > MARGIN && x + width > WIDTH - MARGIN {
            (x, y) = (MARGIN, y + LEGEND);
        }
        rectangle(&mut out, kind.colour, (x, y), (SQUARE, SQUARE));
        text(&mut out, "legend", (x + SQUARE + 6.0, y + SQUARE - 1.0), kind.name);
        x += width;
    }
    (out, y + LEGEND)
}

/// Draws a panel from a height on; returns where it ends.
fn draw_panel(out: &mut String, panel: &Panel, kinds: &[Kind], top: f64) -> f64 {
    text(out, "heading", (MARGIN, top + 24.0), &panel.title);
    let mut at = top + HEADING;
    for group in &panel.groups {
        let longest = group.bars.iter().map(whole).fold(f64::MIN_POSITIVE, f64::max);
        line(out, "grid", (MARGIN, at - GAP / 2.0), (WIDTH - MARGIN, at - GAP / 2.0));
        text(out, "group", (MARGIN, at + BAR - 6.0), &group.name);
        for bar in &group.bars {
            draw_bar(out, bar, kinds, at, (RIGHT - LEFT) / longest);
            at += STEP;
        }
        at += GAP;
    }
    at
}

/// All that is drawn of a bar.
fn whole(bar: &Bar) -> f64 {
    bar.parts.iter().map(|part| part.value.max(0.0)).sum()
}

fn draw_bar(out: &mut String, bar: &Bar, kinds: &[Kind], top: f64, scale: f64) {
    let base = top + BAR - 6.0;
    text(out, "tick", (NAMES, base), &bar.name);
    let mut x = LEFT;
    for part in bar.parts.iter().filter(|part| part.value > 0.0) {
        let width = part.value * scale;
        let Some(kind) = kinds.get(part.kind) else { continue };
        let drawn = if width > 3.0 * SEAM { width - SEAM } else { width };
        rectangle(out, kind.colour, (x, top), (drawn, BAR));
        if drawn >= SMALL_LETTER * part.label.chars().count() as f64 + 6.0 {
            inside(out, ink(kind.colour), (x + drawn / 2.0, base), &part.label);
        }
        x += width;
    }
    text(out, "whole", (x + 8.0, base), &bar.end);
}

fn rectangle(out: &mut String, colour: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
    let _ = writeln!(out, r#"<rect fill="{colour}" x="{x:.1}" y="{y:.1}" width="{width:.2}" height="{height:.1}"/>"#);
}

/// A label on a part: its colour follows from the part's, not from the background.
fn inside(out: &mut String, ink: &str, (x, y): (f64, f64), label: &str) {
    let _ = writeln!(out, r#"<text class="inside" style="fill:{ink}" x="{x:.1}" y="{y:.1}">{}</text>"#, escape(label));
}

/// White on dark colours, black on light ones.
fn ink(colour: &str) -> &'static str {
    let channel = |at: usize| colour.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0);
    let brightness = 0.299 * f64::from(channel(1)) + 0.587 * f64::from(channel(3)) + 0.114 * f64::from(channel(5));
    if brightness < 115.0 { "#fff" } else { "#111" }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 2] = [Kind { name: "one < two", colour: "#0072b2" }, Kind { name: "other", colour: "#e69f00" }];

    fn bar(values: [f64; 2]) -> Bar {
        let part = |(kind, value): (usize, f64)| BarPart { kind, value, label: format!("{value}") };
        Bar { name: "a bar".into(), parts: values.into_iter().enumerate().map(part).collect(), end: "whole".into() }
    }

    /// Left ends and widths of all parts, without the squares of the legend.
    fn parts(drawing: &str) -> Vec<(f64, f64)> {
        let attribute = |line: &str, name: &str| -> Option<f64> {
            line.split_once(&format!(" {name}=\""))?.1.split('"').next()?.parse().ok()
        };
        let rectangles = drawing.lines().filter(|line| line.starts_with("<rect") && line.contains("height=\"20"));
        rectangles.filter_map(|line| attribute(line, "x").zip(attribute(line, "width"))).collect()
    }

    #[test]
    fn parts_stand_side_by_side_and_the_longest_bar_of_a_group_fills_the_room() {
        let group = |bars| Group { name: "64 B".into(), bars };
        let groups = vec![group(vec![bar([1.0, 3.0]), bar([1.0, 1.0])]), group(vec![bar([1e6, 1e6])])];
        let drawing = svg("title", &KINDS, &[Panel { title: "panel".into(), groups }]);
        let parts = parts(&drawing);
        let room = RIGHT - LEFT;
        let lefts: Vec<f64> = parts.iter().map(|part| part.0).collect();
        let (quarter, half) = (LEFT + room / 4.0, LEFT + room / 2.0);
        assert_eq!(lefts, [LEFT, quarter, LEFT, quarter, LEFT, half], "{drawing}");
        assert!(parts.iter().all(|(x, width)| x + width <= RIGHT), "{drawing}");
    }

    #[test]
    fn what_adds_nothing_is_not_drawn_and_texts_are_escaped() {
        let panel = Panel { title: "p".into(), groups: vec![Group { name: "g".into(), bars: vec![bar([2.0, -1.0])] }] };
        let drawing = svg("t", &KINDS, &[panel]);
        assert_eq!(parts(&drawing).len(), 1, "{drawing}");
        assert!(drawing.contains("one &lt; two") && drawing.ends_with("</svg>\n"));
    }

    #[test]
    fn labels_can_be_read_on_their_colours() {
        assert_eq!(["#0072b2", "#56b4e9", "#e69f00", "#111111"].map(ink), ["#fff", "#111", "#111", "#fff"]);
    }
}
