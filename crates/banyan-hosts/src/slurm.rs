//! How Slurm writes the tasks of each node: `4(x3),2` for three nodes with four tasks and one with two.
//!
//! `SLURM_TASKS_PER_NODE` is written like this and stands in the order of `SLURM_JOB_NODELIST`, which is an ordinary
//! [`HostSet`](super::HostSet) and needs no parser of its own.

use super::error::excerpt;
use super::limits::MAX_HOSTS;

/// Why a text does not say how many tasks each node has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TasksPerNodeError {
    /// An item is neither a count nor a count with its repetition.
    #[error(
        "tasks per node, item {item}: {text:?} is not a count; Slurm writes `4(x3),2`; is SLURM_TASKS_PER_NODE set by hand?"
    )]
    Item {
        /// Which item, from one.
        item: usize,
        /// What it is, or its beginning.
        text: String,
    },
    /// More nodes than a set of hosts may hold.
    #[error("tasks per node, item {item}: more than {MAX_HOSTS} nodes; is SLURM_TASKS_PER_NODE set by hand?")]
    TooManyNodes {
        /// Which item, from one.
        item: usize,
    },
}

/// The tasks of each node, in the order of the nodes. An empty text is no node.
///
/// ```
/// use banyan_hosts::tasks_per_node;
///
/// assert_eq!(tasks_per_node("4(x3),2")?, [4, 4, 4, 2]);
/// # Ok::<(), banyan_hosts::TasksPerNodeError>(())
/// ```
pub fn tasks_per_node(text: &str) -> Result<Vec<u32>, TasksPerNodeError> {
    let mut tasks = Vec::new();
    let text = text.trim_ascii();
    if text.is_empty() {
        return Ok(tasks);
    }
    for (index, text) in text.split(',').enumerate() {
        let item = index + 1;
        let (count, nodes) = read(text).ok_or_else(|| TasksPerNodeError::Item { item, text: excerpt(text) })?;
        if nodes > MAX_HOSTS - tasks.len() {
            return Err(TasksPerNodeError::TooManyNodes { item });
        }
        tasks.extend(std::iter::repeat_n(count, nodes));
    }
    Ok(tasks)
}

/// Reads `4` or `4(x3)`: the tasks, and of how many nodes. A repetition too large to count with is the largest there
/// is, which is too many nodes.
fn read(item: &str) -> Option<(u32, usize)> {
    let (count, nodes) = match item.split_once("(x") {
        Some((count, nodes)) => (count, nodes.strip_suffix(')')?),
        None => (item, "1"),
    };
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(count) || !are_digits(nodes) {
        return None;
    }
    match nodes.parse().unwrap_or(usize::MAX) {
        0 => None,
        nodes => Some((count.parse().ok()?, nodes)),
    }
}
