//! The front-end's call: asks who lacks it, reads, and waits until everyone has it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use banyan_link::Deadline;
use bytes::Bytes;

use super::error::StageError;
use super::pack::ParcelPacker;
use super::place::{CACHE_PREFIX, is_destination};
use super::{Delivery, Offer, Parcel, ParcelTarget, Part, Stage, StageReport, Tally};
use crate::node::root_channel::{Order, RootChannel, StagePhase, StageState};
use crate::session::Session;

/// Pieces that the front-end has read and not sent yet, at most.
const AHEAD: usize = 4;

/// Hosts that have answered wait no longer than this for those that have not.
const SHARED_WAIT: Duration = Duration::from_secs(1);

/// What may happen while a caller waits.
enum Turn {
    Goes,
    Ended(Tally),
    Over,
}

impl Session {
    /// Brings a file or a directory of this machine to the host of every agent, with its mode bits (but without rights
    /// of the owner), and returns when it is in place everywhere. Directories may hold files, directories and symbolic
    /// links that stay inside. It is read twice: for its hash, then to be sent once for all hosts.
    ///
    /// One call is under way at a time; others wait for it.
    ///
    /// # Errors
    /// When it cannot be read, or when some hosts have not got it, with every host's
    /// cause. Hosts keep nothing of what is not complete.
    pub fn stage(&self, what: &Path, to: &Stage) -> Result<StageReport, StageError> {
        self.stage_timeout(what, to, Deadline::NEVER)
    }

    /// As [`stage`](Self::stage), but waits no longer than the limit.
    ///
    /// # Errors
    /// As [`stage`](Self::stage), and [`StageError::TimedOut`] after the limit.
    pub fn stage_timeout(
        &self,
        what: &Path,
        to: &Stage,
        limit: impl Into<Deadline>,
    ) -> Result<StageReport, StageError> {
        let deadline = limit.into().instant();
        let mut numbers = self.stagings.lock().unwrap_or_else(PoisonError::into_inner);
        *numbers = numbers.wrapping_add(1);
        self.await_all(deadline).ok_or_else(|| StageError::TimedOut(what.to_owned()))?;
        let path = match to {
            Stage::Cache => None,
            Stage::Path(path) if is_destination(path) => Some(path.as_os_str().as_bytes().to_vec()),
            Stage::Path(path) => return Err(StageError::Destination(path.clone())),
        };
        let (hash, length) = ParcelPacker::new(what).measure()?;
        let hash = hash.to_hex().to_string();
        let (number, directory) = (*numbers, what.is_dir());
        let (on_disk, times, large) = (length, false, None);
        let offer = Offer {
            number,
            hash: hash.clone(),
            length,
            on_disk,
            directory,
            path,
            name: None,
            names: None,
            times,
            large,
        };
        let transfer = Transfer::begin(&self.channel, offer, what);
        let mut packer = ParcelPacker::new(what);
        let packed = std::iter::from_fn(|| packer.next().transpose());
        let (tally, pieces) = transfer.run(Some(packed), deadline, |_| ())?;
        if tally.failed > 0 {
            let problems = std::mem::take(&mut self.channel.root_state().staging.problems);
            let (failed, agents) = (tally.failed, self.agents as u32);
            return Err(StageError::Hosts { path: what.to_owned(), failed, agents, problems });
        }
        let path = match to {
            Stage::Cache => PathBuf::from(CACHE_PREFIX).join(&hash),
            Stage::Path(path) => path.clone(),
        };
        Ok(StageReport { path, hash, bytes: length, stored: tally.stored, had: tally.had, pieces })
    }

    /// Brings a [parcel](Parcel) to the host of every agent, with its mode bits (but without rights of the owner), and
    /// returns when all have said whether they have it. In a session whose hosts do not wait for each other, hosts that have
    /// answered get it at once, and the others when they come. An existing directory gets what is in the parcel and keeps what
    /// else it has; a file takes the place of another. `progress` hears how many bytes were read for those who lack it.
    ///
    /// One call is under way at a time; others wait for it.
    ///
    /// # Errors
    /// When it cannot be read, or when the session is over. Hosts that have not got it are in the result.
    pub fn stage_parcel(
        &self,
        parcel: &Parcel,
        to: &ParcelTarget,
        progress: impl FnMut(u64),
    ) -> Result<Delivery, StageError> {
        self.stage_parcel_timeout(parcel, to, Deadline::NEVER, progress)
    }

    /// As [`stage_parcel`](Self::stage_parcel), but waits no longer than the limit.
    ///
    /// # Errors
    /// As [`stage_parcel`](Self::stage_parcel), and [`StageError::TimedOut`] after the limit.
    pub fn stage_parcel_timeout(
        &self,
        parcel: &Parcel,
        to: &ParcelTarget,
        limit: impl Into<Deadline>,
        mut progress: impl FnMut(u64),
    ) -> Result<Delivery, StageError> {
        let deadline = limit.into().instant();
        let mut numbers = self.stagings.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_destination(&to.path) && to.name.is_none() {
            return Err(StageError::Destination(to.path.clone()));
        }
        let (mut delivery, mut sent) = (Delivery::default(), 0);
        for part in parcel.parts()? {
            let tally = self.stage_part(&part, &mut numbers, to, deadline, |bytes| progress(sent + bytes))?;
            delivery.problems.append(&mut self.channel.root_state().staging.problems);
            delivery.failed = delivery.failed.max(tally.failed);
            if part.is_question() && tally.needs > 0 {
                continue;
            }
            sent += part.bytes();
            delivery.note(tally, part.bytes());
            if part.is_question() {
                break;
            }
        }
        Ok(delivery)
    }

