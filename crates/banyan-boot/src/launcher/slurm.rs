//! `slurm`: one `srun` for all agents.
//!
//! Inside an allocation (`SLURM_JOB_ID`) the step shares it with what runs there already (`--overlap`); outside, `srun`
//! makes the allocation itself, so hosts and processes come in one step. `srun` copies its standard input to every
//! task: by that way the roster, and with it the secret, reaches the agents and nobody else.
//!
//! Nodes have the agent program at the path that it has here, where it has to be the user's or root's, since others may put
//! things there too, or in the user's cache [as with ssh](super::keep). One that has it nowhere says so, and the launch begins
//! anew with the program before the roster: every node reads it, and those that lack it keep it. What a task does not read
//! would stop `srun`, so nodes that need it not read it too, as do those that cannot keep it. To ask beforehand who lacks it
//! would take a step of its own at every launch.

use std::ffi::OsString;

use super::keep::Script;
use super::program::AgentProgram;
use super::ssh::NEED;
use super::{Channel, Starter};
use crate::node::child::COMPLAINT;

/// The variable that says that this process runs in an allocation.
const JOB: &str = "SLURM_JOB_ID";
/// The variable with the hosts of the allocation.
pub(crate) const HOSTS: &str = "SLURM_JOB_NODELIST";
/// The variable with the tasks of each of them.
pub(crate) const TASKS: &str = "SLURM_TASKS_PER_NODE";

/// The argument that makes a step one of an allocation that is there already.
const JOB_ARGUMENT: &str = "--jobid";

/// Whether this process runs in an allocation.
pub(crate) fn inside_an_allocation() -> bool {
    std::env::var_os(JOB).is_some()
}

/// Whether a step with these arguments has its nodes already.
pub(crate) fn has_nodes(arguments: &[String]) -> bool {
    inside_an_allocation() || arguments.iter().any(|argument| argument.starts_with(JOB_ARGUMENT))
}

/// The step that starts an agent on each of these hosts.
pub(crate) struct SlurmStep<'a> {
    pub(crate) hosts: &'a str,
    pub(crate) count: usize,
    pub(crate) arguments: &'a [String],
    /// Whether it shares the hosts with other steps of its allocation.
    pub(crate) shares: bool,
    /// Whether the program comes before the roster.
    pub(crate) brings: bool,
}

/// The command for a step.
pub(crate) fn all(step: &SlurmStep<'_>, agent: &AgentProgram) -> Starter {
    let SlurmStep { hosts, count, arguments, shares, brings } = *step;
    let mut command: Vec<OsString> = vec!["srun".into()];
    command.extend(arguments.iter().map(Into::into));
    command.extend(
        [
            format!("--nodes={count}"),
            format!("--ntasks={count}"),
            "--ntasks-per-node=1".into(),
            format!("--nodelist={hosts}"),
            "--input=all".into(),
            "--mpi=none".into(),
            "--kill-on-bad-exit=0".into(),
            "--wait=0".into(),
            // The agent is one task, but its members are to use all processors.
            "--cpu-bind=none".into(),
        ]
        .map(OsString::from),
    );
    if shares {
        command.push("--overlap".into());
    }
    match &agent.installed {
        Some(path) => command.extend([path, "agent", ROSTER].map(OsString::from)),
        None => {
            command.extend(["/bin/sh", "-c", &script(agent, brings), "sh"].map(OsString::from));
            command.push(agent.path.clone().into());
        }
    }
    Starter {
        command,
        channel: Channel::Broadcast,
        check: format!("srun --nodes={count} --ntasks={count} --nodelist={hosts} hostname"),
    }
}

/// The argument of agents that find their roster in standard input.
const ROSTER: &str = "--roster=-";

/// How a task fails. It becomes what reads on, instead of waiting for it: Slurm may be about to kill what it knows of.
const READ_ON: &str = "rm -f \"$t\"; exec awk \"END { exit 71 }\" >/dev/null 2>&1; ";

/// What every node runs; its argument is the path of the program here.
fn script(agent: &AgentProgram, brings: bool) -> String {
    let words = &format!("agent {ROSTER}");
    let speaker = &format!("{COMPLAINT} host $SLURMD_NODENAME: ");
    let before_start = &if brings { format!("head -c {} >/dev/null; ", agent.length) } else { String::new() };
    let script = Script { agent, words, speaker, before_failure: READ_ON, before_start };
    let start = script.start();
    let otherwise = if brings {
        format!("{}{}{}", script.make_room(), script.plain(), script.take())
    } else {
        format!("fail {NEED}")
    };
    let is_trusted = "{ [ -O \"$1\" ] || [ -n \"$(find -H \"$1\" -prune -user 0 2>/dev/null)\" ]; }";
    format!(
        "if [ -f \"$1\" ] && [ -x \"$1\" ] && {is_trusted}; then {before_start}exec \"$1\" {words}; fi; {start}{otherwise}"
    )
}

