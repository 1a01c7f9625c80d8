//! From every host: a member on each offers its files, and what is not here yet comes up the tree.

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;
use std::time::Instant;

use banyan_boot::{
    Event, ExitState, HostSet, Input, Lines, Problem, ProblemKind, ProcessDistribution, RankSet, Session, Stdio,
};
use serde_json::json;

use super::inbox::{Inbox, Say};
use super::size::{files, size};
use super::tell::{Amount, Tell};
use super::{Copy, check_names, goes_up, name_of};
use crate::failure::{Failure, Outcome};

/// The program of the agent itself, as a process that it starts sees it.
const AGENT: &str = "/proc/self/exe";

/// The signal that ends a member that is not listened to any more.
const KILL: i32 = 9;

pub(super) fn gather(copy: &Copy, begin: Instant, deadline: Option<Instant>) -> Outcome {
    let names = copy.files.iter().map(|file| name_of(file)).collect::<Result<Vec<_>, _>>()?;
    check_names(names.iter())?;
    if let Some(file) = copy.files.iter().find(|file| goes_up(file)) {
        return Err(Failure::usage(format!("{}: files to gather are written without ..", file.display())));
    }
    let refused = |error| Failure::system(format_args!("{}: cannot be written", copy.dest.display()), &error);
    fs::create_dir_all(&copy.dest).map_err(refused)?;
    let dest = fs::canonicalize(&copy.dest).map_err(refused)?;
    let mut tell = Tell::new(copy.json, begin);
    let arguments = ["copy", "--send", "--"].map(Into::into).into_iter();
    let arguments = arguments.chain(copy.files.iter().map(|file| file.clone().into_os_string())).chain([".".into()]);
    let members = ProcessDistribution::new(AGENT, arguments);
    let members = members.stdio(Stdio { input: Input::Everyone, ..Stdio::default() });
    let session = copy.launch(members, 1, &mut tell)?;
    let inboxes = session.hosts().map(|host| {
        let targets = names.iter().map(|name| dest.join(host).join(name)).collect();
        (host.to_owned(), Inbox::new(targets))
    });
    let mut gathering = Gathering { copy, inboxes: inboxes.collect(), came: 0, session: &session, tell: &mut tell };
    gathering.follow(deadline)?;
    gathering.report()?;
    drop(session);
    Ok(ExitCode::from(tell.end()?))
}

struct Gathering<'a> {
    copy: &'a Copy,
    /// By rank.
    inboxes: Vec<(String, Inbox)>,
    came: u64,
    session: &'a Session,
    tell: &'a mut Tell,
}

impl Gathering<'_> {
    fn follow(&mut self, deadline: Option<Instant>) -> Result<(), Failure> {
        let mut left = self.inboxes.len();
        while left > 0 {
            match self.session.next_event(deadline) {
                Some(Event::Output(lines)) if !lines.errors => self.take(&lines)?,
                Some(Event::Output(lines)) => {
                    let text = String::from_utf8_lossy(&lines.bytes).trim().to_owned();
                    self.fail(&lines.host, text)?;
                }
                Some(Event::Exited { rank, state, .. }) => {
                    left -= 1;
                    self.ended(rank, &state)?;
                }
                Some(Event::Problem(problem)) => self.tell.problem(&problem)?,
                Some(_) => {}
                None => {
                    if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                        self.tell.timed_out();
                    } else {
                        self.tell.session_lost();
                    }
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, lines: &Lines) -> Result<(), Failure> {
        let Some((host, inbox)) = self.inboxes.get_mut(lines.rank as usize) else { return Ok(()) };
        let host = host.clone();
        self.came += lines.bytes.len() as u64;
        self.tell.progress(self.came, None);
        let says = match inbox.take(&lines.bytes) {
            Ok(says) => says,
            Err(why) => {
                self.session.signal(KILL, Some(RankSet::from_iter([lines.rank])));
                return self.fail(&host, why);
            }
        };
        for say in says {
            match say {
                Say::Answer(wanted) => {
                    let answer = if wanted { "send" } else { "skip" };
                    self.session.write_input(format!("{host} {answer}\n").as_bytes());
                }
                Say::Problem(why) => self.fail(&host, why)?,
            }
        }
        Ok(())
    }

    fn ended(&mut self, rank: u32, state: &ExitState) -> Result<(), Failure> {
        let Some((host, inbox)) = self.inboxes.get_mut(rank as usize) else { return Ok(()) };
        let host = host.clone();
        let in_the_middle = inbox.close();
        if (in_the_middle || !state.is_success()) && !self.tell.has_failed(&host) {
            return self.fail(&host, format!("what sends its files {state}"));
        }
        Ok(())
    }

    fn fail(&mut self, host: &str, cause: String) -> Result<(), Failure> {
        let files: Vec<String> =
            self.copy.files.iter().map(|file| file.to_string_lossy().replace("{host}", host)).collect();
        let remedy = format!("look with: banyan run -w {host} -- ls -ld {}", files.join(" "));
        let (host, kind, members) = (host.to_owned(), ProblemKind::Staging, String::new());
        self.tell.problem(&Problem { host, kind, cause, remedy, members })
    }

    /// What came from whom; hosts that gave as much together.
    fn report(&mut self) -> Result<(), Failure> {
        let mut alike: BTreeMap<(u64, u64, u64, u64), Vec<&str>> = BTreeMap::new();
        for (host, inbox) in &self.inboxes {
            let Amount { delivered, had } = inbox.amount;
            self.tell.add(inbox.amount);
            if self.tell.is_json() {
                self.tell.object(&json!({
                    "event": "gathered",
                    "host": host,
                    "files": inbox.files,
                    "bytes": inbox.bytes,
                    "delivered_bytes": delivered,
                    "had_bytes": had,
                    "failed": self.tell.has_failed(host),
                }))?;
            }
            alike.entry((inbox.files, inbox.bytes, delivered, had)).or_default().push(host);
        }
        if self.tell.is_json() {
            return Ok(());
        }
        for ((count, bytes, delivered, had), hosts) in alike {
            let each = if hosts.len() > 1 { " each" } else { "" };
            let hosts = HostSet::from_names(hosts).map(|hosts| hosts.to_string()).unwrap_or_default();
            let how = match (delivered, had) {
                (0, 0) => "nothing came".into(),
                (0, _) => "nothing had to be sent".into(),
                (_, 0) => format!("{} came", size(delivered)),
                _ => format!("{} came, {} were here", size(delivered), size(had)),
            };
            self.tell.line(&format!("{hosts}: {}, {}{each}: {how}", files(count), size(bytes)))?;
        }
        Ok(())
    }
}
