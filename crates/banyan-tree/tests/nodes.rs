//! Nodes that are brought together by hand, for what is hard to meet by chance: answers that never come, and parents that
//! die between two messages.

#[path = "nodes/asking_received.rs"]
mod asking_received;
#[path = "nodes/chosen.rs"]
mod chosen;
#[path = "nodes/hostile.rs"]
mod hostile;
#[path = "hostile/mod.rs"]
mod hostile_member;
#[path = "nodes/reliable.rs"]
mod reliable;
#[path = "nodes/stopped.rs"]
mod stopped;
#[path = "nodes/unanswered.rs"]
mod unanswered;
#[path = "nodes/witness.rs"]
mod witness;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use banyan_boot::RankSet;
use banyan_ndr::FormatId;
use banyan_tree::reduce::FilterRole;
use banyan_tree::{
    Action, Ancestor, Ancestry, Attach, Bodies, Candidate, Epoch, Level, LinkFigures, LinkId, Message, Node, NodeId,
    NodeInfo, NodeOptions, Opening, Packet, Report, Resume, Run, SendError, StreamId, StreamOptions, Synchronisation,
    Time, Transformation, TransformationError, Transformations, WaveNumber,
};
use bytes::Bytes;

/// The only transformation: the first part, as it is.
struct FirstOf;

impl Transformations for FirstOf {
    fn make(&self, _: &str) -> Result<Box<dyn Transformation>, TransformationError> {
        Ok(Box::new(FirstOf))
    }
}

impl Transformation for FirstOf {
    fn combine(&mut self, parts: &[Run], _: FilterRole) -> Result<Bodies, TransformationError> {
        Ok(parts[0].bodies.clone())
    }
}

/// The front-end is 0, agents are 1 and 2, members come behind them. All links are in order and take no time.
struct Tree {
    nodes: Vec<Node>,
    ends: BTreeMap<(usize, LinkId), (usize, LinkId)>,
    /// From whom, to whom, on which of its links; no message is the end of the link.
    under_way: VecDeque<(usize, usize, LinkId, Option<Message>)>,
    /// From whom to whom nothing comes.
    cut: BTreeSet<(usize, usize)>,
    /// Whose processes are stopped, as their systems see, and how long these had run.
    stopped: BTreeMap<usize, u64>,
    now: Time,
    options: NodeOptions,
    transformations: Arc<dyn Transformations + Sync>,
    /// Who has said so of itself.
    succeeded: BTreeSet<usize>,
    /// What the front-end has said.
    told: Vec<Report>,
}

const AGENTS: [usize; 2] = [1, 2];

impl Tree {
    fn new() -> Tree {
        Tree::with(NodeOptions::default())
    }

    fn with(options: NodeOptions) -> Tree {
        Tree::of(options, Arc::new(FirstOf))
    }

    fn of(options: NodeOptions, transformations: Arc<dyn Transformations + Sync>) -> Tree {
        let front_end = Node::front_end(options.clone(), Arc::clone(&transformations));
        let (ends, under_way, cut) = (BTreeMap::new(), VecDeque::new(), BTreeSet::new());
        let (succeeded, stopped) = (BTreeSet::new(), BTreeMap::new());
        let (nodes, now, told) = (vec![front_end], Time(0), Vec::new());
        let mut tree = Tree { nodes, ends, under_way, cut, stopped, now, options, transformations, succeeded, told };
        for agent in AGENTS {
            tree.add(None, Level(1), &[0]);
            assert_eq!(tree.nodes[agent].parent(), Some(NodeId::ROOT));
        }
        tree
    }

    /// Another node, that asks these one after the other.
    fn add(&mut self, rank: Option<u32>, level: Level, above: &[usize]) -> usize {
        let id = NodeId(self.nodes.len() as u32);
        self.add_life(id, 0, rank, level, above)
    }

    /// As that, in place of others that were the same node.
    fn add_life(&mut self, id: NodeId, life: u32, rank: Option<u32>, level: Level, above: &[usize]) -> usize {
        let node = self.push(id, life, rank, level, above);
        self.pass(Duration::ZERO);
        node
    }

    /// As that, before it has done anything.
    fn push(&mut self, id: NodeId, life: u32, rank: Option<u32>, level: Level, above: &[usize]) -> usize {
        let ancestors = above.iter().map(|node| {
            let level = Level(u16::from(*node > 0));
            Ancestor { itself: Candidate { node: NodeId(*node as u32), level }, children: Vec::new() }
        });
        let ancestry: Ancestry = ancestors.collect();
        let options = self.options.clone();
        let transformations = Arc::clone(&self.transformations);
        self.nodes.push(Node::below(id, rank, level, ancestry, options, transformations).in_life(life));
        self.nodes.len() - 1
    }

    fn member(&mut self, rank: u32, above: &[usize]) -> usize {
        self.add(Some(rank), Level(2), above)
    }

