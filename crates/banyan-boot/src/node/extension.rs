//! A node and the extension of its program: what it is told, and what it says.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use banyan_link::{Interest, SecretBytes};

use super::Node;
use super::member::LocalMember;
use super::token::Token;
use crate::assignment::Assignment;
use crate::described;
use crate::extension::{AgentExtension, AgentInfo, ExtensionControl, NOTE_BYTES};
use crate::launcher::Way;
use crate::layout::ranks_of;
use crate::problem::{Problem, ProblemKind};
use crate::process::KeeperSocket;
use crate::shape::subtrees;

/// An extension at work.
pub(super) struct Extension {
    agent: Box<dyn AgentExtension>,
    /// What it says to the agent.
    control: ExtensionControl,
}

impl AgentInfo {
    /// What an assignment says of the agent that got it.
    fn of(assignment: &Assignment, host: &str, members: usize, note: &[u8]) -> AgentInfo {
        let agents = subtrees(1..assignment.agents.len(), |agent| assignment.agents[agent].below).len();
        AgentInfo {
            session: assignment.session,
            node: assignment.node,
            level: assignment.level,
            agents: assignment.agent_count,
            size: assignment.size,
            children: u32::try_from(agents + members).unwrap_or(u32::MAX),
            host: host.to_owned(),
            is_one_host: assignment.way == Way::Local,
            note: note.to_vec(),
        }
    }
}

impl Node {
    /// Lets the extension begin, if the session has one. An agent that cannot says why, and ends.
    pub(super) fn begin_extension(&mut self, extension: Option<Box<dyn AgentExtension>>) {
        let Some(note) = &self.assignment.note else { return };
        let Some(extension) = extension else {
            let program = self.agent_program.path.display();
            let cause = format!("the session asks its agents for an extension that the program {program} has not got");
            return self.decline(
                cause,
                "call banyan_tree::become_agent_if_asked() first in its main, or choose another agent",
            );
        };
        let members = (0..self.members.len()).filter(|index| !self.attaches(*index)).count();
        let info = AgentInfo::of(&self.assignment, &self.host, members, note);
        match self.begin(extension, &info) {
            Ok(note) => self.note = note,
            Err(error) => self.decline(format!("the extension of its agent cannot begin: {error}"), ""),
        }
    }

    fn begin(&mut self, mut agent: Box<dyn AgentExtension>, info: &AgentInfo) -> io::Result<SecretBytes> {
        let control = ExtensionControl::new()?;
        self.poller.register(control.bell(), Token::Extension.number(), Interest::READ)?;
        let note = agent.begin(info, control.clone())?;
        let word = SecretBytes::from(Vec::from(described::encode(info).map_err(io::Error::other)?));
        self.keeper.as_ref().map_or(Ok(()), |keeper| keeper.leave_guard_note(word.expose()))?;
        self.extension = Some(Extension { agent, control });
        if note.len() > NOTE_BYTES {
            return Err(io::Error::other(format!("its note has {} bytes, more than {NOTE_BYTES}", note.len())));
        }
        Ok(note)
    }

    fn decline(&mut self, cause: String, remedy: &str) {
        self.problem(Problem {
            host: self.host.to_string(),
            kind: ProblemKind::AgentLost,
            cause,
            remedy: remedy.to_owned(),
            members: ranks_of(&self.assignment.agents).to_string(),
        });
        self.end();
    }

    /// The extension wants tunnels, or says that it is over.
    pub(super) fn heed_extension(&mut self) {
        let Some(extension) = &self.extension else { return };
        let (tunnels, is_over) = extension.control.heed();
        tunnels.into_iter().for_each(|socket| self.open_tunnel(socket));
        if is_over {
            self.end();
        }
    }

    /// Where the extension of this node listens, if it has one that does.
    pub(super) fn extension_port(&self) -> Option<u16> {
        let own = self.extension.as_ref().and_then(|extension| extension.control.port());
        own.or(self.front_end_port)
    }

    /// The session's link to the node above is gone.
    pub(super) fn part_extension(&mut self) {
        if let Some(extension) = &self.extension {
            extension.control.part();
        }
    }

    /// A member was started: the extension gets its end of the socket, the keeper the process and what it writes to.
    pub(super) fn extend_to(&mut self, index: usize, socket: Option<OwnedFd>) {
        let (Some(extension), Some(socket)) = (&mut self.extension, socket) else { return };
        let LocalMember { rank, process: Some(process), output, errors, .. } = &self.members[index] else { return };
        extension.agent.member_started(*rank, process.pid.as_raw_nonzero().get().cast_unsigned(), socket);
        let pipes: Vec<BorrowedFd<'_>> =
            [output, errors].into_iter().flatten().map(|pipe| pipe.stream.as_fd()).collect();
        let left = self.keeper.as_ref().map_or(Ok(()), |keeper| keeper.leave_member(*rank, process.pid, &pipes));
        if left.is_err() {
            // One that does not know whom to guard is as good as none.
            self.keeper_gone();
        }
    }

    /// The extension's note for a member.
    pub(super) fn note_for_member(&mut self, index: usize) -> SecretBytes {
        let (rank, attaches) = (self.members[index].rank, self.attaches(index));
        let note = self.extension.as_mut().map(|extension| extension.agent.note_for_member(rank, attaches));
        note.filter(|note| note.len() <= NOTE_BYTES).unwrap_or_default()
    }

    pub(super) fn tell_extension_of_end(&mut self, rank: u32) {
        if let Some(extension) = &mut self.extension {
            extension.agent.member_ended(rank);
            // A keeper that is gone, or hangs, is noticed by itself.
            let _ = self.keeper.as_ref().map(|keeper| keeper.withdraw_member(rank));
        }
    }

    /// The link to the parent was closed at its other end.
    pub(super) fn tell_extension_of_closing(&mut self) {
        if let Some(extension) = self.extension.as_mut().filter(|_| self.assignment.level == 1) {
            extension.agent.front_end_closed();
        }
    }

    /// The node ends.
    pub(super) fn end_extension(&mut self) {
        if let Some(mut extension) = self.extension.take() {
            extension.agent.end();
            // A keeper that is gone guards nothing.
            let _ = self.keeper.as_ref().map(KeeperSocket::revoke_guard_note);
        }
    }
}
