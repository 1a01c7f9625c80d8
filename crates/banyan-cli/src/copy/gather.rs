//! From every host: a member on each offers its files, and what is not here yet comes up the tree.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use banyan_boot::{
    Event, ExitState, HostSet, Input, Lines, MadeDirectories, Output, ParcelError, Problem, ProblemKind,
    ProcessDistribution, RankSet, Session, SessionError, Stdio, remove_leftovers, remove_leftovers_of,
};
use serde_json::json;

use super::answers::{Answers, Overrun};
use super::inbox::{Inbox, Say};
use super::interrupt::CopyInterrupt;
use super::size::{files, size};
use super::tell::{Amount, Tell};
use super::{Copy, LinkChoice, check_names, for_host, goes_up, name_of, no_thread, not_launched};
use crate::failure::{Failure, Outcome};

/// The program of the agent itself, as a process that it starts sees it.
const AGENT: &str = "/proc/self/exe";

/// The signal that ends a member that is not listened to any more.
const KILL: i32 = 9;

/// How long answers that nobody waits for any more are given to be written.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

pub(super) fn gather(copy: &Copy, begin: Instant, deadline: Option<Instant>) -> Outcome {
    check(copy)?;
    let mut tell = Tell::new(copy.json, copy.partial, begin);
    let links = match copy.links {
        LinkChoice::Keep => "--links=keep",
        LinkChoice::Follow => "--links=follow",
        LinkChoice::Skip => "--links=skip",
    };
    let options = ["copy", "--send", links].into_iter().chain(copy.times.then_some("--times")).chain(["--"]);
    let arguments =
        options.map(Into::into).chain(copy.files.iter().map(|file| file.clone().into_os_string())).chain([".".into()]);
    let members = ProcessDistribution::new(AGENT, arguments);
    let members = members.stdio(Stdio::default().input(Input::Everyone).output(Output::Forward)).plain();
    let (session, interrupt) = copy.launch(members, 1, &mut tell)?;
    // It goes again if nothing comes.
    let (dest, made) = destination(&copy.dest)?;
    let inbox = |host: &str| Ok((host.to_owned(), inbox(copy, &dest, host)?));
    let inboxes = session.hosts().map(inbox).collect::<Result<Vec<_>, Failure>>()?;
    let input = Arc::clone(&session);
    let answers = Answers::start(inboxes.len(), move |answer| input.write_input(answer));
    let answers = answers.map_err(|error| no_thread(&error))?;
    let ended = RankSet::new();
    let mut gathering = DirectoryGathering {
        copy,
        dest,
        ended,
        inboxes,
        came: 0,
        session: &session,
        answers,
        interrupt,
        tell: &mut tell,
    };
    let followed = gathering.follow(deadline);
    // Half files go, whatever happened.
    for (_, inbox) in &mut gathering.inboxes {
        inbox.close();
    }
    drop(made);
    session.stop();
    followed?;
    if let Some(error) = gathering.tell.missing().all_of(gathering.inboxes.len()) {
        return Err(not_launched(&error, gathering.tell));
    }
    gathering.report()?;
    gathering.answers.end(LAST_ANSWERS);
    // If it is still written to, its agents end it when this process has ended.
    drop(Arc::into_inner(session));
    Ok(ExitCode::from(tell.end()?))
}

/// The directory that everything goes into, made if it is not there; it goes again if nothing has come.
fn destination(dest: &Path) -> Result<(PathBuf, MadeDirectories), Failure> {
    let refused = |error| Failure::system(format_args!("{}: cannot be written", dest.display()), &error);
    let made = MadeDirectories::make(dest).map_err(refused)?;
    Ok((fs::canonicalize(dest).map_err(refused)?, made))
}

/// Refuses, before anything is made here, options that make no sense, and files that would replace each other or lie
/// elsewhere than they seem to.
fn check(copy: &Copy) -> Result<(), Failure> {
    let hosts = copy.hosts.hosts()?;
    copy.hosts.options(hosts.len())?;
    for host in hosts.iter() {
        check_names(names_at(copy, host)?.iter())?;
    }
    match copy.files.iter().find(|file| goes_up(file)) {
        Some(file) => Err(Failure::usage(format!("{}: files to gather are written without ..", file.display()))),
        None => Ok(()),
    }
}

/// What the files of a host are called here.
fn names_at(copy: &Copy, host: &str) -> Result<Vec<OsString>, Failure> {
    copy.files.iter().map(|file| Ok(for_host(Path::new(&name_of(file)?), host).into_os_string())).collect()
}

/// Where the files of a host go. What a front-end has left there that was killed is removed.
fn inbox(copy: &Copy, dest: &Path, host: &str) -> Result<Inbox, Failure> {
    let targets: Vec<PathBuf> = names_at(copy, host)?.iter().map(|name| dest.join(host).join(name)).collect();
    if !dest.join(host).is_symlink() {
        remove_leftovers(&dest.join(host));
    }
    // Where a directory is a file system of its own, files are put together within it.
    targets.iter().for_each(|target| remove_leftovers_of(target));
    Ok(Inbox::new(targets, copy.partial))
}

