//! Stacks of many hosts: a member on each looks, the tree merges.
//!
//! First all hosts say which processes they have, so that each gets a rank of its own; then all look at once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::{Duration, Instant};

use banyan_boot::{HostSet, ProcessDistribution};
use banyan_ndr::{Decoder, Limits};
use banyan_stack::{Choice, Found, MpiJob, Report, ReportRecord, SamplerOptions, Target, ancestors, machine, number};
use banyan_tree::reduce::Collected;
use banyan_tree::{Network, NetworkOptions, Stream, StreamOptions, TreeError, Wave};

use super::Stack;
use super::merge::STACKS;
use super::message::{Answer, FIND, Search, StackRequest, TAKE};
use crate::failure::{Failure, warn};
use crate::hosts::{Missing, launch_status, nodes_of_job};
use crate::speech::note;
use crate::{signals, status};

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
        if self.hosts.names_some() {
            return self.hosts.hosts().map(Some);
        }
        match self.choice()? {
            Choice::SlurmJob(job) => hosts_of_job(&job),
            Choice::Mpi(launcher) => hosts_of_mpirun(launcher),
            _ => Ok(None),
        }
    }

    /// The processes that are wanted, as they are known on every host.
    fn choice_elsewhere(&self) -> Result<Choice, Failure> {
        match self.choice()? {
            Choice::Mpi(launcher) => MpiJob::of(launcher).map(Choice::MpiJob).map_err(Failure::new),
            choice => Ok(choice),
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

/// The hosts on which an `mpirun` has started its ranks, if it has none on this machine: what is here needs no session.
fn hosts_of_mpirun(launcher: u32) -> Result<Option<HostSet>, Failure> {
    let names = MpiJob::of(launcher).and_then(|job| job.hosts()).unwrap_or_default();
    if names.is_empty() || Choice::Mpi(launcher).find().is_ok_and(|here| !here.is_empty()) {
        return Ok(None);
    }
    let hosts =
        HostSet::from_names(&names).map_err(|error| Failure::new(format!("the hosts of {launcher}: {error}")))?;
    note(format_args!("the hosts of process {launcher}: {hosts}"));
    Ok(Some(hosts))
}

fn is_slurm_here() -> bool {
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|part| part.join("squeue").is_file()))
}

/// What became of the hosts themselves.
#[derive(Default)]
pub(super) struct Around {
    /// Those that could not be reached.
    pub(super) left_out: Missing,
    /// The exit status that they deserve.
    pub(super) status: u8,
}

/// Looks on these hosts. Gives what was found, and what became of them.
pub(super) fn look(stack: &Stack, hosts: &HostSet) -> Result<(Report, Around), Failure> {
    let begin = Instant::now();
    let patience = PATIENCE.saturating_add(stack.every.saturating_mul(stack.samples));
    let deadline = stack.hosts.deadline(begin)?.or_else(|| begin.checked_add(patience));
    let members = ProcessDistribution::new(SAME_PROGRAM, ["stack", "--member"]);
    let members = hosts.iter().fold(members, |members, host| members.on(host, 1));
    let mut session = stack.hosts.network_options(hosts)?;
    session.deadline = session.deadline.or(Some(patience));
    let options = NetworkOptions::default().session(session);
    signals::tell_awaited()?;
    let network = Network::launch(&members, &options).map_err(|error| failure(&error))?;
    // Without those that could not be reached.
    let names: Vec<String> = network.session().hosts().map(str::to_owned).collect();
    let choice = stack.choice_elsewhere()?;
    let mut answers = find(&choice, &network, deadline)?;
    if matches!(choice, Choice::Matching(_)) {
        leave_out_this_command(&mut answers);
    }
    let found = once_each(answers);
    if found.is_empty() {
        return Err(nothing(&choice, &names));
    }
    // The rest is for the last sample, and for what comes back.
    let within = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()) / 4 * 3);
    let options = stack.sampling()?.within(within);
    let orders = orders(options, &names, found);
    let stream =
        network.open(&network.everyone(), StreamOptions::filter(STACKS, "")).map_err(|error| failure(&error))?;
    let orders: Vec<StackRequest> =
        stream.members().iter().filter_map(|member| orders.get(member as usize).cloned()).collect();
    stream.scatter(TAKE, &orders).map_err(|error| failure(&error))?;
    let wave = next_wave(&network, &stream, deadline)?;
    let record: ReportRecord = wave.read().map_err(|error| failure(&error))?;
    let report = Report::try_from(record).map_err(Failure::new)?;
    let left_out = Missing::of(&stack.hosts, network.session().missing())?;
    Ok((report, around(left_out, &network, &wave, &names)))
}

/// The processes of each member's host, by member.
fn find(choice: &Choice, network: &Network, deadline: Option<Instant>) -> Result<Vec<(u32, Answer)>, Failure> {
    let stream = network.open(&network.everyone(), StreamOptions::collect()).map_err(|error| failure(&error))?;
    stream.send(FIND, &Search::of(choice)?).map_err(|error| failure(&error))?;
    let wave = next_wave(network, &stream, deadline)?;
    let mut decoder = Decoder::new();
    let mut answers = Vec::new();
    for Collected { rank, format, body, .. } in collected(&wave)? {
        let id = decoder.learn(&format).map_err(Failure::new)?;
        answers.push((rank, decoder.decode(id, &body).map_err(Failure::new)?));
    }
    Ok(answers)
}

