//! What benches there are and what options they have, as the command's own arguments say: a bench that is added there can
//! be planned at once.

use clap::error::{ContextKind, ContextValue};
use clap::{ArgAction, Command, Subcommand};

use crate::benches::Bench;

/// Options that are the study's business: how results are told, and pictures, which the report has.
const OF_THE_STUDY: [&str; 4] = ["json", "plot", "svg", "help"];

/// The benches.
pub(super) struct Options(Command);

/// What an option takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Value,
    Nothing,
}

/// Why a bench refuses its arguments.
pub(super) struct Refusal {
    /// The option it is about, without dashes, if it is about one.
    pub(super) option: Option<String>,
    /// The value it is about.
    pub(super) value: Option<String>,
    pub(super) why: String,
}

impl Options {
    pub(super) fn known() -> Options {
        Options(Bench::augment_subcommands(Command::new("banyan bench")))
    }

    /// The names of the benches.
    pub(super) fn benches(&self) -> Vec<&str> {
        self.0.get_subcommands().map(Command::get_name).collect()
    }

    /// What an option of a bench takes, or why there is no such option to plan.
    pub(super) fn takes(&self, bench: &str, option: &str) -> Result<Takes, String> {
        if OF_THE_STUDY.contains(&option) {
            return Err(format!("{option} is the business of the study, which keeps every run and draws the report"));
        }
        let known = self.long_options(bench);
        match known.iter().find(|(name, _)| *name == option) {
            Some((_, takes)) => Ok(*takes),
            None => {
                let names: Vec<&str> =
                    known.iter().map(|(name, _)| *name).filter(|name| !OF_THE_STUDY.contains(name)).collect();
                Err(format!("{option:?} is not an option of bench {bench}; it has {}", names.join(", ")))
            }
        }
    }

    fn long_options(&self, bench: &str) -> Vec<(&str, Takes)> {
        let takes = |action: &ArgAction| if action.takes_values() { Takes::Value } else { Takes::Nothing };
        let arguments = self.0.find_subcommand(bench).into_iter().flat_map(Command::get_arguments);
        arguments.filter_map(|argument| Some((argument.get_long()?, takes(argument.get_action())))).collect()
    }

    /// The arguments of a run: the bench, its options, and that it tells its figures to a program and draws nothing.
    pub(super) fn arguments(&self, bench: &str, options: &[(String, String)]) -> Vec<String> {
        let mut words = vec![bench.to_owned()];
        for (name, value) in options {
            match (self.takes(bench, name), value.as_str()) {
                (Ok(Takes::Nothing), "false") => {}
                (Ok(Takes::Nothing), _) => words.push(format!("--{name}")),
                _ => words.extend([format!("--{name}"), value.clone()]),
            }
        }
        // That of trees draws only where it is told to.
        if bench != "tree" && self.long_options(bench).iter().any(|(name, _)| *name == "plot") {
            words.extend(["--plot", "none"].map(str::to_owned));
        }
        words.push("--json".to_owned());
        words
    }

    /// Whether the bench takes these arguments.
    pub(super) fn check(&self, arguments: &[String]) -> Result<(), Refusal> {
        let words = std::iter::once("banyan bench").chain(arguments.iter().map(String::as_str));
        let error = match self.0.clone().try_get_matches_from(words) {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        let text = |kind: ContextKind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.clone()),
            _ => None,
        };
        let option = text(ContextKind::InvalidArg);
        let option = option.and_then(|word| Some(word.strip_prefix("--")?.split([' ', '=']).next()?.to_owned()));
        let told = error.to_string();
        let why = told.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Err(Refusal { option, value: text(ContextKind::InvalidValue), why })
    }
}