    /// Another process for a member.
    fn successor(&mut self, of: usize, rank: u32, above: &[usize]) -> usize {
        self.add_life(self.nodes[of].id(), 1, Some(rank), Level(2), above)
    }

    /// Time passes.
    fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
        self.nodes.iter_mut().for_each(|node| node.wake(self.now));
        self.settle();
    }

    /// Lets everything arrive.
    fn settle(&mut self) {
        self.settle_until(|_| false);
    }

    /// Lets everything arrive until this is so. Then nobody has said yet what follows from the last message.
    fn settle_until(&mut self, is_so: impl Fn(&Tree) -> bool) {
        while !is_so(self) {
            for at in 0..self.nodes.len() {
                while let Some(action) = self.nodes[at].action() {
                    self.act(at, action);
                }
            }
            let Some((from, to, link, message)) = self.under_way.pop_front() else { return };
            match message {
                Some(message) if self.ends.contains_key(&(to, link)) && !self.cut.contains(&(from, to)) => {
                    self.nodes[to].message(link, message, self.now);
                }
                None if self.ends.remove(&(to, link)).is_some() => self.nodes[to].closed(link, self.now),
                _ => {}
            }
        }
    }

    fn act(&mut self, at: usize, action: Action) {
        match action {
            Action::Dial { link, to } => {
                let to = to.0 as usize;
                let name = self.nodes[to].accepted();
                self.ends.insert((at, link), (to, name));
                self.ends.insert((to, name), (at, link));
                self.nodes[at].linked(link, self.now);
            }
            Action::Send { link, message } => {
                if let Some((to, name)) = self.ends.get(&(at, link)) {
                    self.under_way.push_back((at, *to, *name, Some(message)));
                }
            }
            Action::Close(link) | Action::LetGo(link) => self.close(at, link),
            Action::Drain(link) => self.nodes[at].drained(link),
            Action::Count(question) => self.nodes[at].answer(question, LinkFigures::default()),
            Action::CountClocks(_) => {}
            Action::Examine(link) => {
                let stopped = self.ends.get(&(at, link)).and_then(|(child, _)| self.stopped.get(child)).copied();
                self.nodes[at].examined(link, stopped, self.now);
            }
            Action::Report(Report::Succeeded) => _ = self.succeeded.insert(at),
            Action::Report(report) if at == 0 => self.told.push(report),
            Action::Report(_) => {}
        }
    }

    fn close(&mut self, at: usize, link: LinkId) {
        if let Some((to, name)) = self.ends.remove(&(at, link)) {
            self.under_way.push_back((at, to, name, None));
        }
    }

    /// An agent ends; nobody gets there again.
    fn kill(&mut self, node: usize) {
        let links: Vec<LinkId> = self.ends.keys().filter(|(at, _)| *at == node).map(|(_, link)| *link).collect();
        (0..self.nodes.len()).for_each(|other| _ = self.cut.insert((node, other)));
        links.into_iter().for_each(|link| self.close(node, link));
        self.settle();
    }

    fn open(&mut self, members: std::ops::RangeInclusive<u32>) -> StreamId {
        let members: RankSet = members.collect();
        let stream = self.nodes[0].open(Arc::new(members), StreamOptions::default()).unwrap();
        self.settle();
        stream
    }

    /// A stream without waves that may lose some, of one member.
    fn open_records(&mut self, member: u32) -> StreamId {
        let options = StreamOptions::default().synchronised(Synchronisation::Lossy);
        let stream = self.nodes[0].open(Arc::new(ranks([member])), options).unwrap();
        self.settle();
        stream
    }

    fn send(&mut self, stream: StreamId, number: u8) {
        self.nodes[0].multicast(stream, 0, FORMAT, Bytes::copy_from_slice(&[number])).unwrap();
        self.settle();
    }

    /// What a member has got.
    fn take(&mut self, member: usize, stream: StreamId) -> Vec<u8> {
        std::iter::from_fn(|| self.nodes[member].take_packet(stream)).map(|got| got.record.unwrap().1[0]).collect()
    }

    fn contribute(&mut self, member: usize, stream: StreamId) {
        let body = Bodies::one(FORMAT, Bytes::from_static(&[1; 8]));
        self.nodes[member].contribute(stream, body).unwrap();
        self.settle();
    }

    /// The members of the next wave that the front-end has.
    fn wave(&mut self, stream: StreamId) -> Option<RankSet> {
        self.nodes[0].take_waves(stream).map(|delivery| (*delivery.members).clone())
    }
}

const FORMAT: FormatId = FormatId::from_bytes([1; 16]);

fn ranks(ranks: impl IntoIterator<Item = u32>) -> RankSet {
    ranks.into_iter().collect()
}

