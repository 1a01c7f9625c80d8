//! What happens to a network, for whoever wants to know: as values for programs, as text for people.

use std::fmt;

use banyan_boot::RankSet;

use crate::ids::{NodeId, StreamId, WaveNumber};
use crate::stream_options::Direction;

/// What users may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Report {
    /// At the front-end: these members are there, for the first time or again: all since the report before, if nobody took it.
    Joined(RankSet),
    /// At the front-end: this agent is there, for the first time or again.
    AgentJoined(NodeId),
    /// At the front-end: this agent has ended, or was waited for in vain. Those below it are reported by themselves.
    AgentLost(NodeId),
    /// At the front-end: a node has found another parent.
    Moved {
        /// The node.
        node: NodeId,
        /// Its parent.
        parent: NodeId,
    },
    /// At the front-end: a node has lost its parent, or ended.
    Adrift(NodeId),
    /// At the front-end: these members are not waited for any more: all since the report before, if nobody took it.
    Lost(RankSet),
    /// At the front-end: waves of a stream with a timeout go on without these members. It is told once, until they are in a wave
    /// again; [`Stream::late`](crate::Stream::late) counts their records that come too late.
    Late {
        /// The stream.
        stream: StreamId,
        /// The first wave without them.
        wave: WaveNumber,
        /// Who did not come in time.
        members: RankSet,
    },
    /// At a member: packets of a stream are not to be had, because they were sent before this process came, or while the
    /// front-end had given it up.
    Skipped {
        /// The stream.
        stream: StreamId,
        /// How many.
        packets: u64,
    },
    /// At a member: waves of a stream went on without it, because it came later, was given up or was late. Its next record is part
    /// of the wave that is next now.
    WavesMissed {
        /// The stream.
        stream: StreamId,
        /// How many.
        waves: u64,
        /// The wave of its next record.
        next: WaveNumber,
    },
    /// A child broke the rules; its link was closed. Of children of agents the front-end hears, too.
    Violation {
        /// Whose child it was.
        node: NodeId,
        /// The child.
        child: NodeId,
        /// Its rank, if it is a member.
        rank: Option<u32>,
        /// What it did.
        cause: String,
    },
    /// At the front-end: records of these members lack fields that the stream's filter wants. Of each member and field it is told
    /// once, when the program takes a record that lacks it, or one behind it.
    FieldsMissing {
        /// The stream.
        stream: StreamId,
        /// The fields, each with what it is wanted for: `temp of max(temp)`.
        fields: Vec<String>,
        /// Whose records.
        members: RankSet,
    },
    /// At the front-end: an agent has ended, or was given up, and with it what a filter of a stream knew there, which its
    /// [`Recovery`](banyan_reduce::Recovery) says is lost then. The waves themselves are not.
    StateLost {
        /// The stream.
        stream: StreamId,
        /// The agent.
        node: NodeId,
        /// Whether it was the filter of what comes up or of what goes down.
        direction: Direction,
        /// The filter, with its parameters.
        filter: String,
    },
    /// So many reports before the next one are gone, because nobody took them in time.
    Dropped(u64),
    /// At an agent or member: the front-end has ended the network.
    Over,
    /// At a member: it was given up, and another process has taken its place. This one has no part in the network any more.
    Succeeded,
    /// A filter of a stream is not known, failed or panicked. Contributions that come up could not be combined there, and go on
    /// one by one; members get the error in place of what goes down. Of each agent the front-end hears it once for each stream
    /// and direction.
    Uncombined {
        /// Where.
        node: NodeId,
        /// The stream.
        stream: StreamId,
        /// Whether it is the filter of what comes up or of what goes down.
        direction: Direction,
        /// The first wave; of what goes down, the number of the first record that failed.
        wave: WaveNumber,
        /// Why.
        cause: String,
    },
}

/// A sentence for people.
///
/// ```
/// use banyan_tree::Report;
///
/// assert_eq!(Report::Lost("4-7".parse()?).to_string(), "members 4-7 are lost");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::Joined(members) => write!(f, "{} joined", Members(members)),
            Report::AgentJoined(agent) => write!(f, "agent {} joined", agent.0),
            Report::AgentLost(agent) => write!(f, "agent {} is lost", agent.0),
            Report::Moved { node, parent } => write!(f, "{node} has a new parent, {parent}"),
            Report::Adrift(node) => write!(f, "{node} has lost its parent, or ended"),
            Report::Lost(members) if members.only().is_some() => write!(f, "{} is lost", Members(members)),
            Report::Lost(members) => write!(f, "{} are lost", Members(members)),
            Report::Late { stream, wave, members } => {
                write!(f, "{stream}: from {wave} on waves go on without {}, late", Members(members))
            }
            Report::Skipped { stream, packets } => {
                write!(f, "{stream}: {packets} records were sent without this member")
            }
            Report::WavesMissed { stream, waves, next } => {
                write!(f, "{stream}: {waves} waves went on without this member, whose next record is part of {next}")
            }
            Report::Violation { node, child, rank, cause } => {
                write!(f, "{node} has closed the link of {child}")?;
                rank.iter().try_for_each(|rank| write!(f, ", member {rank}"))?;
                write!(f, ", which broke the rules: {cause}")
            }
            Report::FieldsMissing { stream, fields, members } => {
                let (plural, fields) = (if fields.len() == 1 { "" } else { "s" }, fields.join(" and "));
                write!(f, "{stream}: records of {} lack the field{plural} {fields}", Members(members))
            }
            Report::StateLost { stream, node, direction, filter } => {
                let way = way(*direction);
                write!(
                    f,
                    "{stream}: agent {} has ended, and with it the state of its filter for what {way}, {filter}",
                    node.0
                )
            }
            Report::Dropped(reports) => write!(f, "{reports} older reports are gone, since nobody took them"),
            Report::Over => f.write_str("the front-end has ended the network"),
            Report::Succeeded => f.write_str("another process has taken the place of this member"),
            Report::Uncombined { node, stream, direction, wave, cause } => {
                let (way, number) = (way(*direction), wave.0);
                let what = if *direction == Direction::Up { "wave" } else { "record" };
                write!(f, "{stream}, {what} {number}: the filter for what {way} failed at {node}: {cause}")
            }
        }
    }
}

/// Members by name.
struct Members<'a>(&'a RankSet);

impl fmt::Display for Members<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", if self.0.only().is_some() { "member" } else { "members" }, self.0)
    }
}

fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "comes up",
        Direction::Down => "goes down",
    }
}
