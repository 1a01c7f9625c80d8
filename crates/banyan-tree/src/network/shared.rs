//! What a network and its streams share: the driver of the root, and the rule who drives.
//!
//! A thread that waits for something takes the driver's place at the links if nobody else has it, and otherwise sleeps
//! until the one who has it says that something came. Those who only send need the lock for a moment.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use banyan_boot::{RankSet, Session};
use banyan_link::{Deadline, Poller, Ready};
use banyan_ndr::FormatId;
use bytes::Bytes;

use super::everyone;
use crate::driver::Driver;
use crate::error::TreeError;
use crate::ids::{StreamId, WaveNumber};
use crate::node::{Delivery, Report};
use crate::record_reader::SharedReader;
use crate::reports::Reports;

/// What streams and their network have in common.
pub(super) struct SharedNetwork {
    core: Mutex<Core>,
    /// Whoever holds it waits for links.
    waiting: Mutex<PollerState>,
    /// Told whenever something has come.
    pub(super) changed: Condvar,
    /// Ready when a link is.
    pub(super) descriptor: Poller,
    /// Reads records beside whoever drives.
    pub(super) reader: SharedReader,
}

pub(super) struct Core {
    pub(super) driver: Driver,
    /// Waves that were taken from the node and not by the caller, by stream.
    pub(super) taken: HashMap<StreamId, TakenWaves>,
    /// The stream of the last wave that was taken of any: the others have their turn first.
    last: StreamId,
    pub(super) events: Reports,
    /// How many processes were invited to take the place of each member.
    pub(super) lives: HashMap<u32, u32>,
    /// Members that someone else starts, …
    attaching: RankSet,
    /// … and until when they may come; without a limit for as long as the network lasts.
    attaching_until: Option<Instant>,
    pub(super) is_over: bool,
}

/// Waves that came together, and how many of them the caller has.
pub(super) struct TakenWaves {
    delivery: Delivery,
    next: u32,
}

struct PollerState {
    poller: Poller,
    ready: Vec<Ready>,
}

/// A wave as it came.
pub(super) struct WaveContent {
    pub(super) stream: StreamId,
    pub(super) number: WaveNumber,
    pub(super) members: Arc<RankSet>,
    pub(super) missing: RankSet,
    pub(super) tag: u32,
    pub(super) format: FormatId,
    pub(super) body: Bytes,
}

impl Core {
    /// Members of this session that attach may do so for this long.
    pub(super) fn new(driver: Driver, session: &Session, attach_deadline: Option<Duration>) -> Core {
        Core {
            driver,
            taken: HashMap::new(),
            last: StreamId::CONTROL,
            events: Reports::default(),
            lives: HashMap::new(),
            attaching: session.attaching().clone(),
            attaching_until: attach_deadline.and_then(|time| Instant::now().checked_add(time)),
            is_over: false,
        }
    }

    /// Waits until all members have joined that were started.
    pub(super) fn gather(&mut self, session: &Session, time: Duration) -> Result<(), TreeError> {
        let deadline = Instant::now() + time;
        let started = everyone(session).difference(session.attaching());
        loop {
            let missing = started.difference(&self.driver.node().members());
            if missing.is_empty() {
                self.note_reports();
                return Ok(());
            }
            if let Some(refused) = self.refused(session, &missing) {
                return Err(refused);
            }
            if let Some(ended) = ended_early(session, &missing) {
                return Err(ended);
            }
            if Instant::now() >= deadline {
                return Err(TreeError::NotJoined { missing, seconds: time.as_secs_f64() });
            }
            self.driver.turn(Some(deadline.min(Instant::now() + Duration::from_millis(100))))?;
        }
    }

    /// The first member that its agent has sent away, of those that are missing.
    fn refused(&mut self, session: &Session, missing: &RankSet) -> Option<TreeError> {
        while let Some(report) = self.driver.report() {
            if let Report::Violation { child, cause, .. } = &report
                && let Some(rank) = self.driver.rank_of(*child).filter(|rank| missing.contains(*rank))
            {
                let host = session.hosts().nth(rank as usize).unwrap_or_default().to_owned();
                return Some(TreeError::SentAway { rank, host, cause: cause.clone() });
            }
            self.events.push(report);
        }
        None
    }

    /// The error for whoever talks to these members, if all of them are lost and none of them is expected.
    pub(super) fn nobody_left(&self, members: &RankSet) -> Option<TreeError> {
        let is_attaching = || {
            let may_attach = self.attaching_until.is_none_or(|until| Instant::now() < until);
            may_attach && !self.attaching.is_disjoint(members)
        };
        let is_invited = || self.lives.keys().any(|rank| members.contains(*rank));
        let is_left = members.is_empty() || self.driver.node().has_any(members) || is_attaching() || is_invited();
        (!is_left).then(|| TreeError::NobodyLeft { members: members.clone() })
    }

    /// The next wave of a stream that has come.
    pub(super) fn take(&mut self, stream: StreamId) -> Option<Result<WaveContent, TreeError>> {
        if !self.taken.contains_key(&stream) {
            let delivery = self.driver.node_mut().take_waves(stream)?;
            self.taken.insert(stream, TakenWaves { delivery, next: 0 });
        }
        let TakenWaves { delivery, next } = self.taken.get_mut(&stream)?;
        let number = delivery.number(*next);
        let wave = match &delivery.bodies {
            Ok(bodies) => {
                let (members, missing) = (Arc::clone(&delivery.members), delivery.missing.clone());
                let (tag, format, body) = (bodies.tag(), bodies.format(), bodies.body(*next));
                Ok(WaveContent { stream, number, members, missing, tag, format, body })
            }
            Err(error) => Err(TreeError::Uncombined { stream, wave: number, cause: error.to_string() }),
        };
        *next += 1;
        if *next == delivery.body_count() {
            self.taken.remove(&stream);
        }
        Some(wave)
    }