#[test]
fn a_newcomer_whose_parent_dies_before_its_first_packet_gets_none_that_was_sent_before_it_came() {
    let mut tree = Tree::new();
    let steady = tree.member(0, &[2]);
    let stream = tree.open(0..=1);
    for number in 0..3 {
        tree.send(stream, number);
    }
    assert_eq!(tree.take(steady, stream), [0, 1, 2]);
    let newcomer = tree.member(1, &[1, 2]);
    tree.kill(1);
    tree.pass(Duration::from_millis(50));
    assert!(tree.nodes[newcomer].parent().is_some_and(|parent| parent != NodeId(1)));
    assert!(tree.take(newcomer, stream).is_empty());
    tree.send(stream, 3);
    assert_eq!(tree.take(newcomer, stream), [3]);
}

#[test]
fn a_wave_in_progress_does_not_wait_for_a_newcomer() {
    let mut tree = Tree::new();
    let steady = tree.member(0, &[1]);
    let stream = tree.open(0..=1);
    tree.send(stream, 0);
    let newcomer = tree.member(1, &[1]);
    tree.contribute(steady, stream);
    assert_eq!(tree.wave(stream), Some(ranks([0])));
    tree.send(stream, 1);
    assert_eq!(tree.take(newcomer, stream), [1]);
    tree.contribute(newcomer, stream);
    assert_eq!(tree.wave(stream), None);
    tree.contribute(steady, stream);
    assert_eq!(tree.wave(stream), Some(ranks([0, 1])));
}

#[test]
fn newcomers_do_not_let_others_get_further_ahead_of_a_front_end_that_takes_nothing() {
    let mut options = NodeOptions::default();
    options.window_waves = 4;
    let mut tree = Tree::with(options);
    let steady = tree.member(0, &[1]);
    let stream = tree.open(0..=5);
    let body = Bodies::one(FORMAT, Bytes::from_static(&[1; 8]));
    let mut accepted = 0;
    for newcomer in 1..=5 {
        while tree.nodes[steady].contribute(stream, body.clone()).is_ok() {
            accepted += 1;
            tree.settle();
        }
        tree.member(newcomer, &[1]);
    }
    assert_eq!(accepted, 4);
    // What newcomers are sent they answer in a wave that is not over.
    tree.send(stream, 0);
    assert_eq!(std::iter::from_fn(|| tree.wave(stream)).count(), 4);
    tree.settle();
    for member in steady..=steady + 5 {
        tree.contribute(member, stream);
    }
    assert_eq!(tree.wave(stream), Some(ranks(0..=5)));
}

#[test]
fn a_member_keeps_nothing_of_what_it_has_taken() {
    let mut tree = Tree::new();
    let member = tree.member(0, &[1]);
    let stream = tree.open(0..=0);
    (0..100).for_each(|tag| tree.send(stream, tag));
    let bytes = |tree: &Tree| tree.nodes[member].counters().log_bytes;
    let all = bytes(&tree);
    assert!(tree.nodes[member].take_packet(stream).is_some());
    assert_eq!(bytes(&tree), all - all / 100);
    assert_eq!(tree.take(member, stream).len(), 99);
    assert_eq!(bytes(&tree), 0);
}

#[test]
fn streams_that_were_closed_leave_nothing_behind_and_nobody_keeps_them() {
    let mut tree = Tree::new();
    let steady = tree.member(0, &[2]);
    let away = tree.member(1, &[1]);
    let kept = tree.open(0..=2);
    let closed = tree.open(0..=2);
    tree.cut.extend([(0, 1), (2, 1)]);
    tree.kill(1);
    tree.nodes[0].close(closed);
    for _ in 0..100 {
        let stream = tree.open(0..=2);
        tree.nodes[0].close(stream);
        tree.settle();
    }
    let last = tree.open(0..=2);
    assert_eq!(tree.nodes[0].counters().log_bytes, 0, "all who are there have heard of them");
    tree.pass(Duration::from_millis(50));
    let newcomer = tree.member(2, &[2]);
    for member in [steady, away, newcomer] {
        let open: Vec<StreamId> = tree.nodes[member].streams().map(|opening| opening.stream).collect();
        assert_eq!((member, open), (member, vec![kept, last]));
    }
    tree.send(last, 7);
    assert_eq!([steady, away, newcomer].map(|member| tree.take(member, last)), [vec![7], vec![7], vec![7]]);
}

#[test]
fn a_newcomer_that_was_never_answered_is_not_waited_for_in_what_it_was_not_sent() {
    let mut tree = Tree::new();
    let steady = tree.member(0, &[2]);
    let stream = tree.open(0..=1);
    tree.send(stream, 0);
    tree.contribute(steady, stream);
    assert_eq!(tree.wave(stream), Some(ranks([0])));
    // The first agent takes it in and tells the front-end, and its answer does not come.
    tree.cut.insert((1, 3 + 1));
    let newcomer = tree.member(1, &[1, 2]);
    assert_eq!((tree.nodes[0].members(), tree.nodes[newcomer].parent()), (ranks([0, 1]), None));
    tree.send(stream, 1);
    tree.pass(Duration::from_secs(2));
    assert_eq!(tree.nodes[newcomer].parent(), Some(NodeId(2)));
    assert!(tree.take(newcomer, stream).is_empty());
    tree.contribute(steady, stream);
    assert_eq!(tree.wave(stream), Some(ranks([0])), "it has not heard of that wave");
    tree.send(stream, 2);
    assert_eq!(tree.take(newcomer, stream), [2]);
    tree.contribute(steady, stream);
    assert_eq!(tree.wave(stream), None, "it is waited for from now on");
    tree.contribute(newcomer, stream);
    assert_eq!(tree.wave(stream), Some(ranks([0, 1])));
}

