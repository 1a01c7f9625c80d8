//! A plot of times against sizes as SVG, both axes logarithmic, readable on light and on dark backgrounds.

use std::fmt::Write as _;

/// One line of a plot.
#[derive(Debug, Clone)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Points (x, y), both positive, in order of x.
    pub points: Vec<(f64, f64)>,
}

/// What the axes show.
#[derive(Debug, Clone, Copy)]
pub struct Axes<'a> {
    /// Above the plot.
    pub title: &'a str,
    /// Below it.
    pub x: &'a str,
    /// Beside it.
    pub y: &'a str,
}

/// Where the lines are drawn; the legend stands to the right.
const LEFT: f64 = 72.0;
const RIGHT: f64 = 632.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 432.0;
/// From the bottom of the lines to the edge.
const BELOW: f64 = 56.0;
/// Room for one letter and for one line of the legend.
const LETTER: f64 = 7.6;
const LINE: f64 = 20.0;

/// Colours that keep apart on white and on black, also for readers who do not see red and green apart.
const COLOURS: [&str; 10] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#a6761d", "#666666", "#e7298a"];

/// How everything looks, on light and on dark backgrounds.
pub(crate) const STYLE: &str = "<style>
svg { background: #fff; font: 13px system-ui, sans-serif; }
text { fill: #222; } .title { font-size: 16px; font-weight: 600; } .tick { font-size: 12px; fill: #555; }
.middle { text-anchor: middle; } .end { text-anchor: end; } .grid { stroke: #ddd; stroke-width: 1; }
.series { fill: none; stroke-width: 2; }
@media (prefers-color-scheme: dark) { svg { background: #16181c; } text { fill: #eee; } .tick { fill: #aaa; } .grid { stroke: #333; } }
</style>
";

/// Draws the lines. The legend has their order at the right end, from above.
pub fn svg(axes: Axes<'_>, series: &[Series]) -> String {
    svg_with_intervals(axes, series, &[])
}

/// Draws the lines, and for each of them intervals (x, low, high), as far as there are any.
pub fn svg_with_intervals(axes: Axes<'_>, series: &[Series], intervals: &[Vec<(f64, f64, f64)>]) -> String {
    let points = || series.iter().flat_map(|series| series.points.iter().copied());
    let x = Scale::close(points().map(|(x, _)| x), LEFT, RIGHT);
    let ends = || intervals.iter().flatten().flat_map(|(_, low, high)| [*low, *high]);
    let y = Scale::decades_around(points().map(|(_, y)| y).chain(ends()), BOTTOM, TOP);
    let mut out = head(axes, series);
    for mark in marks(&x, points().map(|(x, _)| x)) {
        let at = x.place(mark);
        line(&mut out, "grid", (at, TOP), (at, BOTTOM));
        text(&mut out, "tick middle", (at, BOTTOM + 18.0), &short(mark));
    }
    for decade in y.decades() {
        let at = y.place(decade);
        line(&mut out, "grid", (LEFT, at), (RIGHT, at));
        text(&mut out, "tick end", (LEFT - 8.0, at + 4.0), &short(decade));
    }
    let mut order: Vec<usize> = (0..series.len()).collect();
    let last = |index: &usize| series[*index].points.last().map_or(0.0, |point| point.1);
    order.sort_by(|one, other| last(other).total_cmp(&last(one)));
    for (place, index) in order.into_iter().enumerate() {
        let pen = Pen { colour: COLOURS[index % COLOURS.len()], dashed: index >= COLOURS.len() };
        draw(&mut out, &series[index], pen, (&x, &y));
        for interval in intervals.get(index).into_iter().flatten() {
            whisker(&mut out, *interval, pen, (&x, &y));
        }
        legend(&mut out, &series[index].name, pen, place);
    }
    out + "</svg>\n"
}

/// Draws plots one below the other.
pub fn stacked(plots: &[(Axes<'_>, Vec<Series>)]) -> String {
    let width = plots.iter().map(|(_, series)| size(series).0).fold(0.0, f64::max);
    let mut height = 0.0;
    let mut drawn = String::new();
    for (axes, series) in plots {
        drawn += &svg(*axes, series).replacen("<svg ", &format!(r#"<svg y="{height:.0}" "#), 1);
        height += size(series).1;
    }
    let size = format!(r#"viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}""#);
    format!("<svg xmlns=\"http://www.w3.org/2000/svg\" {size}>\n{drawn}</svg>\n")
}

/// How a line is drawn. When the colours have run out, lines are dashed.
#[derive(Clone, Copy)]
struct Pen {
    colour: &'static str,
    dashed: bool,
}

impl Pen {
    fn attributes(self) -> String {
        let dashes = if self.dashed { r#" stroke-dasharray="6 4""# } else { "" };
        format!(r#"stroke="{}"{dashes}"#, self.colour)
    }
}

/// Width and height that hold the lines and the whole legend.
fn size(series: &[Series]) -> (f64, f64) {
    let longest = series.iter().map(|series| series.name.chars().count()).max().unwrap_or(0);
    let legend = 2.0 * LINE + TOP + LINE * series.len() as f64;
    (RIGHT + 60.0 + LETTER * longest as f64, legend.max(BOTTOM + BELOW))
}

fn head(axes: Axes<'_>, series: &[Series]) -> String {
    let (width, height) = size(series);
    let mut out = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}" role="img" aria-label="{title}">
{STYLE}"#,
        title = escape(axes.title)
    );
    text(&mut out, "title", (LEFT, 28.0), axes.title);
    text(&mut out, "middle", ((LEFT + RIGHT) / 2.0, BOTTOM + 44.0), axes.x);
    let middle = (TOP + BOTTOM) / 2.0;
    let _ = writeln!(
        out,
        r#"<text class="middle" transform="translate(18 {middle:.1}) rotate(-90)">{}</text>"#,
        escape(axes.y)
    );
    out
}

fn draw(out: &mut String, series: &Series, pen: Pen, (x, y): (&Scale, &Scale)) {
    let places: Vec<String> =
        series.points.iter().map(|(px, py)| format!("{:.1},{:.1}", x.place(*px), y.place(*py))).collect();
    let _ = writeln!(out, r#"<polyline class="series" {} points="{}"/>"#, pen.attributes(), places.join(" "));
    for (px, py) in &series.points {
        let (cx, cy) = (x.place(*px), y.place(*py));
        let _ = writeln!(out, r#"<circle fill="{}" cx="{cx:.1}" cy="{cy:.1}" r="3.5"/>"#, pen.colour);
    }
}

fn whisker(out: &mut String, (at, low, high): (f64, f64, f64), pen: Pen, (x, y): (&Scale, &Scale)) {
    let (at, low, high) = (x.place(at), y.place(low), y.place(high));
    let (left, right) = (at - 4.0, at + 4.0);
    let path = format!("M{left:.1} {low:.1}H{right:.1}M{at:.1} {low:.1}V{high:.1}M{left:.1} {high:.1}H{right:.1}");
    let _ = writeln!(out, r#"<path fill="none" stroke="{}" stroke-width="1.5" d="{path}"/>"#, pen.colour);
}

fn legend(out: &mut String, name: &str, pen: Pen, place: usize) {
    let (left, base) = (RIGHT + 20.0, TOP + 12.0 + LINE * place as f64);
    let (right, at) = (left + 20.0, base - 4.0);
    let points = format!("{left},{at:.1} {right},{at:.1}");
    let _ = writeln!(out, r#"<polyline class="series" {} points="{points}"/>"#, pen.attributes());
    text(out, "legend", (right + 8.0, base), name);
}

pub(crate) fn line(out: &mut String, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let _ = writeln!(out, r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#);
}

pub(crate) fn text(out: &mut String, class: &str, (x, y): (f64, f64), text: &str) {
    let _ = writeln!(out, r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{}</text>"#, escape(text));
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// A logarithmic axis.
struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// What is smaller has no place on a logarithmic axis.
const SMALLEST: f64 = 1e-3;

impl Scale {
    /// From a little below the smallest value to a little above the largest.
    fn close(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Scale {
        let (low, high) = ends(values);
        let margin = 0.04 * (high - low).max(0.5);
        Scale { low: low - margin, high: high + margin, from, to }
    }

    /// From the decade below the smallest value to the one above the largest.
    fn decades_around(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Scale {
        let (low, high) = ends(values);
        Scale { low: low.floor(), high: high.ceil().max(low.floor() + 1.0), from, to }
    }

    fn place(&self, value: f64) -> f64 {
        let share = (value.max(SMALLEST).log10() - self.low) / (self.high - self.low);
        self.from + share * (self.to - self.from)
    }

    fn decades(&self) -> impl Iterator<Item = f64> {
        (self.low.ceil() as i32..=self.high.floor() as i32).map(|decade| 10f64.powi(decade))
    }
}

/// Where an axis is marked: at its decades, or, where it has fewer than two, at the values themselves.
fn marks(axis: &Scale, values: impl Iterator<Item = f64>) -> Vec<f64> {
    let decades: Vec<f64> = axis.decades().collect();
    if decades.len() > 1 {
        return decades;
    }
    let mut marks: Vec<f64> = values.collect();
    marks.sort_by(f64::total_cmp);
    marks.dedup();
    marks
}

/// Logarithms of the smallest and the largest value.
fn ends(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let low = values.clone().fold(f64::INFINITY, f64::min).clamp(SMALLEST, 1e15);
    let high = values.fold(low, f64::max);
    (low.log10(), high.log10())
}

fn short(value: f64) -> String {
    match value {
        value if value >= 1e9 => format!("{} G", value / 1e9),
        value if value >= 1e6 => format!("{} M", value / 1e6),
        value if value >= 1e3 => format!("{} k", value / 1e3),
        value => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_lies_within_the_frame() {
        let series = [Series { name: "a < b".into(), points: vec![(96.0, 3.0), (99_872.0, 2230.0)] }];
        let x = Scale::close(series[0].points.iter().map(|point| point.0), LEFT, RIGHT);
        assert!(series[0].points.iter().all(|point| (LEFT..=RIGHT).contains(&x.place(point.0))));
        let drawing = svg(Axes { title: "t", x: "bytes", y: "ns" }, &series);
        assert!(drawing.contains("a &lt; b") && drawing.ends_with("</svg>\n"));
    }

    #[test]
    fn an_axis_within_one_decade_is_marked_at_its_values() {
        let axes = Axes { title: "t", x: "members", y: "ms" };
        let near = |x: f64| svg(axes, &[Series { name: "a".into(), points: vec![(2.0, 1.0), (x, 9.0)] }]);
        assert!(near(6.0).contains(">2</text>") && near(6.0).contains(">6</text>"));
        assert!(!near(600.0).contains(">2</text>") && near(600.0).contains(">100</text>"));
    }

    #[test]
    fn stacked_plots_do_not_overlap() {
        let axes = Axes { title: "t", x: "bytes", y: "ns" };
        let few = vec![Series { name: "a".into(), points: vec![(1.0, 1.0)] }];
        let many = vec![Series { name: "a longer name".into(), points: vec![(1.0, 1.0)] }; 40];
        let ((narrow, short), (wide, tall)) = (size(&few), size(&many));
        assert!(narrow < wide && short < tall);
        let drawing = stacked(&[(axes, many), (axes, few)]);
        assert!(drawing.contains(&format!(r#"viewBox="0 0 {wide:.0} {:.0}""#, tall + short)), "{drawing}");
        assert!(drawing.contains(r#"<svg y="0" "#) && drawing.contains(&format!(r#"<svg y="{tall:.0}" "#)));
    }

    #[test]
    fn a_plot_of_nothing_or_of_one_point_is_drawn() {
        let axes = Axes { title: "t", x: "bytes", y: "ns" };
        let one = Series { name: "a".into(), points: vec![(1.0, 1.0)] };
        for drawing in [svg(axes, &[]), svg(axes, &[one])] {
            assert!(!drawing.contains("NaN") && !drawing.contains("inf"), "{drawing}");
        }
    }
}
