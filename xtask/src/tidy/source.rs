//! Rules for Rust files: a header, no file and no function too long, nothing banned, `unsafe` only where it is known.

use super::File;

/// Lines of a file.
const FILE_LINES: usize = 900;

/// Lines of a function.
const FUNCTION_LINES: usize = 80;

/// Where `unsafe` may stand: a file, or all files whose path begins like this. What is listed here is run under Miri
/// (`steps/miri.rs`) or tested against an oracle, and reviewed with that in mind.
const UNSAFE: &[&str] = &[
    // Takes a descriptor that the parent process gave; `tests/sessions.rs` has members that were given one and not.
    "crates/banyan-boot/src/inherited.rs",
    // Makes processes, which Miri cannot; `tests/process.rs` looks at what comes out.
    "crates/banyan-boot/src/process/clone.rs",
    "crates/banyan-boot/src/process/keeper.rs",
    "crates/banyan-boot/src/process/signals.rs",
    "crates/banyan-boot/src/process/stranger.rs",
    "crates/banyan-boot/src/process/title.rs",
    // Asks the kernel about a socket, which Miri cannot; hosts that are cut off are tested with step `sessions`.
    "crates/banyan-link/src/acknowledged.rs",
    // Maps memory that processes share, which Miri cannot; what is done with it is safe code over atomics.
    "crates/banyan-link/src/shared/memory.rs",
    // Map pools of memory, which Miri cannot: slabs of one's own pool, and atomics of a peer's. Which units belong to whom is
    // decided in `units.rs`, safe arithmetic with properties of its own.
    "crates/banyan-link/src/pool/own.rs",
    "crates/banyan-link/src/pool/peer.rs",
    // Calls the rivals of our spawner as C code would.
    "crates/banyan-boot/examples/spawn_speed.rs",
    // Maps files into memory, which Miri cannot.
    "crates/banyan-files/src/store.rs",
    "crates/banyan-files/tests/files/mapped.rs",
    "crates/banyan-ndr/src/buffer.rs",
    "crates/banyan-ndr/src/cstruct",
    "crates/banyan-ndr/src/kernel/",
    "crates/banyan-ndr/src/typed/",
    "crates/banyan-ndr/tests/typed/cstruct.rs",
    "crates/banyan-ndr/tests/typed/memory.rs",
    // Maps files and handles SIGBUS, which Miri cannot; `tests/processes` truncates the files.
    "crates/banyan-sensor/src/memory.rs",
    // Reads the processor's counter, which Miri cannot.
    "crates/banyan-sensor/src/clock.rs",
    "crates/banyan-sensor/src/payload.rs",
    // Forks, and runs a process step by step.
    "crates/banyan-sensor/tests/processes/forking.rs",
    "crates/banyan-sensor/tests/processes/stepping.rs",
    // Calls functions of shared objects, which Miri cannot; the test compiles some.
    "crates/banyan-reduce/src/shared_object.rs",
    "crates/banyan-tree/tests/shared_object.rs",
    // Traces processes, which Miri cannot; `tests/capture.rs` looks at what comes out, and at what is left.
    "crates/banyan-stack/src/trace/kernel.rs",
    // Counts allocations.
    "crates/banyan-reduce/tests/reduce_memory.rs",
    "crates/banyan/tests/worst/meter.rs",
    // Follows pointers that C code would follow.
    "fuzz/src/targets/cstruct.rs",
    // Asks a rival for what it does not check.
    "rivals/src/flat.rs",
    // Writes `unsafe impl`s for others.
    "crates/banyan-ndr-derive/src/",
];

/// What stands nowhere, and why. Each word is written in two halves, or this file would break its own rule.
const BANNED: &[(&str, &str)] = &[
    (concat!("#[all", "ow("), "write #[expect(lint, reason = \"…\")]"),
    (concat!("#![all", "ow("), "write #![expect(lint, reason = \"…\")]"),
    (concat!("tod", "o!("), "write it, or an issue"),
    (concat!("failure_persistence: No", "ne"), "keep the seeds of property tests that fail"),
];

/// What does not stand in tests, and why.
const BANNED_IN_TESTS: &[(&str, &str)] = &[(concat!("thread::sl", "eep"), "wait for the event, with a deadline")];