/// A member that has answered once, and one that has come since.
fn joined_after_a_wave() -> (Tree, StreamId, [usize; 2]) {
    let mut tree = Tree::new();
    let steady = tree.member(0, &[1]);
    let stream = tree.open(0..=1);
    tree.send(stream, 0);
    tree.contribute(steady, stream);
    assert_eq!(tree.wave(stream), Some(ranks([0])));
    let newcomer = tree.member(1, &[2]);
    (tree, stream, [steady, newcomer])
}

#[test]
fn a_newcomer_whose_first_contribution_comes_too_late_is_put_in_step_by_what_is_sent_next() {
    let (mut tree, stream, [steady, newcomer]) = joined_after_a_wave();
    // Two waves go by before it says anything.
    for _ in 0..2 {
        tree.contribute(steady, stream);
        assert_eq!(tree.wave(stream), Some(ranks([0])));
    }
    tree.contribute(newcomer, stream);
    assert_eq!(tree.wave(stream), None);
    tree.send(stream, 1);
    tree.contribute(newcomer, stream);
    tree.contribute(steady, stream);
    assert_eq!(tree.wave(stream), Some(ranks([0, 1])));
}

#[test]
fn a_newcomer_whose_first_contribution_is_in_time_stays_in_step() {
    let (mut tree, stream, [steady, newcomer]) = joined_after_a_wave();
    tree.contribute(newcomer, stream);
    assert_eq!(tree.wave(stream), None, "it is waited for, and so are the others");
    tree.contribute(steady, stream);
    assert_eq!(tree.wave(stream), Some(ranks([0, 1])));
    tree.send(stream, 1);
    tree.contribute(steady, stream);
    assert_eq!(tree.wave(stream), None);
    tree.contribute(newcomer, stream);
    assert_eq!(tree.wave(stream), Some(ranks([0, 1])));
}

/// The front-end alone, with an agent whose words are given.
struct FrontEnd {
    node: Node,
    agent: LinkId,
    stream: StreamId,
}

impl FrontEnd {
    /// With a member below the agent, and a stream of two.
    fn new() -> FrontEnd {
        FrontEnd::with(NodeOptions::default(), StreamOptions::default())
    }

    fn with(options: NodeOptions, of_stream: StreamOptions) -> FrontEnd {
        let mut node = Node::front_end(options, Arc::new(FirstOf));
        let agent = FrontEnd::attach(&mut node);
        let stream = node.open(Arc::new(ranks([0, 1])), of_stream).unwrap();
        FrontEnd { node, agent, stream }
    }

    /// The agent comes, by another link than before.
    fn attach(node: &mut Node) -> LinkId {
        let agent = node.accepted();
        let place = FrontEnd::place(1, 0, None);
        let (is_urgent, is_new, resumes) = (false, false, Vec::new());
        let below = vec![FrontEnd::place(2, 1, Some(0))];
        node.message(agent, Message::Attach(Attach { place, is_urgent, is_new, below, resumes }), Time(0));
        agent
    }

    fn place(node: u32, parent: u32, rank: Option<u32>) -> banyan_tree::NodeInfo {
        let level = Level(if rank.is_some() { 2 } else { 1 });
        NodeInfo { node: NodeId(node), parent: NodeId(parent), epoch: Epoch(1), level, rank }
    }

    fn send(&mut self) {
        self.node.multicast(self.stream, 0, FORMAT, Bytes::from_static(&[0])).unwrap();
    }

    /// The other member comes.
    fn join(&mut self) {
        let places = vec![FrontEnd::place(3, 1, Some(1))];
        let placed = Message::Placed { places, resumes: Vec::new(), is_new: true };
        self.node.message(self.agent, placed, Time(0));
    }

    /// A member's contribution to one wave comes; then who is in the wave that is whole, if one is.
    fn hear(&mut self, rank: u32, wave: u64, is_fresh: bool) -> Option<RankSet> {
        self.get(rank, wave, is_fresh);
        self.node.take_waves(self.stream).map(|delivery| (*delivery.members).clone())
    }

    fn get(&mut self, rank: u32, wave: u64, is_fresh: bool) {
        let (members, bodies) = (Arc::new(ranks([rank])), Bodies::one(FORMAT, Bytes::from_static(&[1; 8])));
        let first = banyan_tree::WaveNumber(wave);
        let run = Run { stream: self.stream, first, members, is_fresh, is_partial: true, yields: None, bodies };
        self.node.message(self.agent, Message::Run(run), Time(0));
    }

