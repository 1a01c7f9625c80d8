//! Reads an outline: first its lines, then how many nodes these make, then the nodes.

use std::collections::HashMap;

use banyan_hosts::{HostSet, HostSetError};

use super::super::assemble::Sketch;
use super::super::error::excerpt;
use super::super::limits::{MAX_DEPTH, MAX_NODES};
use super::super::{Placing, Role, Topology, TopologyError, TopologyProblem};

/// A line and the nodes it stands for.
struct Line {
    role: Role,
    /// Nodes on each host.
    count: u32,
    /// As numbers of names; empty if the nodes are where their parent is.
    hosts: Vec<u32>,
    /// Nodes it stands for, below all nodes of its parent.
    nodes: u64,
    /// The line that it is indented below; the first line has none.
    parent: Option<usize>,
    indent: usize,
    /// Where it begins in the text.
    offset: usize,
    number: usize,
    has_children: bool,
}

/// The lines so far, and what is needed to add one.
struct OutlineParser<'a> {
    text: &'a str,
    /// The only hosts that may occur, if any are given.
    known: Option<&'a HostSet>,
    lines: Vec<Line>,
    /// Nodes of all lines.
    total: u64,
    /// The last line and those it is below, the nearest last.
    open: Vec<usize>,
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

pub(in super::super) fn parse(text: &str, known: Option<&HostSet>) -> Result<Topology, TopologyError> {
    let mut reader = OutlineParser {
        text,
        known,
        lines: Vec::new(),
        total: 0,
        open: Vec::new(),
        names: Vec::new(),
        numbers: HashMap::new(),
    };
    let mut offset = 0;
    for (number, line) in (1..).zip(text.split('\n')) {
        let content = line.split_once('#').map_or(line, |(content, _)| content).trim_end();
        if !content.trim_start().is_empty() {
            reader.line(content, offset, number)?;
        }
        offset += line.len() + 1;
    }
    reader.check()?;
    reader.topology()
}

