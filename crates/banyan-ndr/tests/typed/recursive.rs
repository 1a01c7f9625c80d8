//! Recursive records: as deep as the data wants and the limit allows, without stack.

use std::rc::Rc;

use banyan_ndr::typed::{self, read_native_to_depth};
use banyan_ndr::{Buffer, DecodeError, DecodeOptions, Decoder, Limits, Record, read_native};

/// A million, which no stack holds. Miri is a hundred times slower.
fn deep() -> u64 {
    if cfg!(miri) { 100 } else { crate::effort::share(1_000_000).into() }
}

fn body<T: Record>(record: &T) -> Buffer {
    let mut bytes = Vec::new();
    typed::encode_body_into(record, &mut bytes).expect("it can be encoded");
    Buffer::from_slice(&bytes)
}

#[derive(Record, Debug)]
struct Node {
    value: u64,
    next: Option<Box<Node>>,
}

/// Deep values must not be dropped recursively: also those that are given up half-way through a forged body.
impl Drop for Node {
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(mut node) = next {
            next = node.next.take();
        }
    }
}

fn list(length: u64) -> Node {
    let mut head = Node { value: length, next: None };
    for value in (0..length).rev() {
        head = Node { value, next: Some(Box::new(head)) };
    }
    head
}

#[test]
fn a_list_of_a_million_nodes_comes_back() {
    let body = body(&list(deep()));
    let back: Node = read_native_to_depth(&body, usize::MAX).expect("it can be read");
    let mut node = &back;
    for value in 0..deep() {
        assert_eq!(node.value, value);
        node = node.next.as_deref().expect("it is not the last");
    }
    assert!(node.value == deep() && node.next.is_none());
}

#[derive(Record, Debug)]
struct Tree {
    name: String,
    children: Vec<Tree>,
}

impl Drop for Tree {
    fn drop(&mut self) {
        let mut open = std::mem::take(&mut self.children);
        while let Some(mut tree) = open.pop() {
            open.append(&mut tree.children);
        }
    }
}

#[test]
fn a_tree_that_is_all_depth_comes_back() {
    let mut tree = Tree { name: "leaf".into(), children: vec![] };
    for _ in 0..deep() {
        tree = Tree { name: "n".into(), children: vec![tree] };
    }
    let back: Tree = read_native_to_depth(&body(&tree), usize::MAX).expect("it can be read");
    let (mut depth, mut at) = (0, &back);
    while let Some(child) = at.children.first() {
        (depth, at) = (depth + 1, child);
    }
    assert_eq!((depth, at.name.as_str()), (deep(), "leaf"));
}

#[derive(Record, Debug, PartialEq, Clone)]
enum Json {
    Null,
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object { keys: Vec<String>, values: Box<[Json]> },
    Wrapped(Box<Json>),
}

#[test]
fn a_recursive_variant_comes_back() {
    let inner = Json::List(vec![Json::Null, Json::Number(1.0), Json::Text("t".into()), Json::List(vec![])]);
    let values = vec![inner.clone(), Json::Wrapped(Box::new(inner))].into();
    let json = Json::Object { keys: vec!["a".into(), "b".into()], values };
    assert_eq!(read_native::<Json>(&body(&json)), Ok(json));
}

#[derive(Record, Debug)]
struct Graph {
    name: String,
    edges: Vec<Rc<Graph>>,
    first: Option<Rc<Graph>>,
}

#[test]
fn a_graph_keeps_its_shape() {
    // Each node refers three times to the one below: as a tree it would have 3^40 nodes.
    let mut node = Rc::new(Graph { name: "0".into(), edges: vec![], first: None });
    for level in 1..=40 {
        let edges = vec![node.clone(), node.clone()];
        node = Rc::new(Graph { name: level.to_string(), edges, first: Some(node) });
    }
    let back: Graph = read_native(&body(&*node)).expect("it can be read");
    let (mut at, mut count) = (&back, 0);
    while let [one, other] = &at.edges[..] {
        assert!(Rc::ptr_eq(one, other) && Rc::ptr_eq(one, at.first.as_ref().expect("it has one")));
        (at, count) = (one, count + 1);
    }
    assert_eq!((count, at.name.as_str()), (40, "0"));
}

#[derive(Record, Debug)]
struct Rows {
    count: u8,
    #[record(length = count)]
    rows: Vec<Rows>,
}

#[test]
fn recursion_through_a_sized_list_comes_back() {
    let leaf = || Rows { count: 0, rows: vec![] };
    let rows = Rows { count: 2, rows: vec![leaf(), Rows { count: 1, rows: vec![leaf()] }] };
    let back: Rows = read_native(&body(&rows)).expect("it can be read");
    assert_eq!((back.rows.len(), back.rows[1].rows.len(), back.rows[1].rows[0].rows.len()), (2, 1, 0));
}

/// Writes a native reference to `target` at `at`.
fn refer(body: &mut Buffer, at: usize, target: usize) {
    body[at..at + size_of::<usize>()].copy_from_slice(&(target + 16).to_ne_bytes());
}

