//! `ssh`: agents by the system's OpenSSH, with the user's own configuration.
//!
//! Nothing may ask: `BatchMode` turns a question for a password or a host key into an error. What runs on the host is a
//! few lines of `sh`: they start the agent from the user's cache if the program [is there](super::keep), and otherwise take
//! it from standard input first.

use std::ffi::OsString;
use std::time::Duration;

use super::keep::Script;
use super::packed::Packer;
use super::program::AgentProgram;
use super::{Channel, SshOptions, Starter};
use crate::agent::{PIPES, heartbeat_argument};

/// The line by which the host asks for the program. Behind it are the [programs](super::packed::Packer) with which it unpacks.
pub(crate) const NEED: &str = "BANYAN-AGENT-NEEDED";

impl SshOptions {
    /// The command that starts the agent of one host.
    pub(super) fn starter(&self, host: &str, agent: &AgentProgram, heartbeat: Duration) -> Starter {
        let mut command: Vec<OsString> = ["ssh", "-T", "-x", "-a", "-o", "BatchMode=yes"].map(Into::into).to_vec();
        command.extend(self.arguments.iter().map(Into::into));
        command.push("--".into());
        command.push(host.into());
        command.push(remote(agent, heartbeat).into());
        Starter { command, channel: Channel::Pipes, check: self.check(host) }
    }

    fn check(&self, host: &str) -> String {
        let arguments: String = self.arguments.iter().map(|argument| format!("{argument} ")).collect();
        format!("ssh {arguments}-o BatchMode=yes {host} true")
    }
}

