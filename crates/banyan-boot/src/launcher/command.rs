//! `command`: any starter that runs one process per host, from a template.
//!
//! In the template `{hosts}` stands for the hosts separated by commas, `{count}` for their number, and `{agent}` for the
//! agent's command line (at the end, if it is not named), as a word of its own: `pdsh -w {hosts} {agent}`,
//! `mpiexec.hydra -launcher ssh -hosts {hosts} -ppn 1 -n {count} {agent}`. The hosts have the agent program at the path that
//! it has here, or at the installed one: this launcher brings none along, since what starts agents here need not hand standard
//! input to them (`pdsh` does not, `mpiexec` hands it to one).
//! The agents get the roster, which holds the secret, from a file that only its owner can read; the file is removed
//! when all agents have come. So this launcher needs a directory that the hosts share: the one that `BANYAN_ROSTER_DIR`
//! names, otherwise `XDG_RUNTIME_DIR` or the temporary directory, which are good for one machine.

use std::ffi::OsString;
use std::path::Path;

use super::program::AgentProgram;
use super::{Channel, Starter};

/// What stands for the agent's command line.
const AGENT: &str = "{agent}";

/// The filled-in template, or why it cannot be.
pub(crate) fn all(template: &str, hosts: &[String], roster: &Path, agent: &AgentProgram) -> Result<Starter, String> {
    let words: Vec<&str> = template.split_whitespace().collect();
    if words.is_empty() {
        return Err("the launcher's template is empty; write for example: pdsh -w {hosts} {agent}".into());
    }
    if let Some(word) = words.iter().find(|word| word.contains(AGENT) && **word != AGENT) {
        return Err(format!(
            "{word} in the launcher's template: {AGENT} is several words, and no part of another; write for example: pdsh -w {{hosts}} {AGENT}"
        ));
    }
    let mut flag = OsString::from("--roster=");
    flag.push(roster);
    let program = [agent.path_on_hosts(), "agent".into(), flag];
    let joined = hosts.join(",");
    let count = hosts.len().to_string();
    let mut command: Vec<OsString> = Vec::new();
    let mut named = false;
    for word in words {
        if word == AGENT {
            command.extend(program.iter().cloned());
            named = true;
        } else {
            command.push(word.replace("{hosts}", &joined).replace("{count}", &count).into());
        }
    }
    if !named {
        command.extend(program);
    }
    let check = template.replace("{hosts}", &joined).replace("{count}", &count).replace(AGENT, "hostname");
    Ok(Starter { command, channel: Channel::Broadcast, check })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent() -> AgentProgram {
        AgentProgram { path: "/x/banyan".into(), hash: String::new(), length: 0, installed: None, directory: None }
    }

    fn words(template: &str) -> Vec<String> {
        let starter = all(template, &["a".into(), "b".into()], Path::new("/r"), &agent()).unwrap();
        starter.command.into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn placeholders_are_filled_in() {
        assert_eq!(words("pdsh -w {hosts} {agent}"), ["pdsh", "-w", "a,b", "/x/banyan", "agent", "--roster=/r"]);
        assert_eq!(words("run -n {count}"), ["run", "-n", "2", "/x/banyan", "agent", "--roster=/r"]);
    }

    #[test]
    fn the_agent_is_no_part_of_a_word() {
        for template in ["sh -c '{agent}'", "run --command={agent} {hosts}"] {
            let error = all(template, &["a".into()], Path::new("/r"), &agent()).unwrap_err();
            assert!(error.contains("no part of another") && error.contains("pdsh -w {hosts} {agent}"), "{error}");
        }
    }

    #[test]
    fn an_empty_template_is_refused_with_an_example() {
        assert!(all(" ", &[], Path::new("/r"), &agent()).unwrap_err().contains("pdsh"));
    }
}
