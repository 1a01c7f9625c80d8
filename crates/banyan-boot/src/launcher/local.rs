//! `local`: agents as processes of this machine, acting as hosts of any name.

use std::time::Duration;

use super::program::AgentProgram;
use super::{Channel, Start, Starter};
use crate::agent::{INHERITED, heartbeat_argument};

/// Starts agents on this machine.
pub(crate) struct Local;

impl Start for Local {
    fn one(&self, _host: &str, agent: &AgentProgram, heartbeat: Duration) -> Starter {
        let program = agent.path.clone().into();
        Starter {
            command: vec![program, "agent".into(), INHERITED.into(), heartbeat_argument(heartbeat).into()],
            env: Vec::new(),
            channel: Channel::Inherited,
            check: format!("{} agent --help", agent.path.display()),
        }
    }
}
