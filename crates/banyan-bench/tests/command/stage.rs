//! What README and book tell people to type works: every command in their `sh` blocks is run, and every one in the README's
//! table of the first day.
//!
//! Those commands name hosts, files and jobs that a reader has and a test has not. They are run on a stage: this machine
//! acts out the hosts, files lie below a directory, and a job is played by processes that sleep. What takes long is
//! interrupted once it has begun. What cannot be run here at all is listed with the reason, in [`ELSEWHERE`].
//!
//! Blocks of `console`, whose outputs are compared too, are in `document.rs`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::workshop::{Workshop, skip};

/// Beginnings of commands that are not run here, and why.
const ELSEWHERE: &[(&str, &str)] = &[
    ("cargo run --release -- demo", "step `readme` of the test command runs it"),
    ("cargo run -p banyan --example own_tool", "step `tests` runs it"),
    ("cargo build -p banyan-tree --examples", "step `tests` builds them"),
    ("cargo build -p banyan-boot --examples", "step `tests` builds them"),
    ("target/debug/examples/", "step `tests` runs it"),
    ("cargo xtask test", "this is a part of it"),
    ("cargo xtask hosts", "step `hosts` runs it"),
    ("eval \"$(cargo xtask hosts env)\"", "step `hosts` runs it"),
    ("ssh -F \"$SSH_CONFIG\"", "step `hosts` runs it"),
    ("srun -N8 -n64 true", "it needs eight Slurm nodes: the tests of step `sessions` start their own steps on them"),
    ("cargo build --release", "step `readme` builds it"),
    ("cargo xtask bench", "it takes an hour, and the machine for itself"),
    ("BANYAN_TICKET=ticket mpirun", "it is half a sentence: the ticket comes from a program of the reader's"),
    ("banyan stack --slurm", "it needs Slurm: step `sessions` runs it"),
    ("banyan stack --mpi $(pidof mpirun) -w", "it needs Open MPI on several hosts: step `sessions` runs it"),
    ("banyan bench plan.toml --submit slurm --time", "it needs Slurm: step `sessions` runs it"),
    ("banyan top -w", "it needs a terminal: `top.rs` runs it in one"),
];

/// Commands that take long, by what they begin with: they are interrupted after [`A_WHILE`], and must not have failed.
const LONG: &[&str] = &[
    "banyan bench tree",
    "banyan bench layers",
    "banyan bench exchange",
    "banyan bench records",
    "banyan bench launch",
    "banyan bench collectives",
    "banyan sim --members 100000",
    "banyan clock",
    "banyan query",
];

/// The program of Python that some commands look at.
const OF_PYTHON: &str = "train.py";

fn has_python() -> bool {
    Command::new("python3").arg("--version").output().is_ok()
}

/// Seconds in which a command that takes long finds out that something is wrong with it.
const A_WHILE: &str = "1.5";

/// The status of `timeout` when it had to end the command.
const INTERRUPTED: i32 = 124;

/// A study that takes no time.
const PLAN: &str = "[study]\nname = \"s\"\nrepetitions = 1\n[[bench]]\nbench = \"tree\"\nop = \"instantiate\"\nshape = \"1x2\"\n\
                    quick = true\n";

/// The hosts, files and processes that commands in documents speak of.
struct Stage {
    shop: Workshop,
    job: Vec<Child>,
}

impl Stage {
    fn new() -> Stage {
        let shop = Workshop::with_readings(3);
        shop.write("config.toml", "[defaults]\nlauncher = \"local\"\n[groups]\ngpu = \"gpu[1-2]\"\n");
        shop.write("list", "node[1-64]\n");
        shop.write("plan.toml", PLAN);
        for directory in
            ["bin", "data", "models", "local", "scratch", "log", ".local/share/bash-completion/completions"]
        {
            fs::create_dir_all(shop.path(directory)).expect("room");
        }
        for file in ["data/file", "models/file", "log/messages", "log/solver.log", "solver", "input.dat", "big"] {
            shop.write(file, "content\n");
        }
        Stage { shop, job: Vec::new() }
    }

    /// With the job `./solver` of two ranks below an `mpirun`, and a program of Python, if there is Python.
    fn with_a_job() -> Stage {
        let mut stage = Stage::new();
        fs::copy("/bin/sleep", stage.shop.path("solver")).expect("room");
        let ranks = "for rank in 0 1; do OMPI_COMM_WORLD_RANK=$rank ./solver 1000 & done\necho ready\nwait\n";
        stage.program("bin/mpirun", ranks);
        stage.shop.write(OF_PYTHON, "import sys\nprint('ready', flush=True)\nsys.stdin.read()\n");
        let mpirun = stage.start(Command::new("setsid").arg("bin/mpirun"));
        stage.program("bin/pidof", &format!("echo {mpirun}\n"));
        if has_python() {
            stage.start(Command::new("setsid").args(["python3", OF_PYTHON]));
        }
        stage
    }

