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

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 250.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 56.0;

/// Colours that keep apart on white and on black, also for readers who do not see red and green apart.
const COLOURS: [&str; 10] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#a6761d", "#666666", "#e7298a"];

/// Draws the lines.
pub fn svg(axes: Axes<'_>, series: &[Series]) -> String {
    let points = || series.iter().flat_map(|series| series.points.iter().copied());
    let x = Scale::new(points().map(|(x, _)| x), LEFT, WIDTH - RIGHT);
    let y = Scale::new(points().map(|(_, y)| y), HEIGHT - BOTTOM, TOP);
    let mut out = head(axes);
    for decade in x.decades() {
        let at = x.place(decade);
        line(&mut out, "grid", (at, TOP), (at, HEIGHT - BOTTOM));
        text(&mut out, "tick middle", (at, HEIGHT - BOTTOM + 18.0), &short(decade));
    }
    for decade in y.decades() {
        let at = y.place(decade);
        line(&mut out, "grid", (LEFT, at), (WIDTH - RIGHT, at));
        text(&mut out, "tick end", (LEFT - 8.0, at + 4.0), &short(decade));
    }
    for (index, series) in series.iter().enumerate() {
        draw(&mut out, series, COLOURS[index % COLOURS.len()], index, (&x, &y));
    }
    out + "</svg>\n"
}

fn head(axes: Axes<'_>) -> String {
    let mut out = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{title}">
<style>
svg {{ background: #fff; font: 13px system-ui, sans-serif; }}
text {{ fill: #222; }} .title {{ font-size: 16px; font-weight: 600; }} .tick {{ font-size: 12px; fill: #555; }}
.middle {{ text-anchor: middle; }} .end {{ text-anchor: end; }} .grid {{ stroke: #ddd; stroke-width: 1; }}
.series {{ fill: none; stroke-width: 2; }}
@media (prefers-color-scheme: dark) {{ svg {{ background: #16181c; }} text {{ fill: #eee; }} .tick {{ fill: #aaa; }} .grid {{ stroke: #333; }} }}
</style>
"#,
        title = escape(axes.title)
    );
    text(&mut out, "title", (LEFT, 28.0), axes.title);
    text(&mut out, "middle", ((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12.0), axes.x);
    let middle = (TOP + HEIGHT - BOTTOM) / 2.0;
    let _ = writeln!(
        out,
        r#"<text class="middle" transform="translate(18 {middle:.1}) rotate(-90)">{}</text>"#,
        escape(axes.y)
    );
    out
}

fn draw(out: &mut String, series: &Series, colour: &str, index: usize, (x, y): (&Scale, &Scale)) {
    let places: Vec<String> =
        series.points.iter().map(|(px, py)| format!("{:.1},{:.1}", x.place(*px), y.place(*py))).collect();
    let _ = writeln!(out, r#"<polyline class="series" stroke="{colour}" points="{}"/>"#, places.join(" "));
    for (px, py) in &series.points {
        let (cx, cy) = (x.place(*px), y.place(*py));
        let _ = writeln!(out, r#"<circle fill="{colour}" cx="{cx:.1}" cy="{cy:.1}" r="3.5"/>"#);
    }
    let (left, top) = (WIDTH - RIGHT + 16.0, TOP + 12.0 + 20.0 * index as f64);
    let _ = writeln!(out, r#"<rect fill="{colour}" x="{left}" y="{}" width="14" height="4"/>"#, top - 6.0);
    text(out, "legend", (left + 22.0, top), &series.name);
}

fn line(out: &mut String, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let _ = writeln!(out, r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#);
}

fn text(out: &mut String, class: &str, (x, y): (f64, f64), text: &str) {
    let _ = writeln!(out, r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{}</text>"#, escape(text));
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// A logarithmic axis from the decade below the smallest value to the one above the largest.
struct Scale {
    low: i32,
    high: i32,
    from: f64,
    to: f64,
}

impl Scale {
    fn new(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Scale {
        let low = values.clone().fold(f64::INFINITY, f64::min).max(1e-3);
        let high = values.fold(low * 10.0, f64::max);
        Scale { low: low.log10().floor() as i32, high: high.log10().ceil() as i32, from, to }
    }

    fn place(&self, value: f64) -> f64 {
        let share = (value.max(1e-3).log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        self.from + share * (self.to - self.from)
    }

    fn decades(&self) -> impl Iterator<Item = f64> {
        (self.low..=self.high).map(|decade| 10f64.powi(decade))
    }
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
        let x = Scale::new(series[0].points.iter().map(|point| point.0), LEFT, WIDTH - RIGHT);
        assert!(series[0].points.iter().all(|point| (LEFT..=WIDTH - RIGHT).contains(&x.place(point.0))));
        let drawing = svg(Axes { title: "t", x: "bytes", y: "ns" }, &series);
        assert!(drawing.contains("a &lt; b") && drawing.ends_with("</svg>\n"));
    }
}
