//! What can go wrong for those who observe.

use banyan_query::QueryError;
use banyan_tree::TreeError;

use crate::job::JobError;

/// Why an observer does not get what it asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MonitorError {
    /// The probes could not be started, or cannot be reached any more.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The text does not say which processes.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The text is not a query.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The observer has ended, or its network has.
    #[error("the observer has ended{}", .0.as_ref().map(|why| format!(": {why}")).unwrap_or_default())]
    Ended(Option<String>),
    /// Nothing came before the limit.
    #[error("nothing came before the deadline")]
    TimedOut,
    /// Some probes did not answer before the limit.
    #[error("the probes on {} did not answer before the deadline; are these hosts stopped or overloaded?", hosts.join(", "))]
    Silent {
        /// The hosts of these probes.
        hosts: Vec<String>,
    },
    /// There are as many queries and taps as there can be.
    #[error("there are {most} queries and taps already; drop one of them")]
    TooMany {
        /// How many there can be.
        most: usize,
    },
    /// A value that knobs cannot be set to from here.
    #[error("{0} cannot be sent to knobs; give a number of 64 bits at most, a truth value or a text")]
    Value(String),
    /// The system refused.
    #[error("the system refused: {0}")]
    System(#[from] std::io::Error),
}
