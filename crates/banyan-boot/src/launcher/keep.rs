//! How a host keeps agent programs and starts them, in the words of `sh`: nothing of ours runs there yet.
//!
//! Programs lie in the user's cache, or in a directory that the user has chosen. Where the cache cannot be written to, is full,
//! or programs may not be started there, they lie in a directory of the user's own in `$TMPDIR`, in `/dev/shm` or in
//! `$XDG_RUNTIME_DIR`. A shell cannot make a file in memory alone, so there is nothing behind these.
//!
//! The name of one is its content's hash, so an agent of another version is never started
//! by mistake. Before it is started the first time, and whenever it was written to since, the program checks its own content:
//! one that was damaged has to come anew. That takes 8 ms, much for a machine on which many hosts are only namespaces; so a
//! program that was found whole is made to look as if it was last written long ago. One that comes is written beside its place, and takes
//! it when it is whole: what was interrupted is never started. Several may come at once, also from hosts that share the
//! directory: who comes second leaves the first where it is, since it may run already, and NFS forgets what is replaced.

use super::program::AgentProgram;
use crate::agent::CHECK;

/// After so many minutes without a byte nobody sends a program any more: what came of it is removed by the next upload.
const LEFTOVER_MINUTES: u32 = 60;

/// After so many days in which nobody has started it a program of another version is removed by the next upload.
const OLD_DAYS: u32 = 60;

/// When a program that was found whole was last written, as it says itself: in the words of `touch`.
const CHECKED: &str = "200001010000";

/// What says that it was last written more than so many days ago was found whole: nobody wrote a program then.
const CHECKED_DAYS: u32 = 3650;

/// What is wrong with a directory in which somebody else could put a program, as with the cache of files.
const UNSAFE: &str = "belongs to someone else, or others may write to it; programs are not started from such a directory: chmod 700 it, or set XDG_CACHE_HOME";

/// What is wrong with a directory whose programs cannot be started, in words that are harmless in `sh`.
const NO_PROGRAMS: &str = "no program can be started from there, it may be mounted noexec";

/// The parts of a script, each of which ends with a semicolon. None has a single quote in it.
pub(crate) struct Script<'a> {
    pub(crate) agent: &'a AgentProgram,
    /// What the program is started with.
    pub(crate) words: &'a str,
    /// How messages begin.
    pub(crate) speaker: &'a str,
    /// What is done before the script fails, …
    pub(crate) before_failure: &'a str,
    /// … and before a program is started that was there already.
    pub(crate) before_start: &'a str,
}

