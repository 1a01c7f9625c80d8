//! Standard streams of members: lines on their way up, input on its way down.

use std::os::fd::AsFd;

use banyan_link::{Frame, Interest};
use bytes::Bytes;

use super::member::{LocalMember, Pipe};
use super::token::Token;
use super::{Node, Up};
use crate::message;
use crate::process::StreamState;

impl Node {
    /// A member has written something.
    pub(super) fn take_output(&mut self, token: Token) {
        if !self.may_write_up() {
            return self.pause(token);
        }
        let Some((pipe, buffer)) = self.pipe(token) else { return };
        let (lines, state) = pipe.read(buffer);
        self.send_lines(token, lines);
        if state == StreamState::Ended {
            self.close_pipe(token);
        }
    }

    fn may_write_up(&self) -> bool {
        self.detached
            || match &self.up {
                Up::Parent(wire) => wire.link.credit_left() > 0,
                Up::RootChannel(_) | Up::Nobody => true,
            }
    }

    fn pipe(&mut self, token: Token) -> Option<(&mut Pipe, &mut Vec<u8>)> {
        Some((slot(&mut self.members, token)?.as_mut()?, &mut self.read_buffer))
    }

    fn send_lines(&mut self, token: Token, lines: Bytes) {
        let (index, flags) = match token {
            Token::Output(index) => (index, 0),
            Token::Errors(index) => (index, message::ERRORS),
            _ => return,
        };
        if lines.is_empty() || self.detached {
            return;
        }
        let rank = self.members[index as usize].rank;
        let mut left = lines;
        while !left.is_empty() {
            let mut frame = Frame::new(message::OUTPUT, rank, 0, left.split_to(left.len().min(message::CHUNK)));
            frame.flags = flags;
            self.pass_up(frame);
        }
    }

    /// Stops watching a pipe until there is room above.
    fn pause(&mut self, token: Token) {
        if let Some(Some(pipe)) = slot(&mut self.members, token)
            && !pipe.paused
        {
            pipe.paused = true;
            let _ = self.poller.remove(pipe.stream.as_fd());
            self.flow.pause(token);
        }
    }

    /// Goes on with what had to wait: frames that could not be taken, pipes that were not read.
    pub(super) fn resume(&mut self) {
        self.pass_member_data();
        for token in self.flow.take_blocked() {
            self.pump(token);
        }
        if !self.flow.has_paused() || !self.may_write_up() {
            return;
        }
        for token in self.flow.take_paused() {
            if let Some(Some(pipe)) = slot(&mut self.members, token) {
                pipe.paused = false;
                let _ = self.poller.register(pipe.stream.as_fd(), token.number(), Interest::READ);
            }
        }
    }

    /// Closes a pipe after reading what is left in it. Whoever else still holds its other end is not waited for. What is
    /// read goes up at once: it is no more than a pipe holds.
    fn close_pipe(&mut self, token: Token) {
        let Some(pipe) = slot(&mut self.members, token).and_then(Option::take) else { return };
        if !pipe.paused {
            let _ = self.poller.remove(pipe.stream.as_fd());
        }
        let lines = pipe.drain(&mut self.read_buffer);
        self.send_lines(token, lines);
    }

    /// Closes the standard streams of a member that ended.
    pub(super) fn close_streams(&mut self, index: usize) {
        self.close_pipe(Token::Output(index as u32));
        self.close_pipe(Token::Errors(index as u32));
        self.close_input(index);
    }

    /// Writes standard input that waits for a member.
    pub(super) fn write_input(&mut self, index: usize) {
        let token = Token::Input(index as u32);
        let Some(input) = &mut self.members[index].input else { return };
        let was_waiting = input.watched;
        if !input.write() {
            return self.close_input(index);
        }
        let waits = input.waits();
        input.watched = waits;
        let descriptor = input.descriptor.as_fd();
        let _ = match (was_waiting, waits) {
            (false, true) => self.poller.register(descriptor, token.number(), Interest::WRITE),
            (true, false) => self.poller.remove(descriptor),
            _ => Ok(()),
        };
        self.note_full(token);
    }

    fn close_input(&mut self, index: usize) {
        if let Some(input) = self.members[index].input.take()
            && input.watched
        {
            let _ = self.poller.remove(input.descriptor.as_fd());
        }
        let token = Token::Input(index as u32);
        self.flow.set_full(token, false);
    }
}

/// Where the pipe of a token is kept.
fn slot(members: &mut [LocalMember], token: Token) -> Option<&mut Option<Pipe>> {
    match token {
        Token::Output(index) => Some(&mut members[index as usize].output),
        Token::Errors(index) => Some(&mut members[index as usize].errors),
        _ => None,
    }
}