fn offset<T: Record>(field: &str) -> usize {
    T::format().fields().iter().find(|other| other.name == field).expect("there is such a field").offset as usize
}

#[test]
fn a_cycle_through_boxes_ends_with_an_error() {
    let mut body = body(&list(3));
    refer(&mut body, offset::<Node>("next"), 0);
    assert!(matches!(read_native::<Node>(&body), Err(DecodeError::Overlap { .. })));
}

#[test]
fn a_cycle_through_shared_pointers_is_named() {
    let leaf = Rc::new(Graph { name: "leaf".into(), edges: vec![], first: None });
    let mut body = body(&Graph { name: "top".into(), edges: vec![], first: Some(leaf) });
    let first = offset::<Graph>("first");
    let stored = &body[first..first + size_of::<usize>()];
    let leaf_at = usize::from_ne_bytes(stored.try_into().expect("a word")) - 16;
    refer(&mut body, leaf_at + first, leaf_at);
    let error = read_native::<Graph>(&body).expect_err("no Rc can be built for a cycle");
    assert!(error.to_string().contains("leads back to the value it stands in"), "{error}");
}

#[test]
fn a_deep_list_that_is_damaged_at_its_head_is_given_up_without_stack() {
    #[derive(Record, Debug)]
    struct Headed {
        list: Node,
        name: String,
    }
    let mut body = body(&Headed { list: list(deep()), name: "name".into() });
    let name = offset::<Headed>("name");
    refer(&mut body, name, usize::MAX / 2);
    assert!(matches!(read_native_to_depth::<Headed>(&body, usize::MAX), Err(DecodeError::OutOfBounds { .. })));
}

/// A list that is dropped as Rust drops it.
#[derive(Record, Debug)]
struct Ordinary {
    value: u32,
    next: Option<Box<Ordinary>>,
    children: Vec<Ordinary>,
}

fn is_too_deep<T>(result: Result<T, DecodeError>) -> bool {
    matches!(result, Err(DecodeError::Limit { name: "depth", .. }))
}

/// `depth` values behind the first, through boxes and lists by turns.
fn ordinary(depth: u32) -> Ordinary {
    let mut head = Ordinary { value: 0, next: None, children: vec![] };
    for value in 1..=depth {
        head = match value % 2 {
            0 => Ordinary { value, next: Some(Box::new(head)), children: vec![] },
            _ => Ordinary { value, next: None, children: vec![head] },
        };
    }
    head
}

#[test]
fn depth_is_bounded_at_its_edge() {
    let mut value = ordinary(0);
    for (depth, fits) in [(7, true), (8, false)] {
        let body = body(&ordinary(depth));
        assert_eq!(!is_too_deep(read_native_to_depth::<Ordinary>(&body, 7)), fits);
        assert_eq!(!is_too_deep(typed::read_native_into_to_depth(&mut value, &body, 7)), fits);

        let limits = Limits::default().depth(7);
        let mut decoder = Decoder::with_options(DecodeOptions::default().limits(limits));
        let id = decoder.learn(Ordinary::format()).expect("it knows no other");
        assert_eq!(!is_too_deep(decoder.decode::<Ordinary>(id, &body)), fits);
        assert_eq!(!is_too_deep(decoder.decode_into(id, &body, &mut value)), fits);
    }
    assert_eq!(value.value, 7);
}

#[test]
fn a_list_too_deep_to_be_dropped_is_refused_by_default() {
    let body = body(&list(deep().max(2000)));
    // The same record for a type without a `Drop` of its own.
    #[derive(Record, Debug)]
    #[record(rename = "Node")]
    struct Plain {
        value: u64,
        next: Option<Box<Plain>>,
    }
    let error = read_native::<Plain>(&body).map(|plain| (plain.value, plain.next.is_some())).expect_err("too deep");
    assert!(error.to_string().contains("1001 is more than the limit of 1000 (raise Limits::depth"), "{error}");
}

#[derive(Record, Debug)]
struct Shared {
    next: Option<Rc<Shared>>,
}

/// Holds every node, so that all are met beside one another, and the list that they are.
#[derive(Record, Debug)]
struct Holder {
    nodes: Vec<Rc<Shared>>,
    first: Rc<Shared>,
}

#[test]
fn a_list_of_shared_values_is_as_deep_as_it_is_however_they_are_met() {
    for reverse in [false, true] {
        for (depth, fits) in [(7, true), (8, false)] {
            let mut nodes = vec![Rc::new(Shared { next: None })];
            while nodes.len() < depth {
                nodes.push(Rc::new(Shared { next: nodes.last().cloned() }));
            }
            let first = nodes[depth - 1].clone();
            if reverse {
                nodes.reverse();
            }
            let body = body(&Holder { nodes, first });
            // The list that holds them is one more.
            assert_eq!(!is_too_deep(read_native_to_depth::<Holder>(&body, 8)), fits, "{depth} nodes");
        }
    }
}
