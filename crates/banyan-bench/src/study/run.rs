//! What a run leaves behind: how it was started, where, how it ended, and what the bench said.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Figure;
use crate::Environment;

/// One run of a bench, as the file of the run has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its number in the plan, from 1.
    pub run: u32,
    /// Which bench.
    pub bench: String,
    /// Which repetition of its configuration, from 1.
    pub repetition: u32,
    /// What the plan says about it: options of the bench.
    pub parameters: BTreeMap<String, String>,
    /// The program and its arguments, as it was started.
    pub command: Vec<String>,
    /// Where it was started, which paths in the command are seen from.
    pub working_directory: String,
    /// When, in UTC.
    pub began: String,
    /// How long it took.
    pub seconds: f64,
    /// The machine before and after.
    pub environment: Environment,
    /// How it ended.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Well: the object that the bench printed.
    Output(Value),
    /// Not well: why.
    Error(String),
}

/// Why the output of a bench is of no use.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum OutputError {
    /// It has no rows.
    #[error("the bench gave no rows")]
    NoRows,
    /// A row does not say who did what.
    #[error("row {0} does not say who did what: it has no system or no op")]
    Nameless(usize),
    /// A row has no figure.
    #[error("row {0} has neither a value with its unit nor a time (ns, us, ms or s)")]
    NoFigure(usize),
}

/// Fields of rows that are times, with their unit.
const TIMES: [(&str, &str); 4] = [("ns", "ns"), ("us", "µs"), ("ms", "ms"), ("s", "s")];

/// Fields of rows that say who was measured, and what was done; benches that take something apart name its parts.
const WHO: [&str; 3] = ["system", "layer", "layout"];
const WHAT: [&str; 3] = ["op", "measure", "part"];

/// Further fields of rows that are no parameters.
const OWN: [&str; 2] = ["unit", "over"];

impl Run {
    /// The measured values in what the bench said; none for a run that failed.
    ///
    /// # Errors
    /// If it is not what benches print.
    pub fn figures(&self, study: &str) -> Result<Vec<Figure>, OutputError> {
        let Outcome::Output(output) = &self.outcome else { return Ok(Vec::new()) };
        let rows = output["rows"].as_array().filter(|rows| !rows.is_empty()).ok_or(OutputError::NoRows)?;
        rows.iter().enumerate().map(|(index, row)| self.figure(study, index + 1, row)).collect()
    }

    fn figure(&self, study: &str, number: usize, row: &Value) -> Result<Figure, OutputError> {
        let row = row.as_object().ok_or(OutputError::Nameless(number))?;
        let name = |keys: &[&str]| keys.iter().find_map(|key| row.get(*key)?.as_str()).map(str::to_owned);
        let (system, op) = name(&WHO).zip(name(&WHAT)).ok_or(OutputError::Nameless(number))?;
        let (value, unit) = measured(row).ok_or(OutputError::NoFigure(number))?;
        Ok(Figure {
            study: study.to_owned(),
            run: self.run,
            bench: self.bench.clone(),
            system,
            op,
            parameters: self.parameters_of(row),
            value,
            unit,
            repetition: self.repetition,
        })
    }

    /// What the row says about itself, and what the plan says beyond that. Texts and whole numbers are set; numbers with a
    /// fraction are measured, and yes or no is concluded from them.
    fn parameters_of(&self, row: &Map<String, Value>) -> BTreeMap<String, String> {
        let mut parameters = self.parameters.clone();
        parameters.remove("op");
        let is_other = |name: &str| [&WHO[..], &WHAT, &OWN].iter().all(|names| !names.contains(&name));
        for (name, value) in row.iter().filter(|(name, _)| is_other(name)) {
            match value {
                Value::String(text) => drop(parameters.insert(name.clone(), text.clone())),
                Value::Number(number) if !number.is_f64() => drop(parameters.insert(name.clone(), number.to_string())),
                _ => {}
            }
        }
        parameters
    }

    /// Why it failed, if it did.
    pub fn error(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Output(_) => None,
            Outcome::Error(error) => Some(error),
        }
    }
}

/// A value with its unit, or a time.
fn measured(row: &Map<String, Value>) -> Option<(f64, String)> {
    let number = |key: &str| row.get(key).and_then(Value::as_f64);
    let with_unit = number("value").zip(row.get("unit").and_then(Value::as_str).map(str::to_owned));
    with_unit.or_else(|| TIMES.iter().find_map(|(key, unit)| Some((number(key)?, (*unit).to_owned()))))
}