impl Script<'_> {
    fn check(&self) -> String {
        format!("agent {CHECK} {} </dev/null", self.agent.hash)
    }

    /// Calls a function of the script with each place for programs, until it succeeds.
    fn places(&self) -> String {
        if let Some(directory) = &self.agent.directory {
            return format!("places() {{ \"$1\" \"{directory}\"; }}; ");
        }
        let cache = "\"${XDG_CACHE_HOME:-$HOME/.cache}/banyan/agents\"";
        // In a directory that is everyone's only one that nobody else can put another in the place of.
        format!(
            "within() {{ [ -k \"$2\" ] || [ -O \"$2\" ] || return 1; i=\"$2/.cache-banyan-$(id -u)\"; [ ! -L \"$i\" ] && \"$1\" \"$i\"; }}; \
             places() {{ \"$1\" {cache} || within \"$1\" \"${{TMPDIR:-/tmp}}\" || within \"$1\" /dev/shm || \
             within \"$1\" \"${{XDG_RUNTIME_DIR:-/run/user/$(id -u)}}\"; }}; "
        )
    }

    /// Starts the program from where it is kept, if it is there, whole and safe.
    pub(crate) fn start(&self) -> String {
        let Script { agent, words, speaker, before_failure, before_start, .. } = self;
        let (hash, length, check, places) = (&agent.hash, agent.length, self.check(), self.places());
        // A damaged program may not even begin to run: its length comes first. One look tells that, and of the directory. It
        // prints the program's name, and once more if that has to be checked.
        let look = "-prune -type d -perm -020 -print -o -prune -type d -perm -002 -print";
        format!(
            "t=; w=; fail() {{ echo \"{speaker}$1\" >&2; {before_failure}exit 71; }}; \
             start() {{ d=\"$1\"; p=\"$d/{hash}\"; [ -d \"$d\" ] || return 1; \
             s=$(find -H \"$d\" \"$p\" -type f -size {length}c \\( -mtime +{CHECKED_DAYS} -o -print \\) -print -o {look} 2>/dev/null); \
             if [ -O \"$d\" ]; then case \"$s\" in \"$p\"|\"$p\"*\"$p\"|\"\") ;; *) s=unsafe ;; esac; else s=unsafe; fi; \
             if [ \"$s\" = unsafe ]; then fail \"$d {UNSAFE}\"; fi; \
             if [ -n \"$s\" ] && [ -x \"$p\" ] && {{ [ \"$s\" = \"$p\" ] || {{ \"$p\" {check} && {{ touch -t {CHECKED} \"$p\" || :; }}; }}; }} 2>/dev/null; \
             then {before_start}exec \"$p\" {words}; fi; return 1; }}; {places}places start; "
        )
    }

    /// Makes room for a program that comes: in the first place that has it, and from which programs may be started. Programs
    /// of other versions go that nobody has started for long.
    pub(crate) fn make_room(&self) -> String {
        let (hash, length) = (&self.agent.hash, self.agent.length);
        format!(
            "trap \"rm -f \\\"\\$t\\\"\" EXIT; trap \"exit 72\" HUP INT PIPE TERM; u=$(umask); umask 077; \
             room() {{ d=\"$1\"; p=\"$d/{hash}\"; \
             v=$(mkdir -p \"$d\" 2>&1) || {{ w=\"$w; $d: $v\"; return 1; }}; \
             find \"$d\" -name \".*.??????\" -mmin +{LEFTOVER_MINUTES} -exec rm -f {{}} + ; \
             find \"$d\" -type f -name \"[0-9a-f]*\" -atime +{OLD_DAYS} ! -name {hash} -exec rm -f {{}} + ; \
             t=$(mktemp \"$d/.{hash}.XXXXXX\" 2>&1) || {{ w=\"$w; $d: $t\"; t=; return 1; }}; \
             v=$( {{ chmod 700 \"$t\" && {{ \"$t\" 2>/dev/null || ! echo {NO_PROGRAMS}; }} && \
             {{ fallocate -l {length} \"$t\" 2>/dev/null || head -c {length} /dev/zero >\"$t\"; }}; }} 2>&1) && return 0; \
             rm -f \"$t\"; t=; w=\"$w; $d: $v\"; return 1; }}; \
             places room || fail \"cannot keep the agent program in ${{w#; }}\"; "
        )
    }

    /// Takes the program from standard input, behind a line that says how it comes, and starts it.
    pub(crate) fn take(&self) -> String {
        let (length, check, words) = (self.agent.length, self.check(), self.words);
        let is_there =
            format!("{{ [ -f \"$p\" ] && [ \"$(wc -c <\"$p\")\" -eq {length} ] && \"$p\" {check}; }} 2>/dev/null");
        format!(
            "if v=$( {{ {{ head -c \"$n\" | $g >\"$t\"; }} && {{ [ \"$(wc -c <\"$t\")\" -eq {length} ] || ! echo only a part of it came; }} && \
             chmod 700 \"$t\" && \"$t\" {check} && \
             {{ ln \"$t\" \"$p\" 2>/dev/null || {is_there} || mv -f \"$t\" \"$p\"; }} && {{ touch -t {CHECKED} \"$p\" || :; }}; }} 2>&1); \
             then rm -f \"$t\"; umask $u; exec \"$p\" {words}; fi; \
             fail \"cannot keep the agent program in $d: $v\"; "
        )
    }

    /// How a program comes that is announced by nothing.
    pub(crate) fn plain(&self) -> String {
        format!("g=cat; n={}; ", self.agent.length)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// The places of a host whose user has such a directory, without the cache.
    fn places(runtime: &str) -> String {
        let agent =
            &AgentProgram { path: "/agent".into(), hash: String::new(), length: 0, installed: None, directory: None };
        let (before_failure, before_start) = ("", "");
        let script = Script { agent, words: "", speaker: "", before_failure, before_start };
        let list = format!("show() {{ echo \"$1\"; return 1; }}; {}places show", script.places());
        let mut shell = Command::new("sh");
        shell.args(["-c", &list]).env("TMPDIR", "/tmp").env("XDG_RUNTIME_DIR", runtime).env("HOME", "/no/home");
        String::from_utf8(shell.output().unwrap().stdout).unwrap()
    }

    #[test]
    fn the_last_place_is_the_directory_of_the_users_logins_if_there_is_one() {
        let own = tempfile::tempdir().unwrap();
        let user = rustix::process::getuid().as_raw();
        let last = |listed: &str| listed.lines().last().unwrap().to_owned();
        assert_eq!(
            last(&places(own.path().to_str().unwrap())),
            format!("{}/.cache-banyan-{user}", own.path().display())
        );
        assert_eq!(last(&places("/no/directory")), format!("/dev/shm/.cache-banyan-{user}"));
    }
}