/// Waits for a wave, unless nobody is left to send one.
fn next_wave(network: &Network, stream: &Stream, deadline: Option<Instant>) -> Result<Wave, Failure> {
    loop {
        let soon = Instant::now() + LOOK_AROUND;
        match stream.recv_timeout(deadline.map_or(soon, |deadline| deadline.min(soon))) {
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

/// A pattern is in the command line of whoever asks for it, too, which a host sees if it is this machine by another name.
fn leave_out_this_command(answers: &mut [(u32, Answer)]) {
    let (here, own) = (machine(), ancestors(std::process::id()));
    for (_, answer) in answers.iter_mut().filter(|(_, answer)| !here.is_empty() && answer.machine == here) {
        answer.found.retain(|it| !own.contains(&it.pid));
    }
}

/// Every process once, with the member that looks at it. Hosts that share a machine, or are two names of one, all see its
/// processes; each is then of the host whose name it has, or else of the first.
fn once_each(answers: Vec<(u32, Answer)>) -> Vec<(u32, Found)> {
    let mut chosen: Vec<(u32, Found)> = Vec::new();
    let mut seen: HashMap<(String, u32), usize> = HashMap::new();
    for (member, Answer { machine, found }) in answers {
        for it in found {
            match seen.entry((machine.clone(), it.pid)) {
                Entry::Occupied(entry) if !machine.is_empty() => {
                    let known = &mut chosen[*entry.get()];
                    if it.on_this_host && !known.1.on_this_host {
                        *known = (member, it);
                    }
                }
                entry => {
                    entry.insert_entry(chosen.len());
                    chosen.push((member, it));
                }
            }
        }
    }
    chosen.sort_by_key(|(member, _)| *member);
    chosen
}

/// Why there is nothing to look at on these hosts.
fn nothing(choice: &Choice, names: &[String]) -> Failure {
    let hosts = HostSet::from_names(names).map_or_else(|_| names.join(","), |hosts| hosts.to_string());
    match choice {
        Choice::Matching(regex) => {
            let (pattern, quoted) = (regex.as_str(), regex.as_str().replace('\'', r"'\''"));
            let remedy = format!("look with: banyan run -w {hosts} -- pgrep -af '{quoted}'");
            Failure::new(format!("no process of {hosts} has a command line that matches {pattern:?}; {remedy}"))
        }
        Choice::SlurmJob(job) => {
            let remedy = format!("look where it runs with: squeue -j {job}");
            Failure::new(format!("no process of {hosts} belongs to job {job} and has a rank; {remedy}"))
        }
        Choice::MpiJob(MpiJob { launcher, home: None, .. }) => Failure::new(format!(
            "process {launcher} has started no daemons for other hosts that are known (orted, prted, hydra_pmi_proxy); is \
             it the mpirun, on this machine? for other jobs use --match or --slurm"
        )),
        _ => Failure::new(format!("no such process was found on {hosts}; name the hosts of the job with -w")),
    }
}

/// What each member is to do: every process has one rank, whichever host it is on.
fn orders(options: SamplerOptions, names: &[String], all: Vec<(u32, Found)>) -> Vec<StackRequest> {
    let mut orders: Vec<StackRequest> = names.iter().map(|host| StackRequest::new(host.clone(), options)).collect();
    let found: Vec<Found> = all.iter().map(|(_, it)| it.clone()).collect();
    for ((member, it), rank) in all.into_iter().zip(number(&found)) {
        if let Some(order) = orders.get_mut(member as usize) {
            order.targets.push(Target { pid: it.pid, rank, command: it.command });
        }
    }
    orders
}

/// Says which hosts are not in a wave, or could not be reached at all.
fn around(left_out: Missing, network: &Network, wave: &Wave, names: &[String]) -> Around {
    let silent = network.everyone().members().difference(wave.members());
    let silent: Vec<&str> = silent.iter().filter_map(|member| names.get(member as usize)).map(String::as_str).collect();
    if !silent.is_empty() {
        warn(format!("nothing came from {}; its processes are not in what follows", silent.join(", ")));
    }
    left_out.tell();
    let status = status::of_hosts(!silent.is_empty() || left_out.are_needed());
    Around { left_out, status }
}

fn failure(error: &TreeError) -> Failure {
    let status = match error {
        TreeError::Launch(error) => launch_status(error),
        TreeError::TimedOut => status::TIME_LIMIT,
        _ => status::UNREACHABLE,
    };
    Failure::with_status(error, status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_several_hosts_see_is_looked_at_once_on_the_host_it_is_on() {
        let found = |pid, on_this_host| Found { pid, rank: None, command: String::new(), on_this_host };
        let answer = |machine: &str, found| Answer { machine: machine.into(), found };
        let answers = vec![
            (0, answer("one", vec![found(7, false), found(8, false), found(9, true)])),
            (1, answer("one", vec![found(7, true), found(8, false), found(9, false)])),
            (2, answer("other", vec![found(7, true)])),
            (3, answer("", vec![found(7, true)])),
            (4, answer("", vec![found(7, true)])),
        ];
        let chosen: Vec<(u32, u32)> = once_each(answers).iter().map(|(member, it)| (*member, it.pid)).collect();
        assert_eq!(chosen, [(0, 8), (0, 9), (1, 7), (2, 7), (3, 7), (4, 7)]);
    }
}