    fn program(&self, name: &str, content: &str) {
        self.shop.write(name, format!("#!/bin/sh\n{content}"));
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.shop.path(name), executable).expect("it is ours");
    }

    /// Starts a process of the job, and waits until it is there; its number.
    fn start(&mut self, command: &mut Command) -> u32 {
        command.current_dir(self.shop.path("")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a program that is there");
        let mut ready = [0; 6];
        let output = child.stdout.as_mut().expect("a pipe");
        std::io::Read::read_exact(output, &mut ready).expect("it says that it is ready");
        self.job.push(child);
        self.job[self.job.len() - 1].id()
    }

    /// The command with what is here for what readers have.
    fn acted_out(&self, command: &str) -> String {
        let path = |name: &str| self.shop.path(name).display().to_string();
        let replaced = [
            ("target/release/banyan", "banyan".to_owned()),
            ("--hostfile hosts", "--hostfile list".to_owned()),
            ("/scratch", path("scratch")),
            ("/local/models", path("local/models")),
            ("/var/log", path("log")),
            ("nvidia-smi -L", "echo GPU".to_owned()),
            ("PID_OF_MPIRUN", "$(pidof mpirun)".to_owned()),
            ("--mpi PID", "--mpi $(pidof mpirun)".to_owned()),
            ("REGEX", "./solver".to_owned()),
            ("FILE", "readings.bny".to_owned()),
            ("4711,4712", format!("{0},{0}", std::process::id())),
            ("YOUR_JOB", "./solver".to_owned()),
        ];
        replaced.iter().fold(command.to_owned(), |command, (from, to)| command.replace(from, to))
    }

    /// Runs a command of a document, unless it is run elsewhere.
    fn play(&self, document: &str, command: &str) {
        if ELSEWHERE.iter().any(|(beginning, _)| command.starts_with(beginning)) {
            return;
        }
        let words = self.acted_out(command);
        if words.contains(OF_PYTHON) && !has_python() {
            return skip(&format!("{document}: `{command}` needs python3"));
        }
        let long = LONG.iter().any(|beginning| words.starts_with(beginning));
        let limit = if long { format!("timeout -k 60 -s INT {A_WHILE} ") } else { String::new() };
        let ran = self.shop.shell(&format!("export HOME=\"$PWD\" PATH=\"$PWD/bin:$PATH\"\n{limit}{words}"));
        // Whether all is well where tests run is not for them to say.
        let well = match ran.status {
            0 => true,
            // Nor has this machine the jobs and users of readers.
            1 => words.starts_with("banyan doctor") || ran.err.contains("no process on these hosts is of"),
            status => long && status == INTERRUPTED,
        };
        assert!(well, "{document}: `{command}` ended with {}:\n{}{}", ran.status, ran.out, ran.err);
    }

    fn play_all(&self, documents: &[&str]) {
        for document in documents {
            let commands = commands(&text(document));
            assert!(!commands.is_empty(), "{document} has no commands");
            commands.iter().for_each(|command| self.play(document, command));
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for child in &mut self.job {
            // Each is the first of a session of its own, with what it started.
            let group = format!("-{}", child.id());
            let _ = Command::new("kill").args(["-s", "KILL", "--", &group]).status();
            let _ = child.wait();
        }
    }
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(document: &str) -> String {
    fs::read_to_string(top().join(document)).unwrap_or_else(|error| panic!("{document}: {error}"))
}

/// The commands in the `sh` blocks of a document.
fn commands(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if info == "sh" {
            commands
                .extend(block.into_iter().filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned));
        }
    }
    commands
}

/// Documents whose commands speak of a job. They are played by one test, since jobs are found on the whole machine.
const OF_JOBS: &[&str] = &["README.md", "docs/tour.md", "docs/command-demo.md", "docs/command-stack.md"];

const OF_HOSTS: &[&str] = &[
    "docs/command-run.md",
    "docs/command-clock.md",
    "docs/command-copy.md",
    "docs/command-doctor.md",
    "docs/command-query.md",
    "docs/command-top.md",
    "docs/configuration.md",
    "docs/sessions.md",
    "docs/test-hosts.md",
];

const OF_FIGURES: &[&str] =
    &["docs/command-bench.md", "docs/command-sim.md", "docs/performance.md", "docs/own-tool.md", "docs/networks.md"];

#[test]
fn commands_of_the_demo_and_of_chapters_about_jobs_work() {
    let stage = Stage::with_a_job();
    stage.play_all(OF_JOBS);
    let named = commands_of_the_first_day(&text("README.md"));
    assert!(named.len() > 9, "{named:?}");
    named.iter().for_each(|command| stage.play("the first day", command));
    let named = commands_of_the_demo();
    assert!(named.len() > 5, "{named:?}");
    named.iter().for_each(|command| stage.play("the demo", command));
}

#[test]
fn commands_of_chapters_about_hosts_work() {
    Stage::new().play_all(OF_HOSTS);
}

#[test]
fn commands_of_chapters_about_figures_work() {
    Stage::new().play_all(OF_FIGURES);
}

