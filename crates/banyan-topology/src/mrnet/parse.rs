//! Reads MRNet's notation: edges first, then whether they are a tree.

use std::collections::HashMap;

use banyan_hosts::{HostSet, HostSetError};

use super::super::assemble::{NoTree, Sketch};
use super::super::error::{excerpt, position};
use super::super::limits::MAX_NODES;
use super::super::{Location, Topology, TopologyError, TopologyProblem};
use super::token::{Token, Tokens};

/// The parent of a process that has none.
const NONE: u32 = u32::MAX;

/// A process that was met.
struct Process {
    host: u32,
    index: u32,
    /// The process above it, or [`NONE`].
    parent: u32,
    /// Where it was named: as a child if it is one.
    offset: usize,
}

/// The edges so far.
struct MrnetParser<'a> {
    text: &'a str,
    known: Option<&'a HostSet>,
    processes: Vec<Process>,
    /// By host and index.
    numbers: HashMap<(u32, u32), u32>,
    names: Vec<&'a str>,
    hosts: HashMap<&'a str, u32>,
}

pub(in super::super) fn parse(text: &str, known: Option<&HostSet>) -> Result<Topology, TopologyError> {
    let mut reader = MrnetParser {
        text,
        known,
        processes: Vec::new(),
        numbers: HashMap::new(),
        names: Vec::new(),
        hosts: HashMap::new(),
    };
    let mut tokens = Tokens::of(text);
    while let Some((offset, token)) = tokens.next() {
        reader.statement(offset, token, &mut tokens)?;
    }
    reader.topology()
}

impl<'a> MrnetParser<'a> {
    fn fail<T>(&self, offset: usize, problem: TopologyProblem) -> Result<T, TopologyError> {
        Err(problem.within(self.text, offset))
    }

    /// Reads `parent => child child ;` from its first word on.
    fn statement(&mut self, start: usize, first: Token<'a>, tokens: &mut Tokens<'a>) -> Result<(), TopologyError> {
        let name = match first {
            Token::Word(name) => name,
            Token::Arrow => return self.fail(start, TopologyProblem::MissingParent("=>")),
            Token::Semicolon => return self.fail(start, TopologyProblem::MissingParent(";")),
        };
        let parent = self.process(start, name)?;
        let found = match tokens.next() {
            Some((_, Token::Arrow)) => None,
            Some((at, Token::Word(word))) => Some((at, format!("{:?}", excerpt(word)))),
            Some((at, Token::Semicolon)) => Some((at, "`;`".into())),
            None => Some((self.text.len(), "the end".into())),
        };
        if let Some((at, found)) = found {
            return self.fail(at, TopologyProblem::MissingArrow { parent: name.into(), found });
        }
        let mut children = 0;
        loop {
            match tokens.next() {
                Some((at, Token::Word(child))) => {
                    let child = self.process(at, child)?;
                    self.edge(parent, child, at)?;
                    children += 1;
                }
                Some((_, Token::Semicolon)) if children > 0 => return Ok(()),
                Some((at, Token::Semicolon)) => return self.fail(at, TopologyProblem::MissingChildren(name.into())),
                Some((at, Token::Arrow)) => return self.fail(at, TopologyProblem::MissingSemicolon(name.into())),
                None => return self.fail(self.text.len(), TopologyProblem::MissingSemicolon(name.into())),
            }
        }
    }

    /// The number of a process, a new one if it was not met before.
    fn process(&mut self, offset: usize, name: &'a str) -> Result<u32, TopologyError> {
        let parts = name.rsplit_once(':').filter(|(_, index)| index.bytes().all(|byte| byte.is_ascii_digit()));
        let parts = parts.and_then(|(host, index)| Some((host, index.parse().ok()?)));
        let Some((host, index)) = parts else {
            return self.fail(offset, TopologyProblem::BadProcess(excerpt(name)));
        };
        let host = self.host(offset, host)?;
        if let Some(number) = self.numbers.get(&(host, index)) {
            return Ok(*number);
        }
        if self.processes.len() >= MAX_NODES as usize {
            return self.fail(offset, TopologyProblem::TooManyNodes);
        }
        let number = self.processes.len() as u32;
        self.processes.push(Process { host, index, parent: NONE, offset });
        self.numbers.insert((host, index), number);
        Ok(number)
    }

