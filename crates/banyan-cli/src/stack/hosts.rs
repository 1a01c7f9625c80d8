//! Stacks of many hosts: a member on each looks, the tree merges.
//!
//! First all hosts say which processes they have, so that each gets a rank of its own; then all look at once.

use std::time::{Duration, Instant};

use banyan_boot::{HostSet, ProcessDistribution, SessionOptions};
use banyan_ndr::{Decoder, Limits};
use banyan_stack::{Choice, Found, Report, Target, number};
use banyan_tree::reduce::Collected;
use banyan_tree::{Network, NetworkOptions, Stream, StreamOptions, TreeError, Wave};

use super::Stack;
use super::merge::{STACKS, filters};
use super::message::{self, FIND, Order, TAKE, Text};
use crate::failure::{Failure, warn};
use crate::hosts::{launch_status, nodes_of_job};
use crate::status;

/// The program on every host: whatever the agent there is.
const SAME_PROGRAM: &str = "/proc/self/exe";

/// How long all may take, unless the user says something else.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often to see whether anybody is left while waiting.
const LOOK_AROUND: Duration = Duration::from_millis(200);

/// What this machine is called.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

impl Stack {
    /// The hosts to ask, if it is not this machine alone.
    pub(super) fn hosts_to_ask(&self) -> Result<Option<HostSet>, Failure> {
        let choice = self.choice()?;
        if self.hosts.named.names_some() {
            return match choice {
                Choice::Mpi(_) => Err(Failure::usage(
                    "--mpi names a process of this machine; for ranks on other hosts use --match or --slurm with -w",
                )),
                _ => self.hosts.hosts().map(Some),
            };
        }
        match choice {
            Choice::SlurmJob(job) => hosts_of_job(&job),
            _ => Ok(None),
        }
    }
}

/// The hosts of a job, unless there is no Slurm here or it knows of none: then this machine is meant.
fn hosts_of_job(job: &str) -> Result<Option<HostSet>, Failure> {
    if !is_slurm_here() {
        return Ok(None);
    }
    let answer = nodes_of_job(job);
    let text = answer
        .map_err(|why| Failure::new(format!("the hosts of job {job} are not known: {why}; name them with -w")))?;
    let text = text.trim();
    let here = std::fs::read_to_string(HOST_NAME).unwrap_or_default();
    if text.is_empty() || text == here.trim() {
        return Ok(None);
    }
    HostSet::parse(text).map(Some).map_err(|error| Failure::new(format!("the hosts of job {job}: {error}")))
}

fn is_slurm_here() -> bool {
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|part| part.join("squeue").is_file()))
}

/// Looks on these hosts. Gives what was found, and the exit status that the hosts deserve.
pub(super) fn look(stack: &Stack, hosts: &HostSet) -> Result<(Report, u8), Failure> {
    let begin = Instant::now();
    let patience = PATIENCE.saturating_add(stack.every.saturating_mul(stack.samples));
    let deadline = stack.hosts.deadline(begin)?.or_else(|| begin.checked_add(patience));
    let members = ProcessDistribution::new(SAME_PROGRAM, ["stack", "--member"]);
    let members = hosts.iter().fold(members, |members, host| members.on(host, 1));
    let given = stack.hosts.options()?;
    let session = SessionOptions { deadline: given.deadline.or(Some(patience)), ..given };
    let options = NetworkOptions { session, filters, ..NetworkOptions::default() };
    let network = Network::launch(&members, &options).map_err(|error| failure(&error))?;
    // Without those that could not be reached.
    let names: Vec<String> = network.session().hosts().map(str::to_owned).collect();
    let found = find(stack, &network, deadline)?;
    let orders = orders(stack, &names, found)?;
    let stream =
        network.open(&network.everyone(), StreamOptions::filter(STACKS, "")).map_err(|error| failure(&error))?;
    let members = stream.members().iter().filter_map(|member| orders.get(member as usize));
    let texts: Vec<Text> = members.map(|order| Text { text: order.text() }).collect();
    stream.scatter(TAKE, &texts).map_err(|error| failure(&error))?;
    let wave = next_wave(&network, &stream, deadline)?;
    let Text { text } = wave.read().map_err(|error| failure(&error))?;
    let report = Report::from_json(text.as_bytes()).map_err(Failure::new)?;
    Ok((report, missing(&network, &wave, &names)))
}

