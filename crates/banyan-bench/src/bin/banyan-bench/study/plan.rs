//! The plan of a study: a TOML file with `[study]`, which says how, and `[[bench]]` tables, which say what.
//!
//! Every key of a `[[bench]]` table but `bench` is an option of that bench; a list of values means each of them in turn.
//! Everything is checked before anything runs, and every error has its line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::options::{Options, Takes};
use banyan_cli::config::{ConfigText, Item, number, text_of, word};
use banyan_cli::failure::Failure;
use banyan_cli::hosts::time;

/// The most runs of a study: at a second each, three hours; more is a mistake in the lists.
const MAX_RUNS: u64 = 10_000;

/// Bytes of an option's value: each of the runs has it.
const MAX_VALUE_BYTES: usize = 4 << 10;

/// How long a run may take if the plan does not say.
const DEADLINE: Duration = Duration::from_secs(30 * 60);

const TABLES: &str = "there are [study] and [[bench]]";
const KEYS: &str = "there are name, directory, repetitions, order, seed and deadline";

/// What a plan says.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) name: String,
    directory: Option<PathBuf>,
    pub(super) repetitions: u32,
    pub(super) order: RunOrder,
    /// How long a run may take.
    pub(super) deadline: Duration,
    pub(super) configurations: Vec<Configuration>,
    /// As it was written.
    pub(super) text: String,
}

/// In which order the configurations of a repetition run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunOrder {
    /// As they stand in the plan.
    Given,
    /// In another order in each repetition, which a seed decides.
    Shuffled(u64),
}

/// A bench with one value for each of its options.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Configuration {
    pub(super) bench: String,
    pub(super) options: Vec<(String, String)>,
    /// What the bench is called with.
    pub(super) arguments: Vec<String>,
}

/// An option of a bench with the values it takes in turn.
struct PlanAxis {
    option: String,
    /// With their places in the text.
    values: Vec<(String, usize)>,
}

impl Plan {
    /// Reads a plan.
    pub(super) fn read(path: &Path) -> Result<Plan, Failure> {
        let options = Options::known();
        if path.is_dir() {
            let directory = path.display();
            return Err(Failure::usage(format!(
                "{directory}: is a directory; if it is that of a study, go on with: banyan bench {directory}/plan.toml \
                 --into {directory}"
            )));
        }
        let Some(text) = text_of(path)? else {
            return Err(Failure::usage(format!(
                "{}: no such file; give the plan of a study, or one of the benches: {}",
                path.display(),
                options.benches().join(", ")
            )));
        };
        Plan::parse(path, &text, &options).map_err(Failure::usage)
    }

