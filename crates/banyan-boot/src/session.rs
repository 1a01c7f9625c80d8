//! The front-end's side of a session: launch, talk to the master, listen, wait, end.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use banyan_link::{Deadline, Refused, Secret, SecretBytes, SessionId};
use banyan_ndr::Record;
use banyan_ndr::typed::Read;
use banyan_ranks::RankSet;
use bytes::Bytes;
use rustix::process::Signal;

use crate::agent_layout::{self, AgentLayout, LayoutError};
use crate::assignment::{Assignment, Image};
use crate::described;
use crate::distribution::{Output, ProcessDistribution};
use crate::error::{LaunchError, SessionError};
use crate::event::Event;
use crate::extension::NOTE_BYTES;
use crate::fallback::Fallback;
use crate::launcher::program::{AgentProgram, check_directory};
use crate::launcher::together::{StartTogether, fill_in_hosts};
use crate::launcher::{LOCALHOST, Launcher, Way};
use crate::layout::{self, AgentPlan, Group};
use crate::message::CHUNK;
use crate::node::root_channel::{MemberData, Order, RootChannel};
use crate::node::together::Together;
use crate::node::{Node, Setting};
use crate::options::SessionOptions;
use crate::passing;
use crate::problem::{Problem, ProblemKind};
use crate::process::{ExitState, Spawner};
use crate::process_limit::ProcessLimit;
use crate::process_table::{MemberProcess, ProcessTable};
use crate::ticket::Ticket;
use banyan_hosts::HostSet;

/// How long the end of a session may take beyond the members' grace.
const END_DEADLINE: Duration = Duration::from_secs(20);

/// How long the last of what members wrote may take to get to standard error.
const PASS_DEADLINE: Duration = Duration::from_secs(2);

/// How long a front-end may pause: over a weekend. What it started is not to stay for ever.
const PAUSE_SECONDS: u32 = 3 * 24 * 60 * 60;

/// How long it may take to tell the agents of a pause.
const PAUSE_DEADLINE: Duration = Duration::from_secs(1);

/// How long it may take to hear who has not come when the time for a launch is over.
const ROLL_CALL_DEADLINE: Duration = Duration::from_secs(1);

/// A running session. Dropping it ends everything it started, on every host.
#[derive(Debug)]
pub struct Session {
    pub(crate) channel: Arc<RootChannel>,
    root: Option<JoinHandle<()>>,
    /// By rank.
    hosts: Vec<Arc<str>>,
    /// The agent of each member, by rank.
    agents_of: Vec<u32>,
    attaching: RankSet,
    /// The program of each image, and the image of each member, by rank.
    images: Vec<String>,
    images_of: Vec<u32>,
    pub(crate) agents: usize,
    id: [u8; 16],
    layout: Vec<AgentLayout>,
    /// Hosts that were asked for; one may have several agents.
    host_count: usize,
    /// Whether members that cannot be started are no obstacle.
    independent: bool,
    /// Whether members start as their hosts come.
    runs_at_once: bool,
    missing: Vec<Problem>,
    grace: Duration,
    /// How many files were staged; held while one is.
    pub(crate) stagings: Mutex<u32>,
    ticket: Option<Ticket>,
    /// Whether output of members is passed on to standard error.
    is_passing: bool,
}

/// A launch in attempts, for those who need something new for each: with [`SessionOptions::min_hosts`] an attempt leaves
/// out the hosts that those before it did not reach. [`Session::launch`] is all of them.
#[derive(Debug)]
pub struct Launch {
    distributions: Vec<ProcessDistribution>,
    /// For all attempts together.
    deadline: Option<Instant>,
    missing: Vec<Problem>,
    /// One that was started together with others lacked the agent program: it goes along from now on.
    brings_agent: bool,
}

impl Launch {
    /// Before the first attempt.
    ///
    /// # Errors
    /// When no hosts were named, and none can be found.
    pub fn new(distributions: &[ProcessDistribution], options: &SessionOptions) -> Result<Launch, LaunchError> {
        let deadline = options.deadline.map(|time| Instant::now() + time);
        let mut distributions = distributions.to_vec();
        fill_in_hosts(&mut distributions)?;
        Ok(Launch { distributions, deadline, missing: Vec::new(), brings_agent: false })
    }

    /// What is to be started, on hosts that are all named: those of the allocation, or this one, where none were given.
    pub fn distributions(&self) -> &[ProcessDistribution] {
        &self.distributions
    }