struct DirectoryGathering<'a> {
    copy: &'a Copy,
    /// Where the directories of hosts are.
    dest: PathBuf,
    /// By rank.
    inboxes: Vec<(String, Inbox)>,
    /// The ranks of those that have sent everything, or have given up.
    ended: RankSet,
    came: u64,
    session: &'a Session,
    answers: Answers,
    interrupt: CopyInterrupt,
    tell: &'a mut Tell,
}

impl DirectoryGathering<'_> {
    fn follow(&mut self, deadline: Option<Instant>) -> Result<(), Failure> {
        while self.ended.len() < self.inboxes.len() as u64 {
            let event = self.session.recv_event_timeout(deadline);
            if let Some(status) = self.interrupt.status() {
                return self.tell.interrupted(status);
            }
            match event {
                Ok(Event::Output(lines)) if !lines.errors => self.take(&lines)?,
                Ok(Event::Output(lines)) => {
                    let text = String::from_utf8_lossy(&lines.bytes).trim().to_owned();
                    self.fail(&lines.host, ProblemKind::Staging, text)?;
                }
                Ok(Event::Exited { rank, state, .. }) => {
                    self.ended.insert(rank);
                    self.ended(rank, &state)?;
                }
                Ok(Event::Problem(problem)) => self.tell.problem(&problem)?,
                Ok(_) => {}
                Err(error) => {
                    match error {
                        SessionError::TimedOut => self.tell.timed_out(),
                        _ => self.tell.session_lost(),
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
                self.session.signal(KILL, Some(RankSet::from_iter([lines.rank]))).map_err(Failure::new)?;
                return self.refuse(&host, why);
            }
        };
        for say in says {
            match say {
                Say::Answer(wanted) => {
                    let answer = if wanted { "send" } else { "skip" };
                    if let Err(Overrun) = self.answers.say(lines.rank, format!("{host} {answer}\n").into_bytes()) {
                        self.session.signal(KILL, Some(RankSet::from_iter([lines.rank]))).map_err(Failure::new)?;
                        return self.fail(
                            &host,
                            ProblemKind::Staging,
                            "it asks on and on without waiting for answers".into(),
                        );
                    }
                }
                Say::Problem(kind, why) => self.fail(&host, kind, why)?,
                Say::Skipped(file, skips) => {
                    let source = self.copy.files.get(file).map(PathBuf::as_path).unwrap_or(Path::new(""));
                    self.tell.skipped(Some(&host), source, skips)?;
                }
            }
        }
        Ok(())
    }

    fn ended(&mut self, rank: u32, state: &ExitState) -> Result<(), Failure> {
        let Some((host, inbox)) = self.inboxes.get_mut(rank as usize) else { return Ok(()) };
        let host = host.clone();
        let in_the_middle = inbox.close();
        let is_known = self.tell.has_failed(&host) || self.tell.missing().contains(&host);
        if (in_the_middle || !state.is_success()) && !is_known {
            return self.fail(&host, ProblemKind::Staging, format!("what sends its files {state}"));
        }
        Ok(())
    }

    /// What came from a host is not taken: because of what it is, or because of this machine.
    fn refuse(&mut self, host: &str, why: ParcelError) -> Result<(), Failure> {
        match why {
            ParcelError::Came(why) => self.fail(host, ProblemKind::Staging, why),
            ParcelError::Here(kind, why) => {
                let there = self.dest.join(host).display().to_string();
                let remedy = match kind {
                    ProblemKind::NoSpace => format!("make room; look with: df -h {}", self.dest.display()),
                    _ => format!("look with: ls -la {there}"),
                };
                self.tell.not_stored(host, kind, &why, &remedy)
            }
        }
    }

    fn fail(&mut self, host: &str, kind: ProblemKind, cause: String) -> Result<(), Failure> {
        let files: Vec<String> =
            self.copy.files.iter().map(|file| for_host(file, host).to_string_lossy().into_owned()).collect();
        let remedy = format!("look with: banyan run -w {host} -- ls -ld {}", files.join(" "));
        self.tell.problem(&Problem::new(host, kind, cause, remedy))
    }

    /// What came from whom; hosts that gave as much together.
    fn report(&mut self) -> Result<(), Failure> {
        self.tell.tell_problems()?;
        self.tell.tell_skips();
        let mut alike: BTreeMap<(u64, u64, u64, u64), Vec<&str>> = BTreeMap::new();
        for (rank, (host, inbox)) in (0..).zip(&self.inboxes) {
            if self.tell.missing().contains(host) {
                continue;
            }
            if !self.ended.contains(rank) {
                self.tell.unfinished(host);
            }
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
