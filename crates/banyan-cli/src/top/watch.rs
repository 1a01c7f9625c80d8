//! The front-end: starts a member on every host, asks all of them, and takes what comes of it.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use banyan_boot::{HostSet, Launcher, Output, ProcessDistribution, RankSet, Stdio};
use banyan_ndr::{Decoder, DynRecord, Limits};
use banyan_tree::{
    Communicator, Network, NetworkOptions, NodeId, Stream, StreamOptions, Synchronisation, TreeError, Wave,
};

use super::ask::{Ask, Grouping, Question, SortKey, has_text};
use super::cost::worked;
use super::member::{LIST, ROLE, SAMPLE};
use super::merge::USAGES;
use super::tick::{self, Tick};
use super::usage::{Listing, Rest, Usage};
use crate::failure::Failure;
use crate::hosts::{HostChoice, Missing, launch_status};
use crate::{signals, status};

/// The program of the agent itself, as a process that it starts sees it.
const AGENT: &str = "/proc/self/exe";

/// What is asked of one host, or of each about someone; and of each about everyone's single processes.
const MOST_OF_ONE: u32 = 500;
const MOST_OF_EACH: u32 = 50;

/// What a node sends on of all hosts below it: more than anybody looks through.
const MOST_OF_ALL: u32 = 1000;

/// What someone uses, and where.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Used {
    pub(super) usage: Usage,
    /// The hosts, by rank.
    pub(super) on: Vec<u32>,
}

/// Who uses the hosts, and what is not told one by one.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct AllUsed {
    pub(super) used: Vec<Used>,
    pub(super) others: Rest,
}

/// Whose processes are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Within {
    /// Those of a host, by rank.
    Host(u32),
    /// Those of a job, on all hosts.
    Job(String),
    /// Those of a user, on all hosts.
    User(String),
}

/// What has to be asked of hosts beside samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) kind: Grouping,
    pub(super) order: SortKey,
    /// Whose; or of everyone on all hosts.
    pub(super) within: Option<Within>,
    /// Only those with this in a name.
    pub(super) text: String,
}

/// What the front-end itself costs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct FrontCost {
    /// Percent of a core.
    pub(super) cpu: f64,
    /// Bytes that come and go, in a second.
    pub(super) bytes: f64,
}

/// A stream of listings.
struct Lister {
    stream: Stream,
    question: Question,
}

/// Work and traffic when they were last looked at.
struct Meter {
    at: Instant,
    worked: u64,
    bytes: u64,
}

/// All hosts, watched.
pub(super) struct Watch {
    /// The name of each host, by rank.
    pub(super) hosts: Vec<String>,
    /// Hosts that could not be reached.
    pub(super) missing: Missing,
    samples: Stream,
    lister: Option<Lister>,
    /// How long a tick waits for hosts that are behind the first.
    patience: Duration,
    decoder: Decoder,
    meter: Meter,
    network: Network,
}

impl Watch {
    /// Starts a member on each host; without named ones, `act` hosts that this machine acts out. A tick waits with
    /// `patience` for hosts that are behind the first.
    pub(super) fn start(choice: &HostChoice, act: Option<u32>, patience: Duration) -> Result<Watch, Failure> {
        let names: Vec<String> = match act {
            Some(_) if choice.names_some() => {
                return Err(Failure::usage("--act simulates hosts on this machine; leave it out if hosts are named"));
            }
            Some(number) => (1..=number).map(|number| format!("local{number}")).collect(),
            None => choice.hosts()?.iter().map(str::to_owned).collect(),
        };
        let hosts = HostSet::from_names(&names).map_err(Failure::usage)?;
        let mut session = choice.network_options(&hosts)?;
        if act.is_some() {
            session.launcher = Launcher::Local;
        }
        let members = ProcessDistribution::new(AGENT, [ROLE]);
        let members = members.stdio(Stdio::default().output(Output::Discard));
        let members = names.into_iter().fold(members, |members, host| members.on(host, 1));
        // The time that everything may take is this command's own business: the session need not end by itself.
        session.deadline = None;
        signals::tell_awaited()?;
        let network = Network::launch(&members, &NetworkOptions::default().session(session));
        let network = network.map_err(failure)?;
        let hosts = network.session().hosts().map(str::to_owned).collect();
        let missing = Missing::of(choice, network.session().missing())?;
        let samples = open(&network, &network.everyone(), StreamOptions::reduce(&tick::reduction()), patience)?;
        let meter = Meter { at: Instant::now(), worked: worked(std::process::id()), bytes: bytes(&network)? };
        Ok(Watch { hosts, missing, samples, lister: None, patience, decoder: Decoder::new(), meter, network })
    }