    /// The next wave of any stream that has come.
    pub(super) fn take_any(&mut self) -> Option<Result<WaveContent, TreeError>> {
        let first = self.driver.node().stream_after(self.last)?;
        let mut stream = first;
        loop {
            if let Some(wave) = self.take(stream) {
                self.last = stream;
                return Some(wave);
            }
            stream = self.driver.node().stream_after(stream).filter(|stream| *stream != first)?;
        }
    }

    /// The error for whoever listens to all streams, if there are some and nobody is left on any of them.
    pub(super) fn nobody_left_anywhere(&self) -> Option<TreeError> {
        let mut members = RankSet::new();
        for opening in self.driver.node().streams() {
            self.nobody_left(&opening.members)?;
            members = members.union(&opening.members);
        }
        (!members.is_empty()).then_some(TreeError::NobodyLeft { members })
    }

    fn note_reports(&mut self) {
        while let Some(report) = self.driver.report() {
            self.events.push(report);
        }
    }
}

/// The first member that has ended before it was in the tree, and so never will be, of those that are missing there.
fn ended_early(session: &Session, missing: &RankSet) -> Option<TreeError> {
    let (rank, state) = missing.iter().find_map(|rank| Some((rank, session.exit_state(rank)?)))?;
    let host = session.hosts().nth(rank as usize).unwrap_or_default().to_owned();
    Some(TreeError::EndedEarly { rank, host, state, words: session.last_words(rank).unwrap_or_default() })
}

impl SharedNetwork {
    pub(super) fn new(mut core: Core) -> io::Result<SharedNetwork> {
        core.driver.be_watched();
        let poller = core.driver.poller();
        let (descriptor, waiting) =
            (poller.try_clone()?, PollerState { poller: poller.try_clone()?, ready: Vec::new() });
        let reader = SharedReader::new(core.driver.formats().clone());
        let (core, waiting) = (Mutex::new(core), Mutex::new(waiting));
        Ok(SharedNetwork { core, waiting, changed: Condvar::new(), descriptor, reader })
    }

    pub(super) fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drives until there is what the caller looks for.
    pub(super) fn wait<T>(
        &self,
        deadline: Deadline,
        look: impl FnMut(&mut Core) -> Option<Result<T, TreeError>>,
    ) -> Result<T, TreeError> {
        self.wait_or(deadline, look, |_| TreeError::TimedOut)
    }

    /// Drives until there is room for what the caller sends on a stream; the control stream is for streams that are opened.
    pub(super) fn wait_for_room<T>(
        &self,
        stream: StreamId,
        deadline: Deadline,
        send: impl FnMut(&mut Core) -> Option<Result<T, TreeError>>,
    ) -> Result<T, TreeError> {
        self.wait_or(deadline, send, |core| {
            let (nodes, members) = core.driver.node().behind(stream);
            TreeError::Behind { nodes, members }
        })
    }

    /// Drives until there is what the caller looks for, or the deadline has passed: this is the error then.
    fn wait_or<T>(
        &self,
        deadline: Deadline,
        mut look: impl FnMut(&mut Core) -> Option<Result<T, TreeError>>,
        too_late: impl FnOnce(&Core) -> TreeError,
    ) -> Result<T, TreeError> {
        let deadline = deadline.instant();
        let mut has_driven = false;
        loop {
            let mut core = self.core();
            if let Some(found) = look(&mut core) {
                self.leave(&mut core);
                return found;
            }
            if core.is_over {
                return Err(TreeError::Ended);
            }
            // What has come by then counts, so there is one look at the links in any case.
            if has_driven && deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                self.leave(&mut core);
                return Err(too_late(&core));
            }
            has_driven = true;
            let timeout = core.driver.prepare(deadline);
            match self.waiting.try_lock() {
                Ok(waiting) => {
                    drop(core);
                    self.drive(waiting, timeout)?;
                }
                Err(TryLockError::Poisoned(_)) => return Err(TreeError::Ended),
                // Another thread sleeps for longer than it should by now: what is due is seen to here.
                Err(TryLockError::WouldBlock) if timeout == Some(Duration::ZERO) => {
                    core.driver.handle(&[]);
                    core.note_reports();
                    drop(core);
                    self.changed.notify_all();
                }
                Err(TryLockError::WouldBlock) => {
                    // Another thread drives, and says when something has come.
                    let timeout = timeout.unwrap_or(Duration::from_secs(1));
                    drop(self.changed.wait_timeout(core, timeout));
                }
            }
        }
    }

    /// A caller goes: acknowledgements and the like are sent. If no other thread drives, nobody does until one comes back.
    pub(super) fn leave(&self, core: &mut Core) {
        match self.waiting.try_lock() {
            Ok(_) => core.driver.leave(),
            Err(_) => _ = core.driver.prepare(None),
        }
    }

    /// Waits for links, takes what has come, and leaves the place to others.
    fn drive(&self, mut waiting: MutexGuard<'_, PollerState>, timeout: Option<Duration>) -> Result<(), TreeError> {
        let PollerState { poller, ready } = &mut *waiting;
        let waited = poller.wait_asleep(timeout, ready);
        let mut core = self.core();
        core.driver.handle(ready);
        core.note_reports();
        // Before the others can look: who finds the place taken while it holds the lock is asleep when it is told.
        drop(waiting);
        drop(core);
        self.changed.notify_all();
        Ok(waited?)
    }
}