/// Whether a node says that it lacks the program. `srun` may show the script too, which has the same words in other places.
pub(crate) fn is_agent_needed(said: &str) -> bool {
    let ending = format!(": {NEED}");
    said.lines().any(|line| line.contains(COMPLAINT) && line.trim_end().ends_with(&ending))
}

/// A node, as Slurm's controller knows it.
#[derive(Debug, PartialEq)]
pub(crate) struct SlurmNode {
    pub(crate) name: String,
    pub(crate) address: String,
    /// Its state and who gives which reason for it, if no job gets it until somebody changes that.
    pub(crate) unusable: Option<String>,
}

/// What Slurm puts behind a state, each with a meaning of its own; `*` is for a node that does not answer.
const MARKS: [char; 9] = ['*', '~', '#', '!', '%', '$', '@', '^', '-'];

/// A state of nodes that Slurm starts when they are needed. Meanwhile they do not answer.
const STARTS: [&str; 2] = ["POWERING_UP", "POWERED_DOWN"];

/// States in which a node gets no jobs, however long one waits. Slurm puts several together with `+`.
const UNUSABLE: [&str; 7] = ["DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "NOT_RESPONDING"];

/// The nodes in the output of `scontrol show node --oneliner`.
pub(crate) fn nodes(shown: &str) -> Vec<SlurmNode> {
    shown.lines().filter_map(node).collect()
}

fn node(line: &str) -> Option<SlurmNode> {
    let value = |key: &str| {
        line.split_whitespace().find_map(|word| word.strip_prefix(key).and_then(|rest| rest.strip_prefix('=')))
    };
    let state = value("State").unwrap_or_default();
    let has = |states: &[&str]| state.split('+').any(|part| states.contains(&part.trim_end_matches(MARKS)));
    let is_unusable = (state.contains('*') || has(&UNUSABLE)) && !has(&STARTS);
    // The reason has spaces, and its author and time behind it.
    let reason = line.split_once(" Reason=").map(|(_, behind)| behind.split_inclusive(']').next().unwrap_or(behind));
    let unusable = is_unusable.then(|| match reason {
        Some(reason) => format!("{state}, {}", reason.trim()),
        None => state.to_owned(),
    });
    Some(SlurmNode { name: value("NodeName")?.to_owned(), address: value("NodeAddr")?.to_owned(), unusable })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::process::{Command, Output, Stdio};

    use super::*;

    /// A program that is whole, and as an agent shows what is left of its standard input.
    const PROGRAM: &str = "#!/bin/sh\n[ \"$2\" = --check ] || exec cat\n";

    const ROSTER_TEXT: &str = "the roster\n";

    fn agent(path: &Path) -> AgentProgram {
        AgentProgram {
            path: path.into(),
            hash: "ab".repeat(32),
            length: PROGRAM.len() as u64,
            installed: None,
            directory: None,
        }
    }

    /// What a node does whose users live here, if it is given this.
    fn run(home: &Path, path: &Path, brings: bool, input: &str) -> Output {
        let agent = agent(path);
        // Variables of users are none of the script's.
        let precious = home.join("precious");
        std::fs::write(&precious, "").unwrap();
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &script(&agent, brings), "sh"]).arg(path).env("SLURMD_NODENAME", "n7").env("t", &precious);
        shell.env("HOME", home).env_remove("XDG_CACHE_HOME").env("TMPDIR", home.join("tmp"));
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        shell.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = shell.wait_with_output().unwrap();
        assert!(precious.exists());
        output
    }

    fn kept(home: &Path) -> usize {
        std::fs::read_dir(home.join(".cache/banyan/agents")).unwrap().count()
    }

    fn assert_starts(output: &Output) {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && output.stdout == ROSTER_TEXT.as_bytes(), "{output:?} {said}");
    }

    #[test]
    fn a_node_without_the_program_says_so_and_takes_it_when_it_comes() {
        let home = tempfile::TempDir::new().unwrap();
        let nowhere = home.path().join("nowhere");
        // More than a pipe holds: all of it is read.
        let lacking = run(home.path(), &nowhere, false, &ROSTER_TEXT.repeat(10_000));
        let said = String::from_utf8_lossy(&lacking.stderr);
        assert_eq!((lacking.status.code(), &*said), (Some(71), "banyan agent: host n7: BANYAN-AGENT-NEEDED\n"));
        let both = format!("{PROGRAM}{ROSTER_TEXT}");
        assert_starts(&run(home.path(), &nowhere, true, &both));
        assert_eq!(kept(home.path()), 1);
        // Now it is there, whether or not it comes for others.
        assert_starts(&run(home.path(), &nowhere, true, &both));
        assert_starts(&run(home.path(), &nowhere, false, ROSTER_TEXT));
        assert_eq!(kept(home.path()), 1);
    }

    #[test]
    fn a_node_whose_cache_cannot_be_used_keeps_the_program_in_its_temporary_directory() {
        let home = tempfile::TempDir::new().unwrap();
        let nowhere = home.path().join("nowhere");
        std::fs::write(home.path().join(".cache"), "").unwrap();
        std::fs::create_dir(home.path().join("tmp")).unwrap();
        assert_starts(&run(home.path(), &nowhere, true, &format!("{PROGRAM}{ROSTER_TEXT}")));
        assert_starts(&run(home.path(), &nowhere, false, ROSTER_TEXT));
        let places: Vec<_> =
            std::fs::read_dir(home.path().join("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect();
        let [place] = &places[..] else { panic!("{places:?}") };
        assert_eq!(std::fs::read(place.join(agent(&nowhere).hash)).unwrap(), PROGRAM.as_bytes());
    }

    #[test]
    fn a_node_that_lacks_the_program_is_heard_and_a_script_that_srun_shows_is_none() {
        let home = tempfile::TempDir::new().unwrap();
        let nowhere = home.path().join("nowhere");
        let shown =
            format!("srun: launching StepId=1.0 on host n7, 1 tasks: 0\nsrun: {}", script(&agent(&nowhere), false));
        assert!(shown.contains(COMPLAINT) && shown.ends_with(NEED));
        assert!(!is_agent_needed(&shown));
        assert!(!is_agent_needed(&format!("{shown}\n")));
        let said = String::from_utf8(run(home.path(), &nowhere, false, "").stderr).unwrap();
        assert!(is_agent_needed(&said));
        // As with `srun --label`.
        assert!(is_agent_needed(&format!("{shown}\n3: {said}srun: error: n7: task 3: Exited with exit code 71\n")));
    }

    fn put_program(path: &Path) {
        std::fs::write(path, PROGRAM).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn what_somebody_else_put_at_its_path_is_not_started() {
        let home = tempfile::TempDir::new().unwrap();
        let path = home.path().join("it is here");
        put_program(&path);
        // Only root can act somebody else.
        if !rustix::process::geteuid().is_root() {
            return;
        }
        std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
        assert!(is_agent_needed(&String::from_utf8_lossy(&run(home.path(), &path, false, ROSTER_TEXT).stderr)));
        assert_starts(&run(home.path(), &path, true, &format!("{PROGRAM}{ROSTER_TEXT}")));
        assert_eq!(kept(home.path()), 1);
    }

    #[test]
    fn a_node_that_has_the_program_at_its_path_keeps_nothing() {
        let home = tempfile::TempDir::new().unwrap();
        let path = home.path().join("it is here");
        put_program(&path);
        assert_starts(&run(home.path(), &path, false, ROSTER_TEXT));
        assert_starts(&run(home.path(), &path, true, &format!("{PROGRAM}{ROSTER_TEXT}")));
        assert!(!home.path().join(".cache").exists());
    }

    #[test]
    fn of_a_program_that_came_in_part_nothing_stays() {
        let home = tempfile::TempDir::new().unwrap();
        let output = run(home.path(), &home.path().join("nowhere"), true, &PROGRAM[..20]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(71));
        assert!(said.starts_with("banyan agent: host n7: cannot keep the agent program in "), "{said}");
        assert!(said.ends_with("/.cache/banyan/agents: only a part of it came\n"), "{said}");
        assert_eq!(kept(home.path()), 0);
    }

    #[test]
    fn addresses_and_states_come_from_what_the_controller_shows() {
        let shown = "NodeName=n1 Arch=x86_64 NodeAddr=10.0.0.1 NodeHostName=n1 Port=0 State=MIXED+PLANNED\n\
                     NodeName=n2 NodeAddr=10.0.0.2 State=IDLE+DRAIN X=1 Reason=bad fan [root@2026-01-02T03:04:05] Y=2\n\
                     NodeName=n3 NodeAddr=n3 State=IDLE*\n\
                     NodeName=n4 NodeAddr=n4 State=DOWN$\n\
                     NodeName=n5 NodeAddr=n5 State=IDLE+CLOUD+NOT_RESPONDING+POWERING_UP\n";
        let node = |name: &str, address: &str, unusable: Option<&str>| SlurmNode {
            name: name.into(),
            address: address.into(),
            unusable: unusable.map(str::to_owned),
        };
        let drained = "IDLE+DRAIN, bad fan [root@2026-01-02T03:04:05]";
        let expected = [
            node("n1", "10.0.0.1", None),
            node("n2", "10.0.0.2", Some(drained)),
            node("n3", "n3", Some("IDLE*")),
            node("n4", "n4", Some("DOWN$")),
            node("n5", "n5", None),
        ];
        assert_eq!(nodes(shown), expected);
    }
}