    fn parse(path: &Path, text: &str, options: &Options) -> Result<Plan, String> {
        let source = ConfigText { path, text };
        let root = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            format!("{}: {}; a plan is TOML, as in: shape = [\"1x16\", \"4x16\"]", source.place_at(at), error.message())
        })?;
        let mut plan = Plan {
            name: String::new(),
            directory: None,
            repetitions: 1,
            order: RunOrder::Given,
            deadline: DEADLINE,
            configurations: Vec::new(),
            text: text.to_owned(),
        };
        // Repetitions are known before the runs of the benches are counted.
        for (name, item) in root.get_ref() {
            match name.get_ref().as_ref() {
                "study" => plan.study(&source, item)?,
                "bench" => {}
                other => return Err(source.wrong(name, format_args!("{other:?} is not known; {TABLES}"))),
            }
        }
        if plan.name.is_empty() {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            plan.name = study_name(&stem).map_err(|error| {
                format!("{}: {stem:?} {error}; write name = \"…\" under [study], or rename the file", path.display())
            })?;
        }
        let empty =
            || format!("{}: has no [[bench]]; write for example [[bench]] and bench = \"tree\"", path.display());
        let (name, benches) = root.get_ref().get_key_value("bench").ok_or_else(empty)?;
        let wrong = || source.wrong(name, "bench is a list of tables; write [[bench]], not [bench]");
        for item in benches.get_ref().as_array().ok_or_else(wrong)? {
            let table = item.get_ref().as_table().ok_or_else(wrong)?;
            plan.bench(&source, item, table, options)?;
        }
        Ok(plan)
    }

    fn study(&mut self, source: &ConfigText<'_>, item: &Item<'_>) -> Result<(), String> {
        let table = item.get_ref().as_table().ok_or_else(|| source.wrong(item, "study is a table; write [study]"))?;
        let mut seed = None;
        let mut is_shuffled = false;
        for (key, item) in table {
            match key.get_ref().as_ref() {
                "name" => self.name = word(source, item, study_name)?,
                "directory" => self.directory = Some(word(source, item, |text| Ok(PathBuf::from(text)))?),
                "repetitions" => {
                    let repetitions = number(source, item)?;
                    let repetitions = u32::try_from(repetitions).ok().filter(|count| u64::from(*count) <= MAX_RUNS);
                    let too_many =
                        || source.wrong(item, format_args!("is more than {MAX_RUNS} runs; repeat less often"));
                    self.repetitions = repetitions.ok_or_else(too_many)?;
                }
                "order" => is_shuffled = word(source, item, order)?,
                "seed" => seed = Some((number(source, item)? as u64, key)),
                "deadline" => self.deadline = word(source, item, time)?,
                other => return Err(source.wrong(key, format_args!("{other:?} is not known; {KEYS}"))),
            }
        }
        self.order = match (is_shuffled, seed) {
            (true, seed) => RunOrder::Shuffled(seed.map_or(1, |(seed, _)| seed)),
            (false, None) => RunOrder::Given,
            (false, Some((_, key))) => {
                let useless = "seed decides nothing here; write order = \"shuffled\", or leave it out";
                return Err(source.wrong(key, useless));
            }
        };
        Ok(())
    }

    fn bench(
        &mut self,
        source: &ConfigText<'_>,
        item: &Item<'_>,
        table: &DeTable<'_>,
        options: &Options,
    ) -> Result<(), String> {
        let benches = options.benches().join(", ");
        let named = table.get("bench").ok_or_else(|| {
            source.wrong(item, format_args!("says not which bench; write bench = \"…\", one of {benches}"))
        })?;
        let is_known = |text: &str| match options.benches().contains(&text) {
            true => Ok(text.to_owned()),
            false => Err(format!("no such bench; there are {benches}")),
        };
        let bench = word(source, named, is_known)?;
        // As they stand in the file: the table has them by name.
        let mut entries: Vec<_> = table.iter().filter(|(key, _)| key.get_ref() != "bench").collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let axes = entries.into_iter().map(|(key, item)| axis(source, &bench, key, item, options));
        let axes = axes.collect::<Result<Vec<PlanAxis>, String>>()?;
        let count = axes
            .iter()
            .try_fold(u64::from(self.repetitions), |count, axis| count.checked_mul(axis.values.len() as u64));
        let before = self.configurations.len() as u64 * u64::from(self.repetitions);
        if count.is_none_or(|count| count.saturating_add(before) > MAX_RUNS) {
            return Err(
                source.wrong(item, format_args!("the study has more than {MAX_RUNS} runs; vary or repeat less"))
            );
        }
        for chosen in product(&axes) {
            let arguments = options.arguments(&bench, &chosen);
            options.check(&arguments).map_err(|refusal| {
                let of_option = axes.iter().find(|axis| Some(&axis.option) == refusal.option.as_ref());
                let value = |axis: &PlanAxis| {
                    axis.values.iter().find(|(value, _)| Some(value) == refusal.value.as_ref()).map(|(_, at)| *at)
                };
                let at = of_option.and_then(value).unwrap_or(item.span().start);
                format!("{}: {}; look at: banyan bench {bench} --help", source.place_at(at), refusal.why)
            })?;
            self.configurations.push(Configuration { bench: bench.clone(), options: chosen, arguments });
        }
        Ok(())
    }

    /// Where the study is kept: what the plan says, seen from where the plan is, or its name.
    pub(super) fn directory(&self, path: &Path) -> PathBuf {
        let directory = self.directory.clone().unwrap_or_else(|| PathBuf::from(&self.name));
        path.parent().unwrap_or(Path::new("")).join(directory)
    }
}

