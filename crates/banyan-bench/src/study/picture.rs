//! A picture of some values of a study: lines over a number that was varied, or a dot with its interval for each value.
//!
//! The pictures stand in the page of the report, which has their colours for light and for dark.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::Summary;
use crate::plot::{Axes, Series, svg_with_intervals};

/// Values that lie further apart than this are drawn on a logarithmic axis; others from zero.
const FAR: f64 = 12.0;

/// Room for one letter of a label, for a line of the picture, and for the axis.
const LETTER: f64 = 8.2;
const LINE: f64 = 24.0;
const AXIS: f64 = 520.0;
const TOP: f64 = 44.0;
const BELOW: f64 = 52.0;

/// Colours by system, as in plots of lines.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// Parameters that are not the same in all of these.
pub(super) fn varied(group: &[&Summary]) -> BTreeSet<String> {
    let all = || group.iter().map(|summary| &summary.key.parameters);
    let names: BTreeSet<&String> = all().flat_map(BTreeMap::keys).collect();
    let is_varied =
        |name: &&String| all().any(|parameters| parameters.get(*name) != group[0].key.parameters.get(*name));
    names.into_iter().filter(is_varied).cloned().collect()
}

/// The values of one operation of one bench in one unit.
pub(super) fn draw(title: &str, group: &[&Summary]) -> String {
    let varied = varied(group);
    match Lines::of(group, &varied) {
        Some(lines) => {
            let axes = Axes { title, x: &lines.x, y: &group[0].key.unit };
            svg_with_intervals(axes, &lines.series, &lines.intervals)
        }
        None => dots(title, group, &varied),
    }
}

/// Lines over the parameter with the most numbers.
struct Lines {
    x: String,
    series: Vec<Series>,
    /// Of each series: where, from, to.
    intervals: Vec<Vec<(f64, f64, f64)>>,
}

impl Lines {
    /// If there are any: one with two points at least, and all of positive values.
    fn of(group: &[&Summary], varied: &BTreeSet<String>) -> Option<Lines> {
        let number = |summary: &Summary, name: &str| -> Option<f64> {
            summary.key.parameters.get(name)?.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite())
        };
        let distinct = |name: &str| -> usize {
            let numbers: Option<BTreeSet<u64>> =
                group.iter().map(|summary| Some(number(summary, name)?.to_bits())).collect();
            numbers.map_or(0, |numbers| numbers.len())
        };
        let x = varied.iter().max_by_key(|name| distinct(name)).filter(|name| distinct(name) > 1)?;
        let mut apart = varied.clone();
        apart.retain(|name| !follows(group, name, x));
        let mut lines: BTreeMap<String, Vec<(f64, &Summary)>> = BTreeMap::new();
        for summary in group {
            lines.entry(label(summary, &apart)).or_default().push((number(summary, x)?, summary));
        }
        let is_positive = group.iter().all(|summary| summary.values.iter().all(|value| *value > 0.0));
        if !is_positive || lines.values().all(|points| points.len() < 2) {
            return None;
        }
        let mut drawn = Lines { x: x.clone(), series: Vec::new(), intervals: Vec::new() };
        for (name, mut points) in lines {
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            let interval = |(x, summary): &(f64, &Summary)| summary.interval.map(|at| (*x, at.low, at.high));
            drawn.intervals.push(points.iter().filter_map(interval).collect());
            let points = points.iter().map(|(x, summary)| (*x, summary.median)).collect();
            drawn.series.push(Series { name, points });
        }
        Some(drawn)
    }
}

/// Whether a parameter says nothing that another does not: with the same value of that it always has the same.
fn follows(group: &[&Summary], name: &str, other: &str) -> bool {
    let mut known = BTreeMap::new();
    group.iter().all(|summary| {
        let parameters = &summary.key.parameters;
        *known.entry(parameters.get(other)).or_insert(parameters.get(name)) == parameters.get(name)
    })
}

/// The system, and what tells it from others of the same.
pub(super) fn label(summary: &Summary, varied: &BTreeSet<String>) -> String {
    let told = summary.key.parameters.iter().filter(|(name, _)| varied.contains(*name));
    let words: Vec<String> = told.map(|(name, value)| format!("{name}={value}")).collect();
    format!("{} {}", summary.key.system, words.join(" ")).trim_end().to_owned()
}

/// A line for each value, with its runs, its median and its interval.
fn dots(title: &str, group: &[&Summary], varied: &BTreeSet<String>) -> String {
    let labels: Vec<String> = group.iter().map(|summary| label(summary, varied)).collect();
    let longest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let left = 24.0 + LETTER * longest as f64;
    let bottom = TOP + LINE * group.len() as f64;
    let (width, height) = (left + AXIS + 32.0, bottom + BELOW);
    let axis = PictureAxis::around(group.iter().flat_map(|summary| summary.values.iter().copied()), left, left + AXIS);
    let mut out = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}" role="img" aria-label="{0}">
