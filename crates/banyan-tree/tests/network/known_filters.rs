//! The filters that agents, front-ends and members of these tests know.

use banyan_ndr::RecordView;
use banyan_tree::reduce::{Filter, FilterError, FilterRole, Filters, Output, Part, Recovery};

use crate::setup::{Text, Value};

/// All of them.
pub(crate) fn known_filters() -> Filters {
    let mut filters = Filters::default();
    filters
        .register("trace", |parameters| Ok(Box::new(Trace { name: String::from_utf8_lossy(parameters).into_owned() })));
    filters.register("tally", |_| Ok(Box::new(Tally { waves: 0 })));
    filters.register("brittle", |_| Ok(Box::new(Brittle { waves: 0 })));
    filters.register("copies", |parameters| Ok(Box::new(Copies { is_moody: parameters == b"moody" })));
    filters
}

/// Of a record that no other node has seen: as many as its value says, from none to three, each with its number. With the
/// parameter `moody` it fails in some.
struct Copies {
    is_moody: bool,
}

/// How many are made of a record.
pub(crate) fn copies(value: i64) -> u32 {
    (value % 4) as u32
}

/// What a moody filter fails in at agents.
fn is_awkward(value: i64) -> bool {
    value % 32 == 3
}

impl Filter for Copies {
    fn wave(&mut self, parts: &[Part<'_>], place: FilterRole, out: &mut Output) -> Result<(), FilterError> {
        for part in parts {
            if part.is_partial {
                out.push(part.format, part.body);
                continue;
            }
            let Value { value, .. } = part.read()?;
            if self.is_moody && place == FilterRole::Inner && is_awkward(value) {
                return Err(FilterError::Custom(format!("{value} is awkward")));
            }
            (0..copies(value)).try_for_each(|ones| out.push_record(&Value { value, ones }))?;
        }
        Ok(())
    }

    fn recovery(&self) -> Recovery {
        Recovery::Recomputed
    }
}

/// Counts the waves it has seen, which nobody can do again for it.
struct Tally {
    waves: u64,
}

impl Filter for Tally {
    fn wave(&mut self, _: &[Part<'_>], _: FilterRole, out: &mut Output) -> Result<(), FilterError> {
        self.waves += 1;
        out.push_record(&Text { text: self.waves.to_string() })
    }

    fn recovery(&self) -> Recovery {
        Recovery::Lost
    }
}

/// Counts the waves it has seen, and ends in the way that a text among its parts asks for.
struct Brittle {
    waves: u64,
}

impl Filter for Brittle {
    fn wave(&mut self, parts: &[Part<'_>], _: FilterRole, out: &mut Output) -> Result<(), FilterError> {
        let texts = parts.iter().map(|part| text(part).map_err(|error| FilterError::Custom(error.to_string())));
        let texts = texts.collect::<Result<Vec<String>, _>>()?.join(",");
        self.waves += 1;
        assert!(!texts.contains("panic"), "no filter for {texts}");
        if texts.contains("exit") {
            std::process::exit(0);
        }
        if texts.contains("abort") {
            std::process::abort();
        }
        out.push_record(&Text { text: format!("{}({texts})", self.waves) })
    }

    fn recovery(&self) -> Recovery {
        Recovery::Lost
    }
}

/// Writes down who has made what of what: its name, and in brackets what it was given.
struct Trace {
    name: String,
}

impl Filter for Trace {
    fn wave(&mut self, parts: &[Part<'_>], _: FilterRole, out: &mut Output) -> Result<(), FilterError> {
        let texts = parts.iter().map(|part| text(part).map_err(|error| FilterError::Custom(error.to_string())));
        let texts = texts.collect::<Result<Vec<String>, _>>()?.join(",");
        if self.name == "strict" && texts.contains("bad") {
            return Err(FilterError::Custom(format!("{texts} is bad")));
        }
        out.push_record(&Text { text: format!("{}({texts})", self.name) })
    }

    fn recovery(&self) -> Recovery {
        Recovery::Recomputed
    }
}

fn text(part: &Part<'_>) -> Result<String, banyan_ndr::DecodeError> {
    RecordView::new(part.format, part.body)?.value::<&str>("text").map(str::to_owned)
}