pub(super) fn check(file: &File, broken: &mut Vec<String>) {
    let path = &file.path;
    let mut wrong = |line: usize, what: String| broken.push(format!("{path}:{line}: {what}"));
    // What the compiler says about a file by its lines has no header to shift them.
    if !file.text.starts_with("//! ") && !path.contains("/tests/ui/") {
        wrong(1, "a file begins with `//!` and what it is for".into());
    }
    let lines = file.text.lines().count();
    if lines > FILE_LINES {
        wrong(lines, format!("{lines} lines are more than {FILE_LINES}; cut the file by its concepts"));
    }
    for (line, name, length) in functions(&file.text).into_iter().filter(|(_, _, length)| *length > FUNCTION_LINES) {
        wrong(line, format!("{name} has {length} lines, more than {FUNCTION_LINES}"));
    }
    let mut in_tests = path.contains("/tests/") || path.ends_with("/tests.rs");
    for (number, line) in file.lines() {
        in_tests |= line.trim() == "#[cfg(test)]";
        let code = line.split("//").next().unwrap_or_default();
        let banned = BANNED.iter().chain(BANNED_IN_TESTS.iter().filter(|_| in_tests));
        for (word, instead) in banned.filter(|(word, _)| code.contains(word)) {
            wrong(number, format!("{word} is banned: {instead}"));
        }
        if is_unsafe(code) && !UNSAFE.iter().any(|allowed| path.starts_with(allowed)) {
            wrong(number, "unsafe outside the modules listed in xtask/src/tidy/source.rs".into());
        }
    }
}

fn is_unsafe(code: &str) -> bool {
    let forms = ["{", "impl ", "fn ", "trait ", "extern "];
    code.match_indices("unsafe ").any(|(at, word)| forms.iter().any(|form| code[at + word.len()..].starts_with(form)))
}

/// The functions of a file: line, name and length. A function ends with the first line that is its indentation and a
/// closing brace.
fn functions(text: &str) -> Vec<(usize, &str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let function = |start: usize| {
        let line = lines[start];
        let code = line.trim_start();
        let (_, name) = code.split_once("fn ").filter(|(before, _)| before.chars().all(is_qualifier))?;
        // Declarations in traits have no body.
        if code.ends_with(';') {
            return None;
        }
        let end = format!("{}}}", &line[..line.len() - code.len()]);
        let length = lines[start..].iter().position(|line| *line == end)? + 1;
        Some((start + 1, name.split(['(', '<']).next()?, length))
    };
    (0..lines.len()).filter_map(function).collect()
}

/// `pub(crate) const unsafe extern "C" ` and the like.
fn is_qualifier(c: char) -> bool {
    c.is_alphanumeric() || " ()\"".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken_by(path: &str, text: &str) -> Vec<String> {
        let mut broken = Vec::new();
        check(&File { path: path.into(), text: text.into() }, &mut broken);
        broken
    }

    fn assert_broken(path: &str, text: &str, rule: &str) {
        let broken = broken_by(path, text);
        assert!(broken.len() == 1 && broken[0].contains(rule), "{broken:?}");
    }

    #[test]
    fn a_tidy_file_breaks_no_rule() {
        assert_eq!(broken_by("a/src/lib.rs", "//! Says why.\n\nfn f() {\n}\n// unsafe { } in words\n"), [""; 0]);
    }

    #[test]
    fn a_file_without_header_is_named() {
        assert_broken("a.rs", "fn f() {}\n", "a.rs:1: a file begins with");
    }

    #[test]
    fn long_files_and_functions_are_named() {
        let long = |lines: usize| format!("//! Long.\n{}", "\n".repeat(lines - 1));
        assert_eq!(broken_by("a.rs", &long(FILE_LINES)), [""; 0]);
        assert_broken("a.rs", &long(FILE_LINES + 1), "901 lines");
        let function = |lines: usize| {
            format!(
                "//! F.\nimpl A {{\n    pub(crate) fn long<T>() {{\n{}    }}\n}}\n",
                "        x();\n".repeat(lines - 2)
            )
        };
        assert_eq!(broken_by("a.rs", &function(FUNCTION_LINES)), [""; 0]);
        assert_broken("a.rs", &function(FUNCTION_LINES + 1), "a.rs:3: long has 81 lines");
    }

    #[test]
    fn banned_words_are_named() {
        for (word, _) in BANNED {
            assert_broken("a.rs", &format!("//! B.\n{word}x)]\n"), "is banned");
        }
        let sleep = BANNED_IN_TESTS[0].0;
        assert_broken("a/tests/b.rs", &format!("//! B.\n{sleep}(x);\n"), "is banned");
        assert_broken("a.rs", &format!("//! B.\n#[cfg(test)]\n{sleep}(x);\n"), "is banned");
        assert_eq!(broken_by("a.rs", &format!("//! B.\n{sleep}(x);\n")), [""; 0]);
    }

    #[test]
    fn unsafe_is_for_listed_modules() {
        let text = concat!("//! U.\nlet x = uns", "afe { y() };\n");
        assert_broken("crates/banyan-ndr/src/limits.rs", text, "unsafe outside the modules");
        assert_eq!(broken_by("crates/banyan-ndr/src/kernel/shuffle.rs", text), [""; 0]);
    }
}