/// What the host's login shell is told to run. It has no single quote in it, so that every shell hands it on as it is.
fn remote(agent: &AgentProgram, heartbeat: Duration) -> String {
    let words = &format!("agent {PIPES} {}", heartbeat_argument(heartbeat));
    if let Some(path) = &agent.installed {
        return format!("exec {path} {words}");
    }
    let script = Script { agent, words, speaker: "", before_failure: "", before_start: "" };
    let names = Packer::ALL.map(Packer::name);
    let (unpackers, any) = (names.join(" "), names.join("|"));
    let ask = format!(
        "a={NEED}; for g in {unpackers}; do if command -v $g >/dev/null 2>&1; then a=\"$a $g\"; fi; done; echo \"$a\"; "
    );
    // The sender may have nothing to pack it with.
    let how = format!("read -r g n; case \"$g\" in {any}) g=\"$g -dc\" ;; *) g=cat ;; esac; ");
    format!("exec sh -c '{}{}{ask}{how}{}'", script.start(), script.make_room(), script.take())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::Path;
    use std::process::{Child, Command, Stdio};
    use std::time::SystemTime;

    use super::*;

    fn agent() -> AgentProgram {
        AgentProgram { path: "/x/banyan".into(), hash: "ab".repeat(32), length: 5, installed: None, directory: None }
    }

    #[test]
    fn the_host_comes_after_the_end_of_options_and_questions_are_refused() {
        let starter =
            SshOptions { arguments: vec!["-F".into(), "conf".into()] }.starter("n1", &agent(), Duration::from_secs(1));
        let words: Vec<&str> = starter.command.iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(
            words[..words.len() - 1],
            ["ssh", "-T", "-x", "-a", "-o", "BatchMode=yes", "-F", "conf", "--", "n1"]
        );
        assert_eq!(starter.check, "ssh -F conf -o BatchMode=yes n1 true");
    }

    /// The script on a host whose users live here.
    fn begin(home: &Path) -> Child {
        let mut shell = Command::new("sh");
        shell.args(["-c", &remote(&agent(), Duration::from_secs(1))]).env("HOME", home).env_remove("XDG_CACHE_HOME");
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a shell")
    }

    /// The same, which has asked for the program.
    fn run(home: &Path) -> Child {
        let mut shell = begin(home);
        // It says nothing more before it gets the program.
        let mut asked = String::new();
        BufReader::new(shell.stdout.as_mut().unwrap()).read_line(&mut asked).unwrap();
        assert!(asked.starts_with(NEED) && asked.contains(" gzip"), "{asked}");
        shell
    }

    /// Sends the program, and closes standard input.
    fn send(shell: &mut Child) {
        shell.stdin.take().unwrap().write_all(b"cat 5\nexit\n").unwrap();
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn an_upload_whose_sender_is_gone_leaves_nothing() {
        let home = tempfile::TempDir::new().unwrap();
        let mut shell = run(home.path());
        let mut input = shell.stdin.take().unwrap();
        input.write_all(b"cat 5\nab").unwrap();
        // Nobody hears what the script has to say about it.
        drop((shell.stdout.take(), shell.stderr.take()));
        drop(input);
        shell.wait().unwrap();
        assert_eq!(names(&home.path().join(".cache/banyan/agents")), [""; 0]);
    }

    #[test]
    fn an_upload_removes_what_others_left_long_ago() {
        let home = tempfile::TempDir::new().unwrap();
        let agents = home.path().join(".cache/banyan/agents");
        std::fs::create_dir_all(&agents).unwrap();
        // Whatever mask this runs with.
        std::fs::set_permissions(&agents, std::fs::Permissions::from_mode(0o700)).unwrap();
        let hour = Duration::from_secs(60 * 60);
        for (name, age) in [(".abab.111111", 2 * hour), (".abab.222222", hour / 2), ("abab", 2 * hour)] {
            let file = File::create(agents.join(name)).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        }
        let mut shell = run(home.path());
        send(&mut shell);
        shell.wait().unwrap();
        assert_eq!(names(&agents), [".abab.222222", "abab", &agent().hash]);
    }

    #[test]
    fn of_several_that_come_at_once_the_first_stays_unless_it_is_damaged() {
        let home = tempfile::TempDir::new().unwrap();
        let agents = home.path().join(".cache/banyan/agents");
        let place = agents.join(agent().hash);
        let mut shells = [(); 3].map(|()| run(home.path()));
        let mut inodes = Vec::new();
        for shell in &mut shells {
            if inodes.len() == 2 {
                std::fs::write(&place, b"false").unwrap();
            }
            send(shell);
            assert!(shell.wait().unwrap().success());
            assert_eq!(std::fs::read(&place).unwrap(), b"exit\n");
            // What is open keeps its number.
            inodes.push((std::fs::metadata(&place).unwrap().ino(), File::open(&place).unwrap()));
        }
        assert_eq!(names(&agents), [agent().hash]);
        assert_eq!(inodes[0].0, inodes[1].0);
        assert_ne!(inodes[1].0, inodes[2].0);
    }

    #[test]
    fn a_program_is_checked_when_it_comes_and_when_it_was_written_to_since() {
        let home = tempfile::TempDir::new().unwrap();
        let place = home.path().join(".cache/banyan/agents").join(agent().hash);
        let upload = || {
            let mut shell = run(home.path());
            send(&mut shell);
            assert!(shell.wait().unwrap().success());
            assert_eq!(std::fs::read(&place).unwrap(), b"exit\n");
        };
        upload();
        let checked = std::fs::metadata(&place).unwrap().modified().unwrap();
        std::fs::write(&place, b"false").unwrap();
        upload();
        std::fs::write(&place, b"false").unwrap();
        File::options().write(true).open(&place).unwrap().set_modified(checked).unwrap();
        let started = begin(home.path()).wait_with_output().unwrap();
        assert!(!started.status.success() && started.stdout.is_empty(), "{started:?}");
    }

    #[test]
    fn the_script_is_one_word_for_every_shell() {
        let script = remote(&agent(), Duration::from_secs(1));
        assert_eq!(script.matches('\'').count(), 2, "{script}");
        assert!(!script.contains('\n'));
    }
}