    /// Brings a part to all hosts; once more, if some came only after it had gone down.
    fn stage_part(
        &self,
        part: &Part<'_>,
        numbers: &mut u32,
        to: &ParcelTarget,
        deadline: Option<Instant>,
        mut progress: impl FnMut(u64),
    ) -> Result<Tally, StageError> {
        let (mut stored, mut came) = (0u32, 0);
        loop {
            came = self.await_more(came, deadline).ok_or_else(|| StageError::TimedOut(part.top().to_owned()))?;
            *numbers = numbers.wrapping_add(1);
            let transfer = Transfer::begin(&self.channel, part.offer(*numbers, to), part.top());
            let pieces = (!part.is_question()).then(|| part.pieces());
            let (tally, _) = transfer.run(pieces, deadline, &mut progress)?;
            if tally.late == 0 {
                let had = tally.had.saturating_sub(stored);
                return Ok(Tally { had, stored: tally.stored.saturating_add(stored), ..tally });
            }
            stored = stored.saturating_add(tally.stored);
        }
    }

    /// Waits until all agents have come or were given up, or until more have than these and the others take long; how many
    /// have. `None`: the deadline has passed.
    fn await_more(&self, came: u32, deadline: Option<Instant>) -> Option<u32> {
        loop {
            let soon = Instant::now() + SHARED_WAIT;
            let until = deadline.map_or(soon, |deadline| deadline.min(soon));
            let is_all = self.await_all(Some(until)).is_some();
            let now = self.channel.root_state().progress.agents;
            if is_all || now > came {
                return Some(now);
            }
            if until < soon {
                return None;
            }
        }
    }

    /// Waits until all agents have come or were given up. `None`: the deadline has passed.
    fn await_all(&self, deadline: Option<Instant>) -> Option<()> {
        let agents = self.agents as u32;
        self.channel
            .wait(deadline, |root_state| (root_state.over || root_state.progress.agents >= agents).then_some(()))
    }
}

impl Delivery {
    /// How it stands after a part with so many bytes of contents.
    fn note(&mut self, tally: Tally, bytes: u64) {
        let times = |agents: u32| bytes.saturating_mul(agents.into());
        self.delivered = self.delivered.saturating_add(times(tally.stored));
        self.had_bytes = self.had_bytes.saturating_add(times(tally.had));
        (self.stored, self.had) = (tally.stored, tally.had);
    }
}

/// A transfer under way; when it is dropped before its end the agents give up, too.
struct Transfer<'a> {
    channel: &'a RootChannel,
    what: &'a Path,
    number: u32,
    ended: bool,
}

impl<'a> Transfer<'a> {
    fn begin(channel: &'a RootChannel, offer: Offer, what: &'a Path) -> Transfer<'a> {
        let number = offer.number;
        channel.root_state().staging = StageState::default();
        channel.order(Order::Stage(offer));
        Transfer { channel, what, number, ended: false }
    }

    /// Sends what is needed, if there is anything to send; how it ended, and how many pieces that took.
    fn run(
        mut self,
        mut packed: Option<impl Iterator<Item = Result<Bytes, StageError>>>,
        deadline: Option<Instant>,
        mut progress: impl FnMut(u64),
    ) -> Result<(Tally, u64), StageError> {
        let mut next = None;
        let mut sent = 0;
        let mut pieces = 0;
        loop {
            let at_end = packed.is_none() || pieces > 0 && next.is_none();
            match self.turn(deadline, at_end)? {
                Turn::Over => return Err(StageError::Over),
                Turn::Ended(tally) => {
                    self.ended = true;
                    return Ok((tally, pieces));
                }
                Turn::Goes => {
                    let mut read = || packed.as_mut().and_then(Iterator::next).transpose();
                    let piece = match next.take() {
                        Some(piece) => Some(piece),
                        None => read()?,
                    };
                    next = read()?;
                    pieces += 1;
                    let last = next.is_none();
                    sent += piece.as_ref().map_or(0, |piece| piece.len() as u64);
                    progress(sent);
                    self.channel.root_state().staging.pieces.extend(piece.map(|piece| (piece, last)));
                    self.channel.ring();
                }
            }
        }
    }

    /// Waits until another piece can go, or it has ended.
    fn turn(&self, deadline: Option<Instant>, at_end: bool) -> Result<Turn, StageError> {
        let turn = self.channel.wait(deadline, |root_state| match root_state.staging.phase {
            StagePhase::Ended => Some(Turn::Ended(root_state.staging.tally)),
            _ if root_state.over => Some(Turn::Over),
            StagePhase::Sending if !at_end && root_state.staging.pieces.len() < AHEAD => Some(Turn::Goes),
            StagePhase::Sending | StagePhase::Asking => None,
        });
        turn.ok_or_else(|| StageError::TimedOut(self.what.to_owned()))
    }
}

impl Drop for Transfer<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.channel.root_state().staging = StageState::default();
            self.channel.order(Order::StageCancel(self.number));
        }
    }
}
