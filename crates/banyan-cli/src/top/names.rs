//! Names of users: those of `/etc/passwd`, and what the system knows from elsewhere (LDAP, SSSD), which `getent` tells.
//!
//! A directory may be slow, or not answer at all. So a thread of its own asks it, once for each user, and only a look that has
//! found someone new waits for the answer, a moment: names that come later are there at the next look, numbers until then.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::process;
use crate::ask::answer;

/// How long a look waits for names.
const PATIENCE: Duration = Duration::from_millis(300);

/// How long the directory may take; who has no name then keeps the number.
const LIMIT: Duration = Duration::from_secs(10);

/// Users that are asked for at once, so that many cost few processes, …
const MOST_AT_ONCE: usize = 64;

/// … and in all: no host has more with processes of theirs.
const MOST: usize = 4096;

/// Users with their numbers.
type FoundUsers = Vec<(u32, String)>;

/// Knows the names of users.
#[derive(Debug)]
pub(super) struct UserNames {
    known: HashMap<u32, String>,
    /// Numbers and names that were asked for.
    asked: HashSet<String>,
    /// The program that is asked.
    program: PathBuf,
    directory: Option<Directory>,
}

/// The thread that asks.
#[derive(Debug)]
struct Directory {
    keys: Sender<Vec<String>>,
    /// How many keys were answered, and what was found.
    answers: Receiver<(usize, FoundUsers)>,
    /// Keys that were not answered yet.
    open: usize,
}

impl UserNames {
    /// Those of this machine.
    pub(super) fn here() -> UserNames {
        UserNames::of(&fs::read_to_string("/etc/passwd").unwrap_or_default(), "getent".into())
    }

    fn of(passwd: &str, program: PathBuf) -> UserNames {
        let mut names = UserNames { known: HashMap::new(), asked: HashSet::new(), program, directory: None };
        names.learn(process::users(passwd).map(|(id, name)| (id, name.to_owned())));
        names
    }

    /// The first name of a number counts.
    fn learn(&mut self, found: impl IntoIterator<Item = (u32, String)>) {
        for (id, name) in found {
            self.known.entry(id).or_insert(name);
        }
    }

    /// Finds names for these users, and the number of the one that is wanted, if a name is.
    pub(super) fn look(&mut self, ids: impl Iterator<Item = u32>, wanted: &str) {
        let unknown: HashSet<u32> = ids.filter(|id| !self.known.contains_key(id)).collect();
        let mut keys: Vec<String> = unknown.into_iter().map(|id| id.to_string()).collect();
        // What looks like an option is nobody's name.
        if !wanted.is_empty() && !wanted.starts_with('-') && !self.known.values().any(|name| name == wanted) {
            keys.push(wanted.to_owned());
        }
        keys.retain(|key| self.asked.len() < MOST && self.asked.insert(key.clone()));
        let until = Instant::now() + if keys.is_empty() { Duration::ZERO } else { PATIENCE };
        if !keys.is_empty() && self.directory.is_none() {
            self.directory = Directory::start(self.program.clone());
        }
        let Some(directory) = &mut self.directory else { return };
        let found = directory.ask(keys, until);
        self.learn(found);
    }

    /// The name of a user, or the number of one that has none here.
    pub(super) fn name(&self, id: u32) -> String {
        self.known.get(&id).cloned().unwrap_or_else(|| id.to_string())
    }
}

impl Directory {
    /// Nothing where there can be no thread.
    fn start(program: PathBuf) -> Option<Directory> {
        let ((keys, asked), (found, answers)) = (channel(), channel());
        let serve = move || serve(&program, &asked, &found);
        thread::Builder::new().name("names".into()).spawn(serve).ok()?;
        Some(Directory { keys, answers, open: 0 })
    }