<text class="title" x="16" y="26">{0}</text>
"#,
        escape(title)
    );
    for tick in axis.ticks() {
        let at = axis.place(tick);
        let _ = writeln!(out, r#"<line class="grid" x1="{at:.1}" y1="{TOP:.1}" x2="{at:.1}" y2="{bottom:.1}"/>"#);
        let _ =
            writeln!(out, r#"<text class="tick middle" x="{at:.1}" y="{:.1}">{}</text>"#, bottom + 18.0, short(tick));
    }
    let (middle, below) = (left + AXIS / 2.0, bottom + 40.0);
    let _ =
        writeln!(out, r#"<text class="middle" x="{middle:.1}" y="{below:.1}">{}</text>"#, escape(&group[0].key.unit));
    let systems: BTreeSet<&str> = group.iter().map(|summary| summary.key.system.as_str()).collect();
    for (index, (summary, label)) in group.iter().zip(&labels).enumerate() {
        let y = TOP + LINE * (index as f64 + 0.5);
        let colour = systems.iter().position(|system| *system == summary.key.system).unwrap_or(0);
        dot(&mut out, summary, label, &axis, (left, y), COLOURS[colour % COLOURS.len()]);
    }
    out + "</svg>\n"
}

fn dot(out: &mut String, summary: &Summary, label: &str, axis: &PictureAxis, (left, y): (f64, f64), colour: &str) {
    let _ = writeln!(out, r#"<text class="end" x="{:.1}" y="{:.1}">{}</text>"#, left - 10.0, y + 4.0, escape(label));
    for value in &summary.values {
        let at = axis.place(*value);
        let _ = writeln!(out, r#"<circle fill="{colour}" fill-opacity="0.35" cx="{at:.1}" cy="{y:.1}" r="3"/>"#);
    }
    if let Some(interval) = &summary.interval {
        let (low, high) = (axis.place(interval.low), axis.place(interval.high));
        let _ = writeln!(
            out,
            r#"<path fill="none" stroke="{colour}" stroke-width="2" d="M{low:.1} {0:.1}V{1:.1}M{low:.1} {y:.1}H{high:.1}M{high:.1} {0:.1}V{1:.1}"/>"#,
            y - 5.0,
            y + 5.0
        );
    }
    let at = axis.place(summary.median);
    let _ = writeln!(out, r#"<circle fill="{colour}" cx="{at:.1}" cy="{y:.1}" r="5"/>"#);
}

/// From values to places: from zero, or logarithmic.
struct PictureAxis {
    low: f64,
    high: f64,
    is_logarithmic: bool,
    from: f64,
    to: f64,
}

impl PictureAxis {
    fn around(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> PictureAxis {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(low, f64::max);
        let is_logarithmic = low > 0.0 && high / low > FAR;
        if is_logarithmic {
            let (low, high) = (low.log10().floor(), high.log10().ceil());
            return PictureAxis { low, high: high.max(low + 1.0), is_logarithmic, from, to };
        }
        let margin = if high > 0.0 { 0.06 * high } else { 1.0 };
        PictureAxis { low: low.min(0.0), high: high.max(0.0) + margin, is_logarithmic, from, to }
    }

    fn place(&self, value: f64) -> f64 {
        let value = if self.is_logarithmic { value.log10() } else { value };
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// Decades, or some five round numbers.
    fn ticks(&self) -> Vec<f64> {
        if self.is_logarithmic {
            return (self.low as i32..=self.high as i32).map(|decade| 10_f64.powi(decade)).collect();
        }
        let rough = (self.high - self.low) / 5.0;
        let decade = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|part| part * decade).find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        (first..).map(|number| number as f64 * step).take_while(|tick| *tick <= self.high).take(12).collect()
    }
}

/// A tick without the dust of binary fractions.
fn short(value: f64) -> String {
    let (value, unit) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, " G"),
        size if size >= 1e6 => (value / 1e6, " M"),
        size if size >= 1e4 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    format!("{}{unit}", (value * 1e6).round() / 1e6)
}

/// For the text of an element, and for attributes in double quotes.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::summary::summarize;
    use super::*;
    use crate::study::Figure;

    fn figure(system: &str, parameters: &[(&str, &str)], value: f64) -> Figure {
        let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (bench, op, unit) = ("launch".into(), "launch".into(), "ms".into());
        Figure { study: "s".into(), run: 1, bench, system: system.into(), op, parameters, value, unit, repetition: 1 }
    }

    fn drawn(figures: &[Figure]) -> String {
        let summaries = summarize(figures);
        draw("t < u", &summaries.iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_number_that_was_varied_is_an_axis_and_each_system_a_line() {
        let figures = ["8", "64"].iter().flat_map(|members| {
            ["banyan", "floor"].map(|system| figure(system, &[("members", members), ("quick", "true")], 3.0))
        });
        let picture = drawn(&figures.collect::<Vec<_>>());
        assert!(picture.contains(">members</text>") && picture.contains(">banyan</text>"), "{picture}");
        assert_eq!(picture.matches("<polyline").count(), 4, "two lines, two in the legend: {picture}");
    }

    #[test]
    fn what_follows_from_the_axis_does_not_part_lines() {
        let figures = [("1x16", "16"), ("4x16", "64")]
            .map(|(shape, members)| figure("banyan", &[("shape", shape), ("members", members)], 3.0));
        let picture = drawn(&figures);
        assert!(picture.contains(">members</text>") && picture.contains(">banyan</text>"), "{picture}");
    }

    #[test]
    fn without_lines_there_is_a_dot_for_each_value() {
        let shapes = [("8x8", "64"), ("4x16", "64")];
        let figures: Vec<Figure> = shapes
            .iter()
            .flat_map(|(shape, members)| {
                [5.0, 7.0].map(|value| figure("a&b", &[("shape", shape), ("members", members)], value))
            })
            .collect();
        let picture = drawn(&figures);
        assert_eq!(picture.matches(r#"r="5""#).count(), 2, "{picture}");
        assert_eq!(picture.matches("<path").count(), 2, "{picture}");
        assert!(picture.contains("a&amp;b shape=4x16") && picture.contains("t &lt; u"), "{picture}");
    }

    #[test]
    fn odd_values_have_a_place() {
        for values in [&[0.0][..], &[-1.0, 2.0], &[1e-9, 1e12], &[5.0, 5.0]] {
            let figures: Vec<Figure> = values.iter().map(|value| figure("a", &[], *value)).collect();
            let picture = drawn(&figures);
            assert!(!picture.contains("NaN") && !picture.contains("inf"), "{values:?}: {picture}");
        }
    }
}
