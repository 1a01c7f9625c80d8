//! Records as text for people: on one line with `{}`, on many with `{:#}`. Names and texts come from anyone and go to
//! terminals, so what is not printable in them is escaped.

use std::collections::HashMap;
use std::fmt::{self, Formatter, Write};

use super::DynRecord;
use crate::reflect::RecordView;
use crate::{Limits, Value, half};

/// Values nested deeper than this are shown as `…`.
const DEPTH: usize = 128;

/// A value that several pointers lead to is marked `#1` where it is first shown, and `→ #1` after that.
impl fmt::Display for DynRecord {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let uses = Uses::of(self);
        let mut printer =
            Printer { record: self, uses, marks: HashMap::new(), many_lines: f.alternate(), indent: 0, out: f };
        write!(printer.out, "{} ", self.format.name().escape_debug())?;
        printer.value(&self.root, 0)
    }
}

/// As [`DynRecord`] shows it; a body that is no record of its format shows what is wrong with it.
impl fmt::Display for RecordView<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match DynRecord::from_body(self.format(), self.body(), &Limits::default()) {
            Ok(record) => record.fmt(f),
            Err(error) => write!(f, "{} <{error}>", self.format().name().escape_debug()),
        }
    }
}

/// How often each entry of the table is referred to.
struct Uses(Vec<usize>);

impl Uses {
    fn of(record: &DynRecord) -> Uses {
        let mut uses = Uses(vec![0; record.shared.len()]);
        uses.count(&record.root);
        record.shared.iter().for_each(|entry| uses.count(entry));
        uses
    }

    fn count(&mut self, value: &Value) {
        match value {
            Value::Shared(key) => {
                if let Some(uses) = self.0.get_mut(*key) {
                    *uses += 1;
                }
            }
            Value::List(items) => items.iter().for_each(|item| self.count(item)),
            Value::Record(fields) => fields.iter().for_each(|(_, value)| self.count(value)),
            Value::Case(_, Some(payload)) => self.count(payload),
            _ => {}
        }
    }
}

struct Printer<'r, 'f, 'o> {
    record: &'r DynRecord,
    uses: Uses,
    /// The marks of entries that were shown.
    marks: HashMap<usize, usize>,
    many_lines: bool,
    /// Levels of lines that are open.
    indent: usize,
    out: &'o mut Formatter<'f>,
}

impl Printer<'_, '_, '_> {
    fn value(&mut self, value: &Value, depth: usize) -> fmt::Result {
        if depth > DEPTH {
            return self.out.write_char('…');
        }
        match value {
            Value::Null => self.out.write_str("null"),
            Value::Bool(truth) => write!(self.out, "{truth}"),
            Value::Int(number) => write!(self.out, "{number}"),
            Value::UInt(number) => write!(self.out, "{number}"),
            Value::F16(bits) => write!(self.out, "{:?}", half::to_f64(*bits)),
            Value::F32(number) => write!(self.out, "{number:?}"),
            Value::F64(number) => write!(self.out, "{number:?}"),
            Value::Char(character) => write!(self.out, "{character:?}"),
            Value::Enum(name) => write!(self.out, "{}", name.escape_debug()),
            Value::Str(text) => write!(self.out, "{text:?}"),
            Value::Bytes(bytes) => self.bytes(bytes),
            Value::List(items) => self.list(items, depth),
            Value::Record(fields) => self.record(fields, depth),
            Value::Case(name, None) => write!(self.out, "{}", name.escape_debug()),
            Value::Case(name, Some(payload)) => {
                write!(self.out, "{}(", name.escape_debug())?;
                self.value(payload, depth + 1)?;
                self.out.write_char(')')
            }
            Value::Shared(key) => self.shared(*key, depth),
        }
    }

    fn bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        self.out.write_str("0x")?;
        bytes.iter().try_for_each(|byte| write!(self.out, "{byte:02x}"))
    }

    fn shared(&mut self, key: usize, depth: usize) -> fmt::Result {
        let record = self.record;
        let Some(value) = record.shared.get(key) else { return write!(self.out, "→ nothing ({key})") };
        if self.uses.0[key] > 1 {
            if let Some(mark) = self.marks.get(&key) {
                return write!(self.out, "→ #{mark}");
            }
            let mark = self.marks.len() + 1;
            self.marks.insert(key, mark);
            write!(self.out, "#{mark} ")?;
        }
        self.value(value, depth + 1)
    }

    fn list(&mut self, items: &[Value], depth: usize) -> fmt::Result {
        // Rows of plain numbers stay on one line.
        let spread = items.iter().any(|item| matches!(item, Value::Record(_) | Value::List(_) | Value::Shared(_)));
        self.parts('[', items, ']', spread, |printer, item| printer.value(item, depth + 1))
    }

    fn record(&mut self, fields: &[(String, Value)], depth: usize) -> fmt::Result {
        self.parts('{', fields, '}', true, |printer, (name, value)| {
            write!(printer.out, "{}: ", name.escape_debug())?;
            printer.value(value, depth + 1)
        })
    }

    fn parts<T>(
        &mut self,
        open: char,
        parts: &[T],
        close: char,
        spread: bool,
        mut show: impl FnMut(&mut Self, &T) -> fmt::Result,
    ) -> fmt::Result {
        let spread = spread && self.many_lines && !parts.is_empty();
        self.out.write_char(open)?;
        self.indent += usize::from(spread);
        for (index, part) in parts.iter().enumerate() {
            match (spread, index) {
                (true, _) => self.line()?,
                (false, 0) => {}
                (false, _) => self.out.write_str(", ")?,
            }
            show(self, part)?;
        }
        if spread {
            self.indent -= 1;
            self.line()?;
        }
        self.out.write_char(close)
    }

    fn line(&mut self) -> fmt::Result {
        write!(self.out, "\n{:1$}", "", 2 * self.indent)
    }
}