    /// Starts all processes; `None` if hosts could not be reached and enough others remain, or lack the agent program. What was
    /// started has ended then, and another attempt does without those hosts, or brings them the program.
    ///
    /// # Errors
    /// As [`Session::launch`].
    pub fn attempt(&mut self, options: &SessionOptions) -> Result<Option<Session>, LaunchError> {
        let (unreachable, hosts) = match Session::begin(&self.distributions, options, self.brings_agent) {
            Ok(mut session) => {
                if session.runs_at_once {
                    return Ok(Some(session));
                }
                let came = session.come_up(options, self.deadline);
                if session.channel.root_state().is_agent_needed {
                    self.brings_agent = true;
                    options.notice.iter().for_each(|notice| notice("hosts lack the agent program: it goes along"));
                    return Ok(None);
                }
                let unreachable = came?;
                if unreachable.is_empty() {
                    session.missing = std::mem::take(&mut self.missing);
                    if let Some(ticket) = &mut session.ticket {
                        ticket.add_attach_addresses(&session.channel.root_state().listeners);
                    }
                    return Ok(Some(session));
                }
                (unreachable, session.host_count)
            }
            // Known before anything was started.
            Err(LaunchError::Problems { problems, hosts, .. }) if are_enough(&problems, hosts, options) => {
                (problems, hosts)
            }
            Err(error) => return Err(error),
        };
        if self.leave_out(&unreachable) == 0 {
            // Another attempt would end like this one.
            return Err(LaunchError::Problems { problems: unreachable, hosts, least: options.min_hosts });
        }
        // Ranks are given anew, without those of the hosts that are left out.
        self.missing.extend(unreachable.into_iter().map(|problem| Problem { members: String::new(), ..problem }));
        // Who is left mostly has it by now; who has not says so again.
        self.brings_agent = false;
        Ok(None)
    }

    /// Does without the hosts that have these problems; how many places that were.
    fn leave_out(&mut self, unreachable: &[Problem]) -> usize {
        let lost: HashSet<&str> = unreachable.iter().map(|problem| problem.host.as_str()).collect();
        let mut left_out = 0;
        for distribution in &mut self.distributions {
            let before = distribution.hosts.len();
            distribution.hosts.retain(|at| !lost.contains(at.host.as_str()));
            left_out += before - distribution.hosts.len();
        }
        left_out
    }
}

/// How the members of a session ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outcome {
    /// By rank.
    pub states: Vec<ExitState>,
}

impl Outcome {
    /// The worst of all, as an exit status: 0 if all members succeeded.
    pub fn exit_status(&self) -> u8 {
        self.states.iter().cloned().reduce(ExitState::worst).map_or(0, |worst| worst.status())
    }

    /// The members that did not succeed.
    pub fn failures(&self) -> impl Iterator<Item = (u32, &ExitState)> {
        (0u32..).zip(&self.states).filter(|(_, state)| !state.is_success())
    }
}

impl Session {
    /// Starts all processes and returns when they run. They need not have joined.
    ///
    /// # Errors
    /// When a host cannot be reached or a process cannot be started, with every host's cause and remedy; everything that
    /// was started is ended then. With [`SessionOptions::min_hosts`] hosts that cannot be reached are left out instead,
    /// as long as enough remain, and with [`SessionOptions::independent`] processes that cannot be started count as ended.
    /// Where there are several hosts, no member is started before all have answered, or were given up.
    pub fn launch(distributions: &[ProcessDistribution], options: &SessionOptions) -> Result<Session, LaunchError> {
        let mut launch = Launch::new(distributions, options)?;
        loop {
            if let Some(session) = launch.attempt(options)? {
                return Ok(session);
            }
        }
    }