    /// From the next tick on asks who uses all hosts, or one; or nothing.
    pub(super) fn list(&mut self, wanted: Option<Wanted>) -> Result<(), Failure> {
        self.lister = None;
        let Some(wanted) = wanted else { return Ok(()) };
        let question = self.question(&wanted);
        let members = match wanted.within {
            Some(Within::Host(host)) => self.network.those(|rank, _| rank == host),
            _ => self.network.everyone(),
        };
        let merging = StreamOptions::filter(USAGES, &Ask::new(wanted.kind, wanted.order, MOST_OF_ALL).parameters());
        let stream = open(&self.network, &members, merging, self.patience)?;
        self.lister = Some(Lister { stream, question });
        Ok(())
    }

    /// What members are asked. They do not know what their hosts are called here.
    fn question(&self, wanted: &Wanted) -> Question {
        let Wanted { kind, order, within, text } = wanted;
        let most = if within.is_none() && *kind == Grouping::Process { MOST_OF_EACH } else { MOST_OF_ONE };
        let named = (0u32..).zip(&self.hosts).filter(|(_, host)| *kind == Grouping::Process && has_text(host, text));
        let anyway = RankSet::from_iter(named.map(|(rank, _)| rank)).to_string();
        let question = Question { text: text.clone(), anyway, ..Question::new(Ask::new(*kind, *order, most)) };
        match within {
            Some(Within::Job(job)) => Question { job: job.clone(), ..question },
            Some(Within::User(user)) => Question { user: user.clone(), ..question },
            Some(Within::Host(_)) | None => question,
        }
    }

    /// Asks everyone.
    pub(super) fn ask(&self) -> Result<(), Failure> {
        self.samples.send(SAMPLE, &Ask::new(Grouping::Process, SortKey::Cpu, 0)).map_err(failure)?;
        match &self.lister {
            Some(Lister { stream, question }) => stream.send(LIST, question).map_err(failure),
            None => Ok(()),
        }
    }

    /// The tick that has come, if one has.
    pub(super) fn tick(&self) -> Result<Option<Tick>, Failure> {
        self.samples.try_recv().map_err(failure)?.map(|wave| read(&wave)).transpose()
    }

    /// Waits for a tick.
    pub(super) fn wait_for_tick(&self, deadline: Option<Instant>) -> Result<Tick, Failure> {
        read(&self.samples.recv_timeout(deadline).map_err(failure)?)
    }

    /// The listing that has come, if one has.
    pub(super) fn listing(&mut self) -> Result<Option<AllUsed>, Failure> {
        let Some(lister) = &self.lister else { return Ok(None) };
        let wave = lister.stream.try_recv().map_err(failure)?;
        wave.map(|wave| self.used(&wave)).transpose()
    }

    /// Waits for a listing; nothing if none was asked for.
    pub(super) fn wait_for_listing(&mut self, deadline: Option<Instant>) -> Result<Option<AllUsed>, Failure> {
        let Some(lister) = &self.lister else { return Ok(None) };
        let wave = lister.stream.recv_timeout(deadline).map_err(failure)?;
        self.used(&wave).map(Some)
    }

