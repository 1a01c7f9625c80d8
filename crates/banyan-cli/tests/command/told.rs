//! What the demo tells, without what differs from run to run: to compare what README.md shows with what is printed.
//!
//! Step `readme` of `cargo xtask test` uses this file too, for the release build.

/// How the demo begins.
pub(crate) const BEGINNING: &str =
    "Banyan grows a tree of processes and lets one program talk to all of them as if they were one.\n\n1.";

/// The demo in a text, up to the end of the text or of the block in which it stands; nothing if it is not there.
pub(crate) fn told_in(text: &str) -> Vec<String> {
    let demo = text.find(BEGINNING).and_then(|begin| text[begin..].split("\n```").next());
    told(demo.unwrap_or_default().lines())
}

/// The demo without figures, and without which ranks each agent has: on a busy machine it is not always the same one that
/// takes those who lost theirs.
pub(crate) fn told<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<String> {
    let is_branch = |line: &str| line.starts_with("├─ ") || line.starts_with("└─ ");
    let settled = |line: String| match line.split_once(" ranks ") {
        Some((who, _)) if is_branch(&line) => format!("{who} ranks"),
        _ => line,
    };
    without_numbers(lines).into_iter().map(settled).collect()
}

/// Numbers become N, spaces one, and times have one unit.
pub(crate) fn without_numbers<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<String> {
    let numberless = |line: &str| {
        let mut out = String::new();
        for letter in line.chars() {
            match letter {
                '0'..='9' if out.ends_with('N') => {}
                '0'..='9' => out.push('N'),
                ',' | '.' if out.ends_with('N') => {}
                ' ' if out.ends_with(' ') => {}
                other => out.push(other),
            }
        }
        out.trim().replace("N s", "N ms")
    };
    lines.map(numberless).filter(|line| !line.is_empty()).collect()
}