    fn begin(
        distributions: &[ProcessDistribution],
        options: &SessionOptions,
        brings_agent: bool,
    ) -> Result<Session, LaunchError> {
        check_hosts(hosts_of(distributions, options))?;
        if let Some(length) = options.extension.as_ref().map(SecretBytes::len).filter(|length| *length > NOTE_BYTES) {
            return Err(LaunchError::LongNote(length));
        }
        let way = options.launcher.way(hosts_of(distributions, options))?;
        let (agents, size) = plan(distributions, options, &way)?;
        if agents.is_empty() {
            return Err(LaunchError::NoHosts);
        }
        check_process_limit(&way, agents.len(), size)?;
        let agent_program = agent_program(options, &way)?;
        let hosts = by_rank(&agents, size, |_, agent, _| Arc::from(agent.host.as_str()));
        let agents_of = by_rank(&agents, size, |node, _, _| node);
        let images_of = by_rank(&agents, size, |_, _, group| group.image);
        let images = distributions.iter().map(program_of).collect();
        let attaching = ranks_of_images(&agents, |image| distributions[image as usize].exe.is_none());
        let agent_count = agents.len();
        let layout = agents.iter().map(AgentLayout::of).collect();
        let host_count = agents.iter().map(|agent| agent.host.as_str()).collect::<HashSet<_>>().len();
        let id = random_id().map_err(LaunchError::System)?;
        let runs_at_once = runs_at_once(options, &way, &attaching);
        let assignment = Assignment {
            session: id,
            node: 0,
            level: 0,
            size,
            agent_count: agent_count as u32,
            held: holds(host_count) && !runs_at_once,
            agents,
            images: distributions.iter().map(Image::of).collect(),
            way,
            terms: options.terms(),
            member_secret: member_secret(distributions).map_err(LaunchError::System)?,
            agent_hash: agent_program.hash.clone(),
            agent_length: agent_program.length,
            installed_agent: agent_program.installed.clone(),
            agent_directory: agent_program.directory.clone(),
            note: options.extension.as_ref().map(|note| note.expose().to_vec()),
        };
        let ticket = Ticket::of(&assignment);
        let start_together = (assignment.way == Way::Together)
            .then(|| StartTogether::prepare(options, &assignment, &agent_program, brings_agent))
            .transpose()?;
        let passing = ranks_of_images(&assignment.agents, |image| passes(&distributions[image as usize]));
        let channel =
            Arc::new(RootChannel::new(size as usize, passing.clone(), options.awaited).map_err(LaunchError::System)?);
        let root = run_root(Arc::clone(&channel), assignment, agent_program, start_together, &hosts, options)?;
        let mut session = Session {
            channel,
            root: Some(root),
            hosts,
            agents_of,
            attaching,
            images,
            images_of,
            agents: agent_count,
            id,
            layout,
            host_count,
            independent: options.independent,
            runs_at_once,
            missing: Vec::new(),
            grace: options.grace,
            stagings: Mutex::default(),
            ticket,
            is_passing: false,
        };
        if !passing.is_empty() {
            passing::begin(&session.channel).map_err(LaunchError::System)?;
            session.is_passing = true;
        }
        Ok(session)
    }

    /// Waits until every host has answered and every member runs. Hosts that did not answer are an error, or are
    /// returned if enough others did.
    fn come_up(&mut self, options: &SessionOptions, deadline: Option<Instant>) -> Result<Vec<Problem>, LaunchError> {
        let agents = self.agents as u32;
        let size = self.hosts.len() as u32;
        let up = self.channel.wait(deadline, |root_state| {
            let came = root_state.over || root_state.is_agent_needed || root_state.progress.agents >= agents;
            came.then(|| (std::mem::take(&mut root_state.problems), root_state.is_agent_needed))
        });
        let Some((problems, is_agent_needed)) = up else { return Err(self.too_slow(Vec::new(), size)) };
        if is_agent_needed {
            return Ok(Vec::new());
        }
        let unreachable: Vec<Problem> =
            problems.iter().filter(|problem| problem.kind != ProblemKind::NotStarted).cloned().collect();
        if unreachable.is_empty() {
            if holds(self.host_count) {
                self.channel.order(Order::Release);
            }
            return self.members_up(problems, size, deadline).map(|()| Vec::new());
        }
        if are_enough(&unreachable, self.host_count, options) {
            return Ok(unreachable);
        }
        Err(LaunchError::Problems { problems, hosts: self.host_count, least: options.min_hosts })
    }

    /// Waits until every member runs, or is known not to. These are the problems so far.
    fn members_up(&self, mut problems: Vec<Problem>, size: u32, deadline: Option<Instant>) -> Result<(), LaunchError> {
        let up = self.channel.wait(deadline, |root_state| {
            let progress = root_state.progress;
            (root_state.over || progress.started + progress.failed >= size)
                .then(|| std::mem::take(&mut root_state.problems))
        });
        let Some(further) = up else { return Err(self.too_slow(problems, size)) };
        problems.extend(further);
        let is_borne = |problem: &Problem| self.independent && problem.kind == ProblemKind::NotStarted;
        if problems.iter().all(is_borne) {
            return Ok(());
        }
        Err(LaunchError::Problems { problems, hosts: self.host_count, least: None })
    }