/// The command as one can paste it into a shell.
pub fn shell(command: &[String]) -> String {
    let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

/// A word as a shell takes it.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::super::figure::one_text;
    use super::*;

    /// A run of a bench of trees that ended like this.
    pub(in crate::study) fn run_with(outcome: Outcome) -> Run {
        let environment = Environment {
            host: "h1".into(),
            cpu: "a processor".into(),
            cores: 2,
            kernel: "6.1".into(),
            arch: "x86_64".into(),
            load_before: 0.1,
            load_after: 1.5,
            version: "0.1.0".into(),
            build: "release".into(),
            commit: None,
            checked_out: Some("0123456789ab+".into()),
        };
        Run {
            run: 7,
            bench: "tree".into(),
            repetition: 2,
            parameters: [("op", "waves"), ("quick", "true"), ("shape", "4x16")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            command: ["banyan", "bench", "tree", "--shape", "4x16"].map(str::to_owned).into(),
            working_directory: "/data/trees".into(),
            began: "2026-01-02T03:04:05.678Z".into(),
            seconds: 1.5,
            environment,
            outcome,
        }
    }

    fn figures_of(row: Value) -> Result<Vec<Figure>, OutputError> {
        run_with(Outcome::Output(json!({ "bench": "tree", "rows": [row] }))).figures("s")
    }

    #[test]
    fn rows_of_every_bench_become_figures_with_unit_and_parameters() {
        let rows = [
            (
                json!({"system": "banyan", "op": "waves", "shape": "4x16", "members": 64, "value": 2.5, "unit": "waves/s",
                       "times_floor": 1.0}),
                (2.5, "waves/s", "members=64 quick=true shape=4x16"),
            ),
            (
                json!({"system": "memcpy", "op": "copy", "record": "plain", "bytes": 96, "ns": 4.0, "ns_median": 5.0}),
                (4.0, "ns", "bytes=96 quick=true record=plain shape=4x16"),
            ),
            (
                json!({"system": "floor", "op": "launch", "program": "static", "members": 8, "ms": 7.5,
                       "ratio": {"to": "x", "times": 2.0}}),
                (7.5, "ms", "members=8 program=static quick=true shape=4x16"),
            ),
            (
                json!({"layer": "hop", "measure": "latency", "bytes": 64, "value": 30.5, "unit": "µs", "low": 30.0,
                       "over": "link", "within_noise": false}),
                (30.5, "µs", "bytes=64 quick=true shape=4x16"),
            ),
            (
                json!({"layout": "same", "part": "encode", "way": "there", "bytes": 96, "value": 1.5, "unit": "µs"}),
                (1.5, "µs", "bytes=96 quick=true shape=4x16 way=there"),
            ),
        ];
        for (row, (value, unit, parameters)) in rows {
            let figure = figures_of(row).unwrap().remove(0);
            assert_eq!((figure.value, &*figure.unit), (value, unit));
            assert_eq!((one_text(&figure.parameters), figure.run, figure.repetition), (parameters.to_owned(), 7, 2));
        }
    }

    #[test]
    fn what_is_no_output_of_a_bench_is_refused() {
        assert_eq!(run_with(Outcome::Output(json!({"rows": []}))).figures("s"), Err(OutputError::NoRows));
        assert_eq!(run_with(Outcome::Output(json!(3))).figures("s"), Err(OutputError::NoRows));
        assert_eq!(figures_of(json!([1])), Err(OutputError::Nameless(1)));
        assert_eq!(figures_of(json!({"system": "a", "op": "b", "value": 1.5})), Err(OutputError::NoFigure(1)));
    }

    #[test]
    fn a_run_is_the_same_after_it_was_written_and_read() {
        for outcome in [Outcome::Output(json!({"rows": [1.5]})), Outcome::Error("ended by itself".into())] {
            let run = run_with(outcome);
            let text = serde_json::to_string(&run).unwrap();
            assert_eq!(serde_json::from_str::<Run>(&text).unwrap(), run, "{text}");
        }
    }

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let words = ["/bin/banyan", "--shape", "4x16", "it's", ""].map(str::to_owned);
        assert_eq!(shell(&words), r"/bin/banyan --shape 4x16 'it'\''s' ''");
    }
}
