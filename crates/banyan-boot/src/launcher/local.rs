//! `local`: agents as processes of this machine, acting as hosts of any name.

use std::time::Duration;

use super::program::AgentProgram;
use super::{Channel, Starter};
use crate::agent::{INHERITED, heartbeat_argument};

/// The command that starts an agent on this machine.
pub(super) fn starter(agent: &AgentProgram, heartbeat: Duration) -> Starter {
    let program = agent.path.clone().into();
    Starter {
        command: vec![program, "agent".into(), INHERITED.into(), heartbeat_argument(heartbeat).into()],
        channel: Channel::Inherited,
        check: format!("{} agent --help", agent.path.display()),
    }
}