    /// The time for the launch is over. Every agent that has not come is a problem of its host, beside those there were.
    fn too_slow(&self, mut problems: Vec<Problem>, size: u32) -> LaunchError {
        let agents = self.agents as u32;
        let before = self.channel.root_state().progress;
        self.channel.order(Order::TimeIsUp);
        let deadline = Instant::now() + ROLL_CALL_DEADLINE;
        // Who does not even say who is missing below is missing more than they are; what has been said is told.
        let _ = self
            .channel
            .wait(Some(deadline), |root_state| (root_state.over || root_state.progress.agents >= agents).then_some(()));
        problems.extend(std::mem::take(&mut self.channel.root_state().problems));
        let silent = problems.iter().filter(|problem| problem.kind == ProblemKind::Unreachable);
        let silent: HashSet<&str> = silent.map(|problem| problem.host.as_str()).collect();
        let progress = match silent.len() {
            0 => before.describe(agents, size),
            silent => {
                format!(
                    "{silent} of {} hosts did not answer, {} of {size} members started",
                    self.host_count, before.started
                )
            }
        };
        LaunchError::TooSlow { progress, problems }
    }

    /// Number of members.
    pub fn size(&self) -> u32 {
        self.hosts.len() as u32
    }

    /// The host of each member, by rank.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().map(|host| &**host)
    }

    /// The session's name, the same at all its agents and members and at no others.
    pub fn id(&self) -> SessionId {
        SessionId(self.id)
    }

    /// The members that [someone else](crate::ProcessDistribution::attached) starts, whether they have come or not.
    pub fn attaching(&self) -> &RankSet {
        &self.attaching
    }

    /// The node that is the agent of a member, which starts it or which it attaches to; `None` if there is no such member.
    pub fn agent_of(&self, rank: u32) -> Option<u32> {
        self.agents_of.get(rank as usize).copied()
    }

    /// All agents, each followed by those below it. The first is node 1, the next node 2, and so on. Members that attach are
    /// counted with the others.
    pub fn layout(&self) -> &[AgentLayout] {
        &self.layout
    }

    /// What processes need to attach to this session; `None` if no
    /// [distribution](crate::ProcessDistribution::attached) expects any.
    pub fn ticket(&self) -> Option<&Ticket> {
        self.ticket.as_ref()
    }

    /// Hosts that were left out because they could not be reached.
    pub fn missing(&self) -> &[Problem] {
        &self.missing
    }

    /// Hosts whose agents other hosts could not start, which may lack a key that this one has. They were left to the
    /// front-end, which has started them or tried to.
    pub fn fallbacks(&self) -> Vec<Fallback> {
        self.channel.root_state().fallbacks.clone()
    }

    /// Whether any member was started, or could not be.
    pub fn has_begun(&self) -> bool {
        let progress = self.channel.root_state().progress;
        progress.started + progress.failed > 0
    }

    /// Whether every host has answered or was given up, and every member was started or is known not to be.
    pub fn is_up(&self) -> bool {
        let progress = self.channel.root_state().progress;
        progress.agents as usize >= self.agents && progress.started + progress.failed >= self.size()
    }

    /// Gives up the hosts that have not answered yet: each becomes a [`Problem`] that cannot be reached.
    pub fn give_up_awaited(&self) {
        self.channel.order(Order::TimeIsUp);
    }

    /// Connections that were refused so far at the listeners of the front-end and of its agents: port scans, other programs,
    /// wrong secrets. Those at agents come when they have doubled, and before the end of any of their members. Who has
    /// shown that it knows the secret is not counted: agents try all addresses of the one above them at once.
    pub fn refused(&self) -> Refused {
        self.channel.root_state().refused
    }

    /// Sends bytes to the master. Waits while the master is far behind; returns when the last of them are on their way.
    pub fn send_user_data(&self, bytes: &[u8]) {
        let mut pieces = bytes.chunks(CHUNK).peekable();
        if pieces.peek().is_none() {
            self.channel.hand_in(MemberData::User { bytes: Bytes::new(), more: false });
        }
        while let Some(piece) = pieces.next() {
            let more = pieces.peek().is_some();
            self.channel.hand_in(MemberData::User { bytes: Bytes::copy_from_slice(piece), more });
        }
    }

    /// Waits for bytes of the master.
    ///
    /// # Errors
    /// When the master has ended, or the session has.
    pub fn recv_user_data(&self) -> Result<Vec<u8>, SessionError> {
        self.recv_user_data_timeout(Deadline::NEVER)
    }

    /// The bytes of the master that have come already, if there are any.
    ///
    /// # Errors
    /// As [`recv_user_data`](Self::recv_user_data).
    pub fn try_recv_user_data(&self) -> Result<Option<Vec<u8>>, SessionError> {
        come(self.recv_user_data_timeout(Instant::now()))
    }

    /// As [`recv_user_data`](Self::recv_user_data), but waits no longer than the limit.
    ///
    /// # Errors
    /// As [`recv_user_data`](Self::recv_user_data), and [`SessionError::TimedOut`] after the limit.
    pub fn recv_user_data_timeout(&self, limit: impl Into<Deadline>) -> Result<Vec<u8>, SessionError> {
        let taken = self.channel.wait(limit.into().instant(), |root_state| match root_state.take_user() {
            Some(message) => Some(Ok(message)),
            None if root_state.over => Some(Err(SessionError::Ended)),
            None => match root_state.states.first() {
                Some(Some(state)) => Some(Err(SessionError::MasterEnded { state: state.clone() })),
                _ => None,
            },
        });
        self.channel.ring();
        taken.unwrap_or(Err(SessionError::TimedOut))
    }

    /// Sends a record to the master, which receives it with [`Member::recv_user_record`](crate::Member::recv_user_record).
    pub fn send_user_record<R: Record>(&self, record: &R) -> Result<(), SessionError> {
        self.send_user_data(&described::encode(record)?);
        Ok(())
    }

    /// Waits for a record of the master.
    ///
    /// # Errors
    /// As [`recv_user_data`](Self::recv_user_data), and when the bytes are not such a record.
    pub fn recv_user_record<R>(&self) -> Result<R, SessionError>
    where
        R: Record + for<'a> Read<'a>,
    {
        self.recv_user_record_timeout(Deadline::NEVER)
    }

    /// As [`recv_user_record`](Self::recv_user_record), but waits no longer than the limit.
    ///
    /// # Errors
    /// As [`recv_user_record`](Self::recv_user_record), and [`SessionError::TimedOut`] after the limit.
    pub fn recv_user_record_timeout<R>(&self, limit: impl Into<Deadline>) -> Result<R, SessionError>
    where
        R: Record + for<'a> Read<'a>,
    {
        Ok(described::decode(&self.recv_user_data_timeout(limit)?)?)
    }

    /// Which member is which process, where, and by which agent: for people, and as records for programs. Members that attach
    /// have a process once they have come.
    pub fn processes(&self) -> ProcessTable {
        let root_state = self.channel.root_state();
        let member = |(rank, host): (u32, &Arc<str>)| MemberProcess {
            rank,
            host: host.to_string(),
            pid: root_state.processes.get(&rank).copied(),
            image: self.images.get(self.images_of[rank as usize] as usize).cloned().unwrap_or_default(),
            agent: self.agents_of[rank as usize],
        };
        ProcessTable { members: (0u32..).zip(&self.hosts).map(member).collect() }
    }

    /// How a member ended; `None` if it has not, as far as is known.
    pub fn exit_state(&self, rank: u32) -> Option<ExitState> {
        self.channel.root_state().states.get(rank as usize).cloned().flatten()
    }

    /// The last line that a member wrote to standard error, cut to 400 characters; `None` if it wrote none that was to come here.
    pub fn last_words(&self, rank: u32) -> Option<String> {
        self.channel.root_state().last_words(rank).cloned()
    }

    /// Waits for the next thing that happens.
    ///
    /// # Errors
    /// [`SessionError::Ended`] when all members have ended and every event until then was taken: [`wait`](Session::wait)
    /// then returns at once, too. What goes wrong at a host after that comes with a later call.
    pub fn recv_event(&self) -> Result<Event, SessionError> {
        self.recv_event_timeout(Deadline::NEVER)
    }

    /// As [`recv_event`](Self::recv_event), but waits no longer than the limit.
    ///
    /// # Errors
    /// As [`recv_event`](Self::recv_event), and [`SessionError::TimedOut`] after the limit.
    pub fn recv_event_timeout(&self, limit: impl Into<Deadline>) -> Result<Event, SessionError> {
        let size = self.hosts.len();
        let event = self.channel.wait(limit.into().instant(), |root_state| match root_state.take_event() {
            Some(event) => Some(Ok(event)),
            None => (root_state.over || root_state.ended == size).then_some(Err(SessionError::Ended)),
        });
        self.channel.ring();
        event.unwrap_or(Err(SessionError::TimedOut))
    }

    /// The event that has come already, if there is one.
    ///
    /// # Errors
    /// As [`recv_event`](Self::recv_event).
    pub fn try_recv_event(&self) -> Result<Option<Event>, SessionError> {
        come(self.recv_event_timeout(Instant::now()))
    }

    /// Gives standard input to the members that have one. Waits while a member is far behind with reading, which it may
    /// be because nobody takes its output: take events in another thread meanwhile.
    pub fn write_input(&self, bytes: &[u8]) {
        for piece in bytes.chunks(CHUNK) {
            self.channel.hand_in(MemberData::Input { bytes: Bytes::copy_from_slice(piece), last: false });
        }
    }

    /// Closes standard input.
    pub fn close_input(&self) {
        self.channel.hand_in(MemberData::Input { bytes: Bytes::new(), last: true });
    }

    /// Sends a signal to all members, or to some.
    ///
    /// # Errors
    /// [`SessionError::Signal`] if the number is not that of a signal with a name: real-time signals cannot be sent.
    pub fn signal(&self, signal: i32, ranks: Option<RankSet>) -> Result<(), SessionError> {
        Signal::from_named_raw(signal).ok_or(SessionError::Signal(signal))?;
        self.order_signal(signal, ranks);
        Ok(())
    }

    fn order_signal(&self, signal: i32, ranks: Option<RankSet>) {
        self.channel.order(Order::Signal { signal, ranks });
    }

    /// Stops all members, and tells the agents that this process is about to be stopped too, so that they do not take its
    /// silence for its end. They wait for three days; [`Session::resume`] lets all go on.
    pub fn pause(&self) {
        self.order_signal(libc::SIGSTOP, None);
        self.channel.order(Order::Pause { seconds: PAUSE_SECONDS });
        let deadline = Instant::now() + PAUSE_DEADLINE;
        // Agents that cannot be told in time end their members if the silence is long.
        let _ = self.channel.wait(Some(deadline), |root_state| (root_state.is_paused || root_state.over).then_some(()));
    }

    /// Lets members go on after a [pause](Session::pause).
    pub fn resume(&self) {
        self.channel.order(Order::Pause { seconds: 0 });
        self.order_signal(libc::SIGCONT, None);
    }

    /// Waits until all members have ended. Events that nobody took meanwhile are thrown away.
    pub fn wait(&self) -> Result<Outcome, SessionError> {
        self.wait_timeout(Deadline::NEVER)
    }

    /// As [`wait`](Self::wait), but no longer than the limit.
    ///
    /// # Errors
    /// [`SessionError::TimedOut`] after the limit.
    pub fn wait_timeout(&self, limit: impl Into<Deadline>) -> Result<Outcome, SessionError> {
        let size = self.hosts.len();
        let done = self.channel.wait(limit.into().instant(), |root_state| {
            if root_state.take_event().is_some() {
                while root_state.take_event().is_some() {}
                self.channel.ring();
            }
            (root_state.ended == size || root_state.over).then(|| root_state.states.clone())
        });
        let states = done.ok_or(SessionError::TimedOut)?;
        Ok(Outcome {
            states: states
                .into_iter()
                .map(|state| state.unwrap_or_else(|| ExitState::Lost("the session ended first".into())))
                .collect(),
        })
    }

    /// Begins to end everything and returns at once; [`Session::recv_event`] gives what happens until it has ended.
    pub fn stop(&self) {
        self.channel.order(Order::End);
    }

    /// Ends everything and waits until it has ended.
    pub fn kill(mut self) -> Result<(), SessionError> {
        self.end()
    }

    /// Leaves the session to itself: members go on, what they write from now on is thrown away, their collectives fail,
    /// and the agents end with the last of them. Returns when every agent has been told.
    ///
    /// # Errors
    /// When some agents cannot be told in time; these end their members when this process ends.
    pub fn detach(mut self) -> Result<(), SessionError> {
        self.leave(Order::Detach)
    }

    fn end(&mut self) -> Result<(), SessionError> {
        self.leave(Order::End)
    }

    fn leave(&mut self, order: Order) -> Result<(), SessionError> {
        let Some(root) = self.root.take() else { return Ok(()) };
        self.channel.order(order);
        let deadline = Instant::now() + self.grace + END_DEADLINE;
        let over = self.channel.wait(Some(deadline), |root_state| root_state.over.then_some(()));
        if self.is_passing {
            // Whoever reads standard error may have stopped reading.
            let deadline = Instant::now() + PASS_DEADLINE;
            let _ = self.channel.wait(Some(deadline), |root_state| root_state.is_all_passed.then_some(()));
        }
        match over {
            Some(()) => root.join().map_err(|_| SessionError::Ended),
            None => Err(SessionError::TimedOut),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // What could not be ended in time is ended by the agents when they see that this process is gone.
        let _ = self.end();
    }
}