fn axis(
    source: &ConfigText<'_>,
    bench: &str,
    key: &Spanned<std::borrow::Cow<'_, str>>,
    item: &Item<'_>,
    options: &Options,
) -> Result<PlanAxis, String> {
    let option = key.get_ref().to_string();
    let takes = options.takes(bench, &option).map_err(|error| source.wrong(key, error))?;
    let values = match item.get_ref() {
        DeValue::Array(items) => {
            items.iter().map(|item| value(source, &option, takes, item)).collect::<Result<Vec<_>, _>>()?
        }
        _ => vec![value(source, &option, takes, item)?],
    };
    if values.is_empty() {
        return Err(source.wrong(item, format_args!("{option} has no values; write one, or leave it out")));
    }
    Ok(PlanAxis { option, values })
}

fn value(source: &ConfigText<'_>, option: &str, takes: Takes, item: &Item<'_>) -> Result<(String, usize), String> {
    let text = match (item.get_ref(), takes) {
        (DeValue::String(text), Takes::Value) => Some(text.to_string()),
        (DeValue::Integer(number), Takes::Value) if number.radix() == 10 => Some(number.as_str().replace('_', "")),
        (DeValue::Boolean(on), Takes::Nothing) => Some(on.to_string()),
        _ => None,
    };
    let wanted = match takes {
        Takes::Value => "a text or a whole number, or a list of them",
        Takes::Nothing => "true or false, or a list of them",
    };
    let text = text.ok_or_else(|| source.wrong(item, format_args!("{option} is {wanted}")))?;
    if text.len() > MAX_VALUE_BYTES {
        return Err(source.wrong(item, format_args!("is longer than {MAX_VALUE_BYTES} bytes; write less")));
    }
    Ok((text, item.span().start))
}

/// Every choice of one value of each.
fn product(axes: &[PlanAxis]) -> Vec<Vec<(String, String)>> {
    let mut all = vec![Vec::new()];
    for axis in axes {
        let longer = |chosen: &Vec<(String, String)>, value: &String| {
            let mut chosen = chosen.clone();
            chosen.push((axis.option.clone(), value.clone()));
            chosen
        };
        all = all.iter().flat_map(|chosen| axis.values.iter().map(move |(value, _)| longer(chosen, value))).collect();
    }
    all
}

/// A name that can be that of a directory, and of a job.
pub(super) fn study_name(text: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_name = text.bytes().all(is_plain) && !text.is_empty() && text.len() <= 100 && !text.starts_with(['.', '-']);
    if is_name { Ok(text.to_owned()) } else { Err("is not a name for a study; use letters, digits and -_.".to_owned()) }
}