    /// Bytes that the agent is told were taken.
    fn told(&mut self) -> u64 {
        let taken = |action| match action {
            Action::Send { link, message: Message::Taken { bytes, .. } } if link == self.agent => bytes,
            _ => 0,
        };
        std::iter::from_fn(|| self.node.action()).map(taken).sum()
    }
}

#[test]
fn a_newcomer_that_answers_what_was_sent_before_it_was_known_holds_up_no_wave() {
    let mut front_end = FrontEnd::new();
    (0..3).for_each(|_| front_end.send());
    assert_eq!([0, 1].map(|wave| front_end.hear(0, wave, true)), [Some(ranks([0])), Some(ranks([0]))]);
    // Its agent passed the last two on to it before the front-end heard of it.
    front_end.join();
    assert_eq!([0, 1].map(|wave| front_end.hear(1, wave, false)), [None, None]);
    // Its agent dies, and it sends them again by way of another.
    assert_eq!([0, 1].map(|wave| front_end.hear(1, wave, false)), [None, None]);
    assert_eq!(front_end.hear(0, 2, true), Some(ranks([0])), "it has nothing to say to that");
    front_end.send();
    assert_eq!(front_end.hear(0, 3, true), None);
    assert_eq!(front_end.hear(1, 3, false), Some(ranks([0, 1])));
}

#[test]
fn a_newcomer_that_contributes_more_than_it_can_have_been_sent_is_waited_for() {
    let mut front_end = FrontEnd::new();
    front_end.send();
    (0..4).for_each(|wave| assert_eq!(front_end.hear(0, wave, true), Some(ranks([0]))));
    front_end.join();
    assert_eq!([0, 1].map(|wave| front_end.hear(1, wave, false)), [None, None]);
    assert_eq!(front_end.hear(0, 4, true), None, "it is behind, and on its way");
    assert_eq!(front_end.hear(1, 4, false), Some(ranks([0, 1])));
}

#[test]
fn records_of_a_predecessor_that_come_after_its_successors_are_counted_as_its_own() {
    let mut tree = Tree::new();
    let old = tree.member(0, &[1]);
    let stream = tree.open_records(0);
    (0..5).for_each(|_| tree.contribute(old, stream));
    // The first agent does not hear that another process is this member now.
    tree.cut.insert((0, 1));
    let new = tree.successor(old, 0, &[2]);
    tree.contribute(old, stream);
    (0..3).for_each(|_| tree.contribute(new, stream));
    tree.contribute(old, stream);
    let records = tree.nodes[0].counters().records;
    assert_eq!((records.seen, records.delivered), (10, 10));
    // A record of the successor's goes down, and the one behind it tells so.
    tree.cut.insert((2, 0));
    tree.contribute(new, stream);
    tree.cut.remove(&(2, 0));
    tree.contribute(new, stream);
    let records = tree.nodes[0].counters().records;
    assert_eq!((records.seen, records.delivered), (12, 11));
}

#[test]
fn records_that_come_to_an_agent_which_has_not_heard_of_their_stream_are_counted_there_and_hold_up_nobody() {
    let mut options = NodeOptions::default();
    options.window_bytes = 1;
    let mut tree = Tree::with(options);
    let member = tree.member(0, &[2]);
    tree.cut.insert((0, 1));
    let stream = tree.open_records(0);
    // The front-end's answer does not come.
    tree.cut.insert((0, member));
    tree.kill(2);
    (0..4).for_each(|_| tree.pass(Duration::from_secs(1)));
    assert_eq!(tree.nodes[member].parent(), Some(NodeId(1)));
    (0..3).for_each(|_| tree.contribute(member, stream));
    // It hears of the stream when it comes to the front-end again.
    tree.cut.remove(&(0, 1));
    let link = *tree.ends.iter().find(|((at, _), (to, _))| (*at, *to) == (0, 1)).unwrap().0;
    tree.close(link.0, link.1);
    tree.settle();
    tree.pass(Duration::from_millis(50));
    tree.contribute(member, stream);
    let dropped = tree.nodes[1].stream_counters(stream).unwrap().records.without_stream;
    let records = tree.nodes[0].counters().records;
    assert_eq!((records.seen, records.delivered, dropped), (4, 1, 3));
}

