//! A tree of nodes, each with a reduction of its own.

use banyan_ndr::{Buffer, DynRecord, Format, Limits, Value};
use banyan_ranks::RankSet;
use banyan_reduce::{Filter, FilterError, FilterRole, Output, Part, Reduction, ReductionLimits};

use crate::member::Member;

/// Leaves are members by their position.
#[derive(Debug, Clone)]
pub(crate) enum Tree {
    Leaf(usize),
    Inner(Vec<Tree>),
}

/// What a child sends.
pub(crate) struct Sent {
    pub(crate) members: RankSet,
    pub(crate) format: Format,
    pub(crate) body: Buffer,
    pub(crate) is_partial: bool,
}

impl Sent {
    pub(crate) fn part(&self) -> Part<'_> {
        Part { members: &self.members, format: &self.format, body: &self.body, is_partial: self.is_partial }
    }
}

/// What a member sends.
pub(crate) fn record(member: &Member) -> Sent {
    let format = member.format();
    let body = member.body(&format);
    Sent { members: RankSet::from_iter([member.rank]), format, body, is_partial: false }
}

pub(crate) struct Network<'m> {
    pub(crate) specification: &'m str,
    pub(crate) limits: ReductionLimits,
    pub(crate) members: &'m [Member],
    /// Whether children arrive in the reverse of their order.
    pub(crate) reversed: bool,
}

impl<'m> Network<'m> {
    pub(crate) fn new(specification: &'m str, members: &'m [Member]) -> Network<'m> {
        Network { specification, limits: ReductionLimits::default(), members, reversed: false }
    }

    pub(crate) fn reduction(&self) -> Reduction {
        Reduction::new(self.specification.parse().expect("a valid specification"), self.limits.clone())
    }

    /// All members under the root.
    pub(crate) fn flat(&self) -> Tree {
        Tree::Inner((0..self.members.len()).map(Tree::Leaf).collect())
    }

    /// The result at the root.
    pub(crate) fn result(&self, tree: &Tree) -> Result<(Format, Buffer), FilterError> {
        let Tree::Inner(children) = tree else { panic!("the root is a node") };
        let sent = self.node(children, FilterRole::Root)?;
        Ok((sent.format, sent.body))
    }

    /// [`Network::result`] as values.
    pub(crate) fn values(&self, tree: &Tree) -> Result<Value, FilterError> {
        let (format, body) = self.result(tree)?;
        let record = DynRecord::from_body(&format, &body, &Limits::default()).expect("a valid result");
        Ok(record.root)
    }

    fn node(&self, children: &[Tree], place: FilterRole) -> Result<Sent, FilterError> {
        let mut sent = Vec::new();
        for child in children {
            sent.push(match child {
                Tree::Leaf(position) => record(&self.members[*position]),
                Tree::Inner(children) => self.node(children, FilterRole::Inner)?,
            });
        }
        if self.reversed {
            sent.reverse();
        }
        let parts: Vec<Part<'_>> = sent.iter().map(Sent::part).collect();
        let (mut reduction, mut output) = (self.reduction(), Output::new());
        reduction.wave(&parts, place, &mut output)?;
        let members = sent.iter().fold(RankSet::new(), |all, sent| all.union(&sent.members));
        let (format, body) = output.take().next().expect("a wave with parts has a result");
        Ok(Sent { members, format, body, is_partial: place == FilterRole::Inner })
    }
}

/// A field of a record.
pub(crate) fn field<'v>(record: &'v Value, name: &str) -> &'v Value {
    let Value::Record(fields) = record else { panic!("{record:?} is no record") };
    let field = fields.iter().find(|(field, _)| field == name);
    &field.unwrap_or_else(|| panic!("there is no {name} in {record:?}")).1
}
