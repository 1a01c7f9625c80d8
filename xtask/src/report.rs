//! What is told to the person at the terminal: a line for each part of a step as it ends, then a table of the steps,
//! then what was left out and why, then the count. Steps run side by side, so their times add up to more than the
//! total; the processor time of a step is the same whatever runs beside it, so it is the one to compare.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "telling the user is what this module is for")]

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::iter::Sum;
use std::process::ExitCode;
use std::time::Duration;

use crate::run::Failure;

/// Why a part of a step did not pass.
#[derive(Debug)]
pub(crate) enum Problem {
    /// It found something wrong.
    Failed(String),
    /// It could not be run here, for this reason.
    LeftOut(String),
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Problem {
        Problem::Failed(failure.to_string())
    }
}

/// How a part ended. What passed can say something about itself: how many tests, say; further lines stand below.
pub(crate) type Outcome = Result<String, Problem>;

/// What a part took.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    /// By the clock.
    pub(crate) time: Duration,
    /// Of processors, by its commands.
    pub(crate) processor: Duration,
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(costs: I) -> Cost {
        costs.fold(Cost::default(), |sum, cost| Cost {
            time: sum.time + cost.time,
            processor: sum.processor + cost.processor,
        })
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>9} {:>9}", seconds(self.time), seconds(self.processor))
    }
}

struct Part {
    step: &'static str,
    name: String,
    cost: Cost,
    outcome: Outcome,
}

/// All parts that were run, in order.
#[derive(Default)]
pub(crate) struct Report {
    parts: Vec<Part>,
}

impl Report {
    /// Adds a part, and tells of it.
    pub(crate) fn add(&mut self, step: &'static str, name: &str, cost: Cost, outcome: Outcome) {
        let title = format!("{step} {name}");
        let told = match &outcome {
            Ok(note) => format!("ok        {}", note.lines().next().unwrap_or_default()),
            Err(Problem::Failed(_)) => "FAILED".to_owned(),
            Err(Problem::LeftOut(why)) => format!("left out  {why}"),
        };
        show(&format!("{title:<44} {cost}  {}", told.trim_end()));
        match &outcome {
            Ok(note) => note.lines().skip(1).for_each(|line| show(&format!("  {line}"))),
            Err(Problem::Failed(output)) => output.lines().for_each(|line| show(&format!("  | {line}"))),
            Err(Problem::LeftOut(_)) => {}
        }
        self.parts.push(Part { step, name: name.to_owned(), cost, outcome });
    }

    /// Whether any part failed.
    pub(crate) fn has_failure(&self) -> bool {
        self.parts.iter().any(|part| matches!(part.outcome, Err(Problem::Failed(_))))
    }

    /// Tells of all parts together.
    pub(crate) fn close(&self, total: Duration) -> ExitCode {
        println!("\n{}", self.summary(total));
        if self.has_failure() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }

    fn summary(&self, total: Duration) -> String {
        let mut lines = vec![format!("{:<10} {:>9} {:>9}  result", "step", "time", "processor")];
        let (mut passed, mut failed) = (0, 0);
        for step in self.steps() {
            let parts: Vec<&Part> = self.parts.iter().filter(|part| part.step == step).collect();
            let bad: Vec<&str> = names(&parts, |outcome| matches!(outcome, Err(Problem::Failed(_))));
            let out = names(&parts, |outcome| matches!(outcome, Err(Problem::LeftOut(_))));
            let result = match (bad.is_empty(), out.len()) {
                (false, _) => format!("FAILED: {}", bad.join(", ")),
                (true, 0) => "passed".to_owned(),
                (true, count) if count == parts.len() => "left out".to_owned(),
                (true, _) => format!("passed, but for {}", out.join(", ")),
            };
            failed += usize::from(!bad.is_empty());
            passed += usize::from(bad.is_empty() && out.len() < parts.len());
            let cost: Cost = parts.iter().map(|part| part.cost).sum();
            lines.push(format!("{step:<10} {cost}  {result}"));
        }
        let all: Cost = self.parts.iter().map(|part| part.cost).sum();
        lines.push(format!("{:<10} {}", "total", Cost { time: total, ..all }));
        lines.extend(self.left_out());
        lines.push(format!("\n{passed} passed, {failed} failed"));
        lines.join("\n")
    }

