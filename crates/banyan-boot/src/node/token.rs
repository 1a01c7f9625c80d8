//! What a descriptor that became ready belongs to, as the number the poller hands back.

/// A source of events of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// The link to the parent.
    Parent,
    /// The front-end's own thread wants something.
    RootChannel,
    /// Agents or members that come by themselves.
    Listener,
    /// The keeper of this agent ended.
    Keeper,
    /// Members that attach.
    AttachListeners,
    /// The extension wants something.
    Extension,
    /// The command that starts all agents takes more of its standard input.
    CommonInput,
    /// What that command complains about.
    CommonComplaint,
    /// That command ended.
    CommonExit,
    /// The thread that stores what is staged.
    Staging,
    /// The thread that packs the agent program.
    Packing,
    /// The link to a child agent.
    Agent(u32),
    /// What a child agent's starter writes before there is a link.
    Greeting(u32),
    /// A starter takes more of its standard input.
    Upload(u32),
    /// What a starter complains about.
    Complaint(u32),
    /// A starter ended.
    StarterExit(u32),
    /// The link to a member.
    Member(u32),
    /// A member's standard output.
    Output(u32),
    /// A member's standard error.
    Errors(u32),
    /// A member takes more standard input.
    Input(u32),
    /// A member ended.
    Exit(u32),
    /// A socket of the extension whose bytes go to the node above.
    TunnelAbove(u32),
    /// One whose bytes go to a child agent.
    TunnelBelow(u32),
}

impl Token {
    const TAG_SHIFT: u32 = 32;

    /// As a number.
    pub(crate) fn number(self) -> u64 {
        let (tag, index) = match self {
            Token::Parent => (0, 0),
            Token::RootChannel => (1, 0),
            Token::Listener => (2, 0),
            Token::Keeper => (3, 0),
            Token::Staging => (4, 0),
            Token::AttachListeners => (18, 0),
            Token::Extension => (19, 0),
            Token::Packing => (20, 0),
            Token::Agent(index) => (5, index),
            Token::CommonInput => (15, 0),
            Token::CommonComplaint => (16, 0),
            Token::CommonExit => (17, 0),
            Token::Greeting(index) => (6, index),
            Token::Upload(index) => (7, index),
            Token::Complaint(index) => (8, index),
            Token::StarterExit(index) => (9, index),
            Token::Member(index) => (10, index),
            Token::Output(index) => (11, index),
            Token::Errors(index) => (12, index),
            Token::Input(index) => (13, index),
            Token::Exit(index) => (14, index),
            Token::TunnelAbove(slot) => (21, slot),
            Token::TunnelBelow(number) => (22, number),
        };
        tag << Self::TAG_SHIFT | u64::from(index)
    }

    /// The token with this number.
    pub(crate) fn of(number: u64) -> Option<Token> {
        let index = (number & u64::from(u32::MAX)) as u32;
        Some(match number >> Self::TAG_SHIFT {
            0 => Token::Parent,
            1 => Token::RootChannel,
            2 => Token::Listener,
            3 => Token::Keeper,
            4 => Token::Staging,
            18 => Token::AttachListeners,
            19 => Token::Extension,
            20 => Token::Packing,
            5 => Token::Agent(index),
            6 => Token::Greeting(index),
            7 => Token::Upload(index),
            8 => Token::Complaint(index),
            9 => Token::StarterExit(index),
            10 => Token::Member(index),
            11 => Token::Output(index),
            12 => Token::Errors(index),
            13 => Token::Input(index),
            14 => Token::Exit(index),
            15 => Token::CommonInput,
            16 => Token::CommonComplaint,
            17 => Token::CommonExit,
            21 => Token::TunnelAbove(index),
            22 => Token::TunnelBelow(index),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_comes_back_from_its_number() {
        let all = [
            Token::Parent,
            Token::RootChannel,
            Token::Listener,
            Token::Keeper,
            Token::CommonInput,
            Token::CommonComplaint,
            Token::CommonExit,
            Token::Staging,
            Token::AttachListeners,
            Token::Extension,
            Token::Agent(0),
            Token::Greeting(1),
            Token::Upload(u32::MAX),
            Token::Complaint(7),
            Token::StarterExit(8),
            Token::Member(9),
            Token::Output(10),
            Token::Errors(11),
            Token::Input(12),
            Token::Exit(13),
            Token::TunnelAbove(3),
            Token::TunnelBelow(14),
        ];
        for token in all {
            assert_eq!(Token::of(token.number()), Some(token));
        }
        assert_eq!(Token::of(u64::MAX), None);
    }
}
