//! Rules for documents: links lead somewhere, tests run the commands, and every dependency has its reason written down.

use super::{File, Repository};
use crate::manifest;

/// Where the reason for each dependency stands.
const REASONS: &str = "docs/dependencies.md";

/// Links between documents lead to files, and to headings, that exist.
pub(super) fn check_links(repository: &Repository, file: &File, broken: &mut Vec<String>) {
    for (number, link) in links(file) {
        if !leads_somewhere(repository, file, link) {
            broken.push(format!("{}:{number}: the link to {link} leads nowhere", file.path));
        }
    }
}

/// What the links of a document lead to, pictures too, with the numbers of their lines; code has none.
pub(super) fn links(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    let prose = file.lines().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    });
    prose.flat_map(|(number, line)| links_of_line(line).map(move |link| (number, link)))
}

/// What the links in a line lead to, but for addresses in the net.
fn links_of_line(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
}

fn leads_somewhere(repository: &Repository, from: &File, link: &str) -> bool {
    let (path, heading) = link.split_once('#').map_or((link, None), |(path, heading)| (path, Some(heading)));
    let path = if path.is_empty() { Some(from.path.clone()) } else { resolved(&from.path, path) };
    let Some(path) = path else { return false };
    match heading {
        None => path.is_empty() || repository.paths.contains(&path),
        Some(heading) => repository.file(&path).is_some_and(|file| headings(file).any(|other| other == heading)),
    }
}

/// The path from the top of the repository of what `link` means in the file `from`; `None` if it leads out of it.
pub(super) fn resolved(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The headings of a document as links name them: lower case, hyphens for spaces, no punctuation.
fn headings(file: &File) -> impl Iterator<Item = String> {
    let titles = file.text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    titles.map(|title| {
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    })
}

/// Commands stand in blocks whose commands are run by the tests: `console` and `sh`. In others only what they print may.
pub(super) fn check_commands(file: &File, broken: &mut Vec<String>) {
    let mut block: Option<&str> = None;
    for (number, line) in file.lines() {
        if let Some(mark) = line.trim_start().strip_prefix("```") {
            block = if block.is_some() { None } else { Some(mark) };
        } else if block.is_some_and(|mark| mark != "sh" && mark != "console")
            && COMMANDS.iter().any(|command| line.trim_start_matches("$ ").starts_with(command))
            && !line.starts_with(TITLE)
        {
            broken.push(format!("{}:{number}: no test runs this command; put it into a block of `sh`", file.path));
        }
    }
}

/// How commands begin that documents tell to type.
const COMMANDS: &[&str] = &["banyan ", "cargo ", "target/"];

/// How a screen begins that looks like one.
const TITLE: &str = "banyan top  ";

/// Every dependency stands in [`REASONS`], in backquotes.
pub(super) fn check_dependencies(repository: &Repository, broken: &mut Vec<String>) {
    let Some(reasons) = repository.file(REASONS) else {
        broken.push(format!("{REASONS} is missing; it gives the reason for each dependency"));
        return;
    };
    for file in repository.files.iter().filter(|file| file.path.ends_with("Cargo.toml")) {
        for name in manifest::dependencies(&file.text) {
            if !reasons.text.contains(&format!("`{name}`")) {
                broken.push(format!("{}: {REASONS} gives no reason for `{name}`", file.path));
            }
        }
    }
}

/// What is promised against whom; every row of its tables names the tests that show it.
const SECURITY: &str = "docs/security.md";

/// Every row of a table in [`SECURITY`] names a test, and every test that it names exists.
pub(super) fn check_security(repository: &Repository, broken: &mut Vec<String>) {
    let Some(file) = repository.file(SECURITY) else { return };
    let exists = |name: &str| {
        let definition = format!("fn {name}(");
        repository.files.iter().any(|file| file.is("rs") && file.text.contains(&definition))
    };
    let mut is_body = false;
    for (number, line) in file.lines() {
        let is_rule = line.starts_with("| ---");
        is_body = line.starts_with('|') && (is_body || is_rule);
        let names: Vec<&str> = line.split('`').skip(1).step_by(2).filter(|word| is_test_name(word)).collect();
        if is_body && !is_rule && names.is_empty() {
            broken.push(format!("{SECURITY}:{number}: this row names no test that shows it"));
        }
        for name in names.into_iter().filter(|name| !exists(name)) {
            broken.push(format!("{SECURITY}:{number}: there is no test {name}"));
        }
    }
}

/// Names of tests are sentences, so they have several words.
fn is_test_name(word: &str) -> bool {
    word.matches('_').count() >= 3 && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_of_security_without_a_test_is_named() {
        let text = "Uses `a_b`.\n| against | done | shown by |\n| --- | --- | --- |\n| a | b | `a_wrong_secret_is_refused` |\n\
                    | c | d | |\n| e | f | `no_such_test_is_there` |\n";
        let test = ("crates/a/tests/t.rs", "fn a_wrong_secret_is_refused() {}\n");
        let mut broken = Vec::new();
        check_security(&Repository::of(&[(SECURITY, text), test]), &mut broken);
        let expected = [
            "docs/security.md:5: this row names no test that shows it",
            "docs/security.md:6: there is no test no_such_test_is_there",
        ];
        assert_eq!(broken, expected);
    }

    fn broken_links(text: &str) -> Vec<String> {
        let files = [("docs/a.md", text), ("docs/deep/b.md", "# The End, at last\n"), ("README.md", "")];
        let repository = Repository::of(&files);
        let mut broken = Vec::new();
        check_links(&repository, &repository.files[0], &mut broken);
        broken
    }

    #[test]
    fn links_to_files_and_headings_that_exist_are_fine() {
        let text = "[b](deep/b.md) [end](deep/b.md#the-end-at-last) [up](../README.md) [net](https://example.org/x)";
        assert_eq!(broken_links(text), [""; 0]);
    }

    #[test]
    fn links_that_lead_nowhere_are_named() {
        let text = "[c](c.md)\n[no heading](deep/b.md#middle)\n[out](../../x.md)\n```\n[code](y.md)\n```\n";
        let broken = broken_links(text);
        assert_eq!(broken.len(), 3, "{broken:?}");
        assert_eq!(broken[1], "docs/a.md:2: the link to deep/b.md#middle leads nowhere");
    }

    #[test]
    fn a_command_that_no_test_runs_is_named() {
        let mut broken = Vec::new();
        let text = "```sh\nbanyan demo\n```\n```text\nbanyan: no host\nbanyan top\n```\n```console\n$ banyan x\n```\nbanyan y\n";
        check_commands(&File { path: "docs/a.md".into(), text: text.into() }, &mut broken);
        assert_eq!(broken, ["docs/a.md:6: no test runs this command; put it into a block of `sh`"]);
    }

    #[test]
    fn a_dependency_without_a_reason_is_named() {
        let manifest = ("crates/a/Cargo.toml", "[dependencies]\nknown = \"1\"\nodd = \"1\"\n");
        let mut broken = Vec::new();
        check_dependencies(&Repository::of(&[manifest, (REASONS, "| `known` | needed |\n")]), &mut broken);
        assert_eq!(broken, ["crates/a/Cargo.toml: docs/dependencies.md gives no reason for `odd`"]);
    }
}