/// What has come, if it did not have to be waited for.
fn come<T>(received: Result<T, SessionError>) -> Result<Option<T>, SessionError> {
    match received {
        Err(SessionError::TimedOut) => Ok(None),
        received => received.map(Some),
    }
}

/// Whether of so many hosts enough are left without those that have these problems.
fn are_enough(unreachable: &[Problem], hosts: usize, options: &SessionOptions) -> bool {
    // Without the front-end there is no session, on however few hosts.
    let is_here = unreachable.iter().any(|problem| problem.kind == ProblemKind::FrontEnd);
    let lost: HashSet<&str> = unreachable.iter().map(|problem| problem.host.as_str()).collect();
    let least = options.min_hosts.or(options.independent.then_some(1));
    least.is_some_and(|least| hosts.saturating_sub(lost.len()) >= least && !is_here)
}

/// Whether members start as their hosts come. Those that are started together are waited for: if one lacks the agent program
/// all of them are started anew.
fn runs_at_once(options: &SessionOptions, way: &Way, attaching: &RankSet) -> bool {
    options.independent && options.min_hosts.is_none() && *way != Way::Together && attaching.is_empty()
}

/// Whether members wait until all hosts have answered: where one of several cannot be reached nothing is to have run.
fn holds(hosts: usize) -> bool {
    hosts > 1
}