#[test]
fn a_child_that_loses_its_link_again_and_again_leaves_no_more_records_with_a_front_end_that_takes_none() {
    let mut options = NodeOptions::default();
    options.window_bytes = 1000;
    let mut tree = Tree::with(options);
    let member = tree.member(0, &[1]);
    let stream = tree.open_records(0);
    let mut sent = 0;
    for _ in 0..5 {
        for _ in 0..20 {
            tree.contribute(member, stream);
            sent += 1;
        }
        let link = *tree.ends.iter().find(|((at, _), (to, _))| (*at, *to) == (0, 1)).unwrap().0;
        tree.close(link.0, link.1);
        tree.settle();
        tree.pass(Duration::from_millis(50));
        assert_eq!(tree.nodes[1].parent(), Some(NodeId::ROOT));
    }
    let counters = [0, 1].map(|node| tree.nodes[node].counters());
    let [front_end, agent] = counters.map(|counters| counters.records);
    assert!(front_end.without_room > 0 && counters[0].gathered_bytes <= 1000, "{counters:?}");
    assert_eq!(front_end.delivered + front_end.without_room + agent.without_room, sent);
    // Once it takes them, others come.
    while tree.wave(stream).is_some() {}
    tree.settle();
    tree.contribute(member, stream);
    assert_eq!(tree.wave(stream), Some(ranks([0])));
}

#[test]
fn records_that_are_more_than_a_window_are_dropped_only_behind_those_of_an_earlier_link_and_told_of_after_them() {
    let mut options = NodeOptions::default();
    options.window_bytes = 200;
    let mut front_end = FrontEnd::with(options, StreamOptions::default().synchronised(Synchronisation::Lossy));
    let counted = |front_end: &FrontEnd| {
        let records = front_end.node.counters().records;
        (records.delivered, records.without_room)
    };
    // What was sent as one comes in parts, each of which counts for 72 bytes.
    (0..3).for_each(|record| front_end.get(0, record, true));
    assert_eq!(counted(&front_end), (3, 0));
    front_end.agent = FrontEnd::attach(&mut front_end.node);
    (3..5).for_each(|record| front_end.get(0, record, true));
    assert_eq!((counted(&front_end), front_end.told()), ((3, 2), 0), "it has to wait");
    for _ in 0..2 {
        assert!(front_end.node.take_waves(front_end.stream).is_some());
        assert_eq!(front_end.told(), 0);
    }
    assert!(front_end.node.take_waves(front_end.stream).is_some());
    assert_eq!(front_end.told(), 144);
    (5..8).for_each(|record| front_end.get(0, record, true));
    assert_eq!(counted(&front_end), (6, 2));
}

#[test]
fn records_of_a_child_that_ignores_its_window_are_dropped_counted_and_told_of() {
    let mut options = NodeOptions::default();
    options.window_bytes = 200;
    let mut front_end = FrontEnd::with(options, StreamOptions::default().synchronised(Synchronisation::Lossy));
    (0..1000).for_each(|record| front_end.get(0, record, true));
    let counters = front_end.node.counters();
    // Each counts for 72 bytes, and two windows are held.
    assert_eq!((counters.records.seen, counters.records.delivered, counters.records.without_room), (1000, 5, 995));
    assert_eq!(counters.gathered_bytes, 5 * 8);
    // Once they are taken the child hears of all of them, and others come.
    while front_end.node.take_waves(front_end.stream).is_some() {}
    assert_eq!(front_end.told(), 1000 * 72);
    front_end.get(0, 1000, true);
    assert_eq!(front_end.node.counters().records.delivered, 6);
}

#[test]
fn a_predecessor_linked_to_an_ancestor_of_its_successor_is_sent_away_and_waves_go_on() {
    let mut tree = Tree::new();
    let steady = tree.member(0, &[2]);
    // Once below the front-end itself, once below the agent that its successor is below an agent of.
    let inner = tree.add(None, Level(2), &[1]);
    let before = [tree.member(1, &[0]), tree.add(Some(2), Level(9), &[1])];
    let stream = tree.open(0..=2);
    let after = [tree.successor(before[0], 1, &[1]), tree.add_life(NodeId(6), 1, Some(2), Level(9), &[inner])];
    assert_eq!(tree.nodes[before[1]].id(), NodeId(6));
    assert_eq!(after.map(|member| tree.nodes[member].parent()), [Some(NodeId(1)), Some(NodeId(inner as u32))]);
    for predecessor in before {
        assert!(tree.succeeded.contains(&predecessor));
        assert_eq!(tree.nodes[predecessor].parent(), None);
        let body = Bodies::one(FORMAT, Bytes::from_static(&[1; 8]));
        assert_eq!(tree.nodes[predecessor].contribute(stream, body), Err(SendError::Succeeded));
    }
    tree.send(stream, 7);
    for member in [steady, after[0], after[1]] {
        assert_eq!(tree.take(member, stream), [7]);
        tree.contribute(member, stream);
    }
    assert_eq!(tree.wave(stream), Some(ranks(0..=2)));
}

/// A member whose parent is the test.
struct Alone {
    member: Node,
    link: LinkId,
}

impl Alone {
    fn new() -> Alone {
        let (ancestry, options) = (Alone::ancestry(), NodeOptions::default());
        Alone {
            member: Node::below(NodeId(1), Some(0), Level(1), ancestry, options, Arc::new(FirstOf)),
            link: LinkId(0),
        }
    }

    fn ancestry() -> Ancestry {
        let itself = Candidate { node: NodeId::ROOT, level: Level(0) };
        [Ancestor { itself, children: Vec::new() }].into_iter().collect()
    }