/// The processes of each member's host, by member.
fn find(stack: &Stack, network: &Network, deadline: Option<Instant>) -> Result<Vec<(u32, Vec<Found>)>, Failure> {
    let stream = network.open(&network.everyone(), StreamOptions::collect()).map_err(|error| failure(&error))?;
    let text = message::choice_text(&stack.choice()?);
    stream.send(FIND, &Text { text }).map_err(|error| failure(&error))?;
    let wave = next_wave(network, &stream, deadline)?;
    let mut decoder = Decoder::new();
    let mut answers = Vec::new();
    for Collected { rank, format, body } in collected(&wave)? {
        let id = decoder.learn(&format).map_err(Failure::new)?;
        let Text { text } = decoder.decode(id, &body).map_err(Failure::new)?;
        let found =
            message::found(&text).ok_or_else(|| Failure::new(format!("member {rank} is of another version")))?;
        answers.push((rank, found));
    }
    Ok(answers)
}

/// Waits for a wave, unless nobody is left to send one.
fn next_wave(network: &Network, stream: &Stream, deadline: Option<Instant>) -> Result<Wave, Failure> {
    loop {
        let soon = Instant::now() + LOOK_AROUND;
        match stream.recv(Some(deadline.map_or(soon, |deadline| deadline.min(soon)))) {
            Ok(wave) => return Ok(wave),
            Err(TreeError::TimedOut) if deadline.is_some_and(|deadline| Instant::now() >= deadline) => {
                return Err(failure(&TreeError::TimedOut));
            }
            Err(TreeError::TimedOut) if network.members().is_empty() => {
                return Err(Failure::with_status(
                    "the members on all hosts have ended before they answered",
                    status::UNREACHABLE,
                ));
            }
            Err(TreeError::TimedOut) => {}
            Err(error) => return Err(failure(&error)),
        }
    }
}

fn collected(wave: &Wave) -> Result<Vec<Collected>, Failure> {
    let format = wave.format().ok_or_else(|| Failure::new("a wave came without a format"))?;
    Collected::read(&format, wave.body(), &Limits::default()).map_err(Failure::new)
}

/// What each member is to do: every process has one rank, whichever host it is on.
fn orders(stack: &Stack, names: &[String], answers: Vec<(u32, Vec<Found>)>) -> Result<Vec<Order>, Failure> {
    let options = stack.sampling()?;
    let mut orders: Vec<Order> =
        names.iter().map(|host| Order { host: host.clone(), targets: Vec::new(), options }).collect();
    let all: Vec<(u32, Found)> =
        answers.into_iter().flat_map(|(member, found)| found.into_iter().map(move |it| (member, it))).collect();
    if all.is_empty() {
        return Err(Failure::new(format!("no such process was found on {} hosts", names.len())));
    }
    let found: Vec<Found> = all.iter().map(|(_, it)| it.clone()).collect();
    for ((member, it), rank) in all.into_iter().zip(number(&found)) {
        if let Some(order) = orders.get_mut(member as usize) {
            order.targets.push(Target { pid: it.pid, rank, command: it.command });
        }
    }
    Ok(orders)
}

/// Says which hosts are not in a wave, or could not be reached at all.
fn missing(network: &Network, wave: &Wave, names: &[String]) -> u8 {
    let silent = network.everyone().members().difference(wave.members());
    let silent: Vec<&str> = silent.iter().filter_map(|member| names.get(member as usize)).map(String::as_str).collect();
    if !silent.is_empty() {
        warn(format!("nothing came from {}; its processes are not in what follows", silent.join(", ")));
    }
    let unreached = network.session().missing();
    unreached.iter().for_each(warn);
    if silent.is_empty() && unreached.is_empty() { 0 } else { status::UNREACHABLE }
}

fn failure(error: &TreeError) -> Failure {
    let status = match error {
        TreeError::Launch(error) => launch_status(error),
        TreeError::TimedOut => status::TIME_LIMIT,
        _ => status::UNREACHABLE,
    };
    Failure::with_status(error, status)
}
