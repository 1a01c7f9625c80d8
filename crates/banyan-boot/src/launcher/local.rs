//! `local`: agents as processes of this machine, acting as hosts of any name.

use super::program::AgentProgram;
use super::{Channel, Start, Starter};

/// Starts agents on this machine.
pub(crate) struct Local;

impl Start for Local {
    fn one(&self, _host: &str, agent: &AgentProgram) -> Starter {
        Starter {
            command: vec![agent.path.clone().into(), "agent".into(), "--inherited".into()],
            env: Vec::new(),
            channel: Channel::Inherited,
            check: format!("{} agent --help", agent.path.display()),
        }
    }
}
