//! The page of a study: pictures, tables with medians and intervals, the machines, and the command of every run.
//!
//! One file that needs nothing else, no script either; light and dark as the reader's system is.

use std::fmt::Write as _;

use super::figure::one_text;
use super::picture::{draw, escape, label, varied};
use super::run::{quoted, shell};
use super::{CONFIDENCE, Interval, Results, Run, Summary, amount, summarize};

/// What a report is about.
#[derive(Debug, Clone, Copy)]
pub struct Study<'a> {
    /// How many runs are planned.
    pub planned: usize,
    /// The runs that are over, in the order of their numbers.
    pub runs: &'a [Run],
    /// Their figures.
    pub results: &'a Results,
    /// The plan, as it was written.
    pub plan: &'a str,
}

const STYLE: &str = "\
:root { color-scheme: light dark; --ink: #222; --dim: #5a5a5a; --line: #ddd; --back: #fff; --shade: #f5f6f8; --bad: #b00020; }
@media (prefers-color-scheme: dark) { :root { --ink: #eee; --dim: #a8a8a8; --line: #34373d; --back: #16181c; --shade: #1f2228; --bad: #ff7b86; } }
body { margin: 2rem auto; max-width: 62rem; padding: 0 1.2rem; font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back); }
h1 { font-size: 1.7rem; margin-bottom: 0.2rem; } h2 { margin-top: 2.6rem; border-bottom: 1px solid var(--line); } h3 { margin: 2rem 0 0.4rem; }
p.dim, .dim { color: var(--dim); } .bad { color: var(--bad); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.6rem 0 1rem; font-size: 14px; }
th, td { text-align: left; padding: 0.22rem 0.9rem 0.22rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; color: var(--dim); } td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code, pre { font: 13px/1.45 ui-monospace, monospace; } td code { white-space: pre-wrap; overflow-wrap: anywhere; }
pre { background: var(--shade); padding: 0.8rem 1rem; overflow-x: auto; }
summary { cursor: pointer; font-weight: 600; } nav a { margin-right: 1rem; } a { color: inherit; }
svg { display: block; max-width: 100%; height: auto; background: var(--back); font: 13px system-ui, sans-serif; }
svg text { fill: var(--ink); } .title { font-size: 16px; font-weight: 600; } svg .tick { font-size: 12px; fill: var(--dim); }
.middle { text-anchor: middle; } .end { text-anchor: end; } .grid { stroke: var(--line); stroke-width: 1; }
";

/// The page.
pub fn report(study: &Study<'_>) -> String {
    let name = escape(&study.results.study);
    let summaries = summarize(&study.results.figures);
    let groups = groups(&summaries);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<title>{name}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>{name}</h1>\n{}\n",
        overview(study)
    );
    out += &contents(&groups);
    let mut bench = "";
    for group in &groups {
        let key = &group[0].key;
        if key.bench != bench {
            bench = &key.bench;
            let _ = writeln!(out, "<h2 id=\"{0}\">{0}</h2>", escape(bench));
        }
        out += &section(group);
    }
    out += &failures(study.runs);
    out += &places(study.runs);
    out += &commands(study);
    out + "</body>\n</html>\n"
}

/// The values of each bench, operation and unit, in the order in which they come first.
fn groups(summaries: &[Summary]) -> Vec<Vec<&Summary>> {
    let mut groups: Vec<Vec<&Summary>> = Vec::new();
    for summary in summaries {
        let of = |other: &Summary| (other.key.bench.clone(), other.key.op.clone(), other.key.unit.clone());
        match groups.iter_mut().find(|group| of(group[0]) == of(summary)) {
            Some(group) => group.push(summary),
            None => groups.push(vec![summary]),
        }
    }
    // The benches stay together; within one, as they came.
    let mut benches: Vec<&str> = Vec::new();
    groups.iter().for_each(|group| {
        if !benches.contains(&group[0].key.bench.as_str()) {
            benches.push(&group[0].key.bench);
        }
    });
    groups.sort_by_key(|group| benches.iter().position(|bench| *bench == group[0].key.bench));
    groups
}