/// Refuses names that no host can have, before they reach a command line.
fn check_hosts<'a>(hosts: impl Iterator<Item = &'a str>) -> Result<(), LaunchError> {
    for host in hosts {
        if let Err(error) = HostSet::from_names([host]) {
            return Err(LaunchError::BadHost(host.to_owned(), error.to_string()));
        }
    }
    Ok(())
}

/// Refuses more processes than this machine can have, if all of them run here.
fn check_process_limit(way: &Way, agents: usize, members: u32) -> Result<(), LaunchError> {
    let wanted = agents as u64 + u64::from(members);
    match ProcessLimit::here().filter(|limit| *way == Way::Local && wanted > limit.processes) {
        Some(limit) => Err(LaunchError::TooManyProcesses { members, agents, limit }),
        None => Ok(()),
    }
}

/// All hosts that were named; some of them more than once.
fn hosts_of<'a>(
    distributions: &'a [ProcessDistribution],
    options: &'a SessionOptions,
) -> impl Iterator<Item = &'a str> {
    let members = distributions.iter().flat_map(|distribution| &distribution.hosts).map(|at| at.host.as_str());
    members.chain(options.layout.iter().flatten().map(|agent| agent.host.as_str()))
}

/// All agents, and the number of members.
fn plan(
    distributions: &[ProcessDistribution],
    options: &SessionOptions,
    way: &Way,
) -> Result<(Vec<AgentPlan>, u32), LaunchError> {
    // What starts all agents together starts one on each host.
    let one_a_host = *way == Way::Together;
    let Some(layout) = &options.layout else {
        let members_per_agent = if one_a_host { u32::MAX } else { options.members_per_agent };
        return layout::plan(distributions, members_per_agent, options.fanout).ok_or(LaunchError::TooMany);
    };
    if one_a_host {
        agent_layout::check_one_a_host(layout)?;
    }
    if options.min_hosts.is_some() {
        return Err(LayoutError::LeavesHostsOut.into());
    }
    Ok(agent_layout::plan(layout, distributions)?)
}