    fn used(&mut self, wave: &Wave) -> Result<AllUsed, Failure> {
        let Some(format) = wave.format() else { return Ok(AllUsed::default()) };
        let id = self.decoder.learn(&format).map_err(strange)?;
        let listing: Listing = self.decoder.decode(id, wave.body()).map_err(strange)?;
        let Listing { usages, others } = listing;
        let used = usages.into_iter().map(|usage| {
            // The tree has written it; what makes no sense is nowhere, and does not end the view of the others.
            let on: RankSet = usage.on.parse().unwrap_or_default();
            Used { on: on.intersection(wave.members()).iter().collect(), usage }
        });
        Ok(AllUsed { used: used.collect(), others })
    }

    /// What the front-end has cost since it was last asked.
    pub(super) fn cost(&mut self) -> Result<FrontCost, Failure> {
        let now = Meter { at: Instant::now(), worked: worked(std::process::id()), bytes: bytes(&self.network)? };
        let last = std::mem::replace(&mut self.meter, now);
        let now = &self.meter;
        let seconds = now.at.duration_since(last.at).as_secs_f64().max(f64::EPSILON);
        Ok(FrontCost {
            cpu: now.worked.saturating_sub(last.worked) as f64 / 1e7 / seconds,
            bytes: now.bytes.saturating_sub(last.bytes) as f64 / seconds,
        })
    }

    /// The hosts that are not in a tick.
    pub(super) fn silent(&self, tick: &Tick) -> Vec<String> {
        let spoke = |rank: u32| tick.hosts.binary_search_by_key(&rank, |host| host.rank).is_ok();
        let unreached = self.missing.problems().iter().map(|problem| problem.host.clone());
        let silent = (0u32..).zip(&self.hosts).filter(|(rank, _)| !spoke(*rank)).map(|(_, host)| host.clone());
        let mut silent: Vec<String> = silent.chain(unreached).collect();
        silent.sort();
        silent.dedup();
        silent
    }

    /// The exit status that the hosts deserve of which these are silent.
    pub(super) fn status(&self, silent: &[String]) -> u8 {
        let is_lost = silent.iter().any(|host| !self.missing.contains(host));
        status::of_hosts(is_lost || self.missing.are_needed())
    }
}

impl AsFd for Watch {
    /// Ready to read when there may be a tick or a listing.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.network.as_fd()
    }
}

fn open(
    network: &Network,
    members: &Communicator,
    options: StreamOptions,
    patience: Duration,
) -> Result<Stream, Failure> {
    network.open(members, options.synchronised(Synchronisation::Timeout(patience))).map_err(failure)
}

fn read(wave: &Wave) -> Result<Tick, Failure> {
    let Some(format) = wave.format() else { return Ok(Tick::default()) };
    let record = DynRecord::from_body(&format, wave.body(), &Limits::default()).map_err(strange)?;
    Ok(Tick::read(&record, wave.members()))
}

/// Bytes over the links of the front-end so far. Its own figures are there at once; nobody is waited for.
fn bytes(network: &Network) -> Result<u64, Failure> {
    let figures = network.figures(Instant::now()).map_err(failure)?;
    let links = figures.get(&NodeId::ROOT).map(|figures| figures.links).unwrap_or_default();
    Ok(links.bytes_sent.saturating_add(links.bytes_received))
}

fn strange(error: impl fmt::Display) -> Failure {
    Failure::new(format!("what came from the hosts cannot be read: {error}; do all have the same release?"))
}

fn failure(error: TreeError) -> Failure {
    match error {
        TreeError::Launch(error) => Failure::with_status(&error, launch_status(&error)),
        TreeError::TimedOut => Failure::with_status(
            "no host has answered in time; give it longer with --timeout, or look with: banyan doctor -w HOSTS",
            status::TIME_LIMIT,
        ),
        error => Failure::with_status(error, status::UNREACHABLE),
    }
}