    /// What it says when it asks for a parent, which then takes it in.
    fn ask(&mut self, now: Time) -> Attach {
        self.member.wake(now);
        let mut attach = None;
        while let Some(action) = self.member.action() {
            match action {
                Action::Dial { link, .. } => {
                    self.link = link;
                    self.member.linked(link, now);
                }
                Action::Send { message: Message::Attach(sent), .. } => attach = Some(sent),
                _ => {}
            }
        }
        self.hear([Message::Welcome(Alone::ancestry())]);
        attach.expect("it asks")
    }

    fn hear(&mut self, messages: impl IntoIterator<Item = Message>) {
        messages.into_iter().for_each(|message| self.member.message(self.link, message, Time(0)));
    }

    fn open(&self) -> Vec<StreamId> {
        self.member.streams().map(|opening| opening.stream).collect()
    }
}

fn opening(stream: u32) -> Arc<Opening> {
    Arc::new(Opening { stream: StreamId(stream), members: Arc::new(ranks([0])), options: StreamOptions::default() })
}

#[test]
fn an_orphan_dials_the_next_beside_one_that_is_not_there_and_asks_the_first_that_is() {
    let above = |level: u16| {
        let itself = Candidate { node: NodeId(u32::from(level)), level: Level(level) };
        Ancestor { itself, children: Vec::new() }
    };
    let ancestry: Ancestry = [2, 1, 0].map(above).into_iter().collect();
    let mut orphan = Node::below(NodeId(9), Some(0), Level(3), ancestry, NodeOptions::default(), Arc::new(FirstOf));
    let dialled = |orphan: &mut Node| match orphan.action() {
        Some(Action::Dial { link, to }) => (link, to),
        action => panic!("it does not dial, but {action:?}"),
    };
    orphan.wake(Time(0));
    let (first, nearest) = dialled(&mut orphan);
    let at = orphan.deadline().unwrap();
    assert!(at <= Time(0).after(Duration::from_millis(200)), "{at}");
    orphan.wake(at);
    let (second, next) = dialled(&mut orphan);
    assert_eq!((nearest, next), (NodeId(2), NodeId(1)));
    // The second is there, and the first is let go without a word.
    orphan.linked(second, at);
    assert!(matches!(orphan.action(), Some(Action::LetGo(link)) if link == first));
    assert!(matches!(orphan.action(), Some(Action::Send { link, message: Message::Attach(_) }) if link == second));
    // It has the whole time to answer, has no room, and knows nobody.
    assert!(orphan.deadline() >= Some(at.after(Duration::from_secs(1))));
    orphan.message(second, Message::Refuse(Vec::new()), at);
    assert!(matches!(orphan.action(), Some(Action::Close(link)) if link == second));
    // The first was not asked, and is not waited for again.
    assert_eq!(dialled(&mut orphan).1, NodeId(2));
    assert_eq!(orphan.deadline(), Some(at));
    orphan.wake(at);
    let (third, last) = dialled(&mut orphan);
    assert_eq!(last, NodeId::ROOT);
    orphan.linked(third, at);
    assert!(matches!(orphan.action(), Some(Action::LetGo(_))));
    assert!(matches!(orphan.action(), Some(Action::Send { link, message: Message::Attach(_) }) if link == third));
    orphan.message(third, Message::Refuse(Vec::new()), at);
    assert!(matches!(orphan.action(), Some(Action::Close(link)) if link == third));
    // Those that were asked are not dialled beside it any more.
    assert_eq!(dialled(&mut orphan).1, NodeId(2));
    assert!(orphan.deadline() >= Some(at.after(Duration::from_secs(1))));
    assert!(orphan.action().is_none());
}

#[test]
fn a_parent_that_refuses_its_child_is_left_for_another() {
    let mut alone = Alone::new();
    alone.ask(Time(0));
    assert_eq!(alone.member.parent(), Some(NodeId::ROOT));
    alone.hear([Message::Refuse(Vec::new())]);
    assert_eq!(alone.member.parent(), None);
    alone.ask(Time(u64::MAX / 2));
    assert_eq!(alone.member.parent(), Some(NodeId::ROOT));
}

#[test]
fn a_catalogue_that_is_cut_off_opens_nothing() {
    let mut alone = Alone::new();
    alone.ask(Time(0));
    alone.hear([Message::Listed(opening(1)), Message::Listed(opening(2))]);
    assert!(alone.open().is_empty());
    alone.member.closed(alone.link, Time(0));
    // The next parent has heard less.
    alone.ask(Time(u64::MAX / 2));
    alone.hear([Message::Listed(opening(1)), Message::Skipped { stream: StreamId::CONTROL, until: 1 }]);
    assert_eq!(alone.open(), [StreamId(1)]);
}

