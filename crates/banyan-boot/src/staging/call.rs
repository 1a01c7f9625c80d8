//! The front-end's call: asks who lacks it, reads, and waits until everyone has it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::Instant;

use super::error::StageError;
use super::pack::Packer;
use super::place::{CACHE_PREFIX, is_destination};
use super::{Delivery, Offer, Parcel, Place, Stage, StageReport, Tally};
use crate::node::desk::{Desk, Order, StagePapers, StagePhase};
use crate::session::Session;

/// Pieces that the front-end has read and not sent yet, at most.
const AHEAD: usize = 4;

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
    /// When it cannot be read, when the deadline has passed, or when some hosts have not got it, with every host's
    /// cause. Hosts keep nothing of what is not complete.
    pub fn stage(&self, what: &Path, to: &Stage, deadline: Option<Instant>) -> Result<StageReport, StageError> {
        let mut numbers = self.stagings.lock().unwrap_or_else(PoisonError::into_inner);
        *numbers = numbers.wrapping_add(1);
        let path = match to {
            Stage::Cache => None,
            Stage::Path(path) if is_destination(path) => Some(path.as_os_str().as_bytes().to_vec()),
            Stage::Path(path) => return Err(StageError::Destination(path.clone())),
        };
        let (hash, length) = Packer::new(what).measure()?;
        let hash = hash.to_hex().to_string();
        let (name, names) = (None, None);
        let offer = Offer { number: *numbers, hash: hash.clone(), length, directory: what.is_dir(), path, name, names };
        let transfer = Transfer::begin(&self.desk, offer, what);
        let (tally, pieces) = transfer.run(Packer::new(what), deadline, |_| ())?;
        if tally.failed > 0 {
            let problems = std::mem::take(&mut self.desk.papers().staging.problems);
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
    /// returns when all have said whether they have it. An existing directory gets what is in the parcel and keeps what
    /// else it has; a file takes the place of another. `progress` hears how many bytes were read for those who lack it.
    ///
    /// One call is under way at a time; others wait for it.
    ///
    /// # Errors
    /// When it cannot be read, when the deadline has passed, or when the session is over. Hosts that have not got it
    /// are in the result.
    pub fn stage_parcel(
        &self,
        parcel: &Parcel,
        to: &Place,
        deadline: Option<Instant>,
        progress: impl FnMut(u64),
    ) -> Result<Delivery, StageError> {
        let mut numbers = self.stagings.lock().unwrap_or_else(PoisonError::into_inner);
        *numbers = numbers.wrapping_add(1);
        if !is_destination(&to.path) && to.name.is_none() {
            return Err(StageError::Destination(to.path.clone()));
        }
        let bytes = |text: &OsStr| text.as_bytes().to_vec();
        let offer = parcel.offer(*numbers, Some(bytes(to.path.as_os_str())), to.name.as_deref().map(bytes))?;
        let length = offer.length;
        let (tally, _) = Transfer::begin(&self.desk, offer, parcel.top()).run(parcel.packer(), deadline, progress)?;
        let problems = std::mem::take(&mut self.desk.papers().staging.problems);
        Ok(Delivery { bytes: length, stored: tally.stored, had: tally.had, failed: tally.failed, problems })
    }
}

/// A transfer under way; when it is dropped before its end the agents give up, too.
struct Transfer<'a> {
    desk: &'a Desk,
    what: &'a Path,
    number: u32,
    ended: bool,
}

impl<'a> Transfer<'a> {
    fn begin(desk: &'a Desk, offer: Offer, what: &'a Path) -> Transfer<'a> {
        let number = offer.number;
        desk.papers().staging = StagePapers::default();
        desk.order(Order::Stage(offer));
        Transfer { desk, what, number, ended: false }
    }

    /// Sends what is needed; how it ended, and how many pieces that took.
    fn run(
        mut self,
        mut packer: Packer,
        deadline: Option<Instant>,
        mut progress: impl FnMut(u64),
    ) -> Result<(Tally, u64), StageError> {
        let mut next = None;
        let mut sent = 0;
        let mut pieces = 0;
        loop {
            let at_end = pieces > 0 && next.is_none();
            match self.turn(deadline, at_end)? {
                Turn::Over => return Err(StageError::Over),
                Turn::Ended(tally) => {
                    self.ended = true;
                    return Ok((tally, pieces));
                }
                Turn::Goes => {
                    let piece = match next.take() {
                        Some(piece) => Some(piece),
                        None => packer.next()?,
                    };
                    next = packer.next()?;
                    pieces += 1;
                    let last = next.is_none();
                    sent += piece.as_ref().map_or(0, |piece| piece.len() as u64);
                    progress(sent);
                    self.desk.papers().staging.pieces.extend(piece.map(|piece| (piece, last)));
                    self.desk.ring();
                }
            }
        }
    }

    /// Waits until another piece can go, or it has ended.
    fn turn(&self, deadline: Option<Instant>, at_end: bool) -> Result<Turn, StageError> {
        let turn = self.desk.wait(deadline, |papers| match papers.staging.phase {
            StagePhase::Ended => Some(Turn::Ended(papers.staging.tally)),
            _ if papers.over => Some(Turn::Over),
            StagePhase::Sending if !at_end && papers.staging.pieces.len() < AHEAD => Some(Turn::Goes),
            StagePhase::Sending | StagePhase::Asking => None,
        });
        turn.ok_or_else(|| StageError::TimedOut(self.what.to_owned()))
    }
}

impl Drop for Transfer<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.desk.papers().staging = StagePapers::default();
            self.desk.order(Order::StageCancel(self.number));
        }
    }
}
