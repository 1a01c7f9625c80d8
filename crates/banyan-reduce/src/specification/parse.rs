//! Specifications as text: `max(temp), top(5, rss) as largest by host, user`.

use super::{Aggregate, Function, Path, Specification, SpecificationError};

/// Characters of a wrong text that an error shows.
const SHOWN: usize = 40;

impl std::str::FromStr for Specification {
    type Err = SpecificationError;

    fn from_str(text: &str) -> Result<Specification, SpecificationError> {
        let mut parser = Parser { text, at: 0, counted: (0, 1) };
        let is_strict = parser.takes_word("strict");
        let mut aggregates = Vec::new();
        loop {
            aggregates.push(parser.aggregate()?);
            if !parser.takes(',') {
                break;
            }
        }
        let by = if parser.takes_word("by") { parser.keys()? } else { Vec::new() };
        if !parser.rest().is_empty() {
            return Err(parser.unexpected("a comma, by, or the end"));
        }
        Ok(Specification::new(aggregates, by)?.strict(is_strict))
    }
}

/// Whether a sign may stand in the names of functions and results.
pub(super) fn is_of_a_word(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    /// A place that was passed, and the column there: from there on characters are counted.
    counted: (usize, usize),
}

/// A piece of the text and the column at which it begins.
struct Piece<'t> {
    column: usize,
    text: &'t str,
}

impl<'t> Parser<'t> {
    fn aggregate(&mut self) -> Result<Aggregate, SpecificationError> {
        let word = self.word();
        if word.text.is_empty() {
            return Err(if self.rest().is_empty() {
                SpecificationError::Empty { column: word.column }
            } else {
                self.unexpected("a function")
            });
        }
        if !self.takes('(') {
            return Err(self.unexpected("an opening parenthesis"));
        }
        let column = self.column();
        let arguments = self.arguments()?;
        let function = function(&word, column, &arguments)?;
        let name = if self.takes_word("as") { self.name()? } else { function.to_string() };
        Ok(Aggregate { function, name })
    }

    /// What stands between the parentheses, cut at the commas.
    fn arguments(&mut self) -> Result<Vec<Piece<'t>>, SpecificationError> {
        let mut arguments = Vec::new();
        loop {
            let argument = self.until(&[',', ')']);
            if self.takes(')') {
                if !(argument.text.is_empty() && arguments.is_empty()) {
                    arguments.push(argument);
                }
                return Ok(arguments);
            }
            arguments.push(argument);
            if !self.takes(',') {
                return Err(self.unexpected("a closing parenthesis"));
            }
        }
    }

    fn keys(&mut self) -> Result<Vec<Path>, SpecificationError> {
        let mut keys = Vec::new();
        loop {
            let key = self.until(&[',']);
            keys.push(Path::parse(key.text, key.column)?);
            if !self.takes(',') {
                return Ok(keys);
            }
        }
    }

    fn name(&mut self) -> Result<String, SpecificationError> {
        let name = self.word();
        if name.text.is_empty() { Err(self.unexpected("a name")) } else { Ok(name.text.to_owned()) }
    }

    fn word(&mut self) -> Piece<'t> {
        let column = self.column();
        let rest = self.rest();
        let end = rest.find(|sign| !is_of_a_word(sign)).unwrap_or(rest.len());
        self.at += end;
        Piece { column, text: &rest[..end] }
    }

    /// Everything up to one of `ends` outside quotes, without the spaces around it.
    fn until(&mut self, ends: &[char]) -> Piece<'t> {
        let column = self.column();
        let rest = self.rest();
        let mut quoted = false;
        let end = rest.find(|c: char| {
            quoted ^= c == '"';
            !quoted && ends.contains(&c)
        });
        let end = end.unwrap_or(rest.len());
        self.at += end;
        Piece { column, text: rest[..end].trim_end() }
    }

    fn takes(&mut self, sign: char) -> bool {
        let taken = self.rest().starts_with(sign);
        self.at += if taken { sign.len_utf8() } else { 0 };
        taken
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let before = self.at;
        let taken = self.word().text == word;
        if !taken {
            self.at = before;
        }
        taken
    }

    /// What is left, behind any spaces.
    fn rest(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        rest.trim_start()
    }

    fn column(&mut self) -> usize {
        self.rest();
        let (from, column) = if self.counted.0 <= self.at { self.counted } else { (0, 1) };
        self.counted = (self.at, column + self.text[from..self.at].chars().count());
        self.counted.1
    }

    fn unexpected(&mut self, wanted: &'static str) -> SpecificationError {
        let column = self.column();
        let found = match self.rest() {
            "" => "the end of the text".into(),
            rest => rest.chars().take(SHOWN).collect(),
        };
        SpecificationError::Unexpected { column, found, wanted }
    }
}