fn overview(study: &Study<'_>) -> String {
    let over = study.runs.len();
    let failed = study.runs.iter().filter(|run| run.error().is_some()).count();
    let began = study.runs.iter().map(|run| run.began.as_str()).min().unwrap_or("never");
    let last = study.runs.iter().map(|run| run.began.as_str()).max().unwrap_or("never");
    let seconds: f64 = study.runs.iter().map(|run| run.seconds).sum();
    let failed = match failed {
        0 => String::new(),
        failed => format!(", <a class=\"bad\" href=\"#failed\">{failed} failed</a>"),
    };
    let debug = if study.runs.iter().any(|run| run.environment.build == "debug") {
        "<p class=\"bad\">Measured with a debug build: the figures say little.</p>"
    } else {
        ""
    };
    format!(
        "<p>{over} of {} runs{failed}, {} figures. The first run began {}, the last {}; together they took {}.</p>{debug}\n\
         <p class=\"dim\">Each value is the median of the repetitions; behind it stands the interval that holds the true \
         median in {:.0} % of all studies, by ranks. Below six repetitions there is no such interval: then the smallest \
         and the largest value stand there, with what they cover.</p>",
        study.planned,
        study.results.figures.len(),
        escape(began),
        escape(last),
        time(seconds),
        CONFIDENCE * 100.0
    )
}

fn time(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 120.0 => format!("{seconds:.1} s"),
        seconds if seconds < 7200.0 => format!("{:.1} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

fn contents(groups: &[Vec<&Summary>]) -> String {
    let mut benches: Vec<&str> = groups.iter().map(|group| group[0].key.bench.as_str()).collect();
    benches.dedup();
    let mut out = String::from("<nav>");
    for bench in benches {
        let _ = write!(out, "<a href=\"#{0}\">{0}</a>", escape(bench));
    }
    out + "<a href=\"#machines\">machines</a><a href=\"#runs\">runs and commands</a></nav>\n"
}

fn section(group: &[&Summary]) -> String {
    let key = &group[0].key;
    let varied = varied(group);
    let mut same = key.parameters.clone();
    same.retain(|name, _| !varied.contains(name));
    let same = if same.is_empty() {
        String::new()
    } else {
        format!("<p class=\"dim\">With {}.</p>\n", escape(&one_text(&same)))
    };
    let picture = draw(&format!("median and interval, {}", key.unit), group);
    let mut out = format!("<h3>{}</h3>\n{same}<div class=\"wide\">{picture}</div>\n", escape(&key.op));
    let _ = writeln!(
        out,
        "<div class=\"wide\"><table><tr><th>value</th><th class=\"number\">runs</th><th class=\"number\">median, {}</th>\
         <th>interval</th></tr>",
        escape(&key.unit)
    );
    for summary in group {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td></tr>",
            escape(&label(summary, &varied)),
            summary.values.len(),
            amount(summary.median),
            summary.interval.as_ref().map_or_else(|| "one run".to_owned(), interval)
        );
    }
    out + "</table></div>\n"
}

fn interval(interval: &Interval) -> String {
    let told = format!("{} to {}", amount(interval.low), amount(interval.high));
    if interval.is_sure() {
        told
    } else {
        format!("{told} <span class=\"dim\">({:.0} %)</span>", interval.coverage * 100.0)
    }
}

fn failures(runs: &[Run]) -> String {
    let failed: Vec<(&Run, &str)> = runs.iter().filter_map(|run| Some((run, run.error()?))).collect();
    if failed.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<h2 id=\"failed\">Runs that failed</h2>\n<div class=\"wide\"><table><tr><th>run</th><th>why</th><th>command</th></tr>\n",
    );
    for (run, error) in failed {
        let (error, command) = (escape(error), escape(&shell(&run.command)));
        let _ =
            writeln!(out, "<tr><td>{}</td><td class=\"bad\">{error}</td><td><code>{command}</code></td></tr>", run.run);
    }
    out + "</table></div>\n"
}