/// The agent program; where it may have to travel, with its content.
fn agent_program(options: &SessionOptions, way: &Way) -> Result<AgentProgram, LaunchError> {
    let mut program = AgentProgram::find(options.agent.as_deref()).map_err(LaunchError::Agent)?;
    program.installed.clone_from(&options.installed_agent);
    options.agent_directory.as_deref().map_or(Ok(()), check_directory).map_err(LaunchError::Agent)?;
    program.directory.clone_from(&options.agent_directory);
    let is_command = matches!(options.launcher, Launcher::Command { .. });
    if *way == Way::Local || is_command || program.installed.is_some() {
        return Ok(program);
    }
    program.with_content().map_err(LaunchError::System)
}

/// Something of each member, by rank: from the number of its agent's node, its agent and its group.
fn by_rank<T: Clone + Default>(agents: &[AgentPlan], size: u32, of: impl Fn(u32, &AgentPlan, &Group) -> T) -> Vec<T> {
    let mut all = vec![T::default(); size as usize];
    for (node, agent) in (1..).zip(agents) {
        for group in &agent.groups {
            all[group.first as usize..(group.first + group.count) as usize].fill(of(node, agent, group));
        }
    }
    all
}

/// The program of a distribution; empty if its members attach.
fn program_of(distribution: &ProcessDistribution) -> String {
    distribution.exe.as_ref().map(|exe| exe.display().to_string()).unwrap_or_default()
}