#[test]
fn a_member_is_new_until_it_has_heard_of_everything_and_says_what_it_does_not_know_the_beginning_of() {
    let mut alone = Alone::new();
    assert!(alone.ask(Time(0)).is_new);
    alone.hear([
        Message::Skipped { stream: StreamId(1), until: 5 },
        Message::Listed(opening(1)),
        Message::Listed(opening(2)),
        Message::Skipped { stream: StreamId::CONTROL, until: 2 },
    ]);
    let body = Bodies::one(FORMAT, Bytes::from_static(&[1; 8]));
    assert_eq!(alone.member.contribute(StreamId(1), body.clone()), Err(SendError::Full));
    alone.member.closed(alone.link, Time(0));
    let attach = alone.ask(Time(u64::MAX / 4));
    let next: Vec<(u32, u64)> = attach.resumes.iter().map(|resume| (resume.stream.0, resume.next)).collect();
    assert_eq!((attach.is_new, next), (true, vec![(0, 2), (1, 5), (2, Resume::NOW)]));
    // The second parent ends its greeting, and a stream is opened.
    alone.hear([Message::Skipped { stream: StreamId::CONTROL, until: 2 }]);
    let packet = Packet::Open(opening(3));
    alone.hear([Message::Packet { stream: StreamId::CONTROL, sequence: 2, packet }]);
    assert!(alone.member.contribute(StreamId(1), body).is_ok());
    alone.member.closed(alone.link, Time(0));
    let attach = alone.ask(Time(u64::MAX / 2));
    let next: Vec<(u32, u64)> = attach.resumes.iter().map(|resume| (resume.stream.0, resume.next)).collect();
    assert_eq!((attach.is_new, next), (false, vec![(0, 3), (1, 5), (2, Resume::NOW), (3, 0)]));
}

#[test]
fn a_newcomer_begins_where_it_came_on_every_one_of_many_streams() {
    let mut tree = Tree::new();
    let steady = tree.member(0, &[1]);
    let streams: Vec<StreamId> = (0..1100).map(|_| tree.open(0..=1)).collect();
    for stream in &streams {
        tree.send(*stream, 0);
        assert_eq!(tree.take(steady, *stream), [0]);
    }
    let newcomer = tree.member(1, &[1]);
    for stream in &streams {
        tree.send(*stream, 1);
        assert_eq!(tree.take(newcomer, *stream), [1]);
    }
}

#[test]
fn figures_have_what_every_node_has_dropped_of_streams_without_waves() {
    let mut tree = Tree::new();
    let member = tree.member(0, &[1]);
    let stream = tree.open_records(0);
    tree.contribute(member, stream);
    // Its agent dies, and nobody else answers.
    (0..3).for_each(|above| _ = tree.cut.insert((above, member)));
    tree.kill(1);
    tree.contribute(member, stream);
    tree.contribute(member, stream);
    tree.cut.retain(|(from, to)| *from == 1 || *to == 1);
    tree.pass(Duration::from_secs(20));
    tree.contribute(member, stream);
    tree.nodes[0].ask_figures();
    tree.settle();
    let figures = tree.nodes[0].figures().unwrap();
    let own = figures[&tree.nodes[member].id()].records;
    assert_eq!((own.sent, own.without_parent), (4, 2));
    let front_end = figures[&NodeId::ROOT].records;
    assert_eq!((front_end.seen, front_end.delivered), (4, 2));
}

#[test]
fn what_a_child_of_an_agent_does_wrong_is_told_to_the_front_end() {
    let mut tree = Tree::new();
    let member = tree.member(0, &[1]);
    let (_, link) = tree.ends.iter().find(|((at, _), _)| *at == member).map(|(_, end)| *end).unwrap();
    let places = vec![NodeInfo { node: NodeId(9), parent: NodeId(3), epoch: Epoch(1), level: Level(3), rank: Some(4) }];
    let placed = Message::Placed { places, resumes: Vec::new(), is_new: true };
    tree.nodes[1].message(link, placed, tree.now);
    tree.settle();
    let is_told = |report: &Report| matches!(report, Report::Violation { node: NodeId(1), child: NodeId(3), cause, .. } if cause.contains("told of nodes"));
    assert!(tree.told.iter().any(is_told), "{:?}", tree.told);
}

#[test]
fn what_a_member_has_for_a_wave_that_is_over_is_counted() {
    let mut tree = Tree::new();
    let member = tree.member(0, &[1]);
    let options = StreamOptions::default().synchronised("interval time 1".parse().unwrap());
    let stream = tree.nodes[0].open(Arc::new(ranks([0])), options).unwrap();
    tree.settle();
    let body = Bodies::one(FORMAT, Bytes::from_static(&[1; 8]));
    assert_eq!(tree.nodes[member].contribute_at(stream, WaveNumber(2), body.clone()), Ok(()));
    assert_eq!(tree.nodes[member].contribute_at(stream, WaveNumber(1), body), Err(SendError::Over(WaveNumber(1))));
    assert_eq!(tree.nodes[member].stream_counters(stream).unwrap().overdue, 1);
}
