//! Which links of a node have something to do: bytes to write, frames to take, pipes to read.
//!
//! These are decisions alone: the node's loop acts on them.

use super::token::Token;

/// Which links wait, and for what.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// Links with bytes to write.
    touched: Vec<Token>,
    /// Links with received frames that nobody had room for.
    blocked: Vec<Token>,
    /// Pipes that are not read until there is room above.
    paused: Vec<Token>,
    /// Children without room.
    full: Vec<Token>,
}

impl Flow {
    /// A link has bytes to write.
    pub(super) fn touch(&mut self, token: Token) {
        if self.touched.last() != Some(&token) {
            self.touched.push(token);
        }
    }

    /// The links with bytes to write, in the order in which they got them; empty if there are none.
    pub(super) fn take_touched(&mut self) -> Vec<Token> {
        std::mem::take(&mut self.touched)
    }

    /// A link has a frame that nobody has room for.
    pub(super) fn block(&mut self, token: Token) {
        if !self.blocked.contains(&token) {
            self.blocked.push(token);
        }
    }

    /// The links with frames that nobody had room for.
    pub(super) fn blocked(&self) -> &[Token] {
        &self.blocked
    }

    /// The same, to try them again.
    pub(super) fn take_blocked(&mut self) -> Vec<Token> {
        std::mem::take(&mut self.blocked)
    }

    /// A pipe is not read until there is room above.
    pub(super) fn pause(&mut self, token: Token) {
        self.paused.push(token);
    }

    /// Whether some pipe is paused.
    pub(super) fn has_paused(&self) -> bool {
        !self.paused.is_empty()
    }

    /// The paused pipes, to read them again.
    pub(super) fn take_paused(&mut self) -> Vec<Token> {
        std::mem::take(&mut self.paused)
    }

    /// A child has room, or has none.
    pub(super) fn set_full(&mut self, token: Token, full: bool) {
        match self.full.iter().position(|other| *other == token) {
            None if full => self.full.push(token),
            Some(at) if !full => {
                self.full.swap_remove(at);
            }
            _ => {}
        }
    }

    /// Whether every child has room.
    pub(super) fn is_clear(&self) -> bool {
        self.full.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_full_child_is_enough_to_hold_up_what_goes_to_all() {
        let (a, b) = (Token::Member(0), Token::Agent(0));
        let mut flow = Flow::default();
        flow.set_full(a, true);
        flow.set_full(a, true);
        flow.set_full(b, true);
        flow.set_full(a, false);
        assert!(!flow.is_clear());
        flow.set_full(b, false);
        flow.set_full(b, false);
        assert!(flow.is_clear());
    }

    #[test]
    fn a_blocked_link_is_tried_once() {
        let mut flow = Flow::default();
        flow.block(Token::Parent);
        flow.block(Token::Parent);
        assert_eq!(flow.take_blocked(), [Token::Parent]);
        assert!(flow.blocked().is_empty());
    }
}