    /// The number of a host, whose name is checked when it is met first.
    fn host(&mut self, offset: usize, name: &'a str) -> Result<u32, TopologyError> {
        if let Some(number) = self.hosts.get(name) {
            return Ok(*number);
        }
        match HostSet::from_names([name]) {
            Ok(_) => {}
            Err(HostSetError::Name { problem, .. }) => return self.fail(offset, TopologyProblem::Hosts(problem)),
            Err(other) => unreachable!("a name gives no other error: {other}"),
        }
        if self.known.is_some_and(|known| !known.contains(name)) {
            return self.fail(offset, TopologyProblem::UnknownHost(name.into()));
        }
        let number = self.names.len() as u32;
        self.names.push(name);
        self.hosts.insert(name, number);
        Ok(number)
    }

    fn edge(&mut self, parent: u32, child: u32, offset: usize) -> Result<(), TopologyError> {
        let Process { parent: earlier, offset: said, .. } = self.processes[child as usize];
        if earlier != NONE {
            let line = position(self.text, said).line;
            let (node, second) = (self.name(child), self.name(parent));
            return self.fail(
                offset,
                if earlier == parent {
                    TopologyProblem::DuplicateEdge { parent: second, child: node, line }
                } else {
                    TopologyProblem::TwoParents { node, first: self.name(earlier), line, second }
                },
            );
        }
        let process = &mut self.processes[child as usize];
        (process.parent, process.offset) = (parent, offset);
        Ok(())
    }

    fn name(&self, process: u32) -> String {
        let Process { host, index, .. } = self.processes[process as usize];
        Location { host: self.names[host as usize], index }.to_string()
    }

    fn topology(self) -> Result<Topology, TopologyError> {
        let mut roots = (0..).zip(&self.processes).filter(|(_, process)| process.parent == NONE).map(|(at, _)| at);
        let Some(root) = roots.next() else {
            return if self.processes.is_empty() { Err(TopologyProblem::Empty.into()) } else { self.cycle(0) };
        };
        if let Some(second) = roots.next() {
            let problem = TopologyProblem::Unreachable { node: self.name(second), root: self.name(root) };
            return self.fail(self.processes[second as usize].offset, problem);
        }
        let hosts = HostSet::from_names(&self.names).map_err(|error| match error {
            HostSetError::Name { problem, .. } => TopologyProblem::Hosts(problem),
            other => unreachable!("names give no other error: {other}"),
        })?;
        let sketch = Sketch {
            root,
            parents: self.processes.iter().map(|process| process.parent).collect(),
            on: self.processes.iter().map(|process| process.host).collect(),
            indices: self.processes.iter().map(|process| process.index).collect(),
            hosts,
        };
        sketch.assemble().or_else(|error| match error {
            // Everything but the root has a parent: who does not reach the root comes into a cycle.
            NoTree::Stray(process) => self.cycle(process),
            NoTree::Problem(problem) => Err(problem.into()),
        })
    }

    /// Names the cycle that the parents of a process lead into.
    fn cycle(&self, process: u32) -> Result<Topology, TopologyError> {
        let parent = |process: &u32| self.processes[*process as usize].parent;
        let mut seen = vec![false; self.processes.len()];
        let mut start = process;
        while !seen[start as usize] {
            seen[start as usize] = true;
            start = parent(&start);
        }
        // From the process that is named first, downwards.
        let mut nodes = vec![start];
        nodes.extend(
            std::iter::successors(Some(parent(&start)), |node| Some(parent(node))).take_while(|node| *node != start),
        );
        nodes.reverse();
        let first = (0..nodes.len()).min_by_key(|at| self.processes[nodes[*at] as usize].offset).unwrap_or(0);
        nodes.rotate_left(first);
        let offset = self.processes[nodes[0] as usize].offset;
        self.fail(offset, TopologyProblem::Cycle(nodes.iter().map(|node| self.name(*node)).collect()))
    }
}
