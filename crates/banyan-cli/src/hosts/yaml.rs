//! The YAML of ClusterShell's group files, in the form its documentation shows: sources, below each its groups, and for
//! each group hosts in one text or in a list of texts. Nothing else of YAML.

/// A group: its source, its name, its hosts, and the line where it is defined.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GroupEntry {
    pub(super) source: String,
    pub(super) group: String,
    pub(super) hosts: String,
    pub(super) line: usize,
}

/// What a line that is none of these should be.
const FORM: &str = "write `source:`, below it `group: 'hosts'`, or below a group `- 'hosts'`";

/// All groups of a text; or the line that is wrong, and why.
pub(super) fn read(text: &str) -> Result<Vec<GroupEntry>, (usize, String)> {
    let mut entries: Vec<GroupEntry> = Vec::new();
    let mut source: Option<String> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let content = without_comment(line).trim_end();
        let indented = content.starts_with([' ', '\t']);
        let content = content.trim_start();
        if content.is_empty() || content == "---" {
            continue;
        }
        let wrong = |what: String| (number, what);
        if let Some(item) = content.strip_prefix("- ") {
            let last = entries.last_mut().filter(|_| indented);
            let hosts = &mut last.ok_or_else(|| wrong(format!("a list without a group; {FORM}")))?.hosts;
            if !hosts.is_empty() {
                hosts.push(',');
            }
            hosts.push_str(&scalar(item).map_err(wrong)?);
            continue;
        }
        let (key, value) =
            key_and_value(content).ok_or_else(|| wrong(format!("{content:?} is not understood; {FORM}")))?;
        let (key, value) = (scalar(key).map_err(wrong)?, scalar(value).map_err(wrong)?);
        match (&source, indented) {
            (_, false) if value.is_empty() => source = Some(key),
            (_, false) => return Err(wrong(format!("{key:?} is a source, and has groups below it; {FORM}"))),
            (Some(source), true) => {
                entries.push(GroupEntry { source: source.clone(), group: key, hosts: value, line: number });
            }
            (None, true) => return Err(wrong(format!("the group {key:?} has no source; {FORM}"))),
        }
    }
    Ok(entries)
}

/// A line up to a `#` that begins a comment: outside of quotes, at the start or behind a space.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            (None, '#') if before.is_whitespace() => return &line[..at],
            _ => {}
        }
        before = letter;
    }
    line
}

/// `key: value` or `key:`. Keys in quotes may hold colons.
fn key_and_value(content: &str) -> Option<(&str, &str)> {
    let quote = content.chars().next().filter(|letter| matches!(letter, '\'' | '"'));
    let end_of_key = match quote {
        Some(quote) => 1 + content[1..].find(quote)? + 1,
        None => content.match_indices(':').map(|(at, _)| at).find(|at| {
            let rest = &content[at + 1..];
            rest.is_empty() || rest.starts_with([' ', '\t'])
        })?,
    };
    let value = content[end_of_key..].trim_start().strip_prefix(':')?;
    Some((&content[..end_of_key], value.trim()))
}

/// A text, with or without quotes.
fn scalar(text: &str) -> Result<String, String> {
    let text = text.trim();
    for quote in ['\'', '"'] {
        if let Some(rest) = text.strip_prefix(quote) {
            let inner = rest.strip_suffix(quote).filter(|inner| !inner.contains(['\'', '"', '\\']));
            return inner
                .map(str::to_owned)
                .ok_or_else(|| format!("{text} is not understood; put it into plain quotes"));
        }
    }
    match text.chars().next() {
        Some('[' | '{' | '&' | '*' | '!' | '|' | '>' | '%' | '@' | '`') => {
            Err(format!("{text:?} is not understood; put the hosts into quotes"))
        }
        _ => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: &str) -> Vec<(String, String, String, usize)> {
        let entries = read(text).unwrap_or_else(|error| panic!("{error:?}"));
        entries.into_iter().map(|entry| (entry.source, entry.group, entry.hosts, entry.line)).collect()
    }

    #[test]
    fn sources_groups_and_lists_are_read_as_clustershell_reads_them() {
        let text = "# cluster\nroles:\n    adm: 'example0'   # one\n    io: \"n[1-2],@adm\"\n    plain: n#1\n\n\
                    racks:\n    'a:b':\n      - 'n1'\n      - n2\n";
        let expected = [
            ("roles", "adm", "example0", 3),
            ("roles", "io", "n[1-2],@adm", 4),
            ("roles", "plain", "n#1", 5),
            ("racks", "a:b", "n1,n2", 8),
        ];
        let expected = expected.map(|(source, group, hosts, line)| (source.into(), group.into(), hosts.into(), line));
        assert_eq!(read_all(text), expected);
    }

    #[test]
    fn what_else_yaml_can_be_is_refused_with_its_line() {
        for (text, line) in
            [("a: b\n", 1), ("  g: x\n", 1), ("s:\n  g: [a, b]\n", 2), ("s:\n  just words\n", 2), ("s:\n- x\n", 2)]
        {
            assert_eq!(read(text).expect_err(text).0, line, "{text:?}");
        }
    }
}