    /// The steps in the order in which their first parts ended.
    fn steps(&self) -> Vec<&'static str> {
        let mut steps: Vec<&'static str> = Vec::new();
        for part in &self.parts {
            if !steps.contains(&part.step) {
                steps.push(part.step);
            }
        }
        steps
    }

    fn left_out(&self) -> Vec<String> {
        let out = self.parts.iter().filter_map(|part| match &part.outcome {
            Err(Problem::LeftOut(why)) => Some(format!("  {} {}: {why}", part.step, part.name)),
            _ => None,
        });
        let mut lines: Vec<String> = out.collect();
        if !lines.is_empty() {
            lines.insert(0, "\nLeft out:".to_owned());
        }
        lines
    }
}

fn names<'a>(parts: &[&'a Part], is: impl Fn(&Outcome) -> bool) -> Vec<&'a str> {
    parts.iter().filter(|part| is(&part.outcome)).map(|part| part.name.as_str()).collect()
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// Says what is being done, to a person who waits at a terminal. The next line shown takes its place.
pub(crate) fn doing(step: &str, name: &str) {
    if io::stdout().is_terminal() {
        print!("{step} {name} …\r");
        let _ = io::stdout().flush();
    }
}

/// Shows a line.
pub(crate) fn show(line: &str) {
    let erase = if io::stdout().is_terminal() { "\x1b[K" } else { "" };
    println!("{erase}{line}");
}

/// Prints a text that was asked for.
pub(crate) fn say(text: &str) -> ExitCode {
    println!("{text}");
    ExitCode::SUCCESS
}

/// Says something that is no result.
pub(crate) fn warn(text: &str) {
    eprintln!("{text}");
}

/// Says what was wrong with the arguments.
pub(crate) fn refuse(text: &str) -> ExitCode {
    eprintln!("{text}");
    ExitCode::from(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(outcomes: Vec<(&'static str, &str, Outcome)>) -> Report {
        let mut report = Report::default();
        for (step, name, outcome) in outcomes {
            let cost = Cost { time: Duration::from_millis(1500), processor: Duration::from_millis(2250) };
            report.add(step, name, cost, outcome);
        }
        report
    }

    #[test]
    fn the_summary_counts_steps_and_lists_what_was_left_out() {
        let report = report(vec![
            ("fmt", "workspace", Ok(String::new())),
            ("cross", "s390x", Ok("12 tests".into())),
            ("fuzz", "targets", Err(Problem::LeftOut("no nightly".into()))),
            ("cross", "powerpc", Err(Problem::LeftOut("no compiler".into()))),
        ]);
        let text = report.summary(Duration::from_secs(9));
        assert!(text.contains("cross          3.0 s     4.5 s  passed, but for powerpc\n"), "{text}");
        assert!(text.contains("fuzz           1.5 s     2.2 s  left out\n"), "{text}");
        assert!(text.contains("total          9.0 s     9.0 s\n"), "{text}");
        assert!(text.contains("Left out:\n  fuzz targets: no nightly\n  cross powerpc: no compiler\n"), "{text}");
        assert!(text.ends_with("\n2 passed, 0 failed"), "{text}");
        assert!(!report.has_failure());
    }

    #[test]
    fn one_failed_part_fails_its_step_and_the_whole() {
        let report = report(vec![
            ("tests", "workspace", Ok(String::new())),
            ("tests", "doc", Err(Problem::Failed("bad".into()))),
        ]);
        let text = report.summary(Duration::from_secs(3));
        assert!(text.contains("FAILED: doc\n") && text.ends_with("\n0 passed, 1 failed"), "{text}");
        assert!(report.has_failure());
    }
}