fn order(text: &str) -> Result<bool, String> {
    match text {
        "shuffled" => Ok(true),
        "given" => Ok(false),
        _ => Err("there are shuffled and given".to_owned()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::study) fn read(text: &str) -> Result<Plan, String> {
        Plan::parse(Path::new("deep/p.toml"), text, &Options::known())
    }

    const PLAN: &str = "\
[study]
name = \"trees\"
repetitions = 3
order = \"shuffled\"
seed = 7
deadline = \"90s\"

[[bench]]
bench = \"tree\"
shape = [\"1x16\", \"4x16\"]
op = [\"waves\", \"round_trip\"]
quick = true

[[bench]]
bench = \"collectives\"
members = [1_000, 8]
quick = [false, true]
";

    #[test]
    fn the_cross_product_of_the_lists_is_run_by_the_options_of_the_benches() {
        let plan = read(PLAN).unwrap();
        assert_eq!((plan.name.as_str(), plan.repetitions, plan.order), ("trees", 3, RunOrder::Shuffled(7)));
        assert_eq!((plan.deadline, plan.configurations.len()), (Duration::from_secs(90), 8));
        let arguments: Vec<String> =
            plan.configurations.iter().map(|configuration| configuration.arguments.join(" ")).collect();
        assert!(arguments.contains(&"tree --shape 1x16 --op round_trip --quick --json".to_owned()), "{arguments:?}");
        assert!(arguments.contains(&"collectives --members 1000 --plot none --json".to_owned()), "{arguments:?}");
        assert!(arguments.contains(&"collectives --members 8 --quick --plot none --json".to_owned()), "{arguments:?}");
    }

    #[test]
    fn a_study_is_kept_beside_its_plan() {
        let path = Path::new("deep/p.toml");
        let of = |text: &str| read(&format!("{text}\n[[bench]]\nbench = \"records\"\n")).unwrap().directory(path);
        assert_eq!(of(""), Path::new("deep/p"));
        assert_eq!(of("[study]\nname = \"n\""), Path::new("deep/n"));
        assert_eq!(of("[study]\ndirectory = \"a/b\""), Path::new("deep/a/b"));
        assert_eq!(of("[study]\ndirectory = \"/a\""), Path::new("/a"));
    }

    #[test]
    fn a_plan_whose_file_cannot_name_the_study_must_say_its_name() {
        let of = |path: &str, text: &str| {
            Plan::parse(Path::new(path), &format!("{text}[[bench]]\nbench = \"records\"\n"), &Options::known())
        };
        assert_eq!(of("mine", "").unwrap().name, "mine");
        assert_eq!(of("a b.toml", "[study]\nname = \"n\"\n").unwrap().name, "n");
        for path in ["a b.toml", "a\nb.toml", "-a.toml", ""] {
            let error = of(path, "").expect_err(path);
            assert!(error.contains("is not a name for a study; use letters"), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_line_cause_and_remedy() {
        let tree = "[[bench]]\nbench = \"tree\"\n";
        for (text, says) in [
            ("", "p.toml: has no [[bench]]; write"),
            ("[study]\nname = \"a b\"\n", "line 2: \"a b\": is not a name for a study; use letters"),
            ("[study]\nrepetitions = 0\n", "line 2: is not a number of at least 1"),
            ("[study]\nrepetitions = 1000000\n", "line 2: is more than 10000 runs"),
            ("[study]\norder = \"random\"\n", "line 2: \"random\": there are shuffled and given"),
            ("[study]\nseed = 3\n", "line 2: seed decides nothing here; write order = "),
            ("[study]\nrepeat = 3\n", "line 2: \"repeat\" is not known; there are name"),
            ("study = 1\n", "line 1: study is a table"),
            ("[studies]\n", "line 1: \"studies\" is not known; there are [study]"),
            ("[bench]\nbench = \"tree\"\n", "line 1: bench is a list of tables; write [[bench]]"),
            ("[[bench]]\nshape = \"1x2\"\n", "line 1: says not which bench; write bench = "),
            ("[[bench]]\nbench = \"dance\"\n", "line 2: \"dance\": no such bench; there are records, launch"),
            (
                &format!("{tree}sape = \"1x2\"\n"),
                "line 3: \"sape\" is not an option of bench tree; it has shape, op, quick",
            ),
            (&format!("{tree}json = true\n"), "line 3: json is the business of the study"),
            (&format!("{tree}svg = \"x\"\n"), "line 3: svg is the business of the study"),
            (&format!("{tree}quick = \"yes\"\n"), "line 3: quick is true or false"),
            (&format!("{tree}shape = true\n"), "line 3: shape is a text or a whole number"),
            (&format!("{tree}shape = \"{}\"\n", "1".repeat(5000)), "line 3: is longer than 4096 bytes"),
            (&format!("{tree}shape = []\n"), "line 3: shape has no values"),
            (&format!("{tree}shape = [\n  \"1x2\",\n  \"4x\",\n]\n"), "line 5: invalid value '4x' for '--shape <AxB>'"),
            (&format!("{tree}op = \"dance\"\n"), "line 3: invalid value 'dance'"),
            ("[[bench]]\nbench = \"launch\"\nssh-config = \"x\"\n", "line 1: "),
            ("[[bench]\n", "line 1: "),
            (
                "[study]\nrepetitions = 9000\n[[bench]]\nbench = \"tree\"\nquick = [true, false]\n",
                "line 3: the study has more than",
            ),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(says), "{text:?}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