/// The commands in the README's table of the first day. An option that stands alone behind a command takes the place of its
/// long option.
fn commands_of_the_first_day(readme: &str) -> Vec<String> {
    let section = readme.split("\n## The first day\n").nth(1).and_then(|rest| rest.split("\n## ").next());
    let rows = section.expect("the first day").lines().filter(|line| line.starts_with('|'));
    let mut commands: Vec<String> = Vec::new();
    for span in rows.flat_map(|row| row.split('`').skip(1).step_by(2)) {
        match (span.starts_with("--"), commands.last()) {
            (true, Some(command)) => commands.push(instead(command, span)),
            _ => commands.push(span.to_owned()),
        }
    }
    commands
}

/// The command with another option in the place of its long one.
fn instead(command: &str, option: &str) -> String {
    let (words, program) = command.split_at(command.find(" -- ").unwrap_or(command.len()));
    let before = words.split(" --").next().unwrap_or(words);
    format!("{before} {option}{program}")
}

#[test]
fn an_option_behind_a_command_takes_the_place_of_its_long_option() {
    let readme = "\n## The first day\n\n| a | `banyan run -w n --fold -- true`, `--diff` ([guide](x)) |\n| b | `banyan stack --mpi PID`, `--match REGEX` |\n\n`banyan top`\n## More\n| `banyan` |\n";
    assert_eq!(
        commands_of_the_first_day(readme),
        [
            "banyan run -w n --fold -- true",
            "banyan run -w n --diff -- true",
            "banyan stack --mpi PID",
            "banyan stack --match REGEX"
        ]
    );
}

/// The commands that the demo names at its end.
fn commands_of_the_demo() -> Vec<String> {
    let shown = text("README.md");
    let lines = shown.lines().filter_map(|line| line.strip_prefix("   banyan "));
    lines.map(|rest| format!("banyan {}", rest.split_once("  ").map_or(rest, |(words, _)| words))).collect()
}

#[test]
fn no_chapter_with_commands_is_left_out() {
    let all = [OF_JOBS, OF_HOSTS, OF_FIGURES].concat();
    let chapters = fs::read_dir(top().join("docs")).expect("the book");
    for chapter in chapters
        .map(|chapter| chapter.expect("a name").path())
        .filter(|path| path.extension().is_some_and(|it| it == "md"))
    {
        let name = format!("docs/{}", chapter.file_name().expect("a name").to_string_lossy());
        assert!(all.contains(&name.as_str()) || commands(&text(&name)).is_empty(), "{name}: none of the lists has it");
    }
    for (beginning, why) in ELSEWHERE {
        let used =
            all.iter().any(|document| commands(&text(document)).iter().any(|command| command.starts_with(beginning)));
        assert!(used, "no document has `{beginning}` ({why}) any more");
    }
}

/// Words in backquotes that begin like a command have a verb and options that there are.
#[test]
fn commands_within_sentences_have_verbs_and_options_that_there_are() {
    let shop = Workshop::new();
    let mut helps: std::collections::HashMap<String, String> = std::collections::HashMap::new();
    let mut wrong = Vec::new();
    for document in ["README.md".to_owned(), "CONTRIBUTING.md".to_owned()].into_iter().chain(chapters()) {
        let text = text(&document);
        let mut fenced = false;
        for line in text.lines() {
            fenced ^= line.starts_with("```");
            for span in line.split('`').skip(1).step_by(2).filter(|_| !fenced) {
                let Some(rest) = span.strip_prefix("banyan ") else { continue };
                let words: Vec<&str> = rest.split_whitespace().take_while(|word| *word != "--").collect();
                let verb: Vec<&str> = words.iter().copied().take_while(|word| is_verb(word)).take(2).collect();
                let help = helps.entry(verb.join(" ")).or_insert_with(|| help(&shop, &verb));
                let options = words
                    .iter()
                    .filter(|word| word.starts_with("--"))
                    .map(|word| word.split('=').next().unwrap_or(word));
                let unknown: Vec<&str> = options.filter(|option| !has_option(help, option)).collect();
                if help.is_empty() || !unknown.is_empty() {
                    wrong.push(format!("{document}: `{span}`: {unknown:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn chapters() -> impl Iterator<Item = String> {
    let entries = fs::read_dir(top().join("docs")).expect("the book").map(|entry| entry.expect("a name").file_name());
    entries.map(|name| format!("docs/{}", name.to_string_lossy())).filter(|name| name.ends_with(".md"))
}

fn is_verb(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// The help of a verb, or of the verb below it that takes words; empty if there is none.
fn help(shop: &Workshop, verb: &[&str]) -> String {
    let asked = |words: &[&str]| {
        let ran = shop.run(&[words, &["--help"]].concat());
        if ran.status == 0 { ran.out } else { String::new() }
    };
    match asked(verb) {
        text if text.is_empty() && verb.len() > 1 => asked(&verb[..1]),
        text => text,
    }
}

fn has_option(help: &str, option: &str) -> bool {
    let ends = |rest: &str| rest.chars().next().is_none_or(|next| !next.is_ascii_alphanumeric() && next != '-');
    help.match_indices(option).any(|(at, _)| ends(&help[at + option.len()..]))
}