/// Whether what its members write goes to standard error.
fn passes(distribution: &ProcessDistribution) -> bool {
    distribution.exe.is_some() && distribution.stdio.output == Output::Pass
}

/// The members of some images.
fn ranks_of_images(agents: &[AgentPlan], is_wanted: impl Fn(u32) -> bool) -> RankSet {
    let mut ranks = RankSet::new();
    let groups = agents.iter().flat_map(|agent| &agent.groups);
    groups.filter(|group| is_wanted(group.image)).for_each(|group| group.add_to(&mut ranks));
    ranks
}

/// A secret for members that attach, if some do.
fn member_secret(distributions: &[ProcessDistribution]) -> std::io::Result<Option<Vec<u8>>> {
    let attach = distributions.iter().any(|distribution| distribution.exe.is_none());
    attach.then(|| Ok(Secret::random()?.expose().to_vec())).transpose()
}

fn random_id() -> std::io::Result<[u8; 16]> {
    let mut id = [0; 16];
    rustix::rand::getrandom(&mut id, rustix::rand::GetRandomFlags::empty())?;
    Ok(id)
}

/// Runs the root of the tree in a thread of its own.
fn run_root(
    channel: Arc<RootChannel>,
    assignment: Assignment,
    agent_program: AgentProgram,
    start_together: Option<StartTogether>,
    hosts: &[Arc<str>],
    options: &SessionOptions,
) -> Result<JoinHandle<()>, LaunchError> {
    let (hosts, extension_port, log) = (hosts.to_vec(), options.extension_port, options.agent_log.clone());
    let run = move || {
        let ran = Spawner::new().and_then(|spawner| {
            let host = LOCALHOST.to_owned();
            let (listener, together) = match start_together {
                None => (None, None),
                Some(start_together) => {
                    let (listener, together) = Together::by(start_together);
                    (Some(listener), Some(together))
                }
            };
            let (keeper, held, extension) = (None, false, None);
            let setting = Setting {
                host,
                agent_program,
                keeper,
                spawner,
                listener,
                together,
                hosts,
                held,
                extension,
                extension_port,
                log,
            };
            Node::root(Arc::clone(&channel), assignment, setting)?.run()
        });
        if let Err(error) = ran {
            let cause = format!("the front-end cannot go on: {}", banyan_hosts::cause(&error));
            let (host, kind) = (LOCALHOST.to_owned(), ProblemKind::FrontEnd);
            let remedy = "check the limits here (ulimit -n, ulimit -u)".to_owned();
            let problem = Problem { host, kind, cause, remedy, members: String::new() };
            channel.lay(|root_state| root_state.put_problem(problem));
        }
        channel.name_awaited(&[]);
        channel.lay(|root_state| root_state.over = true);
    };
    std::thread::Builder::new().name("banyan".into()).spawn(run).map_err(LaunchError::System)
}