/// How a function is written, for errors.
fn example(word: &str) -> Option<(&'static str, &'static str)> {
    Some(match word {
        "count" => ("count", "count() or count(load)"),
        "sum" => ("sum", "sum(load)"),
        "exact_sum" => ("exact_sum", "exact_sum(load)"),
        "avg" => ("avg", "avg(load)"),
        "min" => ("min", "min(temp)"),
        "max" => ("max", "max(temp)"),
        "first" => ("first", "first(host)"),
        "concat" => ("concat", "concat(name)"),
        "top" => ("top", "top(5, rss)"),
        "hist" => ("hist", "hist(latency, 0, 100, 20)"),
        "quantile" => ("quantile", "quantile(0.5, 0.99, load)"),
        "distinct" => ("distinct", "distinct(user)"),
        "classes" => ("classes", "classes(state)"),
        "union" => ("union", "union(tags)"),
        _ => return None,
    })
}

fn function(word: &Piece<'_>, column: usize, given: &[Piece<'_>]) -> Result<Function, SpecificationError> {
    let (name, example) = example(word.text)
        .ok_or_else(|| SpecificationError::Function { column: word.column, name: word.text.into() })?;
    let wrong = |column, reason: String| SpecificationError::Arguments { column, name, reason, example };
    let path = |piece: &Piece<'_>| Path::parse(piece.text, piece.column);
    let number = |piece: &Piece<'_>| {
        let number = piece.text.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| wrong(piece.column, format!("takes a number where {:?} stands", piece.text)))
    };
    let whole = |piece: &Piece<'_>| {
        let whole = piece.text.parse::<u32>().ok();
        whole.ok_or_else(|| wrong(piece.column, format!("takes a whole number where {:?} stands", piece.text)))
    };
    let function = match (name, given) {
        ("count", []) => Function::Count(None),
        ("count", [of]) => Function::Count(Some(path(of)?)),
        ("sum", [of]) => Function::Sum(path(of)?),
        ("exact_sum", [of]) => Function::ExactSum(path(of)?),
        ("avg", [of]) => Function::Average(path(of)?),
        ("min", [of]) => Function::Minimum(path(of)?),
        ("max", [of]) => Function::Maximum(path(of)?),
        ("first", [of]) => Function::First(path(of)?),
        ("concat", [of]) => Function::Concatenate(path(of)?),
        ("distinct", [of]) => Function::Distinct(path(of)?),
        ("classes", [of]) => Function::Classes(path(of)?),
        ("union", [of]) => Function::Union(path(of)?),
        ("top", [count, of]) => Function::Top { count: whole(count)?, path: path(of)? },
        ("hist", [of, low, high, bins]) => {
            Function::Histogram { path: path(of)?, low: number(low)?, high: number(high)?, bins: whole(bins)? }
        }
        ("quantile", [shares @ .., of]) if !shares.is_empty() => {
            Function::Quantile { shares: shares.iter().map(number).collect::<Result<_, _>>()?, path: path(of)? }
        }
        _ => return Err(wrong(column, format!("does not take {} arguments", given.len()))),
    };
    match super::unfit(&function) {
        Some(reason) => Err(wrong(column, reason)),
        None => Ok(function),
    }
}