    /// Asks, and gives what was answered until then, to this or earlier questions.
    fn ask(&mut self, keys: Vec<String>, until: Instant) -> FoundUsers {
        self.open += keys.len();
        // A thread that has ended answers nothing.
        keys.chunks(MOST_AT_ONCE).for_each(|keys| drop(self.keys.send(keys.to_vec())));
        let mut all = FoundUsers::new();
        while self.open > 0
            && let Ok((answered, found)) = self.answers.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            self.open = self.open.saturating_sub(answered);
            all.extend(found);
        }
        all
    }
}

/// Asks for whatever is wanted, until nobody is there who would want to know.
fn serve(program: &PathBuf, asked: &Receiver<Vec<String>>, found: &Sender<(usize, FoundUsers)>) {
    while let Ok(keys) = asked.recv() {
        // It fails if it does not know one of them, and tells the others all the same.
        let said = answer(Command::new(program).arg("passwd").args(&keys), LIMIT);
        let text = said.map(|(_, out, _)| out).unwrap_or_default();
        let users = process::users(&text).map(|(id, name)| (id, name.to_owned())).collect();
        if found.send((keys.len(), users)).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only so that a broken directory does not hang the tests.
    const DEADLINE: Duration = Duration::from_secs(60);

    /// A directory that notes what it was asked, and answers when there is a file `go`.
    fn directory() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().expect("a temporary directory");
        let program = place.path().join("getent");
        let here = place.path().display();
        let script = format!(
            "#!/bin/sh\nshift\nfor key; do echo $key >> {here}/asked; done\nwhile [ ! -e {here}/go ]; do sleep 0.01; done\n\
             for key; do case $key in 5001|ana) echo ana:x:5001:100::/:/bin/sh;; 5002) echo ben:x:5002:100::/:/bin/sh;; \
             *) miss=2; esac; done\nexit $miss\n"
        );
        // Another process writes it: a child of another test could hold it open for writing while it is to run.
        let write = ["-c", "printf %s \"$2\" > \"$1\"; chmod 755 \"$1\"", "sh"];
        let wrote = Command::new("sh").args(write).arg(&program).arg(script).status();
        assert!(wrote.is_ok_and(|status| status.success()), "a script");
        (place, program)
    }

    /// Looks until a user has this name.
    fn look_until(names: &mut UserNames, ids: &[u32], id: u32, name: &str) {
        let deadline = Instant::now() + DEADLINE;
        while names.name(id) != name {
            assert!(Instant::now() < deadline, "{names:?}");
            names.look(ids.iter().copied(), "");
        }
    }

    #[test]
    fn a_user_of_a_directory_has_a_number_until_that_answers_and_is_asked_for_once() {
        let (place, program) = directory();
        let mut names = UserNames::of("root:x:0:0::/:/bin/sh\n", program);
        let ids = [0, 5001, 5002, 5003];
        names.look(ids.into_iter(), "");
        assert_eq!(ids.map(|id| names.name(id)), ["root", "5001", "5002", "5003"]);
        fs::write(place.path().join("go"), "").expect("room");
        look_until(&mut names, &ids, 5001, "ana");
        look_until(&mut names, &ids, 5002, "ben");
        assert_eq!(names.name(5003), "5003");
        let asked = fs::read_to_string(place.path().join("asked")).expect("it was asked");
        let mut asked: Vec<&str> = asked.lines().collect();
        asked.sort_unstable();
        assert_eq!(asked, ["5001", "5002", "5003"]);
    }

    #[test]
    fn the_number_of_a_name_that_is_wanted_is_asked_for() {
        let (place, program) = directory();
        fs::write(place.path().join("go"), "").expect("room");
        let mut names = UserNames::of("", program);
        names.look([].into_iter(), "ana");
        look_until(&mut names, &[], 5001, "ana");
    }

    #[test]
    fn without_a_directory_users_have_numbers() {
        let mut names = UserNames::of("", "/no/such/program".into());
        names.look([5001].into_iter(), "-x");
        assert_eq!(names.name(5001), "5001");
        assert!(!names.asked.contains("-x"));
    }
}