/// The machines and builds, each once, with the load that was on them.
fn places(runs: &[Run]) -> String {
    let mut places: Vec<Vec<&Run>> = Vec::new();
    for run in runs {
        match places.iter_mut().find(|place| place[0].environment.is_same_place(&run.environment)) {
            Some(place) => place.push(run),
            None => places.push(vec![run]),
        }
    }
    let mut out = String::from("<h2 id=\"machines\">Machines</h2>\n");
    if places.len() > 1 {
        out += "<p class=\"bad\">The runs are not all of one machine, one build and one checkout.</p>\n";
    }
    for place in places {
        let at = &place[0].environment;
        let spread = |of: fn(&Run) -> f64| {
            let loads = place.iter().map(|run| of(run));
            let low = loads.clone().fold(f64::INFINITY, f64::min);
            format!("{low:.2} to {:.2}", loads.fold(low, f64::max))
        };
        let of_runs = [
            ("load before runs", spread(|run| run.environment.load_before)),
            ("load after runs", spread(|run| run.environment.load_after)),
            ("runs", place.len().to_string()),
        ];
        out += "<table>\n";
        at.facts().iter().chain(&of_runs).for_each(|(name, value)| {
            let _ = writeln!(out, "<tr><th>{name}</th><td>{}</td></tr>", escape(value));
        });
        out += "</table>\n";
    }
    out
}

fn commands(study: &Study<'_>) -> String {
    let mut out = format!(
        "<h2 id=\"runs\">Runs</h2>\n<details><summary>The plan</summary>\n<pre>{}</pre></details>\n<details open>\
         <summary>Every run with its command</summary>\n<div class=\"wide\"><table><tr><th>run</th><th>repetition</th>\
         <th>began</th><th class=\"number\">seconds</th><th class=\"number\">load</th><th>command</th></tr>\n",
        escape(study.plan)
    );
    let mut place = "";
    for run in study.runs {
        if run.working_directory != place {
            place = &run.working_directory;
            let _ =
                writeln!(out, "<tr><td colspan=\"5\"></td><td><code>cd {}</code></td></tr>", escape(&quoted(place)));
        }
        let mark = if run.error().is_some() { " <span class=\"bad\">failed</span>" } else { "" };
        let _ = writeln!(
            out,
            "<tr><td class=\"number\">{}{mark}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{:.1}</td><td class=\"number\">{:.2}, {:.2}</td>\
             <td><code>{}</code></td></tr>",
            run.run,
            run.repetition,
            escape(&run.began),
            run.seconds,
            run.environment.load_before,
            run.environment.load_after,
            escape(&shell(&run.command))
        );
    }
    out + "</table></div></details>\n"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::run::tests::run_with;
    use super::super::{Outcome, Run};
    use super::*;

    fn page(runs: &[Run]) -> String {
        let results = Results::of("a <study>", runs).expect("rows");
        report(&Study { planned: 9, runs, results: &results, plan: "[study] # <plan>" })
    }

    fn well(repetition: u32, value: f64) -> Run {
        let row = json!({"system": "banyan", "op": "waves", "shape": "4x16", "members": 64, "value": value, "unit": "waves/s"});
        Run { repetition, run: repetition, ..run_with(Outcome::Output(json!({"rows": [row]}))) }
    }

    #[test]
    fn the_page_has_medians_intervals_machines_and_commands() {
        let runs: Vec<Run> = (1..=6).map(|number| well(number, f64::from(number))).collect();
        let page = page(&runs);
        for part in [
            "<title>a &lt;study></title>".replace("study>", "study&gt;").as_str(),
            "6 of 9 runs, 6 figures",
            "<td class=\"number\">3.500</td><td>1.000 to 6.000</td>",
            "0123456789ab+",
            "<code>cd /data/trees</code>",
            "<code>banyan bench tree --shape 4x16</code>",
            "prefers-color-scheme: dark",
            "With members=64 quick=true shape=4x16.",
            "# &lt;plan&gt;",
        ] {
            assert!(page.contains(part), "{part} is not in\n{page}");
        }
        assert!(!page.contains("failed") && !page.contains("http://www.w3.org/1999"));
    }

    #[test]
    fn what_failed_and_what_was_measured_elsewhere_is_said() {
        let mut elsewhere = well(2, 2.0);
        elsewhere.environment.host = "h2".into();
        let failed = Run { run: 3, ..run_with(Outcome::Error("no end in <10 s>".into())) };
        let page = page(&[well(1, 1.0), elsewhere, failed]);
        assert!(page.contains("no end in &lt;10 s&gt;") && page.contains("1 failed"), "{page}");
        assert!(page.contains("not all of one machine"), "{page}");
    }

    #[test]
    fn a_study_without_runs_has_a_page() {
        assert!(page(&[]).contains("0 of 9 runs"));
    }
}
