//! The list of faults: for each its name, the tests of the simulator that should find it, and what it changes.

use std::path::Path;

const LIST: &str = include_str!("list.txt");

/// A fault that can be put into the sources.
#[derive(Debug, PartialEq)]
pub(super) struct Fault {
    pub(super) name: String,
    /// What the names of the tests contain that should find it.
    pub(super) tests: Vec<String>,
    changes: Vec<Change>,
}

/// Some lines of a file that become others.
#[derive(Debug, PartialEq)]
struct Change {
    file: String,
    before: Vec<String>,
    after: Vec<String>,
}

/// All faults.
pub(super) fn faults() -> Result<Vec<Fault>, String> {
    parse(LIST)
}

fn parse(text: &str) -> Result<Vec<Fault>, String> {
    let mut faults: Vec<Fault> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let wrong = || format!("the list of faults, line {}: {line}", number + 1);
        let fault = faults.last_mut();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("fault: ") {
            faults.push(Fault { name: name.to_owned(), tests: Vec::new(), changes: Vec::new() });
        } else if let Some(tests) = line.strip_prefix("tests: ") {
            fault.ok_or_else(wrong)?.tests.extend(tests.split(' ').map(str::to_owned));
        } else if let Some(file) = line.strip_prefix("file: ") {
            let change = Change { file: file.to_owned(), before: Vec::new(), after: Vec::new() };
            fault.ok_or_else(wrong)?.changes.push(change);
        } else {
            let change = fault.and_then(|fault| fault.changes.last_mut()).ok_or_else(wrong)?;
            let (sign, rest) = line.split_at_checked(1).ok_or_else(wrong)?;
            match sign {
                "-" => change.before.push(rest.to_owned()),
                "+" => change.after.push(rest.to_owned()),
                _ => return Err(wrong()),
            }
        }
    }
    Ok(faults)
}

impl Fault {
    /// Changes the sources below this directory.
    pub(super) fn put_into(&self, root: &Path) -> Result<(), String> {
        for change in &self.changes {
            let path = root.join(&change.file);
            let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let changed = change.apply(&text)?;
            std::fs::write(&path, changed).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(())
    }
}

impl Change {
    fn apply(&self, text: &str) -> Result<String, String> {
        let lines = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let (before, after) = (lines(&self.before), lines(&self.after));
        match text.matches(&before).count() {
            1 if !before.is_empty() => Ok(text.replacen(&before, &after, 1)),
            count => {
                Err(format!("{} has these lines {count} times, not once; write the list anew:\n{before}", self.file))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_tests_and_changes_lines_that_are_there_once() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository");
        let faults = faults().expect("it can be read");
        assert!(!faults.is_empty());
        for fault in faults {
            assert!(!fault.tests.is_empty() && !fault.changes.is_empty(), "{}", fault.name);
            for change in fault.changes {
                let text = std::fs::read_to_string(root.join(&change.file)).expect("the file is there");
                let changed = change.apply(&text).unwrap_or_else(|wrong| panic!("{}: {wrong}", fault.name));
                assert_ne!(changed, text, "{}", fault.name);
            }
        }
    }

    #[test]
    fn what_is_no_list_is_refused_with_its_line() {
        assert_eq!(parse("-x"), Err("the list of faults, line 1: -x".into()));
        assert_eq!(parse("fault: a\nfile: b\n-x\n?"), Err("the list of faults, line 4: ?".into()));
    }
}