impl OutlineParser<'_> {
    fn fail<T>(&self, offset: usize, problem: TopologyProblem) -> Result<T, TopologyError> {
        Err(problem.within(self.text, offset))
    }

    /// Reads a line that holds something.
    fn line(&mut self, line: &str, start: usize, number: usize) -> Result<(), TopologyError> {
        let words = line.trim_start();
        let indent = line.len() - words.len();
        let offset = start + indent;
        if let Some(tab) = line[..indent].find('\t') {
            return self.fail(start + tab, TopologyProblem::Tab);
        }
        let (word, rest) = next_word(words);
        let role = match word {
            "front-end" => Role::FrontEnd,
            "agent" | "agents" => Role::Agent,
            "member" | "members" => Role::Member,
            _ => return self.fail(offset, TopologyProblem::UnknownRole(excerpt(word))),
        };
        let parent = self.parent(role, indent, offset)?;
        let (count, hosts) = self.nodes(rest, offset + words.len() - rest.len())?;
        if role == Role::FrontEnd && (count > 1 || hosts.len() > 1) {
            return self.fail(offset, TopologyProblem::SecondRoot);
        }
        // Counted line by line: the hosts of lines that are too many are not even read.
        let above = parent.map_or(1, |parent| self.lines[parent].nodes);
        let nodes = above.saturating_mul(count.into()).saturating_mul(hosts.len().max(1) as u64);
        self.total = self.total.saturating_add(nodes);
        if self.total > MAX_NODES.into() {
            return self.fail(offset, TopologyProblem::TooManyNodes);
        }
        self.open.push(self.lines.len());
        self.lines.push(Line { role, count, hosts, nodes, parent, indent, offset, number, has_children: false });
        Ok(())
    }

    /// The line that one with this indentation is below.
    fn parent(&mut self, role: Role, indent: usize, offset: usize) -> Result<Option<usize>, TopologyError> {
        let Some(root) = self.open.first() else {
            let is_front_end = role == Role::FrontEnd;
            return if is_front_end { Ok(None) } else { self.fail(offset, TopologyProblem::NoFrontEnd) };
        };
        if indent <= self.lines[*root].indent {
            return self.fail(offset, TopologyProblem::SecondRoot);
        }
        if role == Role::FrontEnd {
            return self.fail(offset, TopologyProblem::FrontEndBelow);
        }
        // Lines that are indented further have nothing more below them.
        let mut closed = None;
        while let Some(line) = self.open.pop_if(|line| self.lines[*line].indent >= indent) {
            closed = Some(self.lines[line].indent);
        }
        if let Some(suggested) = closed.filter(|beside| *beside != indent) {
            return self.fail(offset, TopologyProblem::Indentation { found: indent, suggested });
        }
        if self.open.len() > MAX_DEPTH as usize {
            return self.fail(offset, TopologyProblem::TooDeep);
        }
        // The root is always open.
        let parent = self.open[self.open.len() - 1];
        if self.lines[parent].role == Role::Member {
            return self.fail(offset, TopologyProblem::BelowMember { line: self.lines[parent].number });
        }
        self.lines[parent].has_children = true;
        Ok(Some(parent))
    }

    /// Reads what stands behind the role: the nodes on each host, and the hosts.
    fn nodes(&mut self, mut rest: &str, start: usize) -> Result<(u32, Vec<u32>), TopologyError> {
        let end = start + rest.len();
        let mut count = 1;
        let (word, behind) = next_word(rest);
        if word.starts_with(|first: char| first.is_ascii_digit()) {
            count = match word.parse() {
                Ok(count) if count > 0 => count,
                _ => return self.fail(end - rest.len(), TopologyProblem::BadCount(excerpt(word))),
            };
            rest = behind;
        }
        let (word, behind) = next_word(rest);
        match word {
            "" => Ok((count, Vec::new())),
            "on" if behind.is_empty() => self.fail(end - rest.len(), TopologyProblem::MissingHosts),
            "on" => Ok((count, self.hosts(behind, end - behind.len())?)),
            _ => self.fail(end - rest.len(), TopologyProblem::UnexpectedWord(excerpt(word))),
        }
    }

    /// Reads hosts, each of which is new nodes: operators would let a short text take long for few of them.
    fn hosts(&mut self, hosts: &str, start: usize) -> Result<Vec<u32>, TopologyError> {
        if let Some(at) = hosts.find(['!', '&']) {
            return self.fail(start + at, TopologyProblem::HostOperator(char::from(hosts.as_bytes()[at])));
        }
        let set = HostSet::parse(hosts).map_err(|error| match error {
            HostSetError::Text { at, problem } => {
                let offset = hosts.char_indices().nth(at.column - 1).map_or(hosts.len(), |(offset, _)| offset);
                TopologyProblem::Hosts(problem).within(self.text, start + offset)
            }
            other => unreachable!("a text gives no other error: {other}"),
        })?;
        if set.is_empty() {
            return self.fail(start, TopologyProblem::MissingHosts);
        }
        if let Some(stranger) = set.iter().find(|host| self.known.is_some_and(|known| !known.contains(host))) {
            return self.fail(start, TopologyProblem::UnknownHost(stranger.into()));
        }
        Ok(set.iter().map(|host| self.number_of(host)).collect())
    }

    fn number_of(&mut self, host: &str) -> u32 {
        if let Some(number) = self.numbers.get(host) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(host.into());
        self.numbers.insert(host.into(), number);
        number
    }

    /// Refuses what only shows when all lines are there.
    fn check(&self) -> Result<(), TopologyError> {
        let Some(root) = self.lines.first() else { return Err(TopologyProblem::Empty.into()) };
        if !root.has_children {
            return self.fail(root.offset, TopologyProblem::Empty);
        }
        let idle = self.lines.iter().find(|line| line.role == Role::Agent && !line.has_children);
        idle.map_or(Ok(()), |idle| self.fail(idle.offset, TopologyProblem::IdleAgent))
    }

    /// Makes the nodes, line by line; those of a line follow each other.
    fn topology(self) -> Result<Topology, TopologyError> {
        let mut sketch = Sketch::default();
        let mut starts = Vec::with_capacity(self.lines.len());
        for line in &self.lines {
            let nodes_of = |parent: usize| starts[parent]..starts[parent] + self.lines[parent].nodes as u32;
            let above = line.parent.map_or(0..1, nodes_of);
            starts.push(sketch.parents.len() as u32);
            for parent in above {
                let inherited = sketch.on.get(parent as usize).copied().unwrap_or(Placing::NOWHERE);
                let hosts = if line.hosts.is_empty() { std::slice::from_ref(&inherited) } else { &line.hosts };
                for host in hosts {
                    let end = sketch.parents.len() + line.count as usize;
                    sketch.parents.resize(end, parent);
                    sketch.on.resize(end, *host);
                }
            }
        }
        if self.names.is_empty() {
            sketch.on.clear();
        }
        let checked = HostSet::from_names(&self.names).map_err(|error| match error {
            HostSetError::Name { problem, .. } => TopologyProblem::Hosts(problem),
            other => unreachable!("names give no other error: {other}"),
        })?;
        Ok(Sketch { hosts: checked, ..sketch }.assemble_tree()?)
    }
}

/// A word, and what stands behind it and the spaces.
fn next_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}
